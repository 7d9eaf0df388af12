"""Importing at less cost: modules that few programs need, and no garbage collection meanwhile."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any


class Deferred:
    """Stands for a module, and imports it when one of its names is asked for.

    Args:
      name: of the module. Modules import it under ``TYPE_CHECKING`` too: for types, and for the order of imports.
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
    """No cyclic garbage collection inside: what modules hold is no garbage, and looking for some takes long."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
