"""A light program of several processes: steps in lockstep, as programs with collectives have them, without JAX.

    program.py FOLDER STEPS [--seed N]

The processes meet in a file of the folder, which keeps each one's steps. Process 0 writes ``saved``, from which a later
attempt goes on, and ``result``. FAULT=KIND:PROCESS:STEP in the environment, of the first attempt, says what goes wrong.
"""

import mmap
import os
import signal
import sys
import time
from pathlib import Path

from towerstrat.hosts.heartbeat import PROGRESS

_SIZE = 4096
_EACH = 0.01
"""Seconds of a step."""
BUSY = 5.0
"""Seconds in which a process does something else."""


def main(folder, steps, *_):
    count, index = int(os.environ["TOWERSTRAT_HOSTS"]), int(os.environ["TOWERSTRAT_HOST"])
    attempt = int(os.environ["TOWERSTRAT_ATTEMPT"])
    kind, victim, at = (os.environ.get("FAULT", "") + "::").split(":")[:3]
    folder = Path(folder)
    numbers = meeting(folder / f"steps-{attempt}")
    told = []
    signal.signal(signal.SIGTERM, lambda number, frame: told.append(number))
    (folder / f"pid-{index}-{os.getpid()}").touch()
    saved = folder / "saved"
    step, weight = (float(x) for x in saved.read_text().split()) if saved.exists() else (0, 1.0)
    for number in range(int(step) + 1, int(steps) + 1):
        fails = attempt == 1 and str(index) == victim and number == int(at)
        if fails:
            _fail(kind)
        PROGRESS.step(number)
        PROGRESS.share(1)
        if fails and kind == "sleep within":
            time.sleep(1000)
        time.sleep(_EACH)
        numbers[index] = number
        while min(numbers[:count]) < number:
            # Those who are told to end tell the others by a number of their own, as a program with collectives would.
            if told or numbers[count]:
                numbers[count] = 1
                (folder / f"told-{index}").touch()
                sys.exit(0)
            time.sleep(_EACH / 10)
        weight = weight * 1.01 + number / 7
        if index == 0 and number % 5 == 0:
            with PROGRESS.phase("checkpointing", "saved"):
                part = folder / "part"
                part.write_text(f"{number} {weight!r}")
                part.replace(saved)
    if index == 0:
        (folder / "result").write_text(repr(weight))


def meeting(path):
    """Numbers in a file that all processes have."""
    with open(path, "ab") as file:
        file.truncate(_SIZE)
    with open(path, "r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), _SIZE)).cast("q")


def _fail(kind):
    if kind == "raise":
        raise ValueError("a fault of the program's")
    if kind == "exit":
        sys.exit(3)
    if kind == "leave":
        sys.exit(0)
    if kind == "sleep":
        time.sleep(1000)
    if kind == "busy":
        until = time.monotonic() + BUSY
        while time.monotonic() < until:
            PROGRESS.alive()
            time.sleep(_EACH)


if __name__ == "__main__":
    main(*sys.argv[1:])
