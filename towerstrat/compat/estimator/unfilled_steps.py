"""Evaluations of towers whose data ends within a step: what is there counts, towers without a batch count nothing."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from towerstrat.data.api.dataset import Dataset
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.types import int32
from towerstrat.graph.ops.array.arrays import where_v2
from towerstrat.graph.ops.control.branches import group
from towerstrat.graph.ops.math.arithmetic import cast, equal
from towerstrat.graph.variables.variables import Variable, VariableSynchronization, variable_creator_scope
from towerstrat.towers.distribute.reduce_op import ReduceOp
from towerstrat.towers.engine.batch_splitting import Filled
from towerstrat.towers.engine.central_engine import CentralStorageEngine
from towerstrat.towers.engine.mirrored_engine import MirroredEngine
from towerstrat.towers.engine.tower_contexts import current_engine


def count_what_is_there(module: ModuleType) -> None:
    """Lets the evaluations of mirrored towers use all batches, where there are fewer than towers too.

    Towers that share the variables of metrics, and those of a step loop, have whole steps only.
    """
    estimators = module.Estimator
    as_it_was = estimators._call_model_fn_eval_distributed

    def call(self: Any, input_fn: Any, config: Any) -> Any:
        engine = current_engine()
        if isinstance(engine, MirroredEngine) and engine.mapped and not isinstance(engine, CentralStorageEngine):
            return _evaluation(module, self, input_fn, config)
        return as_it_was(self, input_fn, config)

    estimators._call_model_fn_eval_distributed = call


def _evaluation(module: ModuleType, estimator: Any, input_fn: Any, config: Any) -> Any:
    """The graph of an evaluation: its scaffold, hooks, hooks of the input, update and values."""
    strategy, mode = estimator._eval_distribution, module.ModeKeys.EVAL

    def filled(input_context: Any) -> Dataset:
        dataset = estimator._call_input_fn(input_fn, mode, input_context)
        if not isinstance(dataset, Dataset):
            raise TypeError(f"With eval_distribute input_fn must return a tf.data.Dataset, got {dataset!r}.")
        marked = Dataset.zip((dataset, Dataset.from_tensors(True).repeat()))
        return Dataset._made(Filled(marked.node, strategy.num_replicas_in_sync))

    shared: list[tuple[Variable, Tensor]] = []

    def evaluate(features: Any, labels: Any, present: Tensor) -> Any:
        before = _ValuesBefore(shared)
        with variable_creator_scope(before.remember):
            spec = estimator._call_model_fn(features, labels, mode, config)
        metrics = {} if spec.eval_metric_ops is None else spec.eval_metric_ops
        return spec.scaffold, spec.evaluation_hooks, spec.loss, cast(present, int32), *counted(metrics, before, present)

    def average(loss: Tensor, present: Tensor) -> Any:
        before = _ValuesBefore(shared)
        with variable_creator_scope(before.remember):
            metrics = module._verify_and_create_loss_metric(dict.fromkeys(values), loss)
        return counted({name: metric for name, metric in metrics.items() if name not in values}, before, present)

    def counted(metrics: dict[str, Any], before: _ValuesBefore, present: Tensor) -> tuple[Operation, dict[str, Any]]:
        update, found = module._extract_metric_update_ops(metrics)
        with get_default_graph().control_dependencies([update] if metrics else []):
            return _kept_unless(present, before.own), found

    iterator, input_hooks = estimator._get_iterator_from_input_fn(filled, mode, strategy)
    element, present = iterator.get_next()
    features, labels = module.estimator_util.parse_iterator_result(element)
    run = strategy.extended.call_for_each_replica
    scaffolds, hooks, loss, counts, update, values = run(evaluate, args=(features, labels, present))
    # In a call of its own, so that variables of the model may have the names of this metric's.
    of_loss, averages = run(average, args=(loss, present))
    values = {**values, **averages}
    update = group(strategy.group(update), strategy.group(of_loss))
    if shared:
        everywhere = equal(strategy.reduce(ReduceOp.SUM, counts), strategy.num_replicas_in_sync)
        with get_default_graph().control_dependencies([update]):
            update = _kept_unless(everywhere, shared)
    _, values = module._extract_metric_update_ops({name: (v, update) for name, v in values.items()}, strategy)
    scaffold = module._combine_distributed_scaffold(scaffolds, strategy)
    first_hooks = [strategy.experimental_local_results(hook)[0] for hook in hooks]
    return scaffold, first_hooks, input_hooks, update, values


class _ValuesBefore:
    """The values that variables have before a step of an evaluation.

    Args:
      shared: takes those of local variables that all towers have together.
    """

    def __init__(self, shared: list[tuple[Variable, Tensor]]):
        self.own: list[tuple[Variable, Tensor]] = []
        """Of variables of which each tower has its own."""
        self._shared = shared

    def remember(self, next_creator: Any, **kwargs: Any) -> Variable:
        """A creator of variables. A run has operations in the order in which they were made: the read comes first."""
        variable: Variable = next_creator(**kwargs)
        if kwargs.get("synchronization") == VariableSynchronization.ON_READ:
            self.own.append((variable, variable.value()))
        elif "local_variables" in (kwargs.get("collections") or ()):
            self._shared.append((variable, variable.value()))
        return variable


def _kept_unless(present: Tensor, before: list[tuple[Variable, Tensor]]) -> Operation:
    """Gives variables their values of before the step where a batch is not there."""
    kept = group(*(variable.assign(where_v2(present, variable.value(), old)) for variable, old in before))
    assert isinstance(kept, Operation)
    return kept
