"""Going on exactly: what a run has besides its variables is saved with them, and taken when they are restored.

These are the counters of random operations, the numbers of passes over datasets, the positions of iterators, and what
towers have of their own in variables (``tower_values``). They are in the side file of a checkpoint
(``towerstrat.checkpoints.side_files``), and matched by the names of operations, iterators and variables, and by what a
pipeline consists of: what has changed in the program begins anew, and the log says so. The frame is there too, in which
they make the same bits (``run_frame``).
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from towerstrat.checkpoints.checkpoint_file import opened
from towerstrat.checkpoints.side_files import is_there, read
from towerstrat.checkpoints.state_codec import decoded, encoded
from towerstrat.data.iterators.session_iterators import resume_iterator
from towerstrat.data.pipeline.iterator_state import at_one_moment
from towerstrat.data.pipeline.nodes import PASSES
from towerstrat.errors import DataLossError
from towerstrat.graph.eager.context import EagerSession
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.runtime.plans.runner import Runner
from towerstrat.graph.runtime.sessions.session import BaseSession
from towerstrat.hosts.collectives import COLLECTIVES
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.platform import logs
from towerstrat.platform.plain import State
from towerstrat.training.saving import run_frame
from towerstrat.training.saving.tower_values import own_values, take_own_values

_OF = " of process "
"""What is between the name of an iterator and the number of the process whose place it is."""
_values_only: ContextVar[bool] = ContextVar("values_only", default=False)


@contextmanager
def values_only() -> Iterator[None]:
    """Inside, checkpoints that are saved or restored are the values of variables alone: what follows is another run."""
    token = _values_only.set(True)
    try:
        yield
    finally:
        _values_only.reset(token)


def saved(runner: Runner) -> bytes | None:
    """The contents of the side file of a checkpoint that a session writes now; None where there is nothing to say."""
    if _values_only.get():
        return None
    store = runner.state
    counts = runner.counts()
    counters = {cell.name: np.asarray(store.get(cell)) for cell in store if cell.default is not None}
    with at_one_moment():
        iterators = {name: resource.state() for name, resource in runner.positions.items() if resource.initialized}
        passes = PASSES.by_name() if isinstance(runner, EagerSession) else {}
    apart = {name for name, resource in runner.positions.items() if resource.traits.apart}
    state = {
        "counters": {name: value for name, value in (store.pending_restores | counters).items() if name not in counts},
        "counts": counts,
        "passes": passes,
        "towers": own_values(store),
        "iterators": of_all_processes(runner.waiting.states | iterators, apart),
    }
    return encoded({**state, "frame": run_frame.frame()}) if any(state.values()) else None


def resume(prefix: str, runner: Runner, restored: Set[str] | None = None) -> None:
    """Takes what the side file of a checkpoint has, after its variables were restored.

    Iterators that are initialized go to their places at once, others when they are initialized first, unless something
    was taken or trained before. A checkpoint of which a part was restored begins another run: then nothing is taken.

    Args:
      prefix: of the checkpoint.
      runner: the session.
      restored: the names of what was restored. None: what is not there yet will be, as objects are made.
    """
    runner.state.own_values = {}
    if _values_only.get() or not is_there(prefix):
        return
    if restored is not None and not restored >= set(opened(prefix).entries):
        logs.info("A part of %s is restored: random numbers and input are not those of its run.", prefix)
        return
    try:
        state = read(prefix)
    except DataLossError as error:
        logs.warning("%s The random numbers and the input of this run begin anew.", error.message)
        return
    if state is None:  # removed meanwhile
        return
    runner.state.own_values = dict(state.get("towers", {}))
    take_own_values(runner.state, runner.state)
    taken = [_counters(runner, state), *_iterators(runner, of_this_process(state["iterators"]))]
    if isinstance(runner, EagerSession):
        PASSES.expect(state.get("passes", {}))
    logs.info("Going on with the run of %s: %s.", prefix, ", ".join(filter(None, taken)) or "nothing was taken")
    other = run_frame.differences(state.get("frame", {}), run_frame.frame()) if PROCESSES.index == 0 else []
    if other:
        logs.warning(
            "The run of %s goes on under another frame than it was saved under, and its numbers may differ in their "
            "last bits from those that it would have come to: %s.", prefix, "; ".join(other),
        )  # fmt: skip


def _counters(runner: Runner, state: State) -> str:
    """Sets the counters of random operations and passes; in words how many there were."""
    store, found = runner.state, state["counters"]
    if isinstance(runner, BaseSession):
        found = _known(runner.graph, found)
    pending = {name: np.asarray(n, np.uint32) for name, n in state["counts"].items()} | found
    store.pending_restores = pending
    there = {cell: pending[cell.name] for cell in store if _is_counter(cell) and cell.name in pending}
    store.update(there)
    return f"random counters of {_counted(found, 'operation')}" if found else ""


def _known(graph: Graph, found: dict[str, Any]) -> dict[str, Any]:
    """The values for the counters that a graph has; others are logged."""
    cells = {name: cell for name, cell in graph.cells().items() if _is_counter(cell)}
    shapes = {name: (cell.axis.size,) if cell.axis and cell.is_varying else () for name, cell in cells.items()}
    fitting = {name: value for name, value in found.items() if shapes.get(name) == value.shape}
    other = sorted(found.keys() - fitting.keys())
    if other:
        logs.warning(
            "The random counters of %s are not taken: this program has no such operations, or another number of "
            "towers.", f"{_counted(other, 'operation')} ({', '.join(other[:3])}{', ...' if len(other) > 3 else ''})",
        )  # fmt: skip
    return fitting


def _is_counter(cell: StateVariable) -> bool:
    return cell.default is not None


def of_all_processes(states: dict[str, State], apart: Set[str]) -> dict[str, State]:
    """The states of iterators, with those of other processes where they differ. All processes come to it together.

    Args:
      states: of this process' iterators, by name.
      apart: the names of those over a pipeline of its own. Others are at one place of one pipeline, of which each
        process may hold parts of elements that were taken ahead.
    """
    parts = {name for name, state in states.items() if "own" in state.get("place", ())}
    if PROCESSES.count == 1 or not (apart | parts):
        return states
    different = {name: state for name, state in states.items() if name in apart | parts}
    found = [decoded(data) for data in COLLECTIVES.gather_bytes(encoded(different))]
    whose = {f"{name}{_OF}{i}": state for i, theirs in enumerate(found) for name, state in theirs.items()}
    return {name: state for name, state in states.items() if name not in apart} | whose


def of_this_process(states: dict[str, State]) -> dict[str, State]:
    """The states that are for this process' iterators, by name, of those that ``of_all_processes`` gave."""
    processes = {int(name.rpartition(_OF)[2]) for name in states if _OF in name}
    same = {name: state for name, state in states.items() if _OF not in name}
    if len(processes) != PROCESSES.count:
        lost = sorted({name.partition(_OF)[0] for name in states} - same.keys())
        if lost:
            logs.warning(
                "The places of %s are not taken: they are of %d processes, each with a pipeline of its own, and this "
                "program has %d.", ", ".join(lost[:3]), len(processes), PROCESSES.count,
            )  # fmt: skip
        return same
    mine = f"{_OF}{PROCESSES.index}"
    return same | {name.removesuffix(mine): state for name, state in states.items() if name.endswith(mine)}


def _iterators(runner: Runner, states: dict[str, State]) -> list[str]:
    """Moves iterators, or has their states wait; in words how many there were."""
    variables = [cell for cell in runner.state if not _is_counter(cell)]
    now = [name for name in states if name in runner.positions and runner.positions[name].initialized]
    runner.waiting.expect({name: state for name, state in states.items() if name not in now}, variables)
    moved = [name for name in now if resume_iterator(name, runner.positions[name], states[name])]
    waiting = [name for name, state in runner.waiting.states.items() if "place" in state]
    return [
        f"positions of {_counted(moved, 'iterator')}" if moved else "",
        f"positions of {_counted(waiting, 'iterator')} once initialized" if waiting else "",
    ]


def _counted(things: Any, what: str) -> str:
    return f"{len(things)} {what}{'' if len(things) == 1 else 's'}"
