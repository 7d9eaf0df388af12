"""Small networks for tests of strategies: ``tensorflow.python.distribute.single_loss_example``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from towerstrat.data.api.dataset_v1 import DatasetV1
from towerstrat.graph.ir.default_graph import control_dependencies, get_collection
from towerstrat.graph.ops.array.arrays import reshape
from towerstrat.graph.ops.math.arithmetic import square
from towerstrat.graph.ops.math.reductions import reduce_mean, reduce_sum
from towerstrat.graph.variables.variables import GraphKeys
from towerstrat.models.layers.batch_normalization import BatchNormalization
from towerstrat.models.layers.dense import Dense
from towerstrat.towers.contrib.step_objects import StandardSingleLossStep


def single_loss_example(
    optimizer_fn: Callable[[], Any], distribution: Any, use_bias: bool = False, iterations_per_step: int = 1
) -> tuple[StandardSingleLossStep, Dense]:
    """A step that trains one weight towards 1, and its layer."""
    layer = Dense(1, use_bias=use_bias)
    step = StandardSingleLossStep(
        lambda: DatasetV1.from_tensors([[1.0]]).repeat(),
        lambda _, x: square(reshape(layer(x), []) - 1.0),
        optimizer_fn(),
        distribution,
        iterations_per_step,
    )
    return step, layer


def minimize_loss_example(
    optimizer: Any, use_bias: bool = False, use_callable_loss: bool = True,
    create_optimizer_inside_model_fn: bool = False,
) -> tuple[Callable[[Any], Any], Callable[[], Any], Dense]:  # fmt: skip
    """A model whose step trains one weight towards 1, its dataset and its layer.

    Args:
      optimizer: an optimizer, or a function that makes one.
      use_callable_loss: whether it is given a function that returns the loss, rather than the loss.
      create_optimizer_inside_model_fn: whether the model calls that function.
    """
    layer = Dense(1, use_bias=use_bias)
    made = optimizer if create_optimizer_inside_model_fn or not callable(optimizer) else optimizer()

    def dataset_fn() -> Any:
        return DatasetV1.from_tensors([[1.0]]).repeat().batch(1, drop_remainder=True)

    def model_fn(x: Any) -> Any:
        chosen = made() if create_optimizer_inside_model_fn else made

        def loss_fn() -> Any:
            return square(reshape(layer(x), []) - 1.0)

        return chosen.minimize(loss_fn if use_callable_loss else loss_fn())

    return model_fn, dataset_fn, layer


def batchnorm_example(
    optimizer_fn: Callable[[], Any], batch_per_epoch: int = 1, momentum: float = 0.9, renorm: bool = False,
    update_ops_in_replica_mode: bool = False,
) -> tuple[Callable[[Any], Any], Callable[[], Any], BatchNormalization]:  # fmt: skip
    """A model with batch normalization, its dataset of batches ``[16, 8]``, and the layer.

    Args:
      update_ops_in_replica_mode: whether the loss waits for the updates of the moving averages.
    """
    optimizer = optimizer_fn()
    batchnorm = BatchNormalization(renorm=renorm, momentum=momentum, fused=False)
    layer = Dense(1, use_bias=False)

    def dataset_fn() -> Any:
        rows = [[[float(x * 8 + y + z * 100) for y in range(8)] for x in range(16)] for z in range(batch_per_epoch)]
        return DatasetV1.from_tensor_slices(rows).repeat()

    def model_fn(x: Any) -> Any:
        def loss_fn() -> Any:
            normal = batchnorm(x, training=True)
            with control_dependencies(get_collection(GraphKeys.UPDATE_OPS) if update_ops_in_replica_mode else []):
                return reduce_mean(reduce_sum(layer(normal)) - 1.0)

        return optimizer.minimize(loss_fn)

    return model_fn, dataset_fn, batchnorm
