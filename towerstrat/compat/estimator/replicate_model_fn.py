"""``replicate_model_fn``: a model function that is called once per device, for a part of the batch each."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.compat.estimator.export_outputs import ClassificationOutput, PredictOutput, RegressionOutput
from towerstrat.compat.estimator.keys import EstimatorModeKeys
from towerstrat.compat.estimator.tower_optimizer import Replicas, TowerOptimizer, scale_loss, summed
from towerstrat.compat.utilities.deprecation import deprecated
from towerstrat.compat.utilities.inspection import fn_args
from towerstrat.graph.ir.default_graph import control_dependencies, device, get_collection, name_scope
from towerstrat.graph.ir.device_names import merge_device
from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.sparse_tensor import SparseTensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ops.array.arrays import concat, split, stack, zeros_like
from towerstrat.graph.ops.control.branches import group
from towerstrat.graph.ops.indexing.segments import add_n
from towerstrat.graph.ops.sparse.concat_split import sparse_split
from towerstrat.graph.scopes.variable_scope import variable_scope
from towerstrat.graph.variables.variables import GraphKeys
from towerstrat.models.losses import Reduction
from towerstrat.platform import logs
from towerstrat.platform.local import list_local_devices

_VARIABLES = ("Variable", "VariableV2", "VarHandleOp")


@deprecated("2018-05-31", "Please use `tf.contrib.distribute.MirroredStrategy` instead.")
def replicate_model_fn(
    model_fn: Callable[..., Any],
    loss_reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
    devices: Sequence[str] | None = None,
) -> Callable[..., Any]:
    """A model function that calls ``model_fn`` for each device, in one graph, with an equal part of the batch.

    Variables are shared. Losses and gradients are added up, metrics are those of all parts, predictions and what is
    exported are joined again; all other fields of the ``EstimatorSpec`` are those of one tower (in training the last,
    else the first). Names of the first tower have no prefix, those of the others ``tower_1``, ``tower_2``, ...

    The devices are recorded: a graph is compiled as a whole, for one device. ``tf.contrib.distribute.TPUStrategy``, or
    another strategy in ``tf.estimator.RunConfig(train_distribute=...)``, runs towers on a device each.

    Args:
      model_fn: trains by optimizers in ``tf.contrib.estimator.TowerOptimizer``.
      loss_reduction: ``tf.losses.Reduction.SUM``, or another one for the mean of the towers' losses.
      devices: names; default the GPUs, or the devices that are there.

    Raises:
      ValueError: ``loss_reduction`` is NONE. While the model is built: a batch that cannot be divided, an optimizer
        without a ``TowerOptimizer``, towers whose optimizers or metrics differ.
    """
    if loss_reduction == Reduction.NONE:
        raise ValueError(f"Tower losses need to be reduced in some way, yet {loss_reduction} reduction is specified.")
    names = list(devices or _local_devices())
    one_gpu = len(names) == 1 and "GPU" in names[0].upper()
    shared = names[0] if one_gpu else "/CPU:0"
    logs.info(
        f"Replicating the `model_fn` across {names}.  Variables are going to be placed on {[shared]}.  Consolidation "
        f"device is going to be {shared}."
    )

    def single_device_model_fn(features: Any, labels: Any, mode: str, params: Any = None, config: Any = None) -> Any:
        towers = _Towers(model_fn, loss_reduction, names, shared)
        return towers.specs([features], None if labels is None else [labels], mode, params, config)[0]

    def replicated_model_fn(features: Any, labels: Any, mode: str, params: Any = None, config: Any = None) -> Any:
        with name_scope("split_inputs"), device(shared):
            parts = _split(features, len(names))
            label_parts = None if labels is None else _split(labels, len(names))
        towers = _Towers(model_fn, loss_reduction, names, shared)
        return _JOINED[mode](towers.specs(parts, label_parts, mode, params, config), shared)

    return single_device_model_fn if len(names) == 1 else replicated_model_fn


def _local_devices() -> list[str]:
    found = list_local_devices()
    gpus = [each.name for each in found if each.device_type == "GPU"]
    return gpus or [each.name for each in found]


# ---- the towers ----------------------------------------------------------------------------------------------------


def _split(batch: Any, number: int) -> list[Any]:
    """Equal parts of a tensor, or of each in a dictionary."""
    if not isinstance(batch, dict):
        return _parts(batch, number)
    found: list[dict[Any, Any]] = [{} for _ in range(number)]
    for name, tensor in batch.items():
        for part, own in zip(found, _parts(tensor, number), strict=True):
            part[name] = own
    return found


def _parts(value: Any, number: int) -> list[Any]:
    if isinstance(value, SparseTensor):
        return sparse_split(sp_input=value, num_split=number, axis=0)
    tensor = convert_to_tensor(value)
    rows = tensor.dims[0] if tensor.dims else None
    if rows is not None and rows % number:
        raise ValueError(f"Batch size {rows} needs to be divisible by the number of GPUs, which is {number}.")
    return split(tensor, number)


class _Towers:
    """A model function that is called for several devices.

    Args:
      shared: the device of the variables.
    """

    def __init__(self, model_fn: Callable[..., Any], loss_reduction: str, devices: Sequence[str], shared: str):
        self._model_fn = model_fn
        self._reduction = loss_reduction
        self._devices = devices
        self._shared = shared

    def specs(self, features: Sequence[Any], labels: Any, mode: str, params: Any, config: Any) -> list[Any]:
        """What ``model_fn`` returns for each device, with the device's part of the loss."""
        accepted = fn_args(self._model_fn)
        given = {"params": params, "config": config}
        options = {name: copy.deepcopy(value) for name, value in given.items() if name in accepted}
        replicas = Replicas.current()
        replicas.start(len(self._devices), self._reduction)
        found = []
        for i, where in enumerate(self._devices):
            with (
                variable_scope("", reuse=i > 0) as var_scope,
                name_scope(f"tower_{i}" if i else "") as scope,
                replicas.tower(i, var_scope, scope),
                device(self._chooser(where)),
            ):
                spec = self._model_fn(mode=mode, features=features[i], labels=labels[i] if labels else None, **options)
                if spec.train_op is not None and len(self._devices) > 1 and not TowerOptimizer.has_been_used():
                    raise ValueError(
                        "Please wrap optimizers with TowerOptimizer in order to use replicate_model_fn with multiple "
                        "`devices`."
                    )
                if spec.loss is not None:
                    spec = spec._replace(loss=scale_loss(spec.loss, self._reduction, len(self._devices)))
                found.append(spec)
        if not replicas.are_alike():
            raise ValueError("Each invocation of model_fn was supposed to make the same optimizer calls.")
        Replicas.clear()
        return found

    def _chooser(self, where: str) -> Callable[[Operation], str]:
        return lambda op: merge_device(self._shared if op.type in _VARIABLES else where, op.device)


