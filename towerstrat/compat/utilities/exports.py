"""What a module exports, as programs write it down: ``tensorflow.python.util.tf_export`` and ``all_util``."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from towerstrat.compat.utilities import decorators, inspection

TENSORFLOW_API_NAME, ESTIMATOR_API_NAME, KERAS_API_NAME = "tensorflow", "estimator", "keras"
_APIS = {TENSORFLOW_API_NAME: "tf", ESTIMATOR_API_NAME: "estimator", KERAS_API_NAME: "keras"}
"""The originals' interfaces, with the prefix of the attributes that carry their names."""


_symbols: dict[str, Any] = {}
"""What was exported, by each of its names."""


class SymbolAlreadyExposedError(Exception):
    """A symbol is exported twice."""


class api_export:
    """Decorator: notes the public names of a function or class on it, and returns it.

    Args:
      args: the names, the first is the canonical one.
      api_name: ``tensorflow``, ``estimator`` or ``keras``.
      v1: the names in 1.x, where they are others.
      overrides: symbols whose names this one takes. allow_multiple_exports: whether it may have names already.

    Raises:
      SymbolAlreadyExposedError: see allow_multiple_exports.
    """

    def __init__(
        self,
        *args: str,
        api_name: str = TENSORFLOW_API_NAME,
        v1: Sequence[str] | None = None,
        overrides: Sequence[Any] = (),
        allow_multiple_exports: bool = False,
    ):
        self._names = {"": args, "_v1": args if v1 is None else v1}
        self._prefix = _APIS[api_name]
        self._overrides = overrides
        self._again = allow_multiple_exports

    def __call__(self, func: Any) -> Any:
        for other in self._overrides:
            for version in self._names:
                delattr(decorators.unwrap(other)[1], f"_{self._prefix}_api_names{version}")
        target = decorators.unwrap(func)[1]
        for version, names in self._names.items():
            attribute = f"_{self._prefix}_api_names{version}"
            # A derived class has no names of its own because its base has.
            if attribute in target.__dict__ and not self._again:
                raise SymbolAlreadyExposedError(
                    f"Symbol {target.__name__} is already exposed as {getattr(target, attribute)}."
                )
            setattr(target, attribute, names)
        _symbols.update(dict.fromkeys(self._names[""], func))
        _symbols.update(dict.fromkeys((f"compat.v1.{name}" for name in self._names["_v1"]), func))
        return func

    def export_constant(self, module_name: str, name: str) -> None:
        """Notes the public names of a module's constant on the module."""
        module = sys.modules[module_name].__dict__
        for version, names in self._names.items():
            module.setdefault(f"_{self._prefix}_api_constants{version}", []).append((names, name))


tf_export = functools.partial(api_export, api_name=TENSORFLOW_API_NAME)
estimator_export = functools.partial(api_export, api_name=ESTIMATOR_API_NAME)
keras_export = functools.partial(api_export, api_name=KERAS_API_NAME)


def _names_of(symbol: Any, version: str) -> list[str]:
    own = getattr(symbol, "__dict__", {})
    return [name for prefix in _APIS.values() for name in own.get(f"_{prefix}_api_names{version}", ())]


def get_v1_names(symbol: Any) -> list[str]:
    """The names that a symbol is exported under in 1.x."""
    return _names_of(symbol, "_v1")


def get_v2_names(symbol: Any) -> list[str]:
    """The names that a symbol is exported under in 2.x."""
    return _names_of(symbol, "")


def get_canonical_name(api_names: Sequence[str], deprecated_api_names: Sequence[str]) -> str | None:
    """The first name that is not deprecated, else the first one; None where there is none."""
    return next((n for n in api_names if n not in deprecated_api_names), next(iter(api_names), None))


def get_canonical_name_for_symbol(
    symbol: Any, api_name: str = TENSORFLOW_API_NAME, add_prefix_to_v1_names: bool = False
) -> str | None:
    """The canonical name that a symbol is exported under, None where it is not exported.

    Args:
      add_prefix_to_v1_names: whether a name of 1.x alone is said below ``compat.v1``.
    """
    own = getattr(decorators.unwrap(symbol)[1], "__dict__", {})
    attribute = f"_{_APIS[api_name]}_api_names"
    if attribute not in own:
        return None
    deprecated = own.get("_tf_deprecated_api_names", ())
    found = get_canonical_name(own[attribute], deprecated)
    if found is not None:
        return found
    first = get_canonical_name(own[f"{attribute}_v1"], deprecated)
    return f"compat.v1.{first}" if add_prefix_to_v1_names else first


def exported(name: str) -> Any:
    """What was exported under a name, such as ``keras.layers.Dense``; None where nothing was."""
    return _symbols.get(name)


def kwarg_only(f: Callable[..., Any]) -> Any:
    """Decorator: calls with positional arguments raise TypeError."""
    spec = inspection.getargspec(f)

    @functools.wraps(f)
    def by_keyword(*args: Any, **kwargs: Any) -> Any:
        if args:
            raise TypeError(
                f"{f.__name__} only takes keyword args (possible keys: {spec.args}). Please pass these args as kwargs "
                "instead."
            )
        return f(**kwargs)

    return decorators.make_decorator(f, by_keyword, decorator_argspec=spec)


# ---- __all__ -------------------------------------------------------------------------------------------------------


def make_all(module_name: str, doc_string_modules: Sequence[ModuleType] | None = None) -> list[str]:
    """The names of a module that docstrings mention as ``@@name``, for its ``__all__``.

    Args:
      doc_string_modules: the modules whose docstrings are read; by default the module itself.
    """
    module = sys.modules[module_name]
    docs = [m.__doc__ or "" for m in doc_string_modules or [module]]
    mentioned = {name for doc in docs for name in re.findall(r"^@@(\w+)$", doc, re.MULTILINE)}
    return sorted(mentioned & set(dir(module)))


class _Hidden:
    """The names that ``remove_undocumented`` took out of modules, with their modules and values."""

    def __init__(self) -> None:
        self.names: dict[str, tuple[ModuleType, Any]] = {}


_hidden = _Hidden()


def remove_undocumented(
    module_name: str,
    allowed_exception_list: Sequence[str] | None = None,
    doc_string_modules: Sequence[ModuleType] | None = None,
) -> None:
    """Takes the public names out of a module that its docstring does not mention.

    Args:
      allowed_exception_list: names that stay. doc_string_modules: see ``make_all``.
    """
    module = sys.modules[module_name]
    stay = {*make_all(module_name, doc_string_modules), *(allowed_exception_list or ())}
    for name in set(dir(module)) - stay:
        if not name.startswith("_"):
            _hidden.names[f"{module_name}.{name}"] = (module, getattr(module, name))
            delattr(module, name)


def reveal_undocumented(symbol_name: str, target_module: ModuleType | None = None) -> None:
    """Puts back a name that ``remove_undocumented`` took out, into its own module or another.

    Raises:
      LookupError: it took no such name out.
    """
    if symbol_name not in _hidden.names:
        raise LookupError(f"Symbol {symbol_name} is not a hidden symbol")
    module, value = _hidden.names[symbol_name]
    setattr(target_module or module, symbol_name.rpartition(".")[2], value)
