"""Names whose modules are imported when they are used: here, in a package, or of both."""

from __future__ import annotations

from functools import cache
from operator import attrgetter
from types import ModuleType
from typing import Any, NamedTuple

from towerstrat.compat.estimator.package_loader import ESTIMATOR, INSIDE, Binding
from towerstrat.compat.names.name_file import OURS, Row
from towerstrat.platform.deferred import Deferred

_NEEDED = tuple(f"{INSIDE}.{name}" for name in ("util", "tpu.tpu_config", "tpu.util", "tpu.iteration_count_estimator"))
"""The modules of the package that classes of ours use beside those of their bases."""


_attributes = vars(ModuleType)["__dict__"].__get__


def held(module: ModuleType) -> dict[str, Any]:
    """The attributes that a module has by now: what nobody has asked a ``Namespace`` for is not among them."""
    attributes: dict[str, Any] = _attributes(module)
    return attributes


class LazyName(NamedTuple):
    """A name of a module that is imported when the value is asked for.

    Attributes:
      module: such as ``towerstrat.graph.ops.array.arrays``.
      name: in the module, dotted for an attribute of what has it.
    """

    module: str
    name: str

    def value(self) -> Any:
        return attrgetter(self.name)(Deferred(self.module))


class Packaged(NamedTuple):
    """A name of a module of the package that serves ``tf.estimator``, which is loaded when the value is asked for.

    Attributes:
      module: such as ``tensorflow_estimator.python.estimator.run_config``. name: in the module.
      bound: used while the module is executed for the first time.
    """

    module: str
    name: str
    bound: Binding

    def value(self) -> Any:
        return getattr(ESTIMATOR.module(self.module, self.bound), self.name)


class Joined(NamedTuple):
    """A class of ours that extends one of that package.

    Attributes:
      ours: the class of ours, whose base stands for the package's.
      base: the package's.
    """

    ours: LazyName
    base: Packaged

    def value(self) -> Any:
        for module in _NEEDED:
            ESTIMATOR.module(module, self.base.bound)
        return _joined(self.ours.value(), self.base.value())


@cache
def _joined(ours: type, base: type) -> type:
    return type(ours.__name__, (ours, base), {"__doc__": ours.__doc__, "__module__": ours.__module__})


def named(row: Row, bound: Binding) -> LazyName | Packaged | Joined:
    """What gives the object of a name.

    Args:
      bound: used while a package is loaded that has it.
    """
    ours, _, base = row.module.partition(" ")
    if base:
        own, _, below = row.attribute.partition(" ")
        return Joined(LazyName(ours, own), Packaged(base, below, bound))
    return LazyName(*row[1:3]) if row.package == OURS else Packaged(row.module, row.attribute, bound)
