"""``tf.contrib.training.create_train_op``: one operation that computes a loss and trains by it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from towerstrat.graph.ir.default_graph import control_dependencies, get_collection, get_collection_ref
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.control.branches import no_op
from towerstrat.graph.ops.host import runtime_checks
from towerstrat.graph.ops.nn import clipping
from towerstrat.graph.variables.variable_ops import trainable_variables
from towerstrat.graph.variables.variables import GraphKeys
from towerstrat.platform import logs
from towerstrat.training.base.global_step import get_or_create_global_step
from towerstrat.training.optimizers.optimizer import Optimizer
from towerstrat.training.summaries import summary

_USE_GLOBAL_STEP = 0
"""Stands for the graph's global step, which is made if it is not there."""


def create_train_op(
    total_loss: Tensor,
    optimizer: Optimizer,
    global_step: Any = _USE_GLOBAL_STEP,
    update_ops: Iterable[Any] | None = None,
    variables_to_train: Iterable[Any] | None = None,
    transform_grads_fn: Callable[[Any], Any] | None = None,
    summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    check_numerics: bool = True,
) -> Tensor:
    """The loss, as a tensor that trains when it is computed. It is added to ``GraphKeys.TRAIN_OP``.

    Args:
      total_loss: the loss. optimizer: a ``tf.train.Optimizer``.
      global_step: the variable to count steps in; None: none; default the graph's, made if it is not there.
      update_ops: operations that run before the loss is computed; default ``GraphKeys.UPDATE_OPS``.
      variables_to_train: default all trainable ones.
      transform_grads_fn: (list of (gradient, variable)) -> such a list.
      summarize_gradients: whether ``add_gradients_summaries`` is called.
      gate_gradients, aggregation_method, colocate_gradients_with_ops: as of ``Optimizer.compute_gradients``.
      check_numerics: whether a loss that is infinite or NaN is an error.

    Raises:
      ValueError: variables that are not trainable, or none at all.
    """
    step = get_or_create_global_step() if global_step is _USE_GLOBAL_STEP else global_step
    known = get_collection(GraphKeys.UPDATE_OPS)
    updates = list(known if update_ops is None else update_ops)
    if not {id(u) for u in known} <= {id(u) for u in updates}:
        logs.warning("update_ops in create_train_op does not contain all the  update_ops in GraphKeys.UPDATE_OPS")
    graph = get_default_graph()
    if updates:
        with control_dependencies(updates):
            barrier = no_op(name="update_barrier")
        with control_dependencies([barrier]):
            total_loss = arrays.identity(total_loss)
    variables = _trained(variables_to_train)
    pairs = optimizer.compute_gradients(
        total_loss,
        variables,
        gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
    )
    if transform_grads_fn:
        pairs = transform_grads_fn(pairs)
    if summarize_gradients:
        with graph.name_scope("summarize_grads"):
            add_gradients_summaries(pairs)
    applied = optimizer.apply_gradients(pairs, global_step=step)
    with graph.name_scope("train_op"):
        if check_numerics:
            total_loss = runtime_checks.check_numerics(total_loss, "LossTensor is inf or nan")
        with control_dependencies([applied]):
            train_op = arrays.identity(total_loss, name="control_dependency")
    get_collection_ref(GraphKeys.TRAIN_OP).append(train_op)
    return train_op


def add_gradients_summaries(grads_and_vars: Iterable[tuple[Any, Any]]) -> list[Tensor]:
    """Summaries of gradients: for each the distribution of its values, ``NAME_gradient``, and its norm.

    Args:
      grads_and_vars: pairs of gradient and variable; where the gradient is None there is no summary.
    """
    summaries: list[Tensor] = []
    for gradient, variable in grads_and_vars:
        if gradient is None:
            logs.info("Var %s has no gradient", variable.op.name)
            continue
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        summaries.append(summary.histogram(f"{variable.op.name}_gradient", values))
        summaries.append(summary.scalar(f"{variable.op.name}_gradient_norm", clipping.global_norm([values])))
    return summaries


def _trained(variables: Iterable[Any] | None) -> list[Any]:
    known = trainable_variables()
    chosen = known if variables is None else list(variables)
    for one in chosen:
        if not any(one is v for v in known):
            raise ValueError(f"Expected trainable variables to train, got {one!r}.")
    if not chosen:
        raise ValueError("There are no variables to train.")
    return chosen
