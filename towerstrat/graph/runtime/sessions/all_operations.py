"""Imports every module below this room that registers operations, so that a session can run them all.

A type is registered where it is defined, when its module is imported. But operations are added by the name of their
type, also by modules that do not import the definition (``functions/inline`` executes ``ZerosLike``), so that what a
session can run must not depend on what a program has imported. ``session`` and the trees of public names import this
module for its effect alone; ``__all__`` has the modules, so that linters see their use. A new module of a room below
that calls ``define_op`` is entered here; whoever adds a type of a room above has imported that room.

>>> from towerstrat.graph.ir.op_registry import lookup
>>> lookup("Conv2D").type, lookup("StringSplit").type
('Conv2D', 'StringSplit')
"""

from __future__ import annotations

from towerstrat.graph.ops.array import array_kernels, padding
from towerstrat.graph.ops.collectives import all_reduce, exchanges, sharding, worker_mean
from towerstrat.graph.ops.control import assertions, branches, regions, tensor_array_lowering, while_loop
from towerstrat.graph.ops.host import python_calls, runtime_checks, tower_callbacks
from towerstrat.graph.ops.images import (
    boxes,
    codecs,
    colors,
    detections,
    matching,
    patches,
    projective_transforms,
    resizing,
    warps,
)
from towerstrat.graph.ops.indexing import gather_scatter, histograms, segments, slicing, sorting
from towerstrat.graph.ops.linalg import decompositions, einsum, products
from towerstrat.graph.ops.math import elementwise, equality, fourier, reductions
from towerstrat.graph.ops.nn import (
    activations,
    candidate_sampling,
    convolution,
    cross_entropy,
    embedding,
    misc,
    normalization,
    pooling,
)
from towerstrat.graph.ops.ragged import bincount, row_partitions, string_rows, unicode, unicode_scripts
from towerstrat.graph.ops.random import stateful, stateless
from towerstrat.graph.ops.sparse import arithmetic, crosses, dense_conversion, sets
from towerstrat.graph.ops.tables import hash_tables
from towerstrat.graph.ops.text import files, strings
from towerstrat.graph.scopes import (
    generator,
    initializers,
)
from towerstrat.graph.variables import (
    state_ops,
    string_variables,
    table_sums,
    variable_ops,
)

__all__ = [
    "activations",
    "all_reduce",
    "arithmetic",
    "array_kernels",
    "assertions",
    "bincount",
    "boxes",
    "branches",
    "candidate_sampling",
    "codecs",
    "colors",
    "convolution",
    "cross_entropy",
    "crosses",
    "decompositions",
    "dense_conversion",
    "detections",
    "einsum",
    "elementwise",
    "embedding",
    "equality",
    "exchanges",
    "files",
    "fourier",
    "gather_scatter",
    "generator",
    "hash_tables",
    "histograms",
    "initializers",
    "matching",
    "misc",
    "normalization",
    "padding",
    "patches",
    "pooling",
    "products",
    "projective_transforms",
    "python_calls",
    "reductions",
    "regions",
    "resizing",
    "row_partitions",
    "runtime_checks",
    "segments",
    "sets",
    "sharding",
    "slicing",
    "sorting",
    "state_ops",
    "stateful",
    "stateless",
    "string_rows",
    "string_variables",
    "strings",
    "table_sums",
    "tensor_array_lowering",
    "tower_callbacks",
    "unicode",
    "unicode_scripts",
    "variable_ops",
    "warps",
    "while_loop",
    "worker_mean",
]
