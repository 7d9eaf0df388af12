"""Which version a program finds in ``tf.__version__``: one that it accepts, and whose branches work here."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Sequence

from towerstrat.compat.names import missing_names, public_names
from towerstrat.compat.names.later_arguments import later_arguments
from towerstrat.compat.program.name_resolution import Resolver
from towerstrat.compat.program.program_files import Program
from towerstrat.compat.program.source_reader import VERSION, Condition, Mention, Source

RELEASES: dict[int, tuple[str, ...]] = {
    1: ("1.8.0", "1.9.0", "1.10.1", "1.11.0", "1.12.3", "1.13.2", "1.14.0", "1.15.5"),
    2: (
        "2.0.4", "2.1.4", "2.2.3", "2.3.4", "2.4.4", "2.5.3", "2.6.5", "2.7.4", "2.8.4", "2.9.3", "2.10.1", "2.11.1",
        "2.12.1", "2.13.1", "2.14.1", "2.15.1",
    ),
}  # fmt: skip
"""The last release of each minor version, by the first number."""
_LATER = "1.15.5"
_LATER_METHODS = {
    "experimental_run_v2", "experimental_distribute_dataset", "experimental_make_numpy_dataset",
    "experimental_local_results", "make_dataset_iterator", "make_input_fn_iterator", "num_replicas_in_sync",
}  # fmt: skip
"""Methods of strategies that came with 1.13 and 1.14."""


Api = tuple[int, str | None]
"""1 or 2, and the version that a program sees; None: the one that it is written for."""


def release(text: str) -> Api:
    """``1`` and None for "1"; ``1`` and the version for "1.14" and "1.13.1".

    Raises:
      ValueError: no such version.
    """
    if text in ("1", "2"):
        return int(text), None
    for api, releases in RELEASES.items():
        for last in releases:
            minor = last.rpartition(".")[0]
            if text == minor:
                return api, last
            if re.fullmatch(rf"{re.escape(minor)}\.\d+", text):
                return api, text
    raise ValueError(f"expected 1, 2, or a version from 1.8 to 1.15 or 2.0 to 2.15, got {text!r}")


def choose(program: Program, api: int) -> str:
    """The version of the namespace of 1.x or 2.x that a program sees.

    The one that breaks the fewest of its assertions, leads to the fewest names that are missing here, and is nearest to
    what its names tell: 1.12 where nothing speaks for 1.13 to 1.15.
    """
    sources = [*program.own, *program.helpers]
    preferred = _LATER if api == 1 and any(map(_is_later, sources)) else public_names.VERSIONS[api]
    conditions = [condition for source in sources for condition in source.conditions]
    if not conditions:
        return preferred
    candidates = sorted({*RELEASES[api], preferred, *_literals(conditions, api)}, key=_numbers)
    resolver = Resolver(api)

    def cost(version: str) -> tuple[int, int, int]:
        broken = sum(_outcomes(source, version)[0] for source in sources)
        missing = sum(_missing(source, version, resolver) for source in sources if source.conditions)
        return broken, missing, abs(candidates.index(version) - candidates.index(preferred))

    return min(candidates, key=cost)


def breaks(program: Program, version: str) -> bool:
    """Whether a program refuses to run with a version."""
    return any(_outcomes(source, version)[0] for source in (*program.own, *program.helpers))


def _is_later(source: Source) -> bool:
    """Whether a file uses what came with 1.13 to 1.15."""
    listed = missing_names.original_names(1)
    return bool(_LATER_METHODS & source.attributes) or any(
        mention.name.startswith(("tf.compat.v1", "tf.compat.v2"))
        or listed.get(mention.name) == "TensorFlow 1.15"
        or mention.keyword in later_arguments().get(mention.name, ())
        for mention in source.mentions
        if not mention.optional
    )


def reached(source: Source, version: str) -> list[Mention]:
    """The mentions of a file but for those that are for other versions."""
    _, skipped = _outcomes(source, version)
    return [mention for mention in source.mentions if mention.line not in skipped]


def _outcomes(source: Source, version: str) -> tuple[int, set[int]]:
    """How many conditions on the version fail that must not, and the lines that are for other versions."""
    skipped: set[int] = set()
    broken = 0
    for condition in source.conditions:
        outcome = holds(condition.test, version)
        if outcome is None or condition.line in skipped:
            continue
        broken += condition.wanted is not None and outcome is not condition.wanted
        skipped |= set(condition.otherwise if outcome else condition.body)
    return broken, skipped


def _missing(source: Source, version: str, resolver: Resolver) -> int:
    """How many mentions of names that are not here a version leads to."""
    mentions = (m for m in reached(source, version) if m.keyword is None and not m.optional)
    return sum(not resolver.verdict(mention.name).works for mention in mentions)


def _literals(conditions: Sequence[Condition], api: int) -> Iterator[str]:
    """Versions that a program names."""
    for condition in conditions:
        for node in ast.walk(condition.test):
            if isinstance(node, ast.Constant) and re.fullmatch(rf"{api}\.\d+\.\d+", str(node.value)):
                yield str(node.value)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


# ---- expressions about the version ---------------------------------------------------------------------------------


@functools.total_ordering
class _Version:
    """What LooseVersion, packaging.version.parse and their kin make of a version."""

    def __init__(self, text: str):
        self.version = self.release = _numbers(text)
        self.major, self.minor, self.micro = (*self.release, 0, 0, 0)[:3]

    def _compared(self) -> list[int]:
        return [*self.release, 0, 0, 0][:3]

    def __eq__(self, other: object) -> bool:
        return (
            self._compared() == _Version(str(other))._compared()
            if isinstance(other, str)
            else (isinstance(other, _Version) and self._compared() == other._compared())
        )

    def __lt__(self, other: _Version | str) -> bool:
        return self._compared() < (_Version(other) if isinstance(other, str) else other)._compared()


_MAKES_VERSIONS = ("LooseVersion", "StrictVersion", "Version", "parse", "parse_version")
_FUNCTIONS = {
    f.__name__: f for f in (int, float, str, tuple, list, map, len, any, all, min, max, bool)
} | dict.fromkeys(_MAKES_VERSIONS, _Version)
_MEMBERS = {
    "split", "startswith", "endswith", "strip", "lstrip", "rstrip", "replace", "join", "partition", "rpartition",
    "version", "release", "major", "minor", "micro",
}  # fmt: skip
_NODES = (
    ast.Expression, ast.Compare, ast.cmpop, ast.BoolOp, ast.boolop, ast.UnaryOp, ast.unaryop, ast.Name, ast.Constant,
    ast.Attribute, ast.Call, ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.ListComp, ast.GeneratorExp,
    ast.comprehension, ast.expr_context,
)  # fmt: skip


class _Plain(ast.NodeTransformer):
    """``packaging.version.parse`` and ``distutils.version.LooseVersion`` by their last names."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if node.attr in _MAKES_VERSIONS:
            return ast.copy_location(ast.Name(node.attr, ast.Load()), node)
        self.generic_visit(node)
        return node


def holds(test: ast.expr, version: str) -> bool | None:
    """What a condition on the version gives; None where it is about other things too.

    Only comparisons, indices and the functions and methods above are evaluated: nothing of the program runs.
    """
    expression = ast.fix_missing_locations(_Plain().visit(ast.Expression(test)))
    for node in ast.walk(expression):
        allowed = isinstance(node, _NODES) and (not isinstance(node, ast.Attribute) or node.attr in _MEMBERS)
        if not allowed:
            return None
    try:
        return bool(eval(compile(expression, "", "eval"), {"__builtins__": {}, **_FUNCTIONS, VERSION: version}))
    except Exception:  # an expression that fails for this version tells nothing
        return None
