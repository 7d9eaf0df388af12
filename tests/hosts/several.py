"""Runs a module in several processes that have joined, without supervisors, and collects what each has printed.

    python -m tests.hosts.several 2 4 tests.hosts.cases

starts ``tests.hosts.cases`` in two processes of four virtual devices each.
"""

import contextlib
import json
import os
import runpy
import socket
import subprocess
import sys
from pathlib import Path

import jax

from towerstrat.hosts.process_index import PROCESSES

ROOT = Path(__file__).parent.parent.parent


@contextlib.contextmanager
def held_port():
    """A free port, which stays free: a socket is bound to it that does not listen, beside which a server can be."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def _start(processes, devices, port, module, arguments):
    """The processes, which print to pipes."""
    command = [sys.executable, "-m", "tests.hosts.several", "--as"]
    return [
        subprocess.Popen(
            [*command, str(index), str(processes), str(devices), str(port), module, *arguments],
            cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for index in range(processes)
    ]  # fmt: skip


def run(processes, devices, module, arguments=(), seconds=300):
    """(exit status, output, errors) of each process. One that is not done after so many seconds is killed."""
    with held_port() as port:
        running = _start(processes, devices, port, module, arguments)
        try:
            outputs = [process.communicate(timeout=seconds) for process in running]
        finally:
            for process in running:
                process.kill()
    return [(process.returncode, *output) for process, output in zip(running, outputs, strict=True)]


def lines(processes, devices, module, arguments=()):
    """The lines that each process has printed. Fails where one has failed."""
    done = run(processes, devices, module, arguments)
    assert all(status == 0 for status, _, _ in done), "\n".join(errors[-3000:] for *_, errors in done)
    return [output.splitlines() for _, output, _ in done]


def values(processes, devices, module, arguments=()):
    """What each process has printed in its last line, as JSON."""
    return [json.loads(printed[-1]) for printed in lines(processes, devices, module, arguments)]


def environment():
    """That of this process, for programs of this checkout, without its number of devices."""
    flags = " ".join(f for f in os.environ.get("XLA_FLAGS", "").split() if "device_count" not in f)
    return {**os.environ, "PYTHONPATH": str(ROOT), "XLA_FLAGS": flags}


def _one(index, processes, devices, port, module, *arguments):
    """This process as one of several, whose standard output is Python's alone: gloo's threads write there in pieces."""
    sys.stdout = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    jax.config.update("jax_num_cpu_devices", int(devices))
    if int(processes) > 1:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(f"127.0.0.1:{port}", int(processes), int(index))
        PROCESSES.join(int(processes), int(index))
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    if sys.argv[1] == "--as":
        _one(*sys.argv[2:])
    else:
        found = run(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:], seconds=3600)
        for number, (status, output, errors) in enumerate(found):
            print(f"--- process {number}: exit status {status}\n{output}{errors}")
        sys.exit(max(abs(status) for status, *_ in found))
