"""Where elements come from: arrays, ranges, generators and any Python iterable."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from towerstrat.data.elements import composite_elements
from towerstrat.data.elements.structure import Structure, flatten, flatten_like, in_parts, is_nest, map_leaves
from towerstrat.data.elements.types import Array, Element
from towerstrat.data.pipeline.iterator_state import TAKEN_AGAIN
from towerstrat.data.pipeline.nodes import (
    INFINITE,
    UNKNOWN,
    DatasetNode,
    ElementIterator,
    IteratorContext,
    Seeds,
    copied_into,
    known,
    tensors_among,
)
from towerstrat.data.pipeline.table_rows import InOrder, TablePass
from towerstrat.errors import InvalidArgumentError, OpError
from towerstrat.graph.eager.tensor import EagerTensor
from towerstrat.graph.ir import nest as core_nest
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.shapes import Dims, TensorShape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor, is_tensor, numpy_value
from towerstrat.graph.ir.types import DType, as_dtype, int64, string
from towerstrat.graph.ops.host.python_calls import raised
from towerstrat.platform.plain import State

_BLOCK = 64
_LARGEST_TABLE = 1 << 22


def component(value: Any) -> Any:
    """One component given to a source: a graph tensor, or a copy of the value that later writes cannot reach."""
    if (isinstance(value, list) and any(_has_tensor(v) for v in value)) or is_tensor(value):
        tensor = convert_to_tensor(value)
        return tensor.host() if isinstance(tensor, EagerTensor) else tensor
    given = np.asarray(value) if hasattr(value, "__array__") else None
    array = numpy_value(value if given is None else given)
    if given is not None and np.may_share_memory(array, given):
        array = array.copy()
    array.flags.writeable = False
    return array


def _has_tensor(value: Any) -> bool:
    return any(_has_tensor(v) for v in value) if isinstance(value, list | tuple) else is_tensor(value)


def described(value: Any, drop_first: bool) -> Structure:
    """The structure of a nest of components, or of their slices along the first dimension."""
    leaves = flatten(value)
    dtypes = [as_dtype(c.dtype) for c in leaves]
    dims: list[Dims] = [c.dims if isinstance(c, Tensor) else c.shape for c in leaves]
    if drop_first:
        dims = [None if d is None else tuple(d[1:]) for d in dims]
    return Structure(map_leaves(lambda c: None, value), dtypes, dims)


class RowPull(ElementIterator):
    """The rows of a pass over a table, one by one."""

    checkpointed = {"order": "order", "numbers": "numbers"}

    def __init__(self, rows: TablePass):
        self.rows = rows
        self.order = rows.order
        self.numbers: deque[int] = deque()

    def __next__(self) -> Element:
        if not self.numbers:
            self.numbers.extend(self.order.take(_BLOCK).tolist())
            if not self.numbers:
                raise StopIteration
        return self.rows.one(self.numbers.popleft())

    def next_batch_columns(self, count: int) -> Element | None:
        if not self.rows.functions:
            return None
        if count > len(self.numbers):
            self.numbers.extend(self.order.take(count - len(self.numbers)).tolist())
        if count > len(self.numbers):
            return None
        return self.rows.many(np.array([self.numbers.popleft() for _ in range(count)], np.int64))


class Listed(ElementIterator):
    """Elements that are there."""

    checkpointed = {"position": "position"}

    def __init__(self, elements: Sequence[Element]):
        self.elements = elements
        self.position = 0

    def __next__(self) -> Element:
        if self.position >= len(self.elements):
            raise StopIteration
        self.position += 1
        return self.elements[self.position - 1]


class Whole(DatasetNode):
    """One element: the components themselves."""

    kind = "Whole"

    sure = True

    def __init__(self, value: Any):
        self.components = flatten(value)
        self.structure = described(value, drop_first=False)
        self.tensors = tensors_among(*self.components)

    def cardinality(self) -> int:
        return 1

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return Listed([[opening.values[c] if isinstance(c, Tensor) else c for c in self.components]])


class Slices(DatasetNode):
    """The rows of the components."""

    kind = "Slices"

    sure = True

    def __init__(self, value: Any):
        self.components = flatten(value)
        self.structure = described(value, drop_first=True)
        self.tensors = tensors_among(*self.components)
        sizes = {}
        for name, c in zip(self.structure.names(), self.components, strict=True):
            dims = c.dims if isinstance(c, Tensor) else c.shape
            if dims == ():
                raise ValueError(f"Expected components with a first dimension to slice, but {name} is a scalar.")
            if dims is not None and dims[0] is not None:
                sizes[name] = dims[0]
        if len(set(sizes.values())) > 1:
            raise ValueError(f"Expected components of one size in the first dimension, got {sizes}.")
        self.size = next(iter(sizes.values()), UNKNOWN)

    def cardinality(self) -> int:
        return self.size

    def rows(self, opening: IteratorContext) -> TablePass:
        table = [opening.values[c] if isinstance(c, Tensor) else c for c in self.components]
        sizes = [len(column) if column.ndim else None for column in table]
        if len(set(sizes)) != 1 or sizes[0] is None:
            shapes = dict(zip(self.structure.names(), (c.shape for c in table), strict=True))
            raise InvalidArgumentError(
                None, None, f"Expected components alike in their first dimension to slice, got the shapes {shapes}."
            )
        return TablePass(table, InOrder(sizes[0]), plain=sizes[0])

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return RowPull(self.rows(opening))


class RangePull(ElementIterator):
    checkpointed = {"value": "value"}

    def __init__(self, start: int, stop: int | None, step: int, kind: np.dtype[Any]):
        self.value = start
        self.stop = stop
        self.step = step
        self.kind = kind

    def __next__(self) -> Element:
        value = self.value
        if self.stop is not None and (value >= self.stop if self.step > 0 else value <= self.stop):
            raise StopIteration
        self.value += self.step
        return [np.array(value, self.kind)]


class CompositeSlices(DatasetNode):
    """The rows of components, sparse and ragged tensors among them."""

    kind = "CompositeSlices"

    def __init__(self, value: Any):
        self.components = flatten(value)
        self.whole = described(value, drop_first=False)
        self.structure = composite_elements.rows_structure(self.whole)
        self.tensors = tensors_among(*self.components)

    def cardinality(self) -> int:
        size = composite_elements.static_rows(self.whole)
        return UNKNOWN if size is None else size

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        arrays = [opening.values[c] if isinstance(c, Tensor) else c for c in self.components]
        return Listed(composite_elements.rows(arrays, self.whole))


class SparseTriples(CompositeSlices):
    """The rows of a sparse tensor, each as a tuple of three dense components."""

    kind = "SparseTriples"

    def __init__(self, value: Any):
        super().__init__(value)
        self.structure = Structure((None, None, None), self.structure.dtypes, self.structure.dims)


def slices(value: Any) -> DatasetNode:
    """The rows of a nest of components."""
    return CompositeSlices(value) if described(value, drop_first=False).composite else Slices(value)


class Range(DatasetNode):
    """``start, start + step, ...`` up to before ``stop`` (None: endless)."""

    kind = "Range"

    sure = True

    def __init__(self, start: Any, stop: Any, step: Any, dtype: Any = int64):
        self.bounds = (start, stop, step)
        self.tensors = tensors_among(*self.bounds)
        self.dtype = as_dtype(dtype)
        self.structure = Structure(None, [self.dtype], [()])

    def cardinality(self) -> int:
        start, stop, step = map(known, self.bounds)
        if self.bounds[1] is None:
            return INFINITE
        return UNKNOWN if start is None or stop is None or not step else len(range(start, stop, step))

    def _values(self, opening: IteratorContext) -> tuple[int, int | None, int]:
        start, stop, step = (opening.value(b) for b in self.bounds)
        if stop is not None and step == 0:
            raise InvalidArgumentError(None, None, "Dataset.range: expected a step other than 0.")
        return start, stop, step

    def rows(self, opening: IteratorContext) -> TablePass | None:
        start, stop, step = self._values(opening)
        if stop is None or len(range(start, stop, step)) > _LARGEST_TABLE:
            return None
        table = np.arange(start, stop, step, dtype=self.dtype.np)
        return TablePass([table], InOrder(len(table)), plain=len(table))

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return RangePull(*self._values(opening), self.dtype.np)


class RandomPull(ElementIterator):
    def __init__(self, draws: np.random.Generator):
        self.draws = draws

    def __next__(self) -> Element:
        return [np.asarray(self.draws.integers(2**32), np.int64)]

    def state(self) -> State:
        return self.draws.bit_generator.state

    def resume(self, state: State) -> None:
        self.draws.bit_generator.state = state


class Random(DatasetNode):
    """Random integers below 2**32, without end."""

    kind = "Random"

    def __init__(self, seeds: Seeds, again: bool = False):
        self.seeds = seeds
        self.again = again
        self.structure = Structure(None, [int64], [()])
        self.tensors = tensors_among(seeds.seed)

    def cardinality(self) -> int:
        return INFINITE

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return RandomPull(opening.generator(self.seeds, self.again))


class Checked:
    """Turns what Python code yields into elements, and says exactly what does not fit.

    Args:
      structure: what is expected.
      source: names the code in messages.
    """

    def __init__(self, structure: Structure, source: str):
        self.structure = structure
        self.source = source
        self.wanted = [TensorShape(d) for d in structure.dims]

    def __call__(self, value: Any) -> Element:
        try:
            given = in_parts(value) if self.structure.composite else value
            leaves = flatten_like(self.structure.template, given, "the element")
        except (TypeError, ValueError) as error:
            raise self._wrong(f"yielded an element of another structure: {error}") from None
        element = []
        for i, (leaf, dtype) in enumerate(zip(leaves, self.structure.dtypes, strict=True)):
            try:
                array = leaf if isinstance(leaf, np.ndarray) and leaf.dtype == dtype.np else host_array(leaf, dtype)
            except (TypeError, ValueError, OverflowError) as error:
                raise self._wrong(f"yielded {leaf!r} where {self._name(i)} has to be {dtype.name}: {error}") from None
            if not self.wanted[i].is_compatible_with(array.shape):
                raise self._wrong(
                    f"yielded an array of shape {array.shape} where {self._name(i)} has to be of shape {self.wanted[i]}"
                )
            element.append(array)
        return element

    def _name(self, component: int) -> str:
        return list(self.structure.names())[component]

    def _wrong(self, what: str) -> InvalidArgumentError:
        return InvalidArgumentError(None, None, f"{self.source} {what}")


def host_array(leaf: Any, dtype: DType | None = None) -> Array:
    """A value of Python code (an array of any library, a number, a list) as a numpy array of the type."""
    if dtype is string:
        return numpy_value(leaf if isinstance(leaf, str | bytes | list | tuple) else np.asarray(leaf), string)
    if dtype is not None:
        return np.asarray(leaf, dtype.np)
    if isinstance(leaf, bool | int | float | str | bytes | list | tuple):
        return numpy_value(leaf)
    return numpy_value(np.asarray(leaf))


class CheckedPull(ElementIterator):
    """What a Python iterator yields, checked. An array is copied, since whoever yielded it may write into it again.

    Nobody knows where a Python iterator is: its state is how many elements were taken, and they are taken again.
    """

    def __init__(self, values: Iterator[Any], checked: Checked):
        self.values = values
        self.checked = checked
        self.taken = 0

    def _take(self) -> Element:
        self.taken += 1
        return self.checked(next(self.values))

    def __next__(self) -> Element:
        return [array.copy() for array in self._take()]

    def next_into(self, out: Sequence[Array]) -> Element | None:
        rest = copied_into(out, self._take())
        return None if rest is None else [array.copy() for array in rest]

    def state(self) -> State:
        return {TAKEN_AGAIN: self.taken}

    def resume(self, state: State) -> None:
        self.taken = state[TAKEN_AGAIN]
        for _ in range(self.taken):
            with suppress(StopIteration, OpError):  # an end, and an element that raised, were taken as well
                next(self.values)


class Generated(DatasetNode):
    """What ``generator(*args)`` yields; called anew for each pass."""

    kind = "Generated"

    def __init__(self, generator: Callable[..., Iterable[Any]], structure: Structure, args: Sequence[Any]):
        self.generator = generator
        self.structure = structure
        self.args = args
        self.tensors = tensors_among(*args)

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        given = [opening.values[a] if isinstance(a, Tensor) else a for a in self.args]
        values = iter(self.generator(*(a[()] if a.ndim == 0 else a for a in given)))
        return CheckedPull(_Coded(values), Checked(self.structure, "`generator`"))


class _Coded:
    """An iterator of the user's; what it raises becomes an error of ``tf.errors``, and it may go on after that."""

    def __init__(self, values: Iterator[Any]):
        self.values = values

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            return next(self.values)
        except StopIteration:
            raise
        except Exception as error:
            raise raised(error, None) from error


