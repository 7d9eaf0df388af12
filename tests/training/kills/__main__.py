"""Trains drawn models in many ways, kills them, goes on, and compares the bits with a run that nobody killed.

    python -m tests.training.kills [--count 100] [--seed 0] [--ways NAME,...] [--kills 1] [--seconds 3600] [--folder F]

Each run draws its model, and each of its lives how it divides the steps, when it saves and what its hooks look at. A
life ends by SIGKILL at a drawn moment, or as a drawn checkpoint appears. The last line says how many kills there were;
the exit status is 1 where bits differ. ``--only N`` does the run with that number alone.
"""

import argparse
import hashlib
import importlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

import jax
import numpy as np

from tests.training.kills import drawn
from towerstrat.graph.runtime.programs.limits import LIMITS

NAMES = {
    "monitored": "programs_v1",
    "estimator": "programs_v1",
    "tpu_estimator": "programs_v1",
    "steps": "programs_v1",
    "keras": "programs_v2",
    "mirrored": "programs_v1",
    "mirrored_estimator": "programs_v1",
    "mirrored_keras": "programs_v2",
}


def live(folder, way, model, division, say):
    """One life, in this process: the digests of the variables at its end, by name."""
    jax.config.update("jax_num_cpu_devices", drawn.TOWERS)
    jax.config.update("jax_compilation_cache_dir", os.environ["KILLS_PROGRAMS"])
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    LIMITS.steps_per_return, LIMITS.input_bytes = division.at_once, division.input_bytes
    ways = importlib.import_module(f"tests.training.kills.{NAMES[way]}").WAYS
    values = ways[way](str(folder), model, division, lambda: say(b"."))
    return {name: hashlib.sha256(np.asarray(v).tobytes()).hexdigest() for name, v in values.items()}


def life(folder, way, model, division, kill=None):
    """A life in a process of its own: what ``live`` gives, None where it was killed.

    Args:
      kill: when: (seconds, None) after training began, or (seconds, a number) after so many new checkpoints.
    """
    folder.mkdir(parents=True, exist_ok=True)
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        log = os.open(f"{folder}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        status = 1
        try:
            print("LIFE", division, kill, flush=True)
            found = live(folder, way, model, division, lambda data: os.write(write, data))
            os.write(write, f"\n{json.dumps(found)}".encode())
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)
    os.close(write)
    with os.fdopen(read, "rb", buffering=0) as output:
        said = output.read(1)
        if kill is not None and said:
            _wait(folder, child, *kill)
            os.kill(child, signal.SIGKILL)
        rest = b"".join(iter(lambda: output.read(1 << 16), b""))
    _, status = os.waitpid(child, 0)
    if status not in (0, signal.SIGKILL):
        raise RuntimeError(f"{folder}.log: {way} ended with {status}")
    return json.loads(rest.rpartition(b"\n")[2]) if status == 0 else None


def _wait(folder, child, seconds, checkpoints):
    """Waits for the moment of a kill, or for the end of the process."""
    before = set(folder.rglob("*.index"))
    seen = set(before)
    while checkpoints is not None and len(seen) < len(before) + checkpoints:
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return
        time.sleep(0.001)
        seen |= set(folder.rglob("*.index"))
    time.sleep(seconds)


def run(number, seed, way, kills, folder):
    """One run: how many kills it had, and the names of variables whose bits differ."""
    chance = random.Random(f"{seed} {number} {way}")
    model, began = drawn.model(chance), time.time()
    wanted = life(folder / "whole", way, model, drawn.division(chance))
    killed = 0
    while killed < kills:
        early, late = (chance.uniform(0, 1), None), (chance.choice([0, chance.uniform(0, 0.05)]), chance.randint(1, 3))
        if life(folder / "parts", way, model, drawn.division(chance), chance.choice([early, late, late])) is None:
            killed += 1
        elif killed == 0:  # It has ended before.
            shutil.rmtree(folder / "parts")
        else:
            break
    found = life(folder / "parts", way, model, drawn.division(chance))
    different = sorted(name for name in wanted.keys() | found.keys() if found.get(name) != wanted.get(name))
    said = f"DIFFERS in {len(different)}, {different[:3]}" if different else "equal"
    print(f"{number} {way}, {killed} killed, {time.time() - began:.0f} s: {said}; {model}", flush=True)
    return killed, different


def runs(module, numbers, given, folder):
    """All runs of the ways in one module, which is imported once for them: how many kills there were, and bad runs."""
    importlib.import_module(module)
    total = bad = 0
    for number in numbers:
        if time.time() > given.until:
            break
        way, place = given.ways[number % len(given.ways)], folder / f"run{number}"
        killed, different = run(number, given.seed, way, given.kills, place)
        total, bad = total + killed, bad + bool(different)
        if not different:
            shutil.rmtree(place)
    return total, bad


def apart(function, *args):
    """What a function gives in a process of its own, as JSON says it."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(write, json.dumps(function(*args)).encode())
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as output:
        said = output.read()
    os.waitpid(child, 0)
    return json.loads(said)


def main():
    parser = argparse.ArgumentParser()
    for name, default in (("count", 100), ("seed", 0), ("kills", 1), ("seconds", 3600)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--only", type=int)
    parser.add_argument("--ways", default=",".join(NAMES), type=lambda names: names.split(","))
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    given.until = time.time() + given.seconds
    folder = given.folder or Path(tempfile.mkdtemp(prefix="kills-"))
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("KILLS_PROGRAMS", str(folder / "programs"))
    numbers = range(-(-given.count // given.kills)) if given.only is None else [given.only]
    total = bad = 0
    for module in sorted({NAMES[way] for way in given.ways}):
        own = [n for n in numbers if NAMES[given.ways[n % len(given.ways)]] == module]
        more = apart(runs, f"tests.training.kills.{module}", own, given, folder)
        total, bad = total + more[0], bad + more[1]
    print(f"{total} kills; {bad} runs differ")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
