"""Gradient averaging between processes that each run a program of their own, and the broadcast of initial values.

Between-graph training: every process builds its own graph and calls ``run`` at its own pace; in the stage of a
``MeanOverWorkers`` operation they meet in a round (``hosts/gradient_rendezvous``), and all get the mean. Of two
processes:

    process 0     gradient w: [1., 3.]       process 1     gradient w: [3., 5.]
    round         layout ("w", float32[2]) must be equal in both, then the mean
    both          [2., 4.]                   of IndexedSlices: the rows of both

Before the first round about a variable all processes take the value of the first one (``share_values``), so that equal
means keep the copies equal.

A process whose run fails must not leave the others waiting. ``absence_from`` decides what it says, by how far it was:
before its round it takes part as failed (all others raise); inside the round all have heard the error; after it, it
fails in the next round. ``run.kept[stage]`` records which: absent, False (inside), True (done).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from towerstrat.errors import OutOfRangeError
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.mesh import on_one_device
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.types import string
from towerstrat.graph.lowering.lowering_errors import DifferentShapes
from towerstrat.graph.runtime.plans.plan import Stages
from towerstrat.graph.runtime.plans.runner import CollectiveStage, Run, Runner
from towerstrat.graph.variables.variables import GraphKeys
from towerstrat.hosts.gradient_rendezvous import MEETING, Layout, RoundMessage, Rows, SkippedRound
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.platform import logs

_IN_STEP = (
    "%d processes train together: each step takes the mean of their gradients, and one global step is one round of all "
    "of them. The original applied each worker's gradients as they came, and counted each of them."
)
_ALONE = (
    "This session is connected to no cluster, so that this process, one of %d, trains on its own gradients alone. To "
    "train together give the session the target of a tf.train.Server of a cluster of as many tasks."
)


class GradientMeanStage(CollectiveStage):
    """The stage of a ``MeanOverWorkers`` operation.

    Args:
      op: the operation.
      stages: changes nothing: it has no bodies.
    """

    def __init__(self, op: Operation, stages: Stages):
        self.op = op
        self._names = (*op.attrs["dense"], *op.attrs["rows"])

    def run(self, run: Run) -> None:
        op = self.op
        values = [run.values[t] for t in op.inputs]
        if not run.session.meets:
            if not PROCESSES.together:  # Else all do the same, and the gradients of one are the mean.
                logs.log_first_n(logs.WARN, _ALONE, 1, PROCESSES.count)
            assert op.definition.host is not None
            run.values.update(zip(op.outputs, op.definition.host(run.session, op, values), strict=True))
            return
        if op.attrs["asynchronous"]:
            logs.log_first_n(logs.WARN, _IN_STEP, 1, PROCESSES.count)
        run.settle_before()
        share_values(run.session, op.graph, self._names)
        count = len(op.attrs["dense"])
        arrays = [on_one_device(value) for value in values]
        rows = [Rows(*arrays[i : i + 2]) for i in range(count, len(arrays), 2)]
        with taking_part(run, self):
            dense, rows = MEETING.mean(self._layout(run, arrays), arrays[:count], rows)
        run.values.update(zip(op.outputs, [*dense, *(part for each in rows for part in each)], strict=True))

    def missed(self, run: Run, error: BaseException) -> None:
        if (absence := absence_from(run, self, error)) is not None:
            share_values(run.session, self.op.graph, self._names)
            MEETING.miss(self._layout(run, None), absence)

    def _layout(self, run: Run, arrays: Sequence[Any] | None) -> Layout:
        """The names, shapes and dtypes of the gradients, which must agree in all processes.

        Args:
          arrays: this process's gradients; None: it has none, and unknown sizes are those of its variables.
        """
        attrs, inputs = self.op.attrs, self.op.inputs
        names = self._names
        shapes = list(attrs["shapes"])
        for k, shape in enumerate(shapes):
            if shape is not None and None not in shape:
                continue
            whole = k < len(attrs["dense"])
            given = run.store.get(run.store.by_name()[names[k]]) if arrays is None or not whole else arrays[k]
            shapes[k] = np.shape(given) if whole else np.shape(given)[1:]
        kinds = [np.dtype(t.dtype.as_numpy_dtype).name for t in inputs]
        count = len(attrs["dense"])
        dense = tuple(zip(shapes[:count], kinds, strict=False))
        return Layout(names, dense, tuple(zip(shapes[count:], kinds[count::2], kinds[count + 1 :: 2], strict=True)))


@contextmanager
def taking_part(run: Run, stage: CollectiveStage) -> Iterator[None]:
    """Mark a stage as inside of its round: an error that is raised there has reached all processes."""
    run.kept[stage] = False
    yield
    run.kept[stage] = True


def absence_from(run: Run, stage: CollectiveStage, error: BaseException) -> SkippedRound | None:
    """The message of a failed process for the round of a stage; None where it sends none.

    One that has already taken part in the round sends it in the next one.
    """
    if not run.session.meets or MEETING.over is not None or isinstance(error, DifferentShapes):
        return None  # Of the last the session makes another plan.
    word = RoundMessage.ENDED if isinstance(error, OutOfRangeError) else RoundMessage.FAILED
    absence = SkippedRound(word, f"{type(error).__name__}: {error}")
    heard = run.kept.get(stage)
    if heard is None:
        return absence
    if heard:
        MEETING.fail_next(absence)
    return None


def share_values(runner: Runner, graph: Graph, names: Iterable[str] | None = None) -> None:
    """Broadcast the first process's variables to all processes. A collective call.

    It happens once for each variable, before the first round about it, and each time that processes make a session that
    is ready to train.

    Args:
      runner: the session.
      graph: whose variables, but for those that are local to a process.
      names: variables that it happens for, unless they have been shared; None: it happens again.
    """
    origin = runner if runner.server is None else runner.server
    if names is not None and origin.shared.issuperset(names):
        return
    cells = _cells(graph)
    store = runner._store
    if PROCESSES.index == 0:
        held = {name: store.get(cell) for name, cell in cells.items() if store.get(cell) is not None}
        MEETING.share({name: on_one_device(value) for name, value in held.items()})
    else:
        found = MEETING.share(None)
        store.update({cells[name]: value for name, value in found.items() if name in cells})
    origin.shared.update(cells, names or ())


def wait_for_values(runner: Runner, graph: Graph, ops: Sequence[Operation]) -> None:
    """Receive the first process's values, where a run of another process asks which variables are initialized."""
    if PROCESSES.index and any(op.type == "VarIsInitializedOp" for op in ops):
        share_values(runner, graph, [v.cell.name for v in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)])


def _cells(graph: Graph) -> dict[str, StateVariable]:
    """The state variables that all processes hold copies of, by name."""
    own = {variable.cell for variable in graph.get_collection(GraphKeys.LOCAL_VARIABLES)}
    cells = [op.attrs["cell"] for op in graph.get_operations() if op.type == "VarHandleOp"]
    return {cell.name: cell for cell in cells if cell not in own and cell.dtype is not string and not cell.per_position}
