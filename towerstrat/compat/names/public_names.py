"""The two namespaces as tables, dotted public name to object: two sets of names over one set of functions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple

import towerstrat
from towerstrat.compat.names import name_file
from towerstrat.compat.names.lazy_names import LazyName
from towerstrat.graph.ir.dispatch import dispatching

VERSIONS = {1: "1.12.3", 2: "2.15.1"}
"""The version of the original whose names each namespace has."""

_BUILD = f"towerstrat-{towerstrat.__version__}"
_GRAPH_DEF_VERSIONS = {1: 27, 2: 1645}

_CODES = """OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED
    RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS
    UNAUTHENTICATED"""


@cache
def names(api: int = 1) -> Mapping[str, Any]:
    """Dotted public name, such as ``tf.nn.relu``, to object; arguments as those of ``entries``."""
    return {name: value(found) for name, found in entries(api).items()}


def value(found: Any) -> Any:
    """What programs get for a value of ``entries``."""
    return Symbol(found).value() if isinstance(found, LazyName) else found


@cache
def entries(api: int) -> Mapping[str, Any]:
    """Dotted public name to object, or to a ``LazyName`` one.

    Args:
      api: 1 for the names of 1.x, 2 for those of 2.x.
    """
    ours = name_file.public(name_file.OURS, api)
    return _values(api) | {row.name: LazyName(row.module, row.attribute) for row in ours}


def _values(api: int) -> dict[str, Any]:
    """The names that are numbers and strings."""
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


# ---- functions know their public names ------------------------------------------------------------------------------

_ROOMS = (
    "graph.ops.",
    "graph.ir.tensor_conversion",
    "compat.v1_functions.",
    "compat.v2_functions.",
    "towers.ops.",
    "models.shape_matching",
)
"""Where functions of tensors are, below ``towerstrat``."""
_FIRST = (
    "debugging",
    "math",
    "linalg",
    "io",
    "strings",
    "bitwise",
    "sparse",
    "sets",
    "image",
    "signal",
    "nn",
    "random",
    "dtypes",
)
"""Of several names of a function the canonical one is below one of these, where there is such a one."""


_CANONICAL = """
    cast decode_raw einsum eye image.resize_images initializers.tables_initializer math.floormod
    nn.local_response_normalization
    nn.log_softmax nn.softmax nn.softsign norm space_to_batch substr tensordot"""
"""Canonical names that the rule would not find."""
_SHARED = """
    clip_by_global_norm fill image.adjust_gamma image.non_max_suppression_padded io.matching_files linalg.diag
    linalg.diag_part linalg.matmul linalg.set_diag linspace math.angle math.top_k nn.compute_accidental_hits ones
    random.log_uniform_candidate_sampler random.uniform_candidate_sampler sparse.cross zeros"""
"""Canonical names of functions that the originals have in both namespaces, and that are two here."""


class Symbol(NamedTuple):
    """A name of a table; what it stands for, where it is a function of tensors, is ``dispatching``."""

    named: LazyName

    def value(self) -> Any:
        found = self.named.value()
        if not isinstance(found, FunctionType) or not self.named.module.removeprefix(f"{name_file.OURS}.").startswith(
            _ROOMS
        ):
            return found
        made = dispatching(found)
        for api, attribute in ((1, "_tf_api_names_v1"), (2, "_tf_api_names")):
            setattr(made, attribute, _places(api).get(self.named, ()))
        return made


@cache
def _places(api: int) -> Mapping[LazyName, tuple[str, ...]]:
    """Each object's public names without ``tf.``, the canonical one first."""
    found: dict[LazyName, list[str]] = {}
    for name, value in entries(api).items():
        if isinstance(value, LazyName):
            found.setdefault(value, []).append(name.removeprefix("tf."))
    ordered = {named: tuple(sorted(names, key=_order)) for named, names in found.items()}
    if api == 2:
        first = {named: {*_SHARED.split()}.intersection(names) for named, names in _places(1).items()}
        ordered = {named: tuple(names) for named, names in first.items() if names} | ordered
    return ordered


def _order(name: str) -> tuple[int, int, str]:
    top, _, below = name.partition(".")
    if name in _CANONICAL.split():
        return -1, 0, name
    rank = _FIRST.index(top) if below and top in _FIRST else len(_FIRST) + name.count(".")
    return rank, len(name), name