class Iterated(DatasetNode):
    """A Python iterable whose first element said what all of them look like.

    Args:
      make: gives a fresh iterator, or None where there is only one.
      first: an iterator that was begun, and what it yielded.
    """

    kind = "Iterated"

    def __init__(
        self, make: Callable[[], Iterator[Any]] | None, begun: Iterator[Any], first: Any, structure: Structure
    ):
        self.make = make
        self.begun: Iterator[Any] | None = itertools.chain([first], begun)
        self.structure = structure
        self.size = UNKNOWN

    def cardinality(self) -> int:
        return self.size

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        values, self.begun = self.begun, None
        if values is None:
            if self.make is None:
                raise ValueError(
                    "This dataset is a Python iterator, which can be gone through once. Give the iterable it came from "
                    "(a list, a loader, a generator function) to go through it again."
                )
            values = self.make()
        return CheckedPull(values, Checked(self.structure, "The iterable"))


def iterated(source: Any, made: Any = None) -> Iterated:
    """The node of a Python iterable, or of a function without arguments that returns one.

    The first element is taken at once: it tells types and shapes.

    Args:
      made: what the function returned, where it was called already.

    Raises:
      TypeError: it is neither. ValueError: it has no element.
    """
    again = callable(source) and not hasattr(source, "__iter__")
    values = source if not again else source() if made is None else made
    try:
        begun = iter(values)
    except TypeError:
        raise TypeError(
            f"Expected a dataset or an iterable of batches, got {type(values).__name__}: {values!r}."
        ) from None
    make: Callable[[], Iterator[Any]] | None = None
    if again:
        make = lambda: iter(source())  # noqa: E731
    elif begun is not values:
        make = lambda: iter(values)  # noqa: E731
    for first in begun:
        form = in_parts(tuple_form(first))
        arrays = [host_array(leaf) for leaf in flatten(form)]
        template = map_leaves(lambda leaf: None, form)
        structure = Structure(template, [as_dtype(a.dtype) for a in arrays], [a.shape for a in arrays])
        structure = composite_elements.any_size(structure)
        node = Iterated(make, begun, first, structure)
        node.size = len(values) if isinstance(values, list | tuple) else UNKNOWN
        return node
    raise ValueError("The iterable yields nothing, so the types and shapes of its elements are not known.")


def tuple_form(value: Any) -> Any:
    """An element of Python code with tuples where it has lists of arrays (as loaders collate them)."""
    if isinstance(value, list) and any(hasattr(v, "__array__") or isinstance(v, dict | tuple) for v in value):
        return tuple(tuple_form(v) for v in value)
    if is_nest(value):
        return core_nest.rebuild(value, [tuple_form(v) for v in core_nest.children(value)])
    return value
