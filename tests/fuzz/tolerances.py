"""How far apart the routes of an operation may be, by operation type.

Programs that are fused and programs of one operation round at other places, and numpy's elementary functions are not
the compiler's. What is not listed is exact: moves, comparisons, extremes, selections, integers, rounding.
"""

from __future__ import annotations

from collections.abc import Iterable

from tests.fuzz.difference import Tolerance

EACH: dict[float, str] = {
    2: "Add Sub Mul RealDiv DivNoNan Square Sqrt SquaredDifference",
}
"""Units in the last place of each element, and the types that may be so far apart."""

LARGEST: dict[float, str] = {}
"""Units in the last place of the largest element, for sums in another order."""


def of_types(types: Iterable[str]) -> Tolerance:
    """The tolerance of a computation made of operations of these types."""
    types = set(types)

    def limit(table: dict[float, str]) -> float:
        return max((units for units, names in table.items() if types & set(names.split())), default=0.0)

    return Tolerance(limit(EACH), limit(LARGEST))
