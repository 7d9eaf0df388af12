"""What is exported takes the arguments of the original: names, order and defaults.

The golden file is written by ``scripts/original_api.py``.
"""

import inspect
from pathlib import Path

import pytest

from towerstrat.compat import names

GOLDEN = Path(__file__).parents[1] / "golden" / "signatures.txt"

DEVIATIONS = {
}  # fmt: skip
"""A name, or a name and a member, whose arguments differ, and why."""

MISSING = {
}  # fmt: skip
"""Members of exported classes that are not there, and why."""


def read():
    """``(name, arguments)`` and, for members, ``(name, member, arguments or 'property')``."""
    symbols, members = [], []
    for line in GOLDEN.read_text().splitlines():
        head, _, arguments = line.removesuffix(")").partition("(")
        listed = arguments.split("; ") if arguments else []
        if line.startswith("    "):
            name, _, kind = head.strip().partition(": ")
            members.append((symbols[-1][0], name, kind or listed))
        else:
            symbols.append((head.removeprefix("class "), listed))
    return symbols, members


SYMBOLS, MEMBERS = read()
TABLE = names.table()


def shown(parameter):
    """A parameter in the golden file's way of writing."""
    if parameter.kind is parameter.VAR_POSITIONAL:
        return f"*{parameter.name}"
    if parameter.kind is parameter.VAR_KEYWORD:
        return f"**{parameter.name}"
    if parameter.default is parameter.empty:
        return parameter.name
    default = parameter.default
    return f"{parameter.name}={'object' if type(default) is object else repr(default)}"


def parameters(function):
    return [shown(p) for p in inspect.signature(function).parameters.values()]


def constructor(cls):
    """The arguments of making an instance, ``self`` first."""
    return parameters(cls.__init__)


def has(cls, member):
    """Whether instances have it: of the class, or set when one is made."""
    sources = (inspect.getsource(c) for c in cls.__mro__ if c.__module__.startswith("towerstrat"))
    return hasattr(cls, member) or any(f"self.{member} = " in source for source in sources)


def is_free(arguments):
    """Whether the original took anything: wrapped functions and protocol messages."""
    return [a for a in arguments if a != "self"] in (["*args", "**kwargs"], ["*args", "**kwds"])


@pytest.mark.parametrize(("name", "arguments"), SYMBOLS, ids=[name for name, _ in SYMBOLS])
def test_arguments(name, arguments):
    if is_free(arguments):
        return
    value = TABLE[name]
    found = constructor(value) if inspect.isclass(value) else parameters(value)
    if name in DEVIATIONS:
        assert found != arguments, f"{name} agrees: take it off the list"
    else:
        assert found == arguments


def test_members_are_there():
    missing = {f"{name}.{member}" for name, member, _ in MEMBERS if not has(TABLE[name], member)}
    assert missing == set(MISSING)


def test_members_take_the_same_arguments():
    wrong = {}
    for name, member, arguments in MEMBERS:
        value = inspect.getattr_static(TABLE[name], member, None)
        if value is None or f"{name}.{member}" in DEVIATIONS:
            continue
        if arguments == "property":
            if callable(value) and not isinstance(value, type):
                wrong[f"{name}.{member}"] = "expected a property, got a method"
            continue
        if is_free(arguments):
            continue
        function = getattr(value, "__func__", value)
        found = parameters(function) if callable(function) else "a property"
        if isinstance(value, classmethod):
            found = found[1:]
        if found != arguments:
            wrong[f"{name}.{member}"] = f"expected {arguments}, got {found}"
    assert wrong == {}


def test_the_golden_file_covers_the_table():
    covered = {name for name, _ in SYMBOLS}
    functions = {n for n, v in TABLE.items() if inspect.isfunction(v) or inspect.isclass(v)}
    assert {n for n in functions - covered if not n.startswith(("tf.flags.", "tf.app.flags."))} == set()
