"""Names that are written down beside the module that has them, and imported when they are used."""

from __future__ import annotations

from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

from towerstrat.compat.estimator.package_loader import ESTIMATOR, INSIDE, Binding
from towerstrat.platform.deferred import Deferred

Rows = tuple[tuple[str, dict[str, str]], ...]
"""Modules below ``towerstrat``, each with the names that it gives to public modules: ``{"tf.nn tf.math": "relu a=b"}``
has its ``relu`` and, as ``a``, its ``b`` in both."""


class LazyName(NamedTuple):
    """A name of a module that is imported when the value is asked for.

    Attributes:
      module: below ``towerstrat``, such as ``graph.ops.array``.
      name: in the module, dotted for an attribute of what has it.
    """

    module: str
    name: str

    def value(self) -> Any:
        return attrgetter(self.name)(Deferred(f"towerstrat.{self.module}"))


class Packaged(NamedTuple):
    """A name of a module of the package that serves ``tf.estimator``, which is loaded when the value is asked for.

    Attributes:
      module: below the package's own folder, such as ``run_config``. name: in the module.
      bound: used while the module is executed for the first time.
    """

    module: str
    name: str
    bound: Binding

    def value(self) -> Any:
        return getattr(ESTIMATOR.module(f"{INSIDE}.{self.module}", self.bound), self.name)


class Joined(NamedTuple):
    """A class of ours that extends one of that package.

    Attributes:
      ours: the class of ours, whose base stands for the package's.
      base: the package's.
      needs: the modules of the package that ours uses.
    """

    ours: LazyName
    base: Packaged
    needs: tuple[str, ...]

    def value(self) -> Any:
        for module in self.needs:
            ESTIMATOR.module(f"{INSIDE}.{module}", self.base.bound)
        return _joined(self.ours.value(), self.base.value())


@cache
def _joined(ours: type, base: type) -> type:
    return type(ours.__name__, (ours, base), {"__doc__": ours.__doc__, "__module__": ours.__module__})


def named(module: str, names: str) -> dict[str, LazyName]:
    """Names of one module by what they are called: ``"relu a=b"`` is its ``relu`` and, as ``a``, its ``b``."""
    pairs = (name.partition("=") for name in names.split())
    return {public: LazyName(module, own or public) for public, _, own in pairs}
