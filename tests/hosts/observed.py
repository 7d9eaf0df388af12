"""Runs programs of ``examples``, unedited, one after the other, and writes down the numbers that each sees.

    towerstrat launch -n 2 --devices 2 --api 1 tests/hosts/observed.py OUT DATA digits mirrored_loop

These are what its sessions return and the eager values that it reads, in the order of its main thread: process I writes
``OUT/NAME/seen-I.npz``. What Python and numpy draw without a seed is the same in each run.
"""

import os
import random
import runpy
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from absl import flags

import towerstrat.compat.v1 as tf
from tests.hosts.examples import EXAMPLES, PROGRAMS
from towerstrat.compat.estimator.tpu.input_modes import PER_HOST_V2
from towerstrat.compat.estimator.tpu.placement import Placement
from towerstrat.graph.eager.tensor import EagerTensor
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.runtime.sessions.session import BaseSession
from towerstrat.hosts.process_index import PROCESSES

LIBRARY = os.sep + "towerstrat" + os.sep
SEEN = []


def see(value):
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        see(inner)
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufc":
        SEEN.append(np.asarray(value))
    return value


def watch():
    """From now on what programs see is kept in ``SEEN``."""

    def reading(inner):
        def read(self, *args):
            if LIBRARY not in sys._getframe(1).f_code.co_filename:
                see(self.host())
            return inner(self, *args)

        return read

    def running(inner):
        def run(self, *args, **kwargs):
            found = inner(self, *args, **kwargs)
            return see(found) if threading.current_thread() is threading.main_thread() else found

        return run

    for name in ("numpy", "__int__", "__float__", "__format__"):
        setattr(EagerTensor, name, reading(getattr(EagerTensor, name)))
    BaseSession.run = running(BaseSession.run)


@contextmanager
def fresh(program):
    """A program begins in here as in an interpreter of its own, as far as it could tell."""
    before, path, mode = set(flags.FLAGS), list(sys.path), Placement.input_mode
    random.seed(1)
    np.random.seed(1)
    if not get_default_graph().executing_eagerly:
        tf.reset_default_graph()
    if program.by_tower:
        Placement.input_mode = PER_HOST_V2
    try:
        yield
    finally:
        sys.path[:], Placement.input_mode = path, mode
        for name in set(flags.FLAGS) - before:
            delattr(flags.FLAGS, name)
        flags.FLAGS.unparse_flags()
        for name, module in list(sys.modules.items()):
            if name != "__main__" and str(getattr(module, "__file__", None) or "").startswith(str(EXAMPLES)):
                del sys.modules[name]


def run(program, folder, data):
    for arguments in program.commands(folder, data, PROCESSES.count):
        script = str(EXAMPLES / program.script)
        with fresh(program):
            sys.argv = [script, *arguments]
            sys.path[0] = str(Path(script).parent)
            try:
                runpy.run_path(script, run_name="__main__")
            except SystemExit as end:
                if end.code:
                    raise


def main(out, data, *names):
    watch()
    for name in names:
        folder = Path(out) / name
        (folder / "files").mkdir(parents=True, exist_ok=True)
        print(f">> {name}", flush=True)
        SEEN.clear()
        run(PROGRAMS[name], folder / "files", Path(data) / name)
        np.savez(folder / f"seen-{PROCESSES.index}.npz", *SEEN)


if __name__ == "__main__":
    main(*sys.argv[1:])
