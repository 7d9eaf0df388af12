"""Branches and loops around gradient averaging: all processes agree on the way before they take it.

Processes that go different ways would wait in different rounds for ever. So each says its predicate in a round of
its own before a branch, and its condition before every iteration of a loop:

    if step % 10 == 0: apply_gradients     process 0: True     process 1: False
    round                                  [True, False]  -> FailedPreconditionError in both, naming the predicate

A round is a mean, as of gradients: each process brings a vector with its own bool at its own index and zeros elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from towerstrat.errors import FailedPreconditionError
from towerstrat.graph.ir.graph_elements import Block, Operation
from towerstrat.graph.ir.types import Array
from towerstrat.graph.ops.collectives.worker_mean import TYPE
from towerstrat.graph.runtime.collective.gradient_mean_stage import absence_from, taking_part
from towerstrat.graph.runtime.plans.host_control_flow_stage import HostBranch, HostLoop
from towerstrat.graph.runtime.plans.runner import CollectiveStage, Run
from towerstrat.graph.runtime.programs.program_cache import to_host
from towerstrat.hosts.gradient_rendezvous import MEETING, Layout
from towerstrat.hosts.process_index import PROCESSES

_INSTEAD = (
    "Make it the same in all of them, such as by the global step; or let the optimizer apply gradients in every step, "
    "and choose what these are: zeros where a process has nothing to add."
)


class CollectiveBranch(HostBranch, CollectiveStage):
    """The stage of an ``If`` whose branches average gradients: a consensus on the predicate comes first."""

    def run(self, run: Run) -> None:
        if run.session.meets:
            taken = bool(np.reshape(to_host(run.values[self.op.inputs[0]]), ()))
            _require(run, self, self.op, self.op.inputs[0].op, "predicate", taken)
            if _meets(self.op.bodies[0 if taken else 1]):
                # What fails inside is said in a round inside.
                with taking_part(run, self):
                    super().run(run)
                return
        super().run(run)

    def missed(self, run: Run, error: BaseException) -> None:
        _miss(run, self, self.op, error)


class CollectiveLoop(HostLoop, CollectiveStage):
    """The stage of a ``While`` whose body averages gradients: a consensus on the condition before each iteration."""

    def run_from(self, run: Run, values: Sequence[Array], done: int, total: int | None) -> None:
        if run.session.meets and not self.endless:
            condition = self.op.bodies[0].results[0].op
            while True:
                goes_on = done < total if total is not None else self.goes_on(run, values, done)
                _require(run, self, self.op, condition, "condition", goes_on)
                if not goes_on:
                    break
                with taking_part(run, self):
                    values = self.iterate(run, values)
                del run.kept[self]  # The next round is still to come.
                done += 1
            self.finish(run, values, done)
        else:
            super().run_from(run, values, done, total)

    def missed(self, run: Run, error: BaseException) -> None:
        _miss(run, self, self.op, error)


def meets_inside(op: Operation) -> bool:
    """Whether processes average gradients in one of its bodies."""
    return PROCESSES.count > 1 and any(_meets(body) for body in op.bodies)


def _meets(block: Block) -> bool:
    return any(inner.type == TYPE or any(map(_meets, inner.bodies)) for inner in block.needed)


def _require(run: Run, stage: CollectiveStage, op: Operation, decides: Operation, what: str, mine: bool) -> None:
    """Exchange a bool between all processes; return if it is the same in all. One round.

    Raises:
      FailedPreconditionError: it is not; in all of them.
    """
    run.settle_before()
    ways = np.zeros(PROCESSES.count, np.float32)
    ways[PROCESSES.index] = mine
    with taking_part(run, stage):
        (means,), _ = MEETING.mean(_layout(op), [ways], [])
        found = [bool(each) for each in np.asarray(means)]
        if len(set(found)) > 1:
            raise _difference(op, decides, what, found)


def _layout(op: Operation) -> Layout:
    return Layout((f"the way of {op.name}",), (((PROCESSES.count,), "float32"),), ())


def _miss(run: Run, stage: CollectiveStage, op: Operation, error: BaseException) -> None:
    if (absence := absence_from(run, stage, error)) is not None:
        MEETING.miss(_layout(op), absence)


def _difference(op: Operation, decides: Operation, what: str, found: Sequence[bool]) -> FailedPreconditionError:
    ways = " and ".join(
        f"{way} in {_processes(i for i, each in enumerate(found) if each is way)}" for way in (True, False)
    )
    return FailedPreconditionError(
        None, op,
        f"The {what} of {op.name} (type {op.type}, created at {op.line}) is {ways}, of {PROCESSES.count}. They average "
        f"gradients inside, and would wait for one another. It is made by {decides.name} (created at {decides.line}). "
        f"{_INSTEAD}",
    )  # fmt: skip


def _processes(numbers: Iterable[int]) -> str:
    listed = [str(number) for number in numbers]
    return f"process{'es' if len(listed) > 1 else ''} {', '.join(listed)}"
