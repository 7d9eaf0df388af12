"""How many shards a TPU computation has: ``tensorflow.contrib.tpu.python.tpu.tpu_function``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.user_lines import user_line
from towerstrat.platform.threads import ThreadState
from towerstrat.towers.engine import tower_contexts


class TpuContext(ThreadState):
    """The context of the computation that is being built.

    There is one rule for the number of shards, whoever runs the computation (``tpu.shard``, ``TPUEstimator``, a
    strategy's tower): what was set, else the size of the axis that operations are made under, else 1 inside the one
    tower of a strategy that needs no axis.
    """

    def __init__(self) -> None:
        self._number_of_shards: int | None = None

    @property
    def number_of_shards(self) -> int | None:
        """The number of shards that run what is built; None outside of any computation."""
        if self._number_of_shards is not None:
            return self._number_of_shards
        axis = get_default_graph().axis
        if axis is not None:
            return axis.size
        return tower_contexts.current_engine().num_towers if tower_contexts.in_tower_context() else None

    def set_number_of_shards(self, number_of_shards: int | None) -> None:
        """Sets the number for this thread; None: it is found again."""
        self._number_of_shards = number_of_shards


_current = TpuContext()


def get_tpu_context() -> TpuContext:
    """The context of this thread."""
    return _current


@contextmanager
def tpu_shard_context(number_of_shards: int) -> Iterator[None]:
    """Inside, the context has this number of shards. Raises NotImplementedError where it has one already."""
    if _current.number_of_shards is not None:
        raise NotImplementedError("tpu_shard_context cannot be nested.")
    _current.set_number_of_shards(number_of_shards)
    try:
        yield
    finally:
        _current.set_number_of_shards(None)


def on_device_training_loop(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: marks the function that holds a training loop, for tools that trace steps."""
    func.step_marker_location = "STEP_MARK_AT_TOP_LEVEL_WHILE_LOOP"  # type: ignore[attr-defined]
    return func


def check_function_argument_count(func: Callable[..., Any], input_arity: int, infeed_queue: Any) -> str | None:
    """What is wrong with calling a function with ``input_arity`` positional arguments; None where nothing is.

    Args:
      infeed_queue: None, or an object whose ``number_of_tuple_elements`` arguments come after them.

    Returns:
      The number of arguments that it needs instead, such as "exactly 2 arguments".
    """
    given = input_arity + (0 if infeed_queue is None else infeed_queue.number_of_tuple_elements)
    parameters = inspect.signature(func).parameters.values()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = sum(p.default is p.empty for p in positional)
    any_number = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    exactly = required == len(positional)
    if given < required:
        return _arguments("exactly" if exactly and not any_number else "at least", required)
    if given > len(positional) and not any_number:
        return _arguments("exactly" if exactly else "at most", len(positional))
    return None


def _arguments(bound: str, count: int) -> str:
    return f"{bound} {count} argument{'' if count == 1 else 's'}"


def refuse_infeed(infeed_queue: object) -> None:
    """Raises UnsupportedError unless ``infeed_queue`` is None."""
    if infeed_queue is not None:
        raise UnsupportedError(
            f"infeed_queue={infeed_queue!r}: hand-driven infeed is not supported. Pass the input as arguments: tensors "
            f"that iterator.get_next() of a dataset returned, or placeholders.\n  at: {user_line()}"
        )
