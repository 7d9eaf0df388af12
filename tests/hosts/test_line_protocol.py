"""Messages between supervisors."""

import socket
from types import SimpleNamespace

import pytest

from towerstrat.hosts.line_protocol import Connection
from towerstrat.hosts.rendezvous_server import addresses
from towerstrat.hosts.stderr_relay import Output


@pytest.fixture
def ends():
    one, other = socket.socketpair()
    yield Connection(one), other
    one.close()
    other.close()


def test_messages_come_as_they_were_sent_in_any_parts(ends):
    connection, other = ends
    sender = Connection(other)
    sender.send("one", text="a\nü")
    sender.send("two", number=1.5)
    assert connection.receive() == [{"kind": "one", "text": "a\nü"}, {"kind": "two", "number": 1.5}]
    for part in (b'{"ki', b'nd": "three"}', b'\n{"kind"'):
        assert not connection.closed
        other.send(part)
        found = connection.receive()
    assert found == [{"kind": "three"}]
    other.close()
    assert connection.receive() == []
    assert connection.closed


@pytest.mark.parametrize("text", [b"GET / HTTP/1.1\r\n", b"[]\n", b'{"no": "kind"}\n', b'{"kind": "beat"}\n\xff\n'])
def test_what_is_no_message_closes_the_connection(ends, text):
    connection, other = ends
    other.send(text)
    assert connection.receive() == []
    assert connection.closed


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::ffff:127.0.0.1")])
def test_a_connection_knows_its_own_address(ends, family, host):
    assert ends[0].here == ""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(family) as end:
        end.connect((host, server.getsockname()[1]))
        assert Connection(end).here == "127.0.0.1"


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


def test_a_line_without_an_end_is_not_kept(ends):
    connection, other = ends
    other.setblocking(False)
    while not connection.closed:
        try:
            other.send(b"x" * (1 << 16))
        except BlockingIOError:
            assert connection.receive() == []
    assert connection.closed


def test_what_the_other_side_does_not_read_waits(ends):
    connection, other = ends
    while True:
        connection.send("long", text="x" * (1 << 16))
        connection.send("last")
        if connection._leaving:
            break
    reader = Connection(other)
    kinds = []
    while connection._leaving or not kinds or kinds[-1] != "last":
        kinds += [message["kind"] for message in reader.receive()]
        connection.flush()
    assert kinds == ["long", "last"] * (len(kinds) // 2)


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
