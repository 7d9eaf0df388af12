"""What becomes of a name that a program mentions: whether it works here, and what to say about it."""

from __future__ import annotations

import ast
import enum
import inspect
import textwrap
from functools import cache
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from towerstrat.compat import importer
from towerstrat.compat.estimator import checkpoint_exports
from towerstrat.compat.names import (
    ignored_arguments,
    keras_modules,
    missing_names,
    namespace,
    original_modules,
    tf_slim,
)
from towerstrat.compat.names.lazy_names import held
from towerstrat.compat.names.namespace import Namespace
from towerstrat.graph.runtime.sessions import session_config as config


class Status(enum.Enum):
    """What a name does. The values are the codes of ``towerstrat check``."""

    WORKS = "works"
    NO_EFFECT = "no-effect"
    MISSING = "missing"
    OTHER_ERA = "other-era"
    UNKNOWN = "unknown"


class Verdict(NamedTuple):
    """What a name does, and a sentence about it: why it has no effect, or what to use instead; else ''."""

    status: Status
    message: str

    @property
    def works(self) -> bool:
        return self.status in (Status.WORKS, Status.NO_EFFECT)


_WORKS = Verdict(Status.WORKS, "")


class Resolver:
    """Names as a process sees them in which ``tensorflow`` is bound to one of the two originals.

    Args:
      api: 1 for the names of 1.x, 2 for those of 2.x.
    """

    def __init__(self, api: int):
        here = importer.installed()
        self._root = (here if here is not None and here.api == api else importer.Finder(api)).root
        self._verdicts: dict[tuple[str, str | None], Verdict] = {}

    def verdict(self, name: str, keyword: str | None = None) -> Verdict:
        """What becomes of ``name`` (``tf.nn.relu``), or of a keyword in a call of it."""
        if (name, keyword) not in self._verdicts:
            self._verdicts[name, keyword] = self._resolve(name, keyword)
        return self._verdicts[name, keyword]

    def _resolve(self, name: str, keyword: str | None) -> Verdict:
        owner: Any = self._root
        parts = name.split(".")[1:]
        for i, part in enumerate(parts):
            if not isinstance(owner, Namespace):
                return _of_member(".".join(["tf", *parts[:i]]), owner, part)
            packaged = namespace.deferred(owner, part)
            if isinstance(packaged, keras_modules.Served) and packaged.has(parts[i + 1 :]):
                return _WORKS
            if isinstance(packaged, keras_modules.Served):
                return _absent(owner, parts[i:])
            found, value = namespace.look_up(owner, part)
            if not found:
                if _is_served(owner, parts[i:]):
                    return _WORKS
                return _absent(owner, parts[i:])
            owner = value
        if _is_empty(owner) and not _is_served(owner, []):
            return _absent(owner, [])  # a module that only a package would fill
        return _of_argument(name, owner, keyword) if keyword else _of_value(name, owner)

    def refused_member(self, name: str) -> str | None:
        """What a member of an object says that does nothing but refuse; None for others, and where that is not known.

        Args:
          name: ``tf.Session().partial_run``: of what a class makes, or a function that says what it returns.
        """
        owner: Any = self._root
        for part in name.split(".")[1:]:
            member = part.removesuffix("()")
            if isinstance(owner, Namespace):
                served = isinstance(namespace.deferred(owner, member), keras_modules.Served)
                owner = None if served else namespace.look_up(owner, member)[1]
            else:
                owner = getattr(owner, member, None)
            if member != part:
                owner = _made_by(owner)
            if owner is None:
                return None
        return refusal(owner)


def _made_by(called: Any) -> type | None:
    """The class of what a call gives: a class's, or the one that a function of ours is annotated with."""
    if isinstance(called, FunctionType):
        called = called.__globals__.get(str(called.__annotations__.get("return")))
    return called if isinstance(called, type) else None


def _of_value(name: str, value: Any) -> Verdict:
    refused = refusal(value)
    if refused is not None:
        return Verdict(Status.MISSING, f"{name} is not supported: {refused}")
    reason = ignored_arguments.reason(value)
    return _WORKS if reason is None else Verdict(Status.NO_EFFECT, f"{name} changes nothing: {reason}.")


def _of_member(name: str, owner: Any, member: str) -> Verdict:
    """Of ``owner.member``. What a value that is neither class nor module has cannot be told without running."""
    if not isinstance(owner, type | ModuleType):
        return _WORKS
    if hasattr(owner, member):
        refused = refusal(getattr(owner, member))
        return _WORKS if refused is None else Verdict(Status.MISSING, f"{name}.{member} is not supported: {refused}")
    return Verdict(Status.MISSING, f"{name} has no attribute {member} here.")


