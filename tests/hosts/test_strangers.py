"""Connections of those who do not say who they are: bounded in number and time, named, and no end of a run."""

import contextlib
import socket
import time

import pytest

from tests.hosts.several import held_port
from towerstrat.hosts import rendezvous_listener
from towerstrat.hosts.authentication import MessageKey
from towerstrat.hosts.connections import Connection, Loop
from towerstrat.hosts.heartbeat import Seen
from towerstrat.hosts.process_spec import Place, Timeouts
from towerstrat.hosts.rendezvous_server import RendezvousServer
from towerstrat.hosts.sockets import connect, private_folder
from towerstrat.hosts.supervisor_messages import Beat, FromZero, Register, Welcome

KEY = MessageKey(b"a secret of sixteen")


class Meeting:
    """A server of two processes, to which this one connects."""

    def __init__(self, address, key, heartbeat):
        self.said = []
        self.address = address
        self.loop = Loop()
        place = Place(2, 0, address)
        self.server = RendezvousServer(place, Timeouts(heartbeat=heartbeat), key, self.loop, self.said.append)
        self.server.listen()
        self.clients = []

    def connect(self):
        self.clients.append(connect(self.address, 5.0))
        return self.clients[-1]

    def process(self, index, key=KEY):
        return Connection(self.connect(), key, index, False, FromZero)

    def turn(self):
        for call in self.loop.wait(0.01):
            call()
        self.server.tick()

    def until(self, condition):
        end = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < end, self.said
            self.turn()

    def open(self):
        return len(self.server._listener._strangers)


@contextlib.contextmanager
def meeting(key=KEY, heartbeat=60.0, address=None):
    with private_folder() as folder:
        found = Meeting(address or f"unix:{folder}/meet", key, heartbeat)
        try:
            yield found
        finally:
            found.server.close()
            found.loop.close()
            for client in found.clients:
                client.close()


def register(index):
    return Register(2, index, "host", 1, {}, (), "")


def comes_in(meet, process, index):
    process.send(register(index))
    found = []
    meet.until(lambda: found.extend(process.receive()) or found)
    return isinstance(found[0], Welcome)


def closed(end):
    """Whether the other side has closed a socket."""
    end.setblocking(False)
    try:
        while end.recv(1 << 10):
            pass
    except BlockingIOError:
        return False
    return True


def test_there_is_room_for_so_many_and_the_oldest_goes(monkeypatch):
    monkeypatch.setattr(rendezvous_listener, "_STRANGERS", 3)
    with meeting() as meet:
        own = meet.server.connect()
        strangers = [meet.connect() for _ in range(20)]
        meet.until(lambda: closed(strangers[14]))
        assert meet.open() == 5  # three, and one of each process
        assert not closed(strangers[15])
        assert len(meet.said) == 1  # once, however often it is
        assert "there are too many that have not said who they are. The run goes on." in meet.said[0]
        assert comes_in(meet, own, 0)
        assert comes_in(meet, meet.process(1), 1)
        own.close()


def test_a_few_of_those_who_are_refused_are_named():
    with meeting() as meet:
        for number in range(2 * rendezvous_listener._SHOWN):
            stranger = meet.connect()
            stranger.sendall(b"%d is my number, and no greeting" % number)
            meet.until(lambda stranger=stranger: closed(stranger))
        assert len(meet.said) == rendezvous_listener._SHOWN
        assert [line.endswith("No more are named.") for line in meet.said] == [False] * 7 + [True]


def test_who_says_nothing_goes_after_a_while():
    with meeting(heartbeat=0.05) as meet:
        stranger = meet.connect()
        meet.until(lambda: closed(stranger))
        assert "it has not said who it is for 0.05 s" in meet.said[0]


@pytest.mark.parametrize(
    ("message", "index", "why"),
    [
        (Beat(None, Seen()), 1, "it begins with Beat"),
        (register(0), 1, "it begins with Register"),
        (register(1)._replace(address="nowhere"), 1, "it has the address 'nowhere'"),
        (("no", "record"), 1, "Expected"),
    ],
)
def test_who_does_not_register_is_refused(message, index, why):
    with meeting() as meet:
        process = meet.process(index)
        process.send(message)
        meet.until(lambda: process.receive() or process.closed)
        assert why in meet.said[0]
        assert comes_in(meet, meet.process(1), 1)


def test_another_secret_is_refused():
    with meeting() as meet:
        process = meet.process(1, MessageKey(b"another secret, as long"))
        process.send(register(1))
        meet.until(lambda: process.receive() or process.closed)
        assert "come from another run or secret" in meet.said[0]


@pytest.mark.parametrize(("key", "lines"), [(KEY, 0), (MessageKey(b""), 1)])
def test_a_run_at_a_port_without_a_secret_says_so(key, lines):
    with held_port() as port, meeting(key, address=f"127.0.0.1:{port}") as meet:
        assert [line.partition(":")[0] for line in meet.said] == ["This run has no secret"] * lines
        assert isinstance(meet.connect(), socket.socket)
        assert comes_in(meet, meet.process(1, key), 1)
