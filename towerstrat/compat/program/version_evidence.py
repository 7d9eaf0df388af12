"""Whether a program is written for 1.x or for 2.x: its files are read, nothing of it runs.

What counts are names that one of the two originals alone has, and keywords that one of them alone takes. Some names
came with 1.13 to 1.15 and stayed (``tf.function``): they speak for 2.x unless something else speaks for 1.x.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from towerstrat.compat.names import missing_names, public_names
from towerstrat.compat.names.later_arguments import later_arguments
from towerstrat.compat.program import version_choice
from towerstrat.compat.program.name_resolution import keywords
from towerstrat.compat.program.program_files import Program
from towerstrat.compat.program.source_reader import Source

_FIRST = "tf.compat.v1"
_EITHER = ("tf.compat.v2", "tf.python", "tf.core")
_LEANING = {"tf.GradientTape"}
"""Names of 1.12 too that hardly any program of 1.x uses."""
_ADAPTS = {"tf.compat.v1.enable_v2_behavior", "tf.compat.v2.enable_v2_behavior"}
_GRAPHS = {"placeholder", "Session", "InteractiveSession"}
_SETTLED = ("disable_", "enable_", "Graph")
"""With one of these a program that imports ``tensorflow.compat.v1`` says itself how it runs."""


class Weight(enum.Enum):
    """What a use says."""

    FIRST = "1.x alone has it"
    SECOND = "2.x alone has it"
    ADAPTS = "it makes 1.13 to 1.15 run as 2.x does"
    LEANS = "1.12 does not have it"
    COMPAT = "it is reached through tensorflow.compat.v1"


class Use(NamedTuple):
    """A name, or a keyword of a call, in the program."""

    weight: Weight
    file: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} uses {self.what}"


class Decision(NamedTuple):
    """1 or 2, and the reason; None where nothing in the program tells."""

    api: int
    reason: str | None


class Conflict(Exception):
    """The program uses what 1.x alone has and what 2.x alone has."""


def decide(program: Program) -> Decision:
    """Which names a program means by ``tensorflow``. Its own files count before its helpers, these before packages.

    Raises:
      Conflict: its own files, or else its helpers, use names of both; the message names the two lines.
    """
    own, helpers = (_uses(sources, program.folder) for sources in (program.own, program.helpers))
    for uses in (own, helpers):
        first, second = uses[Weight.FIRST], uses[Weight.SECOND]
        if first and second:
            raise Conflict(
                f"{first[0]}, which 1.x alone has, and {second[0]}, which 2.x alone has. "
                "Say which names `tensorflow` has: --api 1 or --api 2."
            )
        if first or second:
            return Decision(1 if first else 2, str((first or second)[0]))
    for source in program.packages():
        contrib = [use for use in _uses([source], _place_of(source.path))[Weight.FIRST] if "tf.contrib" in use.what]
        if contrib:
            return Decision(1, f"it imports a package whose {contrib[0]}")
    for api, weight in ((1, Weight.ADAPTS), (2, Weight.LEANS)):
        if own[weight] or helpers[weight]:
            return Decision(api, str((own[weight] or helpers[weight])[0]))
    through_compat = [*own[Weight.COMPAT], *helpers[Weight.COMPAT]]
    if through_compat:
        tested = any("test_session" in source.attributes for source in (*program.own, *program.helpers))
        return Decision(1, f"{through_compat[0]} and test_session") if tested else _through_compat(through_compat)
    first_only, second_only = (version_choice.breaks(program, public_names.VERSIONS[api]) for api in (2, 1))
    if second_only and not first_only:
        return Decision(2, "its conditions on tf.__version__")
    return Decision(1, None)


def _place_of(path: Path) -> Path:
    """The folder of packages that an installed file is in."""
    return next((folder for folder in path.parents if folder.name in ("site-packages", "dist-packages")), path.parent)


def _through_compat(uses: Sequence[Use]) -> Decision:
    """Of a program that imports ``tensorflow.compat.v1`` only. Under 2.x it runs eagerly unless it says otherwise."""
    last = {use: use.what.rpartition(".")[2] for use in uses}
    graphs = [use for use in uses if last[use] in _GRAPHS]
    if graphs and not any(name.startswith(_SETTLED) for name in last.values()):
        return Decision(1, f"{graphs[0]}, and nothing turns eager execution off")
    return Decision(2, str(uses[0]))


def _uses(sources: Sequence[Source], folder: Path) -> dict[Weight, list[Use]]:
    """The mentions that tell something, by what they tell. What is tried, or for one version only, is no evidence."""
    found: dict[Weight, list[Use]] = {weight: [] for weight in Weight}
    for source in sources:
        shown = os.path.relpath(source.path, folder)
        by_version = source.by_version()
        for mention in source.mentions:
            if mention.optional or mention.line in by_version:
                continue
            keyword = mention.keyword
            weight = _weight(mention.name) if keyword is None else _weight_of_keyword(mention.name, keyword)
            if weight is not None:
                found[weight].append(Use(weight, shown, mention.line, str(mention)))
    return found


@cache
def _weight(name: str) -> Weight | None:
    if name in _ADAPTS:
        return Weight.ADAPTS
    if name.startswith(_EITHER):
        return None
    if name == _FIRST or name.startswith(f"{_FIRST}."):
        return Weight.COMPAT
    first, second = _known_part(name, 1), _known_part(name, 2)
    if len(first) != len(second):
        return Weight.FIRST if len(first) > len(second) else Weight.SECOND
    later = missing_names.original_names(1).get(first) == "TensorFlow 1.15"
    return Weight.LEANS if later or first in _LEANING else None


@cache
def _known_part(name: str, api: int) -> str:
    """The longest beginning of a name that an original has."""
    parts = name.split(".")
    listed = missing_names.original_names(api)
    return next((p for i in range(len(parts), 0, -1) if (p := ".".join(parts[:i])) in listed), "")


@cache
def _weight_of_keyword(name: str, keyword: str) -> Weight | None:
    first, second = (keywords(public_names.names(api).get(name)) for api in (1, 2))
    if keyword in (second or ()) and keyword in later_arguments().get(name, ()):
        return Weight.LEANS
    if first is None or second is None or (keyword in first) == (keyword in second):
        return None
    return Weight.FIRST if keyword in first else Weight.LEANS
