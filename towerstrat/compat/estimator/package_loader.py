"""Loads the modules of the package tensorflow-estimator, whose ``tensorflow`` is this library.

The package is what became of TensorFlow's own ``tf.estimator``, version 2.15. Its files are executed as they are, but
for what they import. Only the modules that are asked for are loaded, and none is in ``sys.modules``: where the names of
``tensorflow`` are installed, their finder gives out these.
"""

from __future__ import annotations

import builtins
import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from towerstrat.compat.estimator import shared_model_dir
from towerstrat.compat.utilities import exports
from towerstrat.platform.deferred import Deferred

if TYPE_CHECKING:
    from towerstrat.compat.estimator import completions
    from towerstrat.compat.estimator import train_sessions as training
else:
    completions = Deferred("towerstrat.compat.estimator.completions")
    training = Deferred("towerstrat.compat.estimator.train_sessions")

NAME = "tensorflow_estimator"
INSIDE = f"{NAME}.python.estimator"
"""The package's name, and that of the folder that has its modules."""

Binding = Callable[[], AbstractContextManager[None]]
"""A context manager inside of which ``import tensorflow`` means towerstrat."""


class Package:
    """The modules of one package, each executed once, when it is first asked for.

    Args:
      name: of the package, which is installed and never imported itself.
      ours: modules that stand for some of its own, or of ``tensorflow``.
    """

    def __init__(self, name: str, ours: Mapping[str, ModuleType]):
        self._name = name
        self._ours = ours
        self._modules = dict(ours)

    def module(self, name: str, bound: Binding) -> ModuleType:
        """A module by its full name.

        Args:
          bound: used while a module is executed for the first time.

        Raises:
          ModuleNotFoundError: the package has no such module, or is not installed.
        """
        if name not in self._modules:
            with bound():
                self._load(name)
        return self._modules[name]

    def loaded(self, name: str) -> ModuleType:
        """A module that was loaded before. Raises KeyError where it was not."""
        return self._modules[name]

    def has(self, name: str) -> bool:
        """Whether ``name`` is a module or a folder of the package."""
        return self._place(name) is not None

    @cached_property
    def _folder(self) -> str | None:
        """Where the package is installed."""
        found = PathFinder.find_spec(self._name)
        return None if found is None or found.origin is None else os.path.dirname(found.origin)

    def _place(self, name: str) -> str | None:
        """The path of a module's file or folder; None where there is none."""
        if self._folder is None or not (name == self._name or name.startswith(f"{self._name}.")):
            return None
        path = os.path.join(self._folder, *name.split(".")[1:])
        return next((each for each in (f"{path}.py", path) if os.path.exists(each)), None)

    def _load(self, name: str) -> ModuleType:
        if name in self._modules:
            return self._modules[name]
        path = self._place(name)
        if path is None:
            raise ModuleNotFoundError(f"The package {self._name} has no module {name}.", name=name)
        module = ModuleType(name)
        module.__file__ = path
        self._modules[name] = module
        if os.path.isdir(path):
            module.__path__ = [path]  # its __init__ would import everything
            module.__package__ = name
            return module
        module.__package__ = name.rpartition(".")[0]
        loader = SourceFileLoader(name, path)
        module.__spec__ = ModuleSpec(name, loader, origin=path)
        module.__dict__["__builtins__"] = vars(builtins) | {"__import__": self._import}
        try:
            loader.exec_module(module)
            completions.complete(module)
        except BaseException:
            del self._modules[name]
            raise
        return module

    def _import(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        """What ``import`` does in the package's modules: ``tensorflow`` is the namespace of 2.x there."""
        if name == "tensorflow":
            return importlib.import_module("tensorflow.compat.v2")
        if name in self._ours and not fromlist:
            return self._ours[name]
        if fromlist and all(f"{name}.{each}" in self._ours for each in fromlist):
            return SimpleNamespace(**{each: self._ours[f"{name}.{each}"] for each in fromlist})
        if name.partition(".")[0] != self._name:
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        module = self._load(name)
        if not hasattr(module, "__path__"):
            return module
        for each in fromlist or ():
            setattr(module, each, self._load(f"{name}.{each}"))
        return module


# The package's own decorator logs that estimators are deprecated, which they were not in 1.x.
ESTIMATOR = Package(
    NAME,
    {
        f"{INSIDE}.estimator_export": exports,
        "tensorflow.python.training.training": training,
        "tempfile": shared_model_dir,
    },
)
"""The package that serves ``tf.estimator``."""
