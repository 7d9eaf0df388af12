"""On one machine nothing of a run can be reached from elsewhere: the system says what its processes listen at."""

import ipaddress
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.hosts.several import environment

PROGRAM = """
import pathlib, sys, time
import jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.hosts.heartbeat import PROGRESS

mesh = Mesh(np.array(jax.devices()), "t")
total = jax.jit(jax.shard_map(lambda x: jax.lax.psum(x, "t"), mesh=mesh, in_specs=P("t"), out_specs=P()))
numbers = np.arange(1.0, 1.0 + jax.device_count())
own = jax.make_array_from_callback(numbers.shape, NamedSharding(mesh, P("t")), lambda i: numbers[i])
PROGRESS.step(1)
assert float(total(own)[0]) == 3.0
folder = pathlib.Path(sys.argv[1])
(folder / f"sums-{PROCESSES.index}").touch()
while not (folder / "seen").exists():
    time.sleep(0.1)
"""
LISTENS = "0A"

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/net/tcp"), reason="the system does not list its sockets")


def descendants(pid):
    """The processes that a process has started, and those that they have, with itself."""
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def sockets_of(pid):
    """The numbers of its open sockets."""
    found = set()
    for path in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(path)
        except OSError:
            continue
        if target.startswith("socket:["):
            found.add(target.removeprefix("socket:[").removesuffix("]"))
    return found


def listens_at(pid):
    """The addresses and ports of TCP at which it listens."""
    own = sockets_of(pid)
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            _, address, _, state, *others = line.split()
            if state == LISTENS and others[5] in own:
                host, _, port = address.partition(":")
                yield _address(host), int(port, 16)


def _address(text):
    """The kernel writes words of 32 bits in the order of bytes of the machine."""
    words = [int(text[i : i + 8], 16).to_bytes(4, sys.byteorder) for i in range(0, len(text), 8)]
    return ipaddress.ip_address(b"".join(words))


def is_loopback(address):
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def test_addresses_are_read_as_the_kernel_writes_them():
    with subprocess.Popen(
        [sys.executable, "-c", "import socket; s = socket.create_server(('', 0)); print(1, flush=True); input()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as other:  # fmt: skip
        other.stdout.readline()
        assert [str(address) for address, _ in listens_at(other.pid)] == ["0.0.0.0"]
        other.communicate(b"\n")


def test_a_local_run_listens_at_no_address_of_the_network(tmp_path):
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)
    command = [
        sys.executable, "-m", "towerstrat", "launch", "-n", "2", "--devices=1", "--api=2", str(program), str(tmp_path),
    ]  # fmt: skip
    running = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        until = time.monotonic() + 120
        while len(list(tmp_path.glob("sums-*"))) < 2:
            assert running.poll() is None, running.communicate()[0]
            assert time.monotonic() < until
            time.sleep(0.1)
        pids = descendants(running.pid)
        found = {pid: list(listens_at(pid)) for pid in pids}
    finally:
        (tmp_path / "seen").touch()
    output, _ = running.communicate(timeout=60)
    assert running.returncode == 0, output
    assert len(pids) >= 5  # launch, two supervisors, two programs
    addresses = [address for of_one in found.values() for address, _ in of_one]
    assert all(map(is_loopback, addresses)), found
    # Only the programs' data channel is on the loopback: nothing by which processes meet.
    assert sum(map(bool, found.values())) <= 2
