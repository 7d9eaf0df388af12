"""Options of the conversion, and ``set_loop_options``.

``Options`` are compared by identity and made once per choice, since they are part of the key of converted code. Malt's
converters ask them too (``uses``, ``to_ast``).

>>> options_for() is options_for(features=()), options_for().uses(Feature.BUILTIN_FUNCTIONS)
(True, False)
"""

from __future__ import annotations

import ast
import enum
from dataclasses import dataclass
from functools import cache
from typing import Any


class Feature(enum.Enum):
    """Optional parts of the conversion.

    BUILTIN_FUNCTIONS makes ``print`` of tensors print when the program runs, and EQUALITY_OPERATORS makes ``==`` and
    ``!=`` compare tensors element by element whatever ``Tensor.__eq__`` does. ASSERT_STATEMENTS and AUTO_CONTROL_DEPS
    are always on. NAME_SCOPES changes names only. LISTS: a Python list cannot grow in a staged loop in any case, and
    the error says what to write in its place.
    """

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"

    @classmethod
    def all(cls) -> tuple[Feature, ...]:
        """All of them."""
        return tuple(cls)

    @classmethod
    def all_but(cls, exclude: Any) -> tuple[Feature, ...]:
        """All but one, or but several."""
        left_out = {exclude} if isinstance(exclude, Feature) else set(exclude)
        return tuple(f for f in cls if f not in left_out and f is not cls.ALL)


UNSPECIFIED = object()


def set_loop_options(
    parallel_iterations: Any = UNSPECIFIED,
    swap_memory: Any = UNSPECIFIED,
    maximum_iterations: Any = UNSPECIFIED,
    shape_invariants: Any = UNSPECIFIED,
) -> None:
    """Pass arguments to the ``tf.while_loop`` that the loop around it becomes; its first statement.

    Without effect where the loop runs as a Python loop.

    Args:
      parallel_iterations: scheduling of the original; changes no value.
      swap_memory: likewise.
      maximum_iterations: an upper bound of the number of iterations.
      shape_invariants: pairs of a loop variable and the part of its shape that is known in every iteration.
    """


class Refused(Exception):
    """A function has syntax that the front end does not know; the message names it."""


@dataclass(frozen=True, eq=False)
class Options:
    """Options of a conversion; made by ``options_for``, once for each choice.

    Attributes:
      recursive: convert the functions that it calls too.
      features: the optional features asked for.
    """

    recursive: bool
    features: frozenset[Feature]

    def uses(self, feature: enum.Enum) -> bool:
        """Whether a feature, ours or the one of that name of ``malt``, was asked for."""
        return Feature.ALL in self.features or Feature[feature.name] in self.features

    def call_options(self) -> Options:
        return self

    def to_ast(self) -> Any:
        return ast.parse("ag__.options", mode="eval").body


@cache
def _options(recursive: bool, features: frozenset[Feature]) -> Options:
    return Options(recursive, features)


def options_for(recursive: bool = True, features: Any = None) -> Options:
    """The options with the given optional features: None, one, or several."""
    return _options(bool(recursive), frozenset([features] if isinstance(features, Feature) else features or ()))
