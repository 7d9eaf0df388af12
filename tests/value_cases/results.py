"""Results of public functions and methods, a little wrong: numbers, tensors, datasets, and what is called later."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from enum import Enum
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from tests.value_cases.change import Change, changed
from tests.value_cases.operations import disturb_definition
from towerstrat.data.api.dataset import Dataset, DatasetSpec
from towerstrat.data.elements.optional import Optional
from towerstrat.data.iterators.python_iterators import OwnedIterator
from towerstrat.graph.eager.positions import ShardedTensor
from towerstrat.graph.eager.tensor import EagerTensor
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.sparse_tensor import SparseTensor
from towerstrat.graph.ops.control.branches import no_op
from towerstrat.graph.ops.math import arithmetic
from towerstrat.graph.ops.ragged.ragged_tensor import RaggedTensor
from towerstrat.graph.ops.tables.table_classes import LookupInterface
from towerstrat.graph.ops.text import strings
from towerstrat.graph.variables.variables import Variable
from towerstrat.towers.contrib.per_device_dataset import PerDeviceDataIterator, PerDeviceDataset
from towerstrat.towers.distribute.distributed_dataset import DistributedDataset, InputIterator
from towerstrat.towers.distribute.step_functions import DatasetIterator
from towerstrat.towers.engine.distributed_values import DistributedValues, LazySelections, PerDevice
from towerstrat.towers.engine.eager_tower_values import stacked
from towerstrat.towers.engine.one_by_one_engine import Parts
from towerstrat.towers.engine.step_context import MultiStepContext
from towerstrat.towers.engine.symbolic_tower_id import TowerId

_GIVERS = (
    DistributedDataset, PerDeviceDataset, PerDeviceDataIterator, InputIterator, DatasetIterator, OwnedIterator,
    LookupInterface, Optional,
)  # fmt: skip
_NO_GIVERS = (Tensor, Dataset, AbstractContextManager, type)
"""Types of objects that may be called, and do not give values by that."""
_GIVE = (
    "__call__", "__iter__", "__next__", "get_next", "get_value", "lookup", "make_one_shot_iterator",
    "make_initializable_iterator",
)  # fmt: skip
_NUMBERS = (float, int, str, bytes, np.ndarray, np.generic)


def wrong(value: Any, change: Change) -> Any:
    """A result, or a structure of them, changed; what is no value of these stays as it is."""
    if isinstance(value, Tensor):
        return _tensor(value, change)
    if isinstance(value, IndexedSlices):
        return IndexedSlices(wrong(value.values, change), value.indices, value.dense_shape)
    if isinstance(value, SparseTensor):
        return SparseTensor(value.indices, wrong(value.values, change), value.dense_shape)
    if isinstance(value, RaggedTensor):
        return value.with_flat_values(wrong(value.flat_values, change))
    if isinstance(value, Dataset):
        if any(isinstance(spec, DatasetSpec) for spec in nest.flatten(value.element_spec)):
            return value.skip(int(change.flip))  # No function of ``map`` gives datasets.
        return value.map(lambda *parts: wrong(parts[0] if len(parts) == 1 else parts, change))
    if isinstance(value, DistributedValues) and not isinstance(value, Variable):
        return _distributed(value, change)
    if isinstance(value, Operation):
        return no_op() if change.flip else value
    if isinstance(value, MultiStepContext):
        value._last_step_outputs, value.run_op = wrong((value.last_step_outputs, value.run_op), change)
        return value
    if isinstance(value, Enum):
        return next(other for other in type(value) if other is not value) if change.flip else value
    if isinstance(value, dict):
        return type(value)((key, wrong(part, change)) for key, part in value.items())
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(wrong(part, change) for part in value))
    if isinstance(value, tuple | list):
        return type(value)(wrong(part, change) for part in value)
    return changed(value, change) if isinstance(value, _NUMBERS) else value


def _tensor(tensor: Tensor, change: Change) -> Tensor:
    """The tensor of a graph, whose operation computes something else, so that names stay; or another eager tensor."""
    dtype = tensor.dtype
    if not isinstance(tensor, EagerTensor):
        definition = tensor.op.definition
        if definition.kernel is not None or definition.numpy is not None:
            tensor.op.definition = replace(definition)
            disturb_definition(tensor.op.definition, change)
            return tensor
        made, here = tensor.op.block, get_default_graph().block
        if made is not here and not made.encloses(here):  # What computes with it would be refused.
            return tensor
    if dtype.name == "string":
        return strings.string_join([tensor, change.text])
    if dtype.is_bool:
        return arithmetic.not_equal(tensor, change.flip)
    if dtype.is_floating or dtype.is_complex:
        return tensor * change.factor + change.offset
    return tensor + change.shift if dtype.is_integer else tensor


def _distributed(value: Any, change: Change) -> Any:
    """A value with a part on each tower, whose parts are changed."""
    index = value._index
    if isinstance(index, Parts):
        return type(value)(Parts([wrong(part, change) for part in index._parts], list(index), index.axis))
    if not isinstance(index, LazySelections):
        return type(value)({device: wrong(part, change) for device, part in index.items()})
    if isinstance(index.local, ShardedTensor):
        parts = [wrong(index.local.part(position), change) for position in range(index.axis.size)]
        return type(value)(type(index)(stacked(parts, index.axis), list(index), index.axis))
    with get_default_graph().under(index.axis if isinstance(value, PerDevice) else None):
        local = index.local.tensor() if isinstance(index.local, TowerId) else index.local
        return type(value)(type(index)(wrong(local, change), list(index), index.axis))


class Once:
    """Keeps what a disturbance computes with from being disturbed itself."""

    def __init__(self) -> None:
        self.busy = False

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Inside, nothing is disturbed."""
        self.busy = True
        try:
            yield
        finally:
            self.busy = False


ONCE = Once()


def disturbed(value: Any, change: Change) -> Any:
    """``wrong``, without disturbing what computes it.

    Of what gives values later these are changed, and what has no value is not there.
    """
    if isinstance(value, FunctionType | partial):
        return lambda *args, **kwargs: disturbed(value(*args, **kwargs), change)
    if isinstance(value, _GIVERS) or (callable(value) and not isinstance(value, _NO_GIVERS)):
        return later(value, change)
    with ONCE.alone():
        found = wrong(value, change)
    is_as_before = found is value or (isinstance(value, list | tuple | dict) and not value)
    return None if is_as_before and change.flip and not isinstance(value, Tensor | MultiStepContext) else found


def later(giver: Any, change: Change) -> Any:
    """An object to call, or to take values from, that gives changed ones."""
    own = type(giver)

    def around(method: Any) -> Any:
        return lambda self, *args, **kwargs: disturbed(method(self, *args, **kwargs), change)

    methods = {name: around(getattr(own, name)) for name in _GIVE if hasattr(own, name)}
    giver.__class__ = type(own.__name__, (own,), {**methods, "__module__": own.__module__})
    return giver
