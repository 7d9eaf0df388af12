"""Which tensor on the way to a loss was the first that is not finite: looked for after a run that gave a NaN."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

import numpy as np

from towerstrat.errors import OpError, UnsupportedError
from towerstrat.graph.ir.graph_elements import Operation, Tensor, dependencies, execution_order
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.runtime.sessions.session import BaseSession
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.training.hooks.session_run_hook import SessionRunContext

_ADVICE = (
    "tf.check_numerics(tensor, 'its name') in place of a tensor, or tf.add_check_numerics_ops() run with the step of a "
    "graph without loops, fails in the step itself."
)


def describe_origin(loss: Any, context: SessionRunContext) -> str:
    """Names the first tensor that was not finite in a run, or says why none is named, in sentences.

    What the loss is computed of is computed once more: all of it where the state before the run is kept, which it is
    of steps that run ahead; else what the run has changed nothing of.

    Args:
      loss: what was fetched and is NaN. context: of the run, which is over.
    """
    session, args = context.session, context.all_args
    if not isinstance(session, BaseSession):
        return f"Where it came from cannot be computed again: the program has wrapped the session. {_ADVICE}"
    if PROCESSES.count > 1:
        return f"Where it came from is not computed again in a run of several processes. {_ADVICE}"
    path = _order(session, loss)
    changed = {cell for op in _order(session, args.fetches) for cell in op.writes}
    back = session.step_back()
    lost = {} if back else _lost(path, changed)
    tensors = [t for op in path if op not in lost for t in op.outputs if t.dtype.is_floating or t.dtype.is_complex]
    try:
        values = session.values_in_run(tensors, args.fetches if back else (), args.feed_dict)
    except (OpError, UnsupportedError) as error:
        if back:
            session.run(args.fetches, args.feed_dict)
        return f"Where it came from cannot be computed again: {error}"
    return _first(tensors, values) or _none_found(lost)


def _order(session: BaseSession, fetches: Any) -> list[Operation]:
    return execution_order(session.fetched_operations(fetches), session.graph.root)


def _lost(path: Sequence[Operation], changed: Container[StateVariable]) -> dict[Operation, Operation]:
    """The operations that would not give again what they gave, each with the one for which this is so."""
    lost: dict[Operation, Operation] = {}
    for op in path:
        once = op.writes or op.definition.stateful or op.definition.callback or op.definition.host is not None
        if once or any(cell in changed for cell in op.reads):
            lost[op] = op
        elif (before := next((lost[o] for o in dependencies(op) if o in lost), None)) is not None:
            lost[op] = before
    return lost


def _first(tensors: Sequence[Tensor], values: Sequence[np.ndarray[Any, Any]]) -> str | None:
    """Names the first tensor that is not finite, and the first with a NaN if that is another; None: there is none."""
    bad = {t: v for t, v in zip(tensors, values, strict=True) if not np.all(np.isfinite(v))}
    if not bad:
        return None
    first = next(iter(bad))
    found = f"The first tensor on its way that is not finite: {_in_words(first, bad[first])}."
    nan = next((t for t, v in bad.items() if np.any(np.isnan(v))), first)
    return found if nan is first else f"{found} The first with a NaN: {_in_words(nan, bad[nan])}."


def _in_words(tensor: Tensor, value: np.ndarray[Any, Any]) -> str:
    nans, infinities = int(np.isnan(value).sum()), int(np.isinf(value).sum())
    counts = [f"{n} {what}" for n, what in ((nans, "NaN"), (infinities, "infinite")) if n]
    op = tensor.op
    text = f"{tensor.name} ({op.type}, created at {op.line}): {' and '.join(counts)} of {value.size} values"
    if op.definition.reads and not op.definition.writes:
        return f"{text}, as the variable was before this run"
    return f"{text}, as fed" if op.definition.is_placeholder else text


def _none_found(lost: dict[Operation, Operation]) -> str:
    first = next(iter(lost.values()), None)
    if first is None:
        return f"Computed once more, all that it is computed of is finite. {_ADVICE}"
    return (
        f"Where it came from cannot be computed again: the run has changed what {first.name} ({first.type}, created at "
        f"{first.line}) gives. What does not depend on such operations is finite. {_ADVICE}"
    )
