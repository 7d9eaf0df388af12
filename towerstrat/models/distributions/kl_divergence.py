"""Kullback-Leibler divergences, found by the classes of the two distributions."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from towerstrat.graph.ir.default_graph import control_dependencies, name_scope
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.host import runtime_checks
from towerstrat.graph.ops.math import arithmetic, reductions

if TYPE_CHECKING:
    from towerstrat.graph.ir.graph_elements import Tensor
    from towerstrat.models.distributions.distribution import Distribution

Divergence = Callable[..., Any]

OWN = "_kl_of_kind"
"""The method of a class that has a divergence between two distributions of its own."""
_REGISTERED: dict[tuple[type, type], Divergence] = {}


def _between(one: type, other: type) -> Divergence | None:
    """The divergence of exactly these two classes."""
    own = vars(one).get(OWN) if one is other else None
    return own or _REGISTERED.get((one, other))


def _nearest(one: type, other: type) -> Divergence | None:
    """The divergence of the two classes or of the nearest classes that they derive from."""
    pairs = itertools.product(enumerate(one.__mro__), enumerate(other.__mro__))
    found = ((i + j, known) for (i, a), (j, b) in pairs if (known := _between(a, b)) is not None)
    return min(found, key=lambda item: item[0], default=(0, None))[1]


class RegisterKL:
    """Decorates a function ``(a, b, name=None)`` that computes the divergence of two classes of distributions.

    Args:
      dist_cls_a, dist_cls_b: the classes of the first and of the second distribution.
    """

    def __init__(self, dist_cls_a: type, dist_cls_b: type):
        self._key = (dist_cls_a, dist_cls_b)

    def __call__(self, kl_fn: Divergence) -> Divergence:
        """Registers ``kl_fn``.

        Raises:
          TypeError: it is not callable. ValueError: the classes have a divergence.
        """
        if not callable(kl_fn):
            raise TypeError(f"kl_fn must be callable, received: {kl_fn}")
        known = _between(*self._key)
        if known is not None:
            one, other = (cls.__name__ for cls in self._key)
            raise ValueError(f"KL({one} || {other}) has already been registered to: {known}")
        _REGISTERED[self._key] = kl_fn
        return kl_fn


def kl_divergence(
    distribution_a: Distribution, distribution_b: Distribution, allow_nan_stats: bool = True, name: str | None = None
) -> Tensor:
    """The divergence ``KL(a || b) = E_a[log a(X) - log b(X)]``, of the distributions' batch shape.

    Args:
      allow_nan_stats: False: a value that is NaN raises InvalidArgumentError when it is computed.

    Raises:
      NotImplementedError: nothing is registered for the two classes.
    """
    divergence = _nearest(type(distribution_a), type(distribution_b))
    if divergence is None:
        raise NotImplementedError(
            "No KL(distribution_a || distribution_b) registered for distribution_a type "
            f"{type(distribution_a).__name__} and distribution_b type {type(distribution_b).__name__}"
        )
    with name_scope("KullbackLeibler"):
        value = divergence(distribution_a, distribution_b, name=name)
        if allow_nan_stats:
            return value
        value = arrays.identity(value, name="kl")
        said = (
            f"KL calculation between {distribution_a.name} and {distribution_b.name} returned NaN values "
            "(and was called with allow_nan_stats=False). Values:"
        )
        fine = arithmetic.logical_not(reductions.reduce_any(arithmetic.is_nan(value)))
        with control_dependencies([runtime_checks.Assert(fine, [said, value])]):
            return arrays.identity(value, name="checked_kl")


def cross_entropy(ref: Distribution, other: Distribution, allow_nan_stats: bool = True) -> Tensor:
    """``H(ref, other) = H(ref) + KL(ref || other)``."""
    with name_scope("cross_entropy"):
        return ref.entropy() + kl_divergence(ref, other, allow_nan_stats=allow_nan_stats)
