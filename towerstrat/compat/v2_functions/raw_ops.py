"""``tf.raw_ops``: operations by their types, with arguments by name. Those that keras 2.15 uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import float32, int32
from towerstrat.graph.ops.array.arrays import reshape, shape
from towerstrat.graph.ops.indexing.histograms import searchsorted
from towerstrat.graph.ops.math.arithmetic import cast
from towerstrat.training.optimizers import adadelta, adagrad, adam, ftrl, gradient_descent, keras_updates, rmsprop
from towerstrat.training.optimizers.update_ops import Update


def _update(
    update: Update, sparse: bool = False, gradient: str = "grad", **attributes: bool
) -> Callable[..., Operation]:
    """The function of one rule: handles of variables, scalars, the gradient, attributes with their defaults."""
    wanted = [*update.cells, *update.scalars, gradient, *(["indices"] if sparse else [])]
    type = f"Resource{'Sparse' if sparse else ''}Apply{update.name}"

    def apply(*, use_locking: bool = False, name: str | None = None, **given: Any) -> Operation:
        missing, unknown = set(wanted) - set(given), set(given) - {*wanted, *attributes}
        if missing or unknown:
            raise TypeError(f"tf.raw_ops.{type}: missing arguments {sorted(missing)}, unknown ones {sorted(unknown)}.")
        handles = [given[cell] for cell in update.cells]
        dtype = handles[0].op.attrs["cell"].dtype
        numbers = [convert_to_tensor(given[each], dtype) for each in (*update.scalars, gradient)]
        indices = [convert_to_tensor(given["indices"])] if sparse else []
        options = {each: bool(given.get(each, default)) for each, default in attributes.items()}
        return get_default_graph().add(type, [*handles, *numbers, *indices], options, name)

    apply.__name__ = apply.__qualname__ = type
    apply.__doc__ = (
        f"Changes a variable and its slots by a gradient{' of some rows' if sparse else ''}. Handles: "
        f"{', '.join(update.cells)}; scalars: {', '.join(update.scalars)}; use_locking changes nothing."
    )
    return apply


ResourceApplyAdaMax = _update(adam.ADA_MAX)
ResourceApplyAdadelta = _update(adadelta.ADADELTA)
ResourceApplyAdagrad = _update(adagrad.ADAGRAD)
ResourceApplyAdagradV2 = _update(keras_updates.ADAGRAD_V2, update_slots=True)
ResourceApplyAdam = _update(adam.ADAM, use_nesterov=False)
ResourceApplyAdamWithAmsgrad = _update(keras_updates.AMSGRAD)
ResourceApplyCenteredRMSProp = _update(rmsprop.CENTERED_RMS_PROP)
ResourceApplyFtrl = _update(ftrl.FTRL)
ResourceApplyFtrlV2 = _update(ftrl.FTRL_V2)
ResourceApplyGradientDescent = _update(gradient_descent.DESCENT, gradient="delta")
ResourceApplyKerasMomentum = _update(keras_updates.KERAS_MOMENTUM, use_nesterov=False)
ResourceApplyRMSProp = _update(rmsprop.RMS_PROP)
ResourceSparseApplyAdadelta = _update(adadelta.ADADELTA, sparse=True)
ResourceSparseApplyAdagradV2 = _update(keras_updates.ADAGRAD_V2, sparse=True, update_slots=True)
ResourceSparseApplyCenteredRMSProp = _update(rmsprop.CENTERED_RMS_PROP, sparse=True)
ResourceSparseApplyFtrl = _update(ftrl.FTRL, sparse=True)
ResourceSparseApplyFtrlV2 = _update(ftrl.FTRL_V2, sparse=True)
ResourceSparseApplyKerasMomentum = _update(keras_updates.KERAS_MOMENTUM, sparse=True, use_nesterov=False)
ResourceSparseApplyRMSProp = _update(rmsprop.RMS_PROP, sparse=True)


def _scatter(kind: str) -> Callable[..., Operation]:
    def scatter(*, resource: Any, indices: Any, updates: Any, name: str | None = None) -> Operation:
        dtype = resource.op.attrs["cell"].dtype
        inputs = [resource, convert_to_tensor(indices), convert_to_tensor(updates, dtype)]
        return get_default_graph().add(f"ResourceScatter{kind}", inputs, {}, name)

    scatter.__name__ = scatter.__qualname__ = f"ResourceScatter{kind}"
    scatter.__doc__ = f"{kind}s rows of a variable: ``updates`` at ``indices`` of the handle ``resource``."
    return scatter


ResourceScatterAdd = _scatter("Add")
ResourceScatterUpdate = _scatter("Update")


def Bucketize(*, input: Any, boundaries: Sequence[float], name: str | None = None) -> Any:
    """The number of the interval that each value lies in, int32: the first is below ``boundaries[0]``."""
    values = convert_to_tensor(input)
    limits = convert_to_tensor([float(limit) for limit in boundaries], float32)
    found = searchsorted(limits, cast(reshape(values, [-1]), float32), side="right", out_type=int32, name=name)
    return reshape(found, shape(values))
