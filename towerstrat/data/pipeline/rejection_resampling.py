"""``rejection_resample``: elements left out at random so that classes come in given proportions.

Source: ``tensorflow/python/data/experimental/ops/resampling.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import float32, int64
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.control.branches import cond
from towerstrat.graph.ops.host.python_calls import Print
from towerstrat.graph.ops.indexing import gather_scatter
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.ops.random import stateful

_SEEN_AT_A_TIME = 32
"""Elements after which the proportions are estimated anew."""
_SEEN_BEFORE = 10
"""Elements of each class that count as seen before the first one."""


def rejection_resampled(
    dataset: Any, class_func: Callable[..., Any], target_dist: Any, initial_dist: Any, seed: int | None
) -> Any:
    """Pairs of a class and an element, in the proportions ``target_dist``; see ``Dataset.rejection_resample``."""
    target = convert_to_tensor(target_dist, name="target_dist")
    classes = dataset.map(class_func)
    kind = type(dataset)
    if initial_dist is None:
        initials = _estimated(classes, target)
        chances = initials.map(lambda initial: _chances(initial, target))
        kept = None
    else:
        initial = convert_to_tensor(initial_dist, name="initial_dist")
        initials = kind.from_tensors(initial).repeat()
        chances = kind.from_tensors(_chances(initial, target)).repeat()
        kept = _kept(initial, target)
    pairs = kind.zip((classes, dataset))
    if kept == 1:
        return pairs
    accepted = kind.zip((chances.map(lambda accept, _: accept), initials)).map(_warned)
    filtered = kind.zip((pairs, accepted)).filter(
        lambda pair, accept: stateful.random_uniform([], seed=seed) < accept[arithmetic.cast(pair[0], int64)]
    )
    filtered = filtered.map(lambda pair, _: pair).prefetch(3)
    if kept == 0:
        return filtered
    draws = chances.map(lambda _, original: _draw(original, seed))
    return kind.choose_from_datasets([pairs, filtered], draws, stop_on_empty_dataset=False)


def _draw(original: Tensor, seed: int | None) -> Tensor:
    """1 with the chance that an element is not taken from the original dataset, else 0."""
    return arithmetic.cast(stateful.random_uniform([], seed=seed) >= arithmetic.cast(original, float32), int64)


def _kept(initial: Tensor, target: Tensor) -> Any:
    """The chance to take an element from the original dataset, where it is known while the graph is built."""
    known = [constant_value(t) for t in (initial, target)]
    return None if known[0] is None or known[1] is None else np.min(known[1] / known[0])


def _chances(initial: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """The chance to accept an element of each class, and the chance to take one from the original dataset.

    As few elements are rejected as can be: with the ratios of target to initial proportions, the chance of the original
    is the smallest, and classes are accepted in proportion to what theirs exceeds it by.
    """
    ratios = target / (initial + np.finfo(initial.dtype.np).tiny)
    least, most = reductions.reduce_min(ratios), reductions.reduce_max(ratios)
    return (ratios - least) / (most - least), least


def _warned(accept: Tensor, initial: Tensor) -> Tensor:
    """The chances; more than half rejected is said, ten times at most."""
    rejected = reductions.reduce_sum((constant(1, accept.dtype) - accept) * initial)
    words = "Proportion of examples rejected by sampler is high: "
    return cond(
        rejected < constant(0.5, rejected.dtype),
        lambda: arrays.identity(accept),
        lambda: Print(accept, [rejected, initial, accept], message=words, summarize=100, first_n=10),
    )


def _estimated(classes: Any, target: Tensor) -> Any:
    """The proportions of classes so far, for each element."""
    count = target.dims[0] if target.dims else None
    number = arrays.shape(target)[0] if count is None else count

    def seen(counts: Tensor, some: Tensor) -> tuple[Tensor, Tensor]:
        found = counts + reductions.reduce_sum(gather_scatter.one_hot(some, number, dtype=int64), 0)
        proportions = arithmetic.cast(found / reductions.reduce_sum(found), float32)
        return found, arrays.tile(arrays.expand_dims(proportions, 0), [_SEEN_AT_A_TIME, 1])

    start = arrays.fill([number], constant(_SEEN_BEFORE, int64))
    return classes.batch(_SEEN_AT_A_TIME).scan(start, seen).unbatch()
