"""Structures of models besides those of gradients, in the same form; ``k`` is a kit of ``tests.modes.model``."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.golden.gradient_structures_cases import MIX, SHARE, Structure
from tests.golden.gradient_structures_cases import STRUCTURES as OF_GRADIENTS

IDS = [0, 2, 2, 1, 0]
"""Rows of the table that are looked up, some repeatedly."""
WEIGHTS = np.array([[0.5, 1.0], [-0.25, 0.75], [1.0, 0.5], [0.25, -1.0], [-0.5, 0.25]])
EPSILON = 0.1


class vectorized_map(Structure):
    """``tf.vectorized_map``, whose rows alone lead to what is before it. What writes is no vectorized function."""

    @staticmethod
    def build(k: Any, f: Any, x: Any) -> Any:
        return k.tf.reduce_sum(k.tf.vectorized_map(lambda e: f(e) * e, k.rows(x)) * MIX, 0)

    @staticmethod
    def formula(k: Any, f: Any, x: Any) -> Any:
        return f(x) * x * MIX[0] + f(x * SHARE) * (x * SHARE) * MIX[1]


class recompute_grad(Structure):
    """A function that its gradient computes again, with what it writes."""

    @staticmethod
    def build(k: Any, f: Any, x: Any) -> Any:
        return k.recompute(lambda a: f(a) * SHARE, x * k.w)

    formula = build


class second_gradient(Structure):
    """The gradient of a function, which the loss has a gradient of."""

    @staticmethod
    def build(k: Any, f: Any, x: Any) -> Any:
        return k.gradient(f, x) + x

    formula = build


class embedding(Structure):
    """Rows of a table, some of them repeatedly."""

    @staticmethod
    def build(k: Any, f: Any, x: Any) -> Any:
        rows = k.tf.nn.embedding_lookup(k.table, k.trips(1) * IDS)
        return f(x) * k.tf.reduce_sum(rows * WEIGHTS, 0)

    @staticmethod
    def formula(k: Any, f: Any, x: Any) -> Any:
        rows = np.zeros((3, 2))
        np.add.at(rows, IDS, WEIGHTS)
        return f(x) * (k.table * rows).sum(0)


class batch_norm(Structure):
    """Batch normalization, whose moving average is an update of the step."""

    @staticmethod
    def build(k: Any, f: Any, x: Any) -> Any:
        rows = k.rows(x)
        mean, variance = k.tf.nn.moments(rows, [0])
        k.average(mean)
        normalized = k.tf.nn.batch_normalization(rows, mean, variance, None, k.w, EPSILON)
        return f(k.tf.reduce_sum(normalized * MIX, 0))

    @staticmethod
    def formula(k: Any, f: Any, x: Any) -> Any:
        mean, half = x * ((1.0 + SHARE) / 2), x * ((1.0 - SHARE) / 2)
        k.average(mean)
        normalized = half * k.rsqrt(half * half + EPSILON) * k.w
        return f(normalized * (MIX[0] - MIX[1]))


class py_func(Structure):
    """A function of Python, through which no gradient goes."""

    @staticmethod
    def build(k: Any, f: Any, x: Any) -> Any:
        return f(x) * k.call_python(np.cos, x)

    formula = build


STRUCTURES: dict[str, Any] = {
    **{name: OF_GRADIENTS[name] for name in (
        "plain", "while_initial", "while_condition", "while_arrays", "cond", "case", "scan", "map_fn", "jacobian",
        "custom_gradient", "dynamic_rnn", "function_once", "function_in_loop", "read_after_write",
    )},
    **{s.__name__: s for s in (vectorized_map, recompute_grad, second_gradient, embedding, batch_norm, py_func)},
}  # fmt: skip
"""By name. Others of the table of gradients are much the same around a step."""
