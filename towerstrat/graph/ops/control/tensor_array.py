"""``tf.TensorArray``: a list of tensors, written and read by index.

In graphs an object is one version of the array: a tensor (``flow``) and the shared static description of the elements.
Eagerly ``TensorArray(...)`` makes an ``EagerTensorArray``, a Python list that a write changes in place.

    a = tf.TensorArray(tf.float32, size=3)
    a = a.write(0, 1.).write(2, 3.)        in graphs the new version must be used from then on
    a.stack()                              [1., 0., 3.]: elements never written are zeros
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Never

import numpy as np

from towerstrat.errors import EagerArgumentError, InvalidArgumentError, OutOfRangeError, UnsupportedError
from towerstrat.graph.ir.argument_types import ShapeLike, TensorLike
from towerstrat.graph.ir.composite_values import Composite
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.shapes import TensorShape, as_shape
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import DType, DTypeLike, as_dtype, int32, string
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.control.tensor_array_lowering import Element, equal_length


class TensorArray(Composite):
    """A list of tensors of one shape and type, written and read by index, inside loops too.

    Each ``write``, ``unstack``, ``scatter`` and ``split`` returns a new version; use that one from then on. An element
    that was not written is zeros. Writing or reading beyond the end is an error where the index is known when the
    program is compiled; elsewhere the last element is meant.

    Eagerly it is a Python list: every index is checked, elements may differ in shape with ``infer_shape=False``, and
    strings are elements too.

    Args:
      dtype: the elements' type.
      size: how many; a scalar.
      dynamic_size: let writes beyond the end make it longer. In a loop the indices must then be known (the number of
        iterations is fixed), or the program runs operation by operation; not inside towers.
      clear_after_read: eagerly, whether an element may be read once only (the default, None, says yes); in graphs it
        changes nothing.
      tensor_array_name, colocate_with_first_write_call: change no value.
      flow, handle: of another array, to make this object stand for it.
      infer_shape: check that the elements' shapes agree.
      element_shape: their shape, as far as known.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> TensorArray:
        return object.__new__(EagerTensorArray if get_default_graph().executing_eagerly else cls)

    def __init__(
        self,
        dtype: DTypeLike,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Tensor | None = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: ShapeLike = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ):
        if handle is not None and tensor_array_name:
            raise ValueError("Cannot construct with both handle and tensor_array_name")
        if handle is not None and not isinstance(handle, Tensor):
            raise TypeError("Handle must be a Tensor")
        if handle is None and size is None:
            raise ValueError("Size must be provided if handle is not provided")
        if handle is not None and size is not None:
            raise ValueError("Cannot provide both a handle and size at the same time")
        if handle is not None and (element_shape is not None or dynamic_size is not None):
            raise ValueError("Cannot provide both a handle and element_shape or dynamic_size at the same time")
        self._dtype = as_dtype(dtype)
        if self._dtype is string:
            raise UnsupportedError("tf.TensorArray(tf.string) is not supported: strings live on the host.")
        if handle is not None:
            self._flow = flow if flow is not None else handle
            self._element = self._flow.op.attrs.get("_element") or Element(None, infer_shape, True)
            return
        dims = as_shape(element_shape).raw if element_shape is not None else None
        self._element = Element(dims, infer_shape or dims is not None, bool(dynamic_size))
        graph = get_default_graph()
        with graph.name_scope(name or "TensorArray"):
            length = convert_to_tensor(size, int32, name="size")
            self._flow = graph.add("TensorArrayV3", [length], self._attrs(dtype=self._dtype), "TensorArrayV3").outputs[
                0
            ]

    def _attrs(self, **attrs: Any) -> dict[str, Any]:
        return {"_element": self._element, **attrs}

    def _next(self, flow: Tensor) -> TensorArray:
        if flow._graph.executing_eagerly:
            eager = object.__new__(EagerTensorArray)
            eager._dtype, eager._element = self._dtype, self._element
            eager._rows, eager._cleared, eager._once = [*arrays.unstack(flow)], set(), False
            return eager
        array = object.__new__(TensorArray)
        array._dtype, array._element, array._flow = self._dtype, self._element, flow
        return array

    def _op(self, type: str, inputs: Sequence[Tensor], name: str | None, **attrs: Any) -> Tensor:
        return get_default_graph().add(type, [self._flow, *inputs], self._attrs(**attrs), name or type).outputs[0]

    def _values(self, value: TensorLike, method: str) -> Tensor:
        tensor = convert_to_tensor(value, preferred_dtype=self._dtype)
        if tensor.dtype is not self._dtype:
            raise TypeError(
                f"Expected a {self._dtype.name} value in TensorArray.{method}, got {tensor!r}. Use tf.cast."
            )
        return tensor

    def _tensors(self) -> list[Tensor]:
        return [self.flow]

    def _like(self, tensors: Sequence[Tensor]) -> TensorArray:
        return self._next(tensors[0])

    @property
    def flow(self) -> Tensor:
        """The tensor that carries the elements."""
        return self._flow

    @property
    def handle(self) -> Tensor:
        return self._flow

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def dynamic_size(self) -> bool:
        """Whether writes beyond the end make it longer."""
        return self._element.dynamic

    @property
    def element_shape(self) -> TensorShape:
        """The elements' shape, as far as the calls so far tell."""
        return TensorShape(self._element.dims)

    def identity(self) -> TensorArray:
        """The same elements, after the control dependencies in scope."""
        return self._next(self._op("TensorArrayIdentity", [], "identity"))

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> Never:
        raise UnsupportedError("TensorArray.grad is not supported: tf.gradients goes through the elements by itself.")

    def read(self, index: TensorLike, name: str | None = None) -> Tensor:
        """Element ``index``."""
        return self._op("TensorArrayReadV3", [convert_to_tensor(index, int32)], name, dtype=self._dtype)

    def write(self, index: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """A version with element ``index`` replaced."""
        tensor = self._values(value, "write")
        self._element.learn(tensor.dims, "TensorArray.write")
        return self._next(self._op("TensorArrayWriteV3", [convert_to_tensor(index, int32), tensor], name))

    def stack(self, name: str | None = None) -> Tensor:
        """All elements, ``[size, ...]``."""
        return self._op("TensorArrayStack", [], name or "TensorArrayStack/TensorArrayGatherV3", dtype=self._dtype)

    def gather(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Elements ``indices``, stacked."""
        return self._op("TensorArrayGatherV3", [convert_to_tensor(indices, int32)], name, dtype=self._dtype)

    def concat(self, name: str | None = None) -> Tensor:
        """All elements, joined along their first dimension."""
        if self._element.dims == ():
            raise ValueError(
                "TensorArray.concat needs elements of at least one dimension, these are scalars. Use stack()."
            )
        return self._op("TensorArrayConcatV3", [], name, dtype=self._dtype)

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """A version with ``value[i]`` as element i."""
        tensor = self._values(value, "unstack")
        self._element.learn(None if tensor.dims is None else tensor.dims[1:], "TensorArray.unstack")
        return self._next(self._op("TensorArrayUnstack", [tensor], name or "TensorArrayUnstack/TensorArrayScatterV3"))

    def scatter(self, indices: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """A version with ``value[i]`` as element ``indices[i]``."""
        tensor = self._values(value, "scatter")
        self._element.learn(None if tensor.dims is None else tensor.dims[1:], "TensorArray.scatter")
        return self._next(self._op("TensorArrayScatterV3", [convert_to_tensor(indices, int32), tensor], name))

    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> TensorArray:
        """A version with consecutive parts of ``value`` as elements; the ``lengths`` must be equal.

        Raises:
          UnsupportedError: parts of several lengths (one array holds all elements).
        """
        tensor, sizes = self._values(value, "split"), convert_to_tensor(lengths)
        if tensor.dims == ():
            raise ValueError("TensorArray.split needs a value of at least one dimension, got a scalar.")
        known = constant_value(sizes)
        if known is not None:
            first = equal_length(known)
            self._element.learn(None if tensor.dims is None else (first, *tensor.dims[1:]), "TensorArray.split")
        return self._next(self._op("TensorArraySplitV3", [tensor, sizes], name))

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements, int32."""
        return self._op("TensorArraySizeV3", [], name)

    def close(self, name: str | None = None) -> Operation:
        """Do nothing: the elements live as long as something needs them."""
        return get_default_graph().add("NoOp", (), None, name or "TensorArrayCloseV3")

    def __repr__(self) -> str:
        return f"<tf.TensorArray {self._flow.name} dtype={self._dtype.name} element_shape={self.element_shape}>"


class EagerTensorArray(TensorArray):
    """The elements themselves. Writing changes the array that is written to, which is returned."""

    def __init__(
        self,
        dtype: DTypeLike,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Tensor | None = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: ShapeLike = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ):
        if size is None:
            raise ValueError("Size must be declared for TensorArrays when eager execution is enabled.")
        self._dtype = as_dtype(dtype)
        dims = as_shape(element_shape).raw if element_shape is not None else None
        self._element = Element(dims, infer_shape or dims is not None, bool(dynamic_size))
        self._rows: list[Tensor | None] = [None] * int(size)
        self._cleared: set[int] = set()
        self._once = clear_after_read is None or bool(clear_after_read)

    @property
    def flow(self) -> Any:
        """None; in the graph of a function that uses the array, its elements as they are now."""
        return None if get_default_graph().executing_eagerly else self._stack_rows(range(len(self._rows)))

    @property
    def handle(self) -> Any:
        return None

    def identity(self) -> TensorArray:
        return self

    def _tensor(self, value: TensorLike) -> Tensor:
        tensor = convert_to_tensor(value, preferred_dtype=self._dtype)
        if tensor.dtype is not self._dtype:
            raise InvalidArgumentError(
                None, None, f"TensorArray dtype is {self._dtype.name} but Op is trying to write dtype "
                f"{tensor.dtype.name}. Use tf.cast.",
            )  # fmt: skip
        return tensor

    def _place(self, index: Any, action: str, doing: str) -> int:
        number = int(index)
        if number < 0:
            raise OutOfRangeError(None, None, f"{doing} negative indices (index {number}) is not allowed.")
        if number < len(self._rows):
            return number
        if action == "write to" and self.dynamic_size:
            self._rows += [None] * (number + 1 - len(self._rows))
            return number
        fixed = "array is not resizeable and size is" if action == "write to" else "array size is"
        raise OutOfRangeError(None, None, f"Tried to {action} index {number} but {fixed}: {len(self._rows)}")

    def _row(self, number: int) -> Tensor:
        row = self._rows[number]
        if row is not None:
            return row
        if number in self._cleared:
            raise EagerArgumentError(
                None, None, f"Could not read index {number} twice because it was cleared after a previous read "
                "(perhaps try setting clear_after_read = False?)",
            )  # fmt: skip
        if not self.element_shape.is_fully_defined():
            raise ValueError(
                f"Element {number} of the TensorArray was never written, and the elements' shape is not known; pass "
                "element_shape=."
            )
        return arrays.zeros(self._element.dims, self._dtype)

    def _stack_rows(self, places: Sequence[int]) -> Tensor:
        if places:
            return arrays.stack([self._row(p) for p in places])
        return arrays.zeros([0, *(d or 0 for d in self._element.dims or ())], self._dtype)

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """Element ``index``.

        Raises:
          OutOfRangeError: there is none. InvalidArgumentError: it was read before, and ``clear_after_read`` is set.
        """
        number = self._place(index, "read from", "Reading from")
        row = self._row(number)
        if self._once:
            self._rows[number] = None
            self._cleared.add(number)
        return row

    def write(self, index: Any, value: TensorLike, name: str | None = None) -> TensorArray:
        """The array, with element ``index`` replaced.

        Raises:
          OutOfRangeError: there is none. InvalidArgumentError: a value of another type. ValueError: of another shape.
        """
        tensor = self._tensor(value)
        self._element.learn(tensor.dims, "TensorArray.write")
        number = self._place(index, "write to", "Writing to")
        self._rows[number] = tensor
        self._cleared.discard(number)
        return self

    def stack(self, name: str | None = None) -> Tensor:
        return self._stack_rows(range(len(self._rows)))

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        return self._stack_rows([self._place(i, "read from", "Reading from") for i in np.ravel(indices)])

    def concat(self, name: str | None = None) -> Tensor:
        joined: Tensor = arrays.concat([self._row(p) for p in range(len(self._rows))], 0)
        return joined

    def _replace_rows(self, rows: Sequence[Tensor]) -> TensorArray:
        if len(rows) > len(self._rows) and not self.dynamic_size:
            raise ValueError(f"Cannot unstack {len(rows)} tensors into a TensorArray of static size {len(self._rows)}")
        self._rows[: len(rows)] = rows
        self._cleared.clear()
        for row in rows:
            self._element.learn(row.dims, "TensorArray")
        return self

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        return self._replace_rows(arrays.unstack(self._tensor(value)))

    def scatter(self, indices: Any, value: TensorLike, name: str | None = None) -> TensorArray:
        for index, row in zip(np.ravel(indices), arrays.unstack(self._tensor(value)), strict=True):
            self.write(index, row)
        return self

    def split(self, value: TensorLike, lengths: Any, name: str | None = None) -> TensorArray:
        """The array with consecutive parts of ``value`` as elements."""
        return self._replace_rows(arrays.split(self._tensor(value), [int(n) for n in np.ravel(lengths)]))

    def size(self, name: str | None = None) -> Tensor:
        return constant(len(self._rows), int32)

    def close(self, name: str | None = None) -> Any:
        """Drop the elements."""
        self._rows.clear()

    def __repr__(self) -> str:
        return f"<tf.TensorArray size={len(self._rows)} dtype={self._dtype.name} element_shape={self.element_shape}>"
