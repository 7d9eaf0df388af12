"""Branches, loops and gradients with the arguments of 2.x."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from towerstrat.compat.v2_functions import ragged_maps
from towerstrat.graph.functions import map_fn as functional
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.given_arguments import UnconnectedGradients
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ops.control import branches
from towerstrat.graph.ops.control import while_loop as loops
from towerstrat.graph.ops.gradients import gradients
from towerstrat.graph.tapes import custom_gradients


def cond(pred: Any, true_fn: Any = None, false_fn: Any = None, name: str | None = None) -> Any:
    """What ``true_fn()`` returned where ``pred`` is true when the program runs, else what ``false_fn()`` did.

    Both build structures of the same form and element types; a list or tuple of one stays one.
    """
    return branches.cond(pred, true_fn, false_fn, strict=True, name=name)


def while_loop(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, shape_invariants: Any = None,
    parallel_iterations: int = 10, back_prop: bool = True, swap_memory: bool = False, maximum_iterations: Any = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Runs ``loop_vars = body(*loop_vars)`` as long as ``cond(*loop_vars)`` is true; the structure stays.

    Args:
      shape_invariants: what is known of shapes in every iteration, where that is less than at the start.
      back_prop: whether gradients go through it.
      maximum_iterations: an upper bound; gradients inside towers need it, see the 1.x function.
      parallel_iterations, swap_memory: scheduling of the original; they change no value.
    """
    result = loops.while_loop(
        cond, body, loop_vars, shape_invariants, parallel_iterations, back_prop, swap_memory, name, maximum_iterations,
        return_same_structure=True,
    )  # fmt: skip
    alone = maximum_iterations is not None and len(loop_vars) == 1
    return nest.pack_sequence_as(loop_vars, nest.flatten(result)) if alone else result


def _element_types(signature: Any) -> Any:
    """The element types in a structure of types and specifications."""
    return nest.map_structure(lambda leaf: getattr(leaf, "dtype", leaf), signature)


def map_fn(
    fn: Callable[..., Any], elems: Any, dtype: Any = None, parallel_iterations: int | None = None,
    back_prop: bool = True, swap_memory: bool = False, infer_shape: bool = True, name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:  # fmt: skip
    """``fn`` of each row of ``elems``, stacked.

    Args:
      fn_output_signature: element types or ``tf.TensorSpec`` of what ``fn`` returns, in its structure; needed where
        it differs from that of ``elems``. ``dtype`` is its old name. Over ragged tensors: see ``ragged_maps.map_rows``.
      infer_shape: check that the results have one shape.
      parallel_iterations, back_prop, swap_memory: as of ``while_loop``.
    """
    if ragged_maps.has_ragged(elems):
        return ragged_maps.map_rows(fn, elems, dtype if fn_output_signature is None else fn_output_signature)
    wanted = dtype if fn_output_signature is None else _element_types(fn_output_signature)
    return functional.map_fn(fn, elems, wanted, parallel_iterations, back_prop, swap_memory, infer_shape, name)


def gradients_(
    ys: Any, xs: Any, grad_ys: Any = None, name: str = "gradients", gate_gradients: Any = False,
    aggregation_method: Any = None, stop_gradients: Any = None,
    unconnected_gradients: UnconnectedGradients = UnconnectedGradients.NONE,
) -> Any:  # fmt: skip
    """Derivatives of the sum of ``ys`` with respect to ``xs``; in graphs and functions.

    Args:
      grad_ys: cotangents of ``ys``, ones by default.
      stop_gradients: tensors that count as constants.
      unconnected_gradients: None or zeros for an x that ``ys`` do not depend on.
      gate_gradients, aggregation_method: scheduling of the original; they change no value.
    """
    return gradients.gradients(
        ys, xs, grad_ys, name, False, gate_gradients, aggregation_method, stop_gradients, unconnected_gradients
    )


def hessians(
    ys: Any, xs: Any, gate_gradients: Any = False, aggregation_method: Any = None, name: str = "hessians"
) -> list[Tensor]:
    """Second derivatives of the sum of ``ys``: for each x a tensor of shape ``[*x.shape, *x.shape]``."""
    return custom_gradients.hessians(ys, xs, name, False, gate_gradients, aggregation_method)
