"""Functions that the standard library had."""

from __future__ import annotations

import html
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple


class ArgSpec(NamedTuple):
    """The arguments of a function: their names, those of ``*args`` and ``**kwargs``, the defaults of the last ones."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def getargspec(func: Callable[..., Any]) -> ArgSpec:
    """``inspect.getfullargspec`` for functions without keyword-only arguments and annotations.

    Raises:
      ValueError: the function has them.
    """
    full = inspect.getfullargspec(func)
    if full.kwonlyargs or full.annotations:
        raise ValueError(
            "Function has keyword-only parameters or annotations, use inspect.signature() API which can support them"
        )
    return ArgSpec(full.args, full.varargs, full.varkw, full.defaults)


def formatargspec(args: Any, varargs: Any = None, varkw: Any = None, defaults: Any = None, kwonlyargs: Any = (),
                  kwonlydefaults: Any = None, annotations: Any = None) -> str:  # fmt: skip
    """The arguments of a function as they are written in its definition, without annotations."""
    first = len(args) - len(defaults or ())
    parts = [name if i < first else f"{name}={(defaults or ())[i - first]!r}" for i, name in enumerate(args)]
    if varargs:
        parts.append(f"*{varargs}")
    elif kwonlyargs:
        parts.append("*")
    named = kwonlydefaults or {}
    parts += [f"{name}={named[name]!r}" if name in named else name for name in kwonlyargs]
    if varkw:
        parts.append(f"**{varkw}")
    return f"({', '.join(parts)})"


def escape(s: str, quote: bool = False) -> str:
    """``html.escape`` that leaves quotation marks alone unless asked."""
    escaped = html.escape(s, quote=False)
    return escaped.replace('"', "&quot;") if quote else escaped


def linux_distribution(*args: Any, **kwargs: Any) -> tuple[str, str, str]:
    """Name, version and code name of the system's distribution, empty where it does not say."""
    try:
        with open("/etc/os-release", encoding="utf-8") as file:
            said = dict(line.rstrip().replace('"', "").partition("=")[::2] for line in file if "=" in line)
    except OSError:
        said = {}
    return said.get("NAME", ""), said.get("VERSION_ID", ""), said.get("VERSION_CODENAME", "")
