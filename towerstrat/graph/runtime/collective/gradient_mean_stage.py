"""The stage that averages gradients over the processes of a cluster, and the broadcast of the variables before it.

Each process runs its own plan in its own session; the only operation in it that waits for the others is
``MeanOverWorkers`` (``ops/collectives/worker_mean.py``). Its stage, in a session that is connected to the cluster
(``session.meets``):

1. waits for the checks of the run before (``raise_earlier_errors``), so that the others hear of a failure in
   this round,
2. broadcasts the first process's variables, once for each variable (``share_values``),
3. takes part in a round of ``GRADIENT_ROUNDS`` (``hosts/gradient_rendezvous.py``), and binds the means to its outputs.

    session.run(train_op)     process 0: gradient of w [1., 3.]     process 1: [3., 5.]     both apply [2., 4.]

Every process has to take part in every round, also one whose run has failed before it, such as at the end of its data:
``Run`` calls ``miss``. By then the stage has one of three states in ``run.kept`` (``taking_part``):

    absent     it has not come to its round: takes part with zeros and the reason
    False      the round itself raised: all processes have heard of it
    True       the round is done, and the run failed after it: says so in the next round

>>> from types import SimpleNamespace
>>> run = SimpleNamespace(kept={}, session=SimpleNamespace(meets=True))
>>> absence_from(run, "stage", OutOfRangeError(None, None, "End of sequence"))
SkippedRound(word=<RoundMessage.ENDED: 1>, why='OutOfRangeError: End of sequence')
>>> with taking_part(run, "stage"):
...     absence_from(run, "stage", ValueError("of the round itself")) is None
True

In a session that is connected to no cluster the gradients pass through unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import jax
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
from towerstrat.hosts.gradient_rendezvous import GRADIENT_ROUNDS, Layout, RoundMessage, Rows, SkippedRound
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
    """Stage of one ``MeanOverWorkers``: a round of ``GRADIENT_ROUNDS`` in each run.

    Args:
      op: the operation.
      stages: unused, as the operation has no bodies; every stage is made with it.
    """

    def __init__(self, op: Operation, stages: Stages):
        self.op = op
        self._names = (*op.attrs["dense"], *op.attrs["rows"])

    def run(self, run: Run) -> None:
        op = self.op
        values = [run.values[t] for t in op.inputs]
        if not run.session.meets:
            if not PROCESSES.in_lockstep:  # Otherwise all have equal gradients, which are their mean.
                logs.log_first_n(logs.WARN, _ALONE, 1, PROCESSES.count)
            assert op.definition.host is not None
            run.values.update(zip(op.outputs, op.definition.host(run.session, op, values), strict=True))
            return
        if op.attrs["asynchronous"]:
            logs.log_first_n(logs.WARN, _IN_STEP, 1, PROCESSES.count)
        run.raise_earlier_errors()
        share_values(run.session, op.graph, self._names)
        count = len(op.attrs["dense"])
        arrays = [on_one_device(value) for value in values]
        rows = [Rows(*arrays[i : i + 2]) for i in range(count, len(arrays), 2)]
        with taking_part(run, self):
            dense, rows = GRADIENT_ROUNDS.mean(self._layout(run, arrays), arrays[:count], rows)
        run.values.update(zip(op.outputs, [*dense, *(part for each in rows for part in each)], strict=True))

    def miss(self, run: Run, error: BaseException) -> None:
        if (absence := absence_from(run, self, error)) is not None:
            share_values(run.session, self.op.graph, self._names)
            GRADIENT_ROUNDS.miss(self._layout(run, None), absence)

    def _layout(self, run: Run, arrays: Sequence[jax.Array] | None) -> Layout:
        """The layout of the round; shapes that the graph does not know are those of gradients or variables.

        Args:
          run: has the state with the variables' shapes.
          arrays: this process's gradients; None: it has none.
        """
        attrs, inputs = self.op.attrs, self.op.inputs
        names = self._names
        shapes = list(attrs["shapes"])
        for k, shape in enumerate(shapes):
            if shape is not None and None not in shape:
                continue
            is_dense = k < len(attrs["dense"])
            value = run.store.get(run.store.by_name()[names[k]]) if arrays is None or not is_dense else arrays[k]
            shapes[k] = np.shape(value) if is_dense else np.shape(value)[1:]
        kinds = [np.dtype(t.dtype.as_numpy_dtype).name for t in inputs]
        count = len(attrs["dense"])
        dense = tuple(zip(shapes[:count], kinds, strict=False))
        return Layout(names, dense, tuple(zip(shapes[count:], kinds[count::2], kinds[count + 1 :: 2], strict=True)))


@contextmanager
def taking_part(run: Run, stage: CollectiveStage) -> Iterator[None]:
    """Context manager around a stage's round: records in ``run.kept`` that it has begun, and that it has succeeded."""
    run.kept[stage] = False
    yield
    run.kept[stage] = True


def absence_from(run: Run, stage: CollectiveStage, error: BaseException) -> SkippedRound | None:
    """The status with which a process whose run has failed takes part in a stage's round; None: no round is owed.

    Where the round was done before the failure, the status is kept for the next round.
    """
    if not run.session.meets or GRADIENT_ROUNDS.over is not None or isinstance(error, DifferentShapes):
        return None  # After DifferentShapes the session runs again, by another plan.
    word = RoundMessage.ENDED if isinstance(error, OutOfRangeError) else RoundMessage.FAILED
    absence = SkippedRound(word, f"{type(error).__name__}: {error}")
    heard = run.kept.get(stage)
    if heard is None:
        return absence
    if heard:
        GRADIENT_ROUNDS.fail_next(absence)
    return None


def share_values(runner: Runner, graph: Graph, names: Iterable[str] | None = None) -> None:
    """Broadcasts the first process's values of the graph's variables to all processes.

    Once for each variable, before the first round with its gradient; and again each time that the processes make a
    session that is ready to train. Local variables and those of strings or with a value per
    tower are left out. A collective: all processes call it together.

    Args:
      runner: the session; its server, where it has one, remembers what was shared.
      graph: the graph.
      names: no broadcast where all of these were shared already; None: a broadcast in any case.
    """
    origin = runner if runner.server is None else runner.server
    if names is not None and origin.shared.issuperset(names):
        return
    cells = _cells(graph)
    store = runner._store
    if PROCESSES.index == 0:
        held = {name: store.get(cell) for name, cell in cells.items() if store.get(cell) is not None}
        GRADIENT_ROUNDS.share({name: on_one_device(value) for name, value in held.items()})
    else:
        received = GRADIENT_ROUNDS.share(None)
        store.update({cells[name]: value for name, value in received.items() if name in cells})
    origin.shared.update(cells, names or ())


def wait_for_values(runner: Runner, graph: Graph, ops: Sequence[Operation]) -> None:
    """Waits for the broadcast of trainable variables before a run that asks whether variables are initialized.

    Not in process 0, which sends it.
    """
    if PROCESSES.index and any(op.type == "VarIsInitializedOp" for op in ops):
        share_values(runner, graph, [v.cell.name for v in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)])


def _cells(graph: Graph) -> dict[str, StateVariable]:
    """State variables that the processes share, by name."""
    local = {variable.cell for variable in graph.get_collection(GraphKeys.LOCAL_VARIABLES)}
    cells: list[StateVariable] = [op.attrs["cell"] for op in graph.get_operations() if op.type == "VarHandleOp"]
    return {cell.name: cell for cell in cells if cell not in local and cell.dtype is not string and not cell.is_varying}
