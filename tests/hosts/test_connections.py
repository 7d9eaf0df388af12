"""Messages between supervisors."""

import collections
import os
import re
import socket
import struct
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from tests.locks import is_free
from towerstrat.hosts.authentication import MessageKey
from towerstrat.hosts.connections import Connection
from towerstrat.hosts.rendezvous_server import addresses
from towerstrat.hosts.stderr_relay import Output


class One(NamedTuple):
    text: str


class Two(NamedTuple):
    number: float


KEY = MessageKey(b"a secret of sixteen")


def connected(own=KEY, other=KEY):
    """Two ends: of process 0, which has accepted it, and of process 3."""
    one, two = socket.socketpair()
    return Connection(one, own, 0, True, One | Two), Connection(two, other, 3, False, One | Two)


@pytest.fixture
def ends():
    found = connected()
    yield found
    for end in found:
        end.close()


@pytest.fixture
def greeted(ends):
    """After both ends have greeted."""
    for end in (*ends, *ends):
        assert end.receive() == []
    assert [end.sender for end in ends] == [3, 0]
    return ends


@pytest.fixture
def raw():
    """An end, and the socket of somebody else."""
    one, other = socket.socketpair()
    yield Connection(one, KEY, 0, True, One | Two), other
    one.close()
    other.close()


def taken(end):
    """What has come to the socket of an end, taken away from it."""
    return end._end.recv(1 << 20)


def test_messages_come_as_they_were_sent_in_any_parts(greeted):
    zero, other = greeted
    other.send(One("a\nü"))
    other.send(Two(1.5))
    assert zero.receive() == [One("a\nü"), Two(1.5)]
    zero.send(One("back"))
    data, found = taken(other), []
    for i in range(len(data)):
        assert found == []
        zero._end.send(data[i : i + 1])
        found += other.receive()
    assert found == [One("back")]
    assert zero.refused == other.refused == []
    other.close()
    assert zero.receive() == []
    assert zero.closed


def test_what_is_sent_before_the_other_end_has_greeted_waits(ends):
    zero, other = ends
    other.send(One("early"))
    assert zero.receive() == []
    assert other.receive() == []
    assert zero.receive() == [One("early")]


@pytest.mark.parametrize("text", [b"GET / HTTP/1.1\r\n", b"[]\n", b'{"kind": "One"}\n', b"\x80\x04."])
def test_somebody_who_speaks_something_else_is_refused(raw, text):
    connection, other = raw
    other.send(text)
    assert connection.receive() == []
    assert connection.closed
    assert re.search("begins with .* which no supervisor says", connection.refused[0])


def test_a_message_without_the_secret_is_refused():
    for key in (MessageKey(b"another secret, as long"), MessageKey(b"")):
        zero, other = connected(KEY, key)
        other.receive()
        other.send(One("let me in"))
        assert zero.receive() == []
        assert "not what process 3 of this run sends there" in zero.refused[0]
        zero.close()
        other.close()


def changed(data):
    return data[:-2] + bytes([data[-2] ^ 1]) + data[-1:]


def cut(data):
    return struct.pack("<I", len(data) - 4 - 1) + data[4:-1]


def longer(data):
    return struct.pack("<I", len(data) - 4 + 1) + data[4:] + b" "


@pytest.mark.parametrize("how", [changed, cut, longer])
def test_a_message_that_is_not_whole_is_refused_and_the_next_is_taken(greeted, how):
    zero, other = greeted
    other.send(One("whole"))
    data = taken(zero)
    other._end.send(how(data) + data)
    assert zero.receive() == [One("whole")]
    assert len(zero.refused) == 1
    assert "or are cut" in zero.refused[0]
    assert not zero.closed


def test_a_message_that_comes_again_is_refused(greeted):
    zero, other = greeted
    other.send(One("once"))
    data = taken(zero)
    other._end.send(data + data)
    assert zero.receive() == [One("once")]
    assert "were sent before" in zero.refused[0]
    # Nor is it taken by the end that has sent it, or over another connection.
    zero._end.send(data)
    assert other.receive() == []
    assert other.refused
    again, more = connected()
    more.receive()
    again.receive()
    more._end.send(data)
    assert again.receive() == []
    assert again.refused
    again.close()
    more.close()


def test_a_message_of_another_type_is_refused(greeted):
    zero, other = greeted
    other.send(("no", "record"))
    other.send(One("next"))
    assert zero.receive() == [One("next")]
    assert "Expected" in zero.refused[0]


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::ffff:127.0.0.1")])
def test_a_connection_knows_its_own_address(ends, family, host):
    assert ends[0].here == ""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(family) as end:
        end.connect((host, server.getsockname()[1]))
        connection = Connection(end, KEY, 1, False, One)
        assert connection.here == "127.0.0.1"
        assert connection.there == "127.0.0.1"


@pytest.mark.parametrize(
    ("here", "came_from", "known_as"),
    [
        (["", "10.0.0.1", "127.0.0.1"], ["", "10.0.0.2", "127.0.0.1"], ["10.0.0.1", "10.0.0.2", "10.0.0.1"]),
        (["", "127.0.0.1"], ["", "127.0.0.1"], ["127.0.0.1", "127.0.0.1"]),
        (["", "fd00::1"], ["", "fd00::2"], ["fd00::1", "fd00::2"]),
        ([""], [""], [""]),
    ],
)
def test_hosts_are_known_by_addresses_that_mean_them_elsewhere(here, came_from, known_as):
    members = [
        SimpleNamespace(address=address, connection=SimpleNamespace(here=ours))
        for ours, address in zip(here, came_from, strict=True)
    ]
    assert addresses(members) == known_as


def test_what_is_too_long_is_not_kept(greeted):
    zero, other = greeted
    other._end.setblocking(False)
    other._end.send(struct.pack("<I", 1 << 31))
    assert zero.receive() == []
    assert zero.closed
    assert "a message of 2147483648 bytes, of which there are at most 1048576" in zero.refused[0]


def test_what_the_other_side_does_not_read_waits(greeted):
    connection, reader = greeted
    while True:
        connection.send(One("x" * (1 << 16)))
        connection.send(Two(1))
        if connection._leaving:
            break
    kinds = []
    while connection._leaving or not kinds or kinds[-1] is not Two:
        kinds += [type(message) for message in reader.receive()]
        connection.flush()
    assert kinds == [One, Two] * (len(kinds) // 2)


def test_the_last_lines_of_a_program_are_kept(tmp_path, capfdbinary):
    path = tmp_path / "error"
    text = "".join(f"line {i}\n" for i in range(100)) + "the end"
    path.write_text(text)
    with path.open("rb") as stream:
        output = Output(stream)
        kept = output.last(60.0)
        output.say("!")
        output.end(60.0)
    assert kept == [*(f"line {i}" for i in range(70, 100)), "the end"]
    assert capfdbinary.readouterr().err == text.encode() + b"!\n"


def test_lines_are_not_read_while_they_are_written():
    read, write = os.pipe()
    with open(read, "rb") as stream:
        output, free = Output(stream), []

        class Lines(collections.deque):
            def __iter__(self):
                free.append(is_free(output._lock))
                return super().__iter__()

            def extend(self, lines):
                free.append(is_free(output._lock))
                super().extend(lines)

        output._lines = Lines([b""])
        os.write(write, b"one\ntwo\n")
        os.close(write)
        assert output.last(60) == ["one", "two"]
        output.end(60)
    assert free == [False, False]
