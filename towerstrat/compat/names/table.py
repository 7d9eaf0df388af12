"""The two namespaces as tables, dotted public name to object: two sets of names over one set of functions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import towerstrat
from towerstrat.compat.names import v1, v1_era, v1_sparse, v2
from towerstrat.compat.names.named import Named, Rows, named

VERSIONS = {1: v1.VERSION, 2: v2.VERSION}
"""The version of the original whose names each namespace has."""

_BUILD = f"towerstrat-{towerstrat.__version__}"
_GRAPH_DEF_VERSIONS = {1: 27, 2: 1645}

_CODES = """OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED
    RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS
    UNAUTHENTICATED"""


@cache
def names(api: int = 1) -> Mapping[str, Any]:
    """Dotted public name, such as ``tf.nn.relu``, to object; arguments as those of ``entries``."""
    return {name: found.value() if isinstance(found, Named) else found for name, found in entries(api).items()}


@cache
def entries(api: int) -> Mapping[str, Any]:
    """Dotted public name to object, or to a ``Named`` one.

    Args:
      api: 1 for the names of 1.x, 2 for those of 2.x.
    """
    first, second = _of(v1.ROWS), _of(v2.ROWS)
    if api == 1:
        source = _renamed(v2.KEPT, first) | second
        later = _renamed(v1.LATER, source) | _renamed(v1_era.LATER, source) | _renamed(v1_sparse.LATER, source)
        return _common(1) | first | later | _of(v1.LATER_ROWS)
    return _common(2) | _renamed(v2.KEPT, first) | second


def _common(api: int) -> dict[str, Any]:
    version: dict[str, Any] = {
        "VERSION": VERSIONS[api],
        "GIT_VERSION": _BUILD,
        "COMPILER_VERSION": "XLA",
        "GRAPH_DEF_VERSION": _GRAPH_DEF_VERSIONS[api],
        "GRAPH_DEF_VERSION_MIN_CONSUMER": 0,
        "GRAPH_DEF_VERSION_MIN_PRODUCER": 0,
    }
    found = {f"tf.version.{name}": value for name, value in version.items()}
    found.update({"tf.__version__": VERSIONS[api], "tf.__git_version__": _BUILD, "tf.__compiler_version__": "XLA"})
    if api == 1:
        found.update({f"tf.{name}": value for name, value in version.items()})
        found.update({"tf.MONOLITHIC_BUILD": 0, "tf.CXX11_ABI_FLAG": 0})
    found.update((f"tf.errors.{name}", code) for code, name in enumerate(_CODES.split()))
    return found


def _of(rows: Rows) -> dict[str, Any]:
    """The names that modules give."""
    return {
        f"{place}.{public}": found
        for module, areas in rows
        for places, entries in areas.items()
        for public, found in named(module, entries).items()
        for place in places.split()
    }


def _renamed(areas: dict[str, str], source: dict[str, Any]) -> dict[str, Any]:
    """The names whose objects are those of the other namespace."""
    found: dict[str, Any] = {}
    for place, entries in areas.items():
        for entry in entries.split():
            public, _, other = entry.partition("=")
            found[f"{place}.{public}"] = source[other or f"{place}.{public}"]
    return found
