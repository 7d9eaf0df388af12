"""Cheaper imports: lazy modules that few programs need, and no garbage collection while modules are imported.

    jax_linalg = Deferred("jax.scipy.linalg")      nothing is imported
    jax_linalg.expm(x)                             imported here

Under ``TYPE_CHECKING`` the modules are imported as usual, so that type checkers see their names.
"""

from __future__ import annotations

import gc
import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

__all__ = ["Deferred", "jax_extend", "jax_linalg", "jax_special", "without_collections"]


class Deferred:
    """Proxy of a module that imports it at the first attribute access.

    Args:
      name: full name of the module. Users of our own modules also import them under ``TYPE_CHECKING``, for types and so
        that the order of imports can be checked.
    """

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)


if TYPE_CHECKING:
    from jax import extend as jax_extend
    from jax.scipy import linalg as jax_linalg
    from jax.scipy import special as jax_special
else:
    jax_extend = Deferred("jax.extend")  # imports Pallas, for both kinds of accelerators
    jax_linalg = Deferred("jax.scipy.linalg")
    jax_special = Deferred("jax.scipy.special")


@contextmanager
def without_collections() -> Iterator[None]:
    """Turn cyclic garbage collection off for the block: importing allocates much, and nothing of it is garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
