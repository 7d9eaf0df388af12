"""Kills a training program at random moments, starts it again, and compares what it comes to with an undisturbed run.

    python -m tests.training.saving.killing FOLDER [--chains=20] [--kills=25] [--loops=150] [--seconds=500]

Half of the chains write all checkpoints to one prefix. What was done is kept in FOLDER, and the same command goes on
with it.
The last line says how many kills there were.
"""

import argparse
import json
import os
import random
import shutil
import signal
import time
from pathlib import Path

import jax

from tests.training.saving import resumed

TOWERS = 2
MOST_LOOPS = 4
"""So many loops begin at most before a kill: fewer than a chain has for each, however slow the machine is."""


def life(folder, loops, same, kill=None):
    """Runs the program in a process of its own; the digest it ends with, None where it was killed.

    Args:
      kill: (number, seconds): so much later than so many loops have begun it is killed.
    """
    read, write = os.pipe()
    child = os.fork()
    if not child:
        jax.config.update("jax_num_cpu_devices", TOWERS)
        # The undisturbed run fills it: later ones begin sooner.
        jax.config.update("jax_compilation_cache_dir", str(folder.parent / "programs"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        digest = resumed.main(jax.devices(), str(folder), loops, same, lambda: os.write(write, b"."))
        os.write(write, f"\n{digest}".encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb", buffering=0) as output:
        said = output.read(1)
        if kill is not None:
            while said.count(b".") < kill[0] and (character := output.read(1)):
                said += character
            time.sleep(kill[1])
            os.kill(child, signal.SIGKILL)
        said += output.read()
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL), status
    return said.rpartition(b"\n")[2].decode() if status == 0 else None


def chain(folder, number, kills, loops, same, until):
    """Goes on with a chain; how many kills it has had, and the digest at its end, None where time was up."""
    place = folder / f"chain{number}"
    kept = folder / f"chain{number}.json"
    done = json.loads(kept.read_text()) if kept.exists() else {"kills": 0, "digest": None}
    chance = random.Random(f"{number} {done['kills']}")
    while done["digest"] is None and time.time() < until:
        last = done["kills"] == kills
        done["digest"] = life(
            place, loops, same, None if last else (chance.randint(1, MOST_LOOPS), chance.uniform(0, 0.05))
        )
        done["kills"] += not last
        kept.write_text(json.dumps(done))
    if done["digest"] is not None:
        shutil.rmtree(place, ignore_errors=True)
    return done


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    for name, default in (("chains", 20), ("kills", 25), ("loops", 150), ("seconds", 500)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    until, total, ended = time.time() + given.seconds, 0, 0
    wanted = life(given.folder / "undisturbed", given.loops, False)
    shutil.rmtree(given.folder / "undisturbed")
    for number in range(given.chains):
        done = chain(given.folder, number, given.kills, given.loops, number % 2 == 1, until)
        total += done["kills"]
        if done["digest"] is not None:
            assert done["digest"] == wanted, f"chain {number} came to something else: {done}"
            ended += 1
    print(f"{total} kills; {ended} of {given.chains} chains ended, each equal bit for bit")


if __name__ == "__main__":
    main()
