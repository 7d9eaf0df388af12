"""``tf.__internal__.distribute``: how the package's optimizers meet strategies."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any


class ShardedVariable:
    """A variable that parameter servers keep in parts; there are none here, and ``isinstance`` finds none."""

    def __init__(self, *args: Any, **kwargs: Any):
        raise NotImplementedError(
            "ShardedVariable is not supported: variables are kept whole. tf.compat.v1.get_variable(partitioner=...) "
            "makes a variable of several parts."
        )


def strategy_supports_no_merge_call() -> bool:
    """Whether variables can be updated in replica context: under every strategy here."""
    return True


def maybe_merge_call(fn: Callable[..., Any], strategy: Any, *args: Any, **kwargs: Any) -> Any:
    """``fn(strategy, ...)``: ``update`` merges by itself where it is called in replica context."""
    return fn(strategy, *args, **kwargs)


def variable_sync_on_read_context() -> AbstractContextManager[None]:
    """Inside, variables that replicas write for themselves are read combined: they are everywhere here."""
    return nullcontext()
