"""The scope of a strategy: its engine is current and makes the variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.scopes.variable_scope import get_variable_scope, variable_scope
from towerstrat.graph.variables.variables import Variable, variable_creator_scope
from towerstrat.platform import logs
from towerstrat.towers.engine.engine import Engine
from towerstrat.towers.engine.tower_contexts import (
    enter_cross_tower,
    has_distribution_strategy,
    require_cross_tower_context,
    require_scope,
)


@contextmanager
def strategy_scope(
    engine: Engine, create_variable: Callable[..., Any], default_device: str | None = None
) -> Iterator[None]:
    """Inside, code is in the cross-tower context of ``engine``, and ``create_variable`` makes the variables.

    Args:
      create_variable: called with the next creator and the arguments of the variable.
      default_device: where operations are placed.

    Raises:
      RuntimeError: inside the scope of another strategy, or in tower context.
    """
    if has_distribution_strategy():
        require_cross_tower_context(engine)
        yield
        return

    def creator(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        require_scope(engine)
        kwargs["use_resource"] = True
        return create_variable(next_creator, **kwargs)

    with (
        enter_cross_tower(engine),
        variable_scope(get_variable_scope(), custom_getter=_without_partitioner),
        variable_creator_scope(creator),
        get_default_graph().device(default_device or ""),
    ):
        yield


def _without_partitioner(getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if kwargs.pop("partitioner", None) is not None:
        logs.log_first_n(logs.WARN, "Partitioned variables are disabled when using DistributionStrategy.", 1)
    return getter(*args, **kwargs)


def colocated(engine: Engine, variable: Variable) -> AbstractContextManager[Any]:
    """A context manager: variables made inside live on the devices of ``variable``.

    Raises:
      RuntimeError: not inside the scope of the engine's strategy.
    """
    require_scope(engine)

    def creator(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        require_scope(engine)
        kwargs["use_resource"] = True
        kwargs["colocate_with"] = variable
        return next_creator(**kwargs)

    return variable_creator_scope(creator)
