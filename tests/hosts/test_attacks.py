"""Strangers who reach a run: what they write or send is refused and named, and the run ends right."""

import os
import pickle
import socket
import subprocess
import sys
import time

import pytest

from tests.hosts.several import environment, held_port
from tests.hosts.stranger import Stranger
from tests.hosts.test_listening import descendants, listens_at, pytestmark  # noqa: F401 - the same systems

SECRET = "a secret for a test, of this run"
PROGRAM = """
import os, pathlib, sys, time
from towerstrat.errors import NotFoundError
from towerstrat.hosts.collectives import COLLECTIVES
from towerstrat.hosts.collectives import COLLECTIVES
from towerstrat.hosts.process_index import PROCESSES

assert not [name for name in os.environ if "SECRET" in name or "KEY" in name and name.startswith("TOWERSTRAT")]
folder = pathlib.Path(sys.argv[1])
(folder / f"there-{PROCESSES.index}").touch()
while not (folder / "attacked").exists():
    time.sleep(0.05)
said = COLLECTIVES.gather(PROCESSES.index + 1, int)
COLLECTIVES.agree("a step", {"its name": "one"}, list)


def fails():
    raise NotFoundError(None, None, "as it should")


try:
    COLLECTIVES.on_first_process(fails)
except NotFoundError as error:
    said.append(error.message)
channel = COLLECTIVES.channel()
if PROCESSES.index:
    channel.report("reported")
    said.append(channel.receive(str))
else:
    said += channel.reports(str)
    channel.broadcast("told")
print("RIGHT", PROCESSES.index, said, flush=True)
"""


class Evil:
    """What makes a file where it is unpickled."""

    def __init__(self, path):
        self._path = path

    def __reduce__(self):
        return os.system, (f"touch {self._path}",)


@pytest.fixture
def run(tmp_path):
    """Two processes that meet at a port and wait for the attack, with their output."""
    with held_port() as port:
        yield from _running(tmp_path, port)


def _running(tmp_path, port):
    (tmp_path / "train.py").write_text(PROGRAM)
    outputs = [tmp_path / f"output-{index}" for index in range(2)]
    started = []
    for index, output in enumerate(outputs):
        command = [
            sys.executable, "-m", "towerstrat", "run", "--hosts=2", f"--host={index}", "--api=2", "--heartbeat=60",
            f"--coordinator=127.0.0.1:{port}", str(tmp_path / "train.py"), str(tmp_path),
        ]  # fmt: skip
        with output.open("wb") as file:
            started.append(
                subprocess.Popen(
                    command, env={**environment(), "TOWERSTRAT_SECRET": SECRET}, stdout=file, stderr=subprocess.STDOUT
                )
            )
    try:
        until = time.monotonic() + 120
        while len(list(tmp_path.glob("there-*"))) < 2:
            assert all(process.poll() is None for process in started), [output.read_text() for output in outputs]
            assert time.monotonic() < until
            time.sleep(0.1)
        yield port, started, outputs
    finally:
        for process in started:
            process.kill()
            process.wait()


def ports(supervisor):
    """Where the programs of a supervisor listen."""
    return {port for pid in descendants(supervisor.pid) - {supervisor.pid} for _, port in listens_at(pid)}


def write_everywhere(address, value):
    """Writes over everything that processes may read next; how much the service has taken."""
    stranger = Stranger(address)
    taken = 0
    for i in range(1, 12):
        for process in range(2):
            taken += stranger.write(f"towerstrat/agreement/{i}/{process}/0", value)
            taken += stranger.write(f"towerstrat/talk/{i}/told/1/{process}/0", value)
            taken += stranger.write(f"towerstrat/talk/{i}/reported/1/{process}/0", value)
    stranger.close()
    return taken


def test_pickles_in_the_store_and_messages_at_the_port_are_refused_and_the_run_ends_right(run, tmp_path):
    port, started, outputs = run
    owned = tmp_path / "owned"
    taken = 0
    for other in ports(started[0]):
        try:
            taken += write_everywhere(("127.0.0.1", other), b"." + pickle.dumps(Evil(owned)))
        except OSError:  # the data channel
            continue
    assert taken >= 30  # the attack came as far as it can
    for text in (b"GET / HTTP/1.1\r\n\r\n", pickle.dumps(Evil(owned))):
        with socket.create_connection(("127.0.0.1", port)) as end:
            end.sendall(text)
            while end.recv(1 << 16):
                pass
    (tmp_path / "attacked").touch()
    statuses = [process.wait(120) for process in started]
    texts = [output.read_text() for output in outputs]
    assert statuses == [0, 0], texts
    assert "RIGHT 0 [1, 2, 'as it should', 'reported']" in texts[0]
    assert "RIGHT 1 [1, 2, 'as it should', 'told']" in texts[1]
    assert not owned.exists()
    # A process that reads after the other has written finds the other's words, and nothing to refuse.
    assert any("Refused in the store of the run: " in text for text in texts)
    assert "Refused at 127.0.0.1" in texts[0]
    assert "which no supervisor says. The run goes on." in texts[0]
    assert "has no secret" not in texts[0]
