"""``tf.__internal__``: what the package asks of functions, variables and the process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from towerstrat.graph.autograph.api import converted
from towerstrat.graph.eager import mode
from towerstrat.graph.ir.composite_values import Composite
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.type_specs import HasTypeSpec
from towerstrat.graph.ir.user_lines import CONVERSION, Status
from towerstrat.graph.variables.variables import Variable


class _OfTensors(type):
    """The class of ``CompositeTensor``."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, HasTypeSpec | Composite | IndexedSlices)


class CompositeTensor(metaclass=_OfTensors):
    """What ``isinstance`` takes for a value of several tensors: sparse, ragged and per-replica ones."""


def enabled() -> bool:
    """Whether the process runs as 2.x does: eagerly where no graph is built."""
    return mode.executing_eagerly_outside_functions()


def is_resource_variable(var: Any) -> bool:
    """Whether it is a variable: all of them are resources here."""
    return isinstance(var, Variable)


def control_status_ctx() -> Status:
    """Whether calls are converted by autograph right now."""
    return CONVERSION.status


def tf_convert(
    f: Any, ctx: Status, convert_by_default: bool = True, user_requested: bool = False
) -> Callable[..., Any]:
    """A function as converted code calls it.

    Args:
      ctx: what ``control_status_ctx`` gave: enabled ones convert, disabled ones do not, and
        ``convert_by_default`` decides otherwise.
      user_requested: changes nothing: what is given here is converted, whoever's code it is.
    """
    if ctx is Status.ENABLED or (ctx is not Status.DISABLED and convert_by_default):
        return converted(f)
    return f


class _Policy:
    """Whether a mixed precision policy is set."""

    def __init__(self) -> None:
        self.mixed = False
        self.wrappers: dict[type, tuple[Callable[..., Any], type]] = {}


_policy = _Policy()


def set_using_mixed_precision_policy(using: bool) -> None:
    """Notes whether the package's global policy is a mixed one."""
    _policy.mixed = using


def is_mixed_precision_graph_rewrite_enabled() -> bool:
    """Whether graphs are rewritten to half precision: never, ``enable_mixed_precision_graph_rewrite`` is refused."""
    return False


def register_loss_scale_wrapper(optimizer_cls: type, wrapper_fn: Callable[..., Any], wrapper_cls: type) -> None:
    """Notes what wraps optimizers of a class to scale losses."""
    _policy.wrappers[optimizer_cls] = (wrapper_fn, wrapper_cls)