# ---- one spec of several -------------------------------------------------------------------------------------------


def _trained(specs: Sequence[Any], shared: str) -> Any:
    # Hooks may rely on what the last call of an optimizer did.
    return specs[-1]._replace(loss=summed([spec.loss for spec in specs], shared, "loss"))


def _evaluated(specs: Sequence[Any], shared: str) -> Any:
    loss = summed([spec.loss for spec in specs], shared, "loss")
    updates = [update for spec in specs for _, update in spec.eval_metric_ops.values()]
    with control_dependencies(updates):
        reduced = _reduced_metrics(len(specs))
    metrics = {name: (value, reduced) for name, (value, _) in specs[0].eval_metric_ops.items()}
    return specs[0]._replace(loss=loss, eval_metric_ops=metrics)


def _reduced_metrics(towers: int) -> Operation:
    """Adds the other towers' variables of metrics to the first one's, and sets them to zero."""
    variables = get_collection(GraphKeys.METRIC_VARIABLES)
    each = len(variables) // towers
    if len(variables) % towers:
        raise ValueError(
            "Different `EstimatorSpec.eval_metric_ops` across `model_fn()` calls. Expected "
            f"{each * towers} local variables, but got {len(variables)} instead."
        )
    cleared = []
    for i in range(each):
        others = variables[i + each :: each]
        with control_dependencies([variables[i].assign_add(add_n([v.value() for v in others]))]):
            cleared += [v.assign(zeros_like(v)) for v in others]
    return group(*cleared)


def _predicted(specs: Sequence[Any], shared: str) -> Any:
    with device(shared):
        predictions = _joined([spec.predictions for spec in specs])
        outputs = [spec.export_outputs for spec in specs]
        if None in outputs:
            return specs[0]._replace(predictions=predictions)
        exported = {name: _export([each[name] for each in outputs]) for name in outputs[0]}
    return specs[0]._replace(predictions=predictions, export_outputs=exported)


def _joined(parts: Sequence[Any]) -> Any:
    if not isinstance(parts[0], dict):
        return concat(parts, axis=0)
    return {name: concat([part[name] for part in parts], axis=0, name=name) for name in parts[0]}


def _export(outputs: Sequence[Any]) -> Any:
    """One output of those of all towers; classes are stacked, one row for each tower."""
    first = outputs[0]
    if isinstance(first, PredictOutput):
        return PredictOutput(outputs=_joined([output.outputs for output in outputs]))
    if isinstance(first, RegressionOutput):
        return RegressionOutput(value=concat([output.value for output in outputs], axis=0))
    scores, classes = first.scores, first.classes
    if scores is not None:
        scores = concat([output.scores for output in outputs], axis=0)
    if classes is not None:
        classes = stack([output.classes for output in outputs], axis=0)
    return ClassificationOutput(scores=scores, classes=classes)


_JOINED = {
    EstimatorModeKeys.TRAIN: _trained,
    EstimatorModeKeys.EVAL: _evaluated,
    EstimatorModeKeys.PREDICT: _predicted,
}
