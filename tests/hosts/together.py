"""Runs a program in several processes of this machine, which join one another as hosts do."""

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

BEGIN = """
import faulthandler, runpy, sys
import jax

faulthandler.dump_traceback_later(float(sys.argv.pop(1)), exit=True)
sys.stdout = open(sys.argv.pop(1), "w", buffering=1)  # Gloo writes to the other one, wherever it pleases.
count, index, devices, port = map(int, sys.argv[1:5])
jax.config.update("jax_num_cpu_devices", devices)
if count > 1:
    from towerstrat.hosts.peers import PEERS

    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{port}", count, index, heartbeat_timeout_seconds=60)
    PEERS.count, PEERS.index = count, index
sys.argv = sys.argv[5:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def run(processes, devices, program, *arguments, env=None, bound=240):
    """What each process printed on standard output. Fails where one ends with another status than 0, or none in time.

    Args:
      processes: how many. devices: virtual CPU devices of each.
      program: the path of a script, with its arguments.
      env: variables of the environment besides this process' own.
      bound: seconds after which a process shows where it is, and ends.
    """
    port = free_port()
    environment = {**os.environ, **(env or {}), "JAX_PLATFORMS": "cpu", "TOWERSTRAT_COMPILATION_CACHE": "off"}
    flags = environment.get("XLA_FLAGS", "").split()
    environment["XLA_FLAGS"] = " ".join(f for f in flags if "device_count" not in f)
    with tempfile.TemporaryDirectory() as folder:
        printed = [Path(folder, str(i)) for i in range(processes)]
        started = [
            subprocess.Popen(
                [sys.executable, "-c", BEGIN, str(bound), str(out),
                 *map(str, (processes, i, devices, port, program)), *arguments],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment,
            )
            for i, out in enumerate(printed)
        ]  # fmt: skip
        try:
            errors = [process.communicate(timeout=bound + 60)[1] for process in started]
        finally:
            for process in started:
                process.kill()
                process.wait()
        ends = zip(started, errors, strict=True)
        said = [f"process {i} ended with {p.returncode}:\n{error[-6000:]}" for i, (p, error) in enumerate(ends)]
        assert not any(process.returncode for process in started), "\n".join(said)
        return [out.read_text() for out in printed]
