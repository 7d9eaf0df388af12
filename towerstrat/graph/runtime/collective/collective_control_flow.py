"""Branches and loops with ``MeanOverWorkers`` inside: a round before each decides that all processes go the same way.

If one process took the branch that averages gradients and another did not, the first would wait for the other forever.
So the predicate, and before each iteration the condition, is gathered first (``_require``), and where it differs all
processes raise ``FailedPreconditionError``, with the lines of the branch and of its predicate:

    tf.cond(step % 2 == 0, train, skip)         optimizer inside ``train``

    process 0     predicate True     round of predicates: [True, True]     train: round of gradients
    process 1     predicate True     round of predicates: [True, True]     train: round of gradients

>>> from towerstrat.graph.ir.graph import Graph
>>> from towerstrat.graph.ir.tensor_conversion import constant
>>> with Graph().as_default():
...     even = constant(True, name="even").op
>>> _difference(even, even, "predicate", [True, False, True]).message
'The predicate of even (type Const, created at ...) is True in processes 0, 2 and False in process 1, of ...'

The gather is an ordinary round of ``GRADIENT_ROUNDS``: each process brings a vector with its bit at its own index and
zeros elsewhere; an entry of the mean is nonzero where that process's bit is set. So a process that has failed is heard
of there too (``miss``).

Operations outside of branches and loops are in ``gradient_mean_stage``.
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
from towerstrat.hosts.gradient_rendezvous import GRADIENT_ROUNDS, Layout
from towerstrat.hosts.process_index import PROCESSES

_INSTEAD = (
    "Make it the same in all of them, such as by the global step; or let the optimizer apply gradients in every step, "
    "and choose what these are: zeros where a process has nothing to add."
)


class CollectiveBranch(HostBranch, CollectiveStage):
    """Stage of an ``If`` whose branches average gradients: gathers the predicate, then runs the branch taken."""

    def run(self, run: Run) -> None:
        if run.session.meets:
            predicate = bool(np.reshape(to_host(run.values[self.op.inputs[0]]), ()))
            _require(run, self, self.op, self.op.inputs[0].op, "predicate", predicate)
            if _meets(self.op.bodies[0 if predicate else 1]):
                # A failure inside is reported by the rounds inside, not by another round of predicates.
                with taking_part(run, self):
                    super().run(run)
                return
        super().run(run)

    def miss(self, run: Run, error: BaseException) -> None:
        _miss(run, self, self.op, error)


class CollectiveLoop(HostLoop, CollectiveStage):
    """Stage of a ``While`` whose body averages gradients: gathers the condition before each iteration.

    A loop whose condition is the constant True has nothing to gather.
    """

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
                del run.kept[self]  # From here on a failure comes before the next round, which it owes.
                done += 1
            self.finish(run, values, done)
        else:
            super().run_from(run, values, done, total)

    def miss(self, run: Run, error: BaseException) -> None:
        _miss(run, self, self.op, error)


def meets_inside(op: Operation) -> bool:
    """Whether one of an operation's bodies, at any depth, averages gradients over several processes."""
    return PROCESSES.count > 1 and any(_meets(body) for body in op.bodies)


def _meets(block: Block) -> bool:
    return any(inner.type == TYPE or any(map(_meets, inner.bodies)) for inner in block.needed)


def _require(
    run: Run, stage: CollectiveStage, op: Operation, decides: Operation, description: str, decision: bool
) -> None:
    """Gathers the decision of each process, in one round.

    Args:
      run: the one before it, whose checks may be late, is waited for first.
      stage: its part in the round is recorded, for the case that the run fails.
      op: the branch or loop.
      decides: the operation that makes the predicate.
      description: its name in the error.
      decision: this process's decision.

    Raises:
      FailedPreconditionError: the decisions differ; raised in all processes.
    """
    run.raise_earlier_errors()
    ways = np.zeros(PROCESSES.count, np.float32)
    ways[PROCESSES.index] = decision
    with taking_part(run, stage):
        (means,), _ = GRADIENT_ROUNDS.mean(_layout(op), [ways], [])
        decisions = [bool(each) for each in np.asarray(means)]
        if len(set(decisions)) > 1:
            raise _difference(op, decides, description, decisions)


def _layout(op: Operation) -> Layout:
    return Layout((f"the way of {op.name}",), (((PROCESSES.count,), "float32"),), ())


def _miss(run: Run, stage: CollectiveStage, op: Operation, error: BaseException) -> None:
    """Takes part in the gather of a decision with this run's error, where that round is still owed."""
    if (absence := absence_from(run, stage, error)) is not None:
        GRADIENT_ROUNDS.miss(_layout(op), absence)


def _difference(
    op: Operation, decides: Operation, description: str, decisions: Sequence[bool]
) -> FailedPreconditionError:
    ways = " and ".join(
        f"{way} in {_processes(i for i, each in enumerate(decisions) if each is way)}" for way in (True, False)
    )
    return FailedPreconditionError(
        None, op,
        f"The {description} of {op.name} (type {op.type}, created at {op.line}) is {ways}, of {PROCESSES.count}. They "
        f"average gradients inside, and would wait for one another. It is made by {decides.name} (created at "
        f"{decides.line}). {_INSTEAD}",
    )  # fmt: skip


def _processes(numbers: Iterable[int]) -> str:
    listed = [str(number) for number in numbers]
    return f"process{'es' if len(listed) > 1 else ''} {', '.join(listed)}"
