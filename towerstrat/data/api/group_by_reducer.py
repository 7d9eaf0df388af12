"""``group_by_reducer``: elements of one key reduced to one, for each key.

Source: ``tensorflow/core/kernels/data/experimental/group_by_reducer_dataset_op.cc``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from towerstrat.data.api.dataset import Dataset
from towerstrat.data.api.transforms_v1 import Transformation
from towerstrat.data.elements.structure import Structure
from towerstrat.data.elements.types import Element
from towerstrat.data.pipeline.element_functions import Function
from towerstrat.data.pipeline.mapping import Bound
from towerstrat.data.pipeline.nodes import DatasetNode, ElementIterator, IteratorContext
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.types import int64


class Reducer:
    """How elements are reduced.

    Args:
      init_func: key -> state at the beginning.
      reduce_func: (state, element) -> state.
      finalize_func: state -> result.
    """

    def __init__(
        self, init_func: Callable[..., Any], reduce_func: Callable[..., Any], finalize_func: Callable[..., Any]
    ):
        self._functions = init_func, reduce_func, finalize_func

    @property
    def init_func(self) -> Callable[..., Any]:
        return self._functions[0]

    @property
    def reduce_func(self) -> Callable[..., Any]:
        return self._functions[1]

    @property
    def finalize_func(self) -> Callable[..., Any]:
        return self._functions[2]


class ReducedPull(ElementIterator):
    """Reduces all elements by their keys; the results come out in the order of the keys."""

    checkpointed = {"source": "source", "states": "states", "ended": "ended"}

    def __init__(self, source: Iterator[Element], key: Bound, init: Bound, reduce: Bound, finalize: Bound):
        self.source = source
        self.key, self.init, self.reduce, self.finalize = key, init, reduce, finalize
        self.states: dict[int, Element] = {}
        self.ended = False

    def __next__(self) -> Element:
        if not self.ended:
            for element in self.source:
                key = int(self.key(element)[0])
                state = self.states[key] if key in self.states else self.init([np.asarray(key, np.int64)])
                self.states[key] = self.reduce([*state, *element])
            self.ended = True
        if not self.states:
            raise StopIteration
        return self.finalize(self.states.pop(min(self.states)))


class GroupByReducer(DatasetNode):
    """One element for each key."""

    kind = "GroupByReducer"

    def __init__(self, child: DatasetNode, key: Function, init: Function, reduce: Function, finalize: Function):
        self.children = (child,)
        self.functions = (key, init, reduce, finalize)
        self.structure = finalize.structure
        self.tensors = tuple(dict.fromkeys(t for f in self.functions for t in f.captures))
        self.cells = tuple(dict.fromkeys(c for f in self.functions for c in f.cells))

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return ReducedPull(self.children[0].open(opening), *(f.bind(opening) for f in self.functions))


def _grouped(node: DatasetNode, key_func: Callable[..., Any], reducer: Reducer) -> DatasetNode:
    outer = get_default_graph()
    key = Function(key_func, [node.structure], "key_func", outer)
    if key.structure.dtypes != (int64,) or key.structure.dims[0] not in ((), None):
        raise ValueError(
            "`key_func` must return a single tf.int64 tensor. Got type="
            f"{key.structure.types} and shape={key.structure.shapes}"
        )
    init = Function(reducer.init_func, [Structure(None, [int64], [()])], "reducer.init_func", outer)
    state = init.structure
    reduce = Function(reducer.reduce_func, [state, node.structure], "reducer.reduce_func", outer)
    state.check_types(reduce.structure, "a new state")
    if state.relaxed(reduce.structure).dims != state.dims:
        state = state.relaxed(reduce.structure)
        reduce = Function(reducer.reduce_func, [state, node.structure], "reducer.reduce_func", outer)
    finalize = Function(reducer.finalize_func, [state], "reducer.finalize_func", outer)
    return GroupByReducer(node, key, init, reduce, finalize)


def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Transformation:
    """One element for each key, in the order of the keys, made of all elements with that key.

    Args:
      key_func: element -> int64 scalar.

    Raises (when it is applied):
      ValueError: another key. TypeError: a state of another structure or type.
    """
    return lambda dataset: dataset._made(_grouped(dataset.node, key_func, reducer))


def reduce_dataset(dataset: Dataset, reducer: Reducer) -> Any:
    """The state that a reducer gets to along a dataset, from that of key 0; as in 1.12, not its ``finalize_func``'s.

    Raises:
      TypeError: no dataset.
    """
    if not isinstance(dataset, Dataset):
        raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
    return dataset.reduce(reducer.init_func(np.int64(0)), reducer.reduce_func)
