"""Modules that are imported when they are used: ``tensorflow.python.util.lazy_loader``."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from towerstrat.platform import logs


class LazyLoader(ModuleType):
    """Stands for a module until one of its names is asked for.

    Args:
      local_name: what the module that holds it calls it. parent_module_globals: the names of that module.
      name: the module to import. warning: what is logged when it is.
    """

    def __init__(self, local_name: str, parent_module_globals: dict[str, Any], name: str, warning: str | None = None):
        super().__init__(name)
        self._local_name = local_name
        self._parent_module_globals = parent_module_globals
        self._warning = warning

    def _load(self) -> ModuleType:
        module = importlib.import_module(self.__name__)
        self._parent_module_globals[self._local_name] = module
        if self._warning:
            logs.warning(self._warning)
            self._warning = None
        return module

    def __getattr__(self, item: str) -> Any:
        return getattr(self._load(), item)

    def __dir__(self) -> list[str]:
        return dir(self._load())
