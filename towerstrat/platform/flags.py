"""``tf.flags``: absl's flags under TensorFlow's names, parsed when a program reads the first one.

    DEFINE_integer("steps", 100, "training steps")
    FLAGS.steps                                  # parses sys.argv here if nothing has; 100 without --steps
    DEFINE_integer(flag_name="a", default_value=1, docstring="...")      # old argument names; logs a warning

TensorFlow programs read flags without ``absl.app``; absl alone would raise UnparsedFlagAccessError. Everything else of
``absl.flags`` is re-exported, so that a flag defined by either module is one flag.
"""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from absl import flags as absl_flags
from absl.flags import *  # noqa: F403

_RENAMED = {"flag_name": "name", "default_value": "default", "docstring": "help"}

# absl attributes a flag to the calling module: this one must not count as the caller.
disclaim_key_flags()  # noqa: F405


class FlagValuesWrapper:
    """Wrapper of absl's ``FLAGS`` that parses ``sys.argv`` when a flag is read as an attribute for the first time."""

    _values: absl_flags.FlagValues

    def __init__(self, values: absl_flags.FlagValues):
        object.__setattr__(self, "_values", values)

    def __getattr__(self, name: str) -> Any:
        values: absl_flags.FlagValues = object.__getattribute__(self, "_values")
        # Methods of FlagValues are no flags: asking for one must not parse.
        if hasattr(type(values), name):
            return getattr(values, name)
        if not name.startswith("__") and not values.is_parsed():
            values(sys.argv)
        return getattr(values, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._values, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._values, name)

    def __dir__(self) -> list[str]:
        return dir(self._values)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __setitem__(self, name: str, flag: Any) -> None:
        self._values[name] = flag

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __str__(self) -> str:
        return str(self._values)

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        return self._values(argv, known_only=known_only)


def _accepting_old_names(define: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(define)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        old = [name for name in _RENAMED if name in kwargs]
        if old:
            logging.warning("Flag arguments %s are old names; use (name, default, help).", ", ".join(old))
            for name in old:
                kwargs[_RENAMED[name]] = kwargs.pop(name)
        return define(*args, **kwargs)

    return wrapper


DEFINE_string = _accepting_old_names(absl_flags.DEFINE_string)
DEFINE_boolean = _accepting_old_names(absl_flags.DEFINE_boolean)
DEFINE_bool = DEFINE_boolean
DEFINE_float = _accepting_old_names(absl_flags.DEFINE_float)
DEFINE_integer = _accepting_old_names(absl_flags.DEFINE_integer)
FLAGS = FlagValuesWrapper(absl_flags.FLAGS)  # type: ignore[assignment]