def refusal(value: Any) -> str | None:
    """Of a function that does nothing but refuse its message, of an export what it does; None for other values."""
    if inspect.isclass(value) or inspect.isfunction(value):
        exporting = checkpoint_exports.UNSUPPORTED.get(f"{value.__module__}.{value.__qualname__}")
        if exporting is not None:
            return exporting
    ours = inspect.isfunction(value) and (value.__module__ or "").startswith("towerstrat.")
    return _refusal_of(value) if ours else None


@cache
def _refusal_of(function: FunctionType) -> str | None:
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    body = [node for node in getattr(tree, "body", ()) if not isinstance(node, ast.Expr)]
    if len(body) != 1 or not isinstance(body[0], ast.Raise) or not isinstance(body[0].exc, ast.Call):
        return None
    if getattr(body[0].exc.func, "id", None) != "UnsupportedError":
        return None
    said = "".join(str(node.value) for node in ast.walk(body[0].exc) if isinstance(node, ast.Constant))
    return said.partition(" is not supported")[2].lstrip(":; ") or said


def _of_argument(name: str, value: Any, keyword: str) -> Verdict:
    taken = keywords(value)
    fields = getattr(value, "DESCRIPTOR", None)
    if fields is not None:
        taken = frozenset(fields.fields_by_name)
        if keyword in config.REFUSED:
            return Verdict(Status.MISSING, f"{name}({keyword}=...) is not supported: {config.REFUSED[keyword]}")
    if taken is not None and keyword not in taken:
        return Verdict(Status.UNKNOWN, f"{name} takes no argument {keyword!r}; it takes {', '.join(sorted(taken))}.")
    reason = ignored_arguments.reason_of_argument(value, keyword)
    if reason is None:
        return _WORKS
    return Verdict(Status.NO_EFFECT, f"{name}({keyword}=...) changes nothing{reason and ': '}{reason}.")


def keywords(value: Any) -> frozenset[str] | None:
    """The keywords that a function takes; None where it takes any, as protocol messages do, or is none."""
    if not callable(value) or getattr(value, "DESCRIPTOR", None) is not None:
        return None
    parameters = inspect.signature(value).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return frozenset(p.name for p in parameters)


# ---- names that are not here ---------------------------------------------------------------------------------------


def _is_empty(value: Any) -> bool:
    """Whether a value is a module that has nothing but modules like it."""
    if not isinstance(value, Namespace) or held(value)["_deferred"]:
        return False
    if not all(_is_empty(getattr(value, name)) for name in dir(value)):
        return False
    public, api, _ = namespace.place(value)  # one of the inside gives what its names are in public
    inside = original_modules.names(public.partition(".")[2], api)
    return all(missing_names.exported(f"{public}.{name}", api) is None for name in inside)


def _is_served(owner: Namespace, rest: list[str]) -> bool:
    """Whether a name, or one in a module, is of the package that serves parts of ``tf.contrib``; it is not loaded."""
    public, api, _ = namespace.place(owner)
    name = ".".join([public, *rest])
    served = any(name == one or name.startswith(f"{one}.") or one.startswith(f"{name}.") for one in tf_slim.NAMES)
    return api == 1 and served and tf_slim.available()


def _absent(owner: Namespace, rest: list[str]) -> Verdict:
    """Of a name whose first missing part is looked for in ``owner``."""
    public, api, mount = namespace.place(owner)
    name = ".".join([public, *rest])
    if public == "tf" and rest[0] in ("python", "core", "compiler", "tools"):
        name = f"tensorflow{name.removeprefix('tf')}"
    if missing_names.origin(name, api) or missing_names.is_module(name, api):
        return Verdict(Status.MISSING, missing_names.describe(name, api, mount))
    other = _longest(name, public, missing_names.original_names(3 - api))
    if other is not None and other not in missing_names.original_names(api):
        return Verdict(Status.OTHER_ERA, missing_names.describe(other, api, mount))
    return Verdict(Status.UNKNOWN, missing_names.describe(name, api, mount))


def _longest(name: str, below: str, listed: dict[str, str]) -> str | None:
    """The longest beginning of ``name``, longer than ``below``, that is listed."""
    while name not in ("", below):
        if name in listed:
            return name
        name = name.rpartition(".")[0]
    return None
