"""Optimizers of the package in towers: losses of estimators, and rows of embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import wraps
from types import ModuleType
from typing import Any

from towerstrat.compat.keras.program_release import LAST_OF_TOWERS, RELEASE
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ops.indexing.gather_scatter import unique
from towerstrat.graph.ops.indexing.segments import unsorted_segment_sum
from towerstrat.graph.variables.table_sums import deduplicate
from towerstrat.towers.distribute.current_strategy import has_strategy
from towerstrat.towers.engine.mirrored_engine import MirroredEngine
from towerstrat.towers.engine.tower_contexts import current_engine, note_loss_reduction


def divide_once(module: ModuleType) -> None:
    """Let an optimizer of ``tf.train`` take a model's loss as it is: it would divide it by the towers again.

    Args:
      module: ``optimizer_v1``.
    """
    kind = vars(module)["TFOptimizer"]
    update = kind.get_updates

    @wraps(update)
    def get_updates(self: Any, loss: Any, params: Any) -> Any:
        if has_strategy():
            note_loss_reduction("weighted_sum")
        return update(self, loss, params)

    kind.get_updates = get_updates


def refuse_towers(module: ModuleType) -> None:
    """Let optimizers of the package refuse towers of ``MirroredStrategy`` in programs of up to 1.12, as it did.

    Args:
      module: ``optimizer_v2``.
    """
    kind = vars(module)["OptimizerV2"]
    update = kind.get_updates

    @wraps(update)
    def get_updates(self: Any, loss: Any, params: Any) -> Any:
        earlier = RELEASE.of_graphs <= LAST_OF_TOWERS
        if earlier and has_strategy() and isinstance(current_engine(), MirroredEngine):
            raise ValueError(
                "Only TensorFlow native optimizers are supported with DistributionStrategy. Got "
                f"tf.keras.optimizers.{type(self).__name__}: compile the model with one of tf.train, or run the "
                "program with --api 1.15, where those of Keras train in towers."
            )
        return update(self, loss, params)

    kind.get_updates = get_updates


def _summed(values: Any, indices: Any) -> tuple[Any, Any]:
    """Sums of rows by index, and the indices. Traced they are as many as before, which compiled steps have to know."""
    if not get_default_graph().executing_eagerly:
        return deduplicate(values, indices)
    different, places = unique(indices)
    return unsorted_segment_sum(values, places, different.shape[0]), different


def _sum_gradients(self: Any, grads: Sequence[Any]) -> list[Any]:
    return [
        IndexedSlices(*_summed(g.values, g.indices), g.dense_shape) if isinstance(g, IndexedSlices) else g
        for g in grads
    ]


def sum_rows(module: ModuleType) -> None:
    """Let optimizers sum the repeated rows of gradients in towers and loops too.

    Args:
      module: ``optimizer``, or ``optimizer_v2`` of the earlier ones.
    """
    names = vars(module)
    if "_BaseOptimizer" in names:
        names["_BaseOptimizer"]._deduplicate_sparse_grad = _sum_gradients
    else:
        names["_deduplicate_indexed_slices"] = _summed


def complete_earlier(module: ModuleType) -> None:
    """All of this for ``optimizer_v2``."""
    refuse_towers(module)
    sum_rows(module)
