"""What surrounds the code of a TPU computation, and ``tpu.outside_compilation`` in it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from towerstrat.graph.ir.context_stacks import TRACE_CONTEXTS
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.user_lines import user_line
from towerstrat.graph.variables.variables import Variable


class Shards(NamedTuple):
    """The ``TraceContext`` of a computation that every shard runs: no strategy is current in it.

    Attributes:
      axis: the axis of the shards; None for one shard that needs none.
      outside: inside of ``outside_compilation``.
      inference: inside of ``rewrite_for_inference``: no variable is written.
    """

    axis: Axis | None
    outside: bool = False
    inference: bool = False

    def trace_key(self) -> Hashable:
        return Shards, self.axis

    def written(self, variable: Variable, type: str, inputs: Sequence[Tensor]) -> Sequence[Tensor]:
        if self.inference:
            raise NotImplementedError(
                f"{type} of variable {variable.name} in a computation for inference: it may only read variables. Use "
                f"tpu.rewrite.\n  at: {user_line()}"
            )
        return inputs


def in_shards(axis: Axis | None) -> AbstractContextManager[Any]:
    """A context manager: code inside belongs to a computation that the shards of ``axis`` run."""
    return TRACE_CONTEXTS.entered(Shards(axis))


def for_inference() -> AbstractContextManager[Any]:
    """A context manager: the code of a computation inside writes no variable."""
    around = TRACE_CONTEXTS.current()
    assert isinstance(around, Shards)
    return TRACE_CONTEXTS.entered(around._replace(inference=True))


def under_tpu_inference_context() -> bool:
    """Whether the computation of a ``rewrite_for_inference`` is being built."""
    around = TRACE_CONTEXTS.current()
    return isinstance(around, Shards) and around.inference


def core(num: int) -> str:
    """The device of a logical core of each shard, for ``tf.device``."""
    return f"device:TPU_REPLICATED_CORE:{num}"


def outside_compilation(computation: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a function whose operations the original ran on the host, amid a TPU computation.

    Here the host runs what only it can run, wherever that is: a Python function, printing, a summary. What a device
    can compute it computes, with the same results.

    Args:
      computation: called with ``args`` and ``kwargs``.

    Returns:
      What it returns.

    Raises:
      NotImplementedError: inside of another ``outside_compilation``.
    """
    around = TRACE_CONTEXTS.current()
    if not isinstance(around, Shards):
        return computation(*args, **kwargs)
    if around.outside:
        raise NotImplementedError(f"Cannot nest outside_compilation clusters.\n  at: {user_line()}")
    with TRACE_CONTEXTS.entered(around._replace(outside=True)), get_default_graph().device(None):
        return computation(*args, **kwargs)
