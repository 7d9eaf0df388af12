"""Lowering of ``TensorArray``: one array ``[size, ...]``, of which each write makes a new version.

The "flow" tensor of the original is the array itself, so writes are functional, like ``x.at[i].set(v)`` in JAX, and
gradients go through them as through any operation:

    a = TensorArray(float32, size=3)      Unwritten(3): the elements' shape is not known yet
    b = a.write(0, [1., 2.])              float32[3, 2], zeros but for row 0
    b.read(0), b.stack()                  float32[2], float32[3, 2]

``Element`` is the static side, shared by all versions: the elements' partial shape, and whether writes may lengthen the
array. A length must be known while lowering, so a write beyond the end at a traced index raises ``Grows``, and the loop
around it is unrolled or run operation by operation. An index out of range is a runtime check; unchecked it is clamped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.check_definitions import CheckResult, InputCheck
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.shapes import Dims, TensorShape
from towerstrat.graph.ir.types import Array, int32
from towerstrat.graph.lowering import input_checks
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.lowering.lowering_errors import NeedsStatic

Shape: TypeAlias = tuple[int, ...]


class Element:
    """The partially known shape of an array's elements, shared by all versions of the array.

    Args:
      checked: whether elements must have one shape (``infer_shape``).
      dynamic: whether writes beyond the end make the array longer.
    """

    def __init__(self, dims: Dims, checked: bool, dynamic: bool):
        self.dims = dims
        self.checked = checked
        self.dynamic = dynamic

    def __eq__(self, other: object) -> bool:
        """Whether two arrays can be one: their known shapes agree. Each replica's trace may have made its own."""
        if not isinstance(other, Element):
            return NotImplemented
        alike = (self.checked, self.dynamic) == (other.checked, other.dynamic)
        return alike and TensorShape(self.dims).is_compatible_with(other.dims)

    __hash__ = object.__hash__

    def learn(self, dims: Dims, description: str) -> None:
        """Merge the shape of an element that is written. Raises ValueError where it contradicts earlier ones."""
        if not self.checked:
            return
        if not TensorShape(self.dims).is_compatible_with(dims):
            raise ValueError(
                f"Inconsistent shapes: saw {TensorShape(dims)} but expected {TensorShape(self.dims)} in {description}."
            )
        self.dims = shapes.merge(self.dims, dims)


class Unwritten:
    """An array without a write so far, so that the shape of its elements is not known.

    Args:
      size: the number of elements.
      dtype: their type.
    """

    def __init__(self, size: int, dtype: np.dtype[Any]):
        self.size = size
        self.dtype = dtype

    def zeros(self, shape: Sequence[int]) -> jax.Array:
        """Zeros ``[size, *shape]``."""
        return jnp.zeros((self.size, *shape), self.dtype)

    def like(self, shape: Sequence[int]) -> jax.Array | None:
        """Zeros of the shape of a whole array, or None where its first dimension is not ``size``."""
        return self.zeros(shape[1:]) if shape[0] == self.size else None


class Blank(Unwritten):
    """A value to be assigned before it is read, of any shape until then: a variable first set in a loop."""

    def __init__(self, dtype: np.dtype[Any]):
        super().__init__(0, dtype)

    def like(self, shape: Sequence[int]) -> jax.Array:
        return jnp.zeros(shape, self.dtype)


Value: TypeAlias = Array | Unwritten
"""The value of an array of tensors while lowering."""


class Grows(NeedsStatic):
    """A write to a growing array at a traced index: the array's length is not known while lowering."""

    def __init__(self, op: Operation):
        super().__init__(op, 1)


def equal_length(lengths: Array | Sequence[int]) -> int:
    """The common length of the parts of ``split``. Raises UnsupportedError where they differ."""
    lengths = np.asarray(lengths)
    if lengths.size and (lengths != lengths.flat[0]).any():
        raise UnsupportedError(
            f"TensorArray.split with parts of several lengths {lengths.tolist()} is not supported: elements have one "
            "shape. Pad them to one length, or use tf.split."
        )
    return int(lengths.flat[0]) if lengths.size else 0


# ---- rules -----------------------------------------------------------------------------------------------------


def _flow_dims(element: Element, size: int | None) -> Dims:
    """The shape of the whole array."""
    return None if element.dims is None else (None if element.dynamic else size, *element.dims)


def _new_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    if inputs[0].dims not in (None, ()):
        raise ValueError(f"Expected a scalar as the size of a TensorArray, got shape {inputs[0].shape}.")
    size = constant_value(inputs[0])
    return [Signature(attrs["dtype"], _flow_dims(attrs["_element"], None if size is None else int(size)))]


def _flow_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    """A new version of the array, as long as the one before."""
    before = inputs[0].dims
    return [Signature(inputs[0].dtype, _flow_dims(attrs["_element"], before[0] if before else None))]


def _read_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    return [Signature(attrs["dtype"], attrs["_element"].dims)]


def _stack_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    element, before = attrs["_element"], inputs[0].dims
    return [Signature(attrs["dtype"], _flow_dims(element, before[0] if before else None))]


def _gather_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    dims = attrs["_element"].dims
    count = inputs[1].dims[0] if inputs[1].dims else None
    return [Signature(attrs["dtype"], None if dims is None else (count, *dims))]


def _concat_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    dims, before = attrs["_element"].dims, inputs[0].dims
    if dims is None:
        return [Signature(attrs["dtype"], None)]
    count = before[0] if before and not attrs["_element"].dynamic else None
    first = None if count is None or dims[0] is None else count * dims[0]
    return [Signature(attrs["dtype"], (first, *dims[1:]))]


define_op(
    "Blank",
    lambda inputs, attrs: [Signature(attrs["_dtype"], attrs["_dims"])],
    lower=lambda lowering, op: [Blank(op.outputs[0].dtype.np)],
    object_valued=True,
    hidden=("_dtype", "_dims"),
)


# ---- evaluation ------------------------------------------------------------------------------------------------


def _create(lowering: Lowering, op: Operation) -> list[Value]:
    size = int(lowering.static(op, 0))
    array = Unwritten(size, op.outputs[0].dtype.np)
    dims = op.attrs["_element"].dims
    return [array if dims is None or None in dims else array.zeros(dims)]


def _place(index: Array) -> int | None:
    """An index as a number, or None where it is not known while lowering."""
    return None if isinstance(index, jax.core.Tracer) else int(index)


def _length(array: Value) -> int:
    return array.size if isinstance(array, Unwritten) else array.shape[0]


def _longer(array: Value, size: int, shape: Sequence[int]) -> jax.Array:
    """The array, padded with zeros to at least ``size`` elements; an unwritten one of elements of ``shape``."""
    if isinstance(array, Unwritten):
        return Unwritten(max(size, array.size), array.dtype).zeros(shape)
    if array.shape[0] >= size:
        return jnp.asarray(array)
    return jnp.concatenate([array, jnp.zeros((size - array.shape[0], *array.shape[1:]), array.dtype)])


def _write(lowering: Lowering, op: Operation) -> list[Array]:
    array, index, value = (lowering.value(t) for t in op.inputs)
    value = jnp.asarray(value)
    number, dynamic = _place(index), op.attrs["_element"].dynamic
    if number is None and dynamic:
        raise Grows(op)
    if number is not None and not 0 <= number < (max(_length(array), number + 1) if dynamic else _length(array)):
        raise IndexError(f"Tried to write to index {number} but array is not resizeable and size is: {_length(array)}")
    array = _longer(array, _length(array) if number is None else number + 1, value.shape)
    if array.shape[1:] != value.shape:
        raise ValueError(
            f"A TensorArray holds elements of one shape: got {list(value.shape)}, the others are "
            f"{list(array.shape[1:])}."
        )
    if not array.shape[0]:
        return [array]
    return [lax.dynamic_update_index_in_dim(array, value, jnp.asarray(index, jnp.int32), 0)]


def _read(lowering: Lowering, op: Operation) -> list[Array]:
    array, index = (lowering.value(t) for t in op.inputs)
    array = _require_written(array)
    if not array.shape[0]:
        return [jnp.zeros(array.shape[1:], array.dtype)]
    return [lax.dynamic_index_in_dim(array, jnp.asarray(index, jnp.int32), 0, keepdims=False)]


def _require_written(array: Value) -> jax.Array:
    """The array. Raises ValueError where nothing was written to it."""
    if isinstance(array, Unwritten):
        raise ValueError(
            "No element of the TensorArray was ever written, so their shape is not known; pass element_shape=."
        )
    return jnp.asarray(array)


def _gather(lowering: Lowering, op: Operation) -> list[Array]:
    array, indices = (lowering.value(t) for t in op.inputs)
    return [jnp.take(_require_written(array), jnp.asarray(indices, jnp.int32), axis=0, mode="clip")]


def _concat(lowering: Lowering, op: Operation) -> list[Array]:
    array = _require_written(lowering.value(op.inputs[0]))
    return [jnp.reshape(array, (array.shape[0] * array.shape[1], *array.shape[2:]))]


def _unstack(lowering: Lowering, op: Operation) -> list[Array]:
    array, value = (lowering.value(t) for t in op.inputs)
    return [_whole(op, array, jnp.asarray(value))]


def _whole(op: Operation, array: Value, value: jax.Array) -> Array:
    """A version of the array whose first elements are those of ``value``."""
    size = _length(array)
    if value.shape[0] == size:
        return value
    if value.shape[0] > size and op.attrs["_element"].dynamic:
        return value
    if value.shape[0] > size:
        raise IndexError(f"Tried to write {value.shape[0]} elements to a TensorArray of size {size}")
    return lax.dynamic_update_slice_in_dim(_longer(array, size, value.shape[1:]), value, 0, 0)


def _scatter(lowering: Lowering, op: Operation) -> list[Array]:
    array, indices, value = (lowering.value(t) for t in op.inputs)
    value, size = jnp.asarray(value), _length(array)
    if not isinstance(indices, jax.core.Tracer) and np.size(indices):
        highest = int(np.max(indices)) + 1
        if highest > size and not op.attrs["_element"].dynamic:
            raise IndexError(f"Tried to write to index {highest - 1} but array is not resizeable and size is: {size}")
        size = max(size, highest)
    elif op.attrs["_element"].dynamic:
        raise Grows(op)
    return [_longer(array, size, value.shape[1:]).at[jnp.asarray(indices, jnp.int32)].set(value, mode="drop")]


def _split(lowering: Lowering, op: Operation) -> list[Array]:
    array, value = lowering.value(op.inputs[0]), jnp.asarray(lowering.value(op.inputs[1]))
    lengths = lowering.static(op, 2)
    parts = jnp.reshape(value, (lengths.size, equal_length(lengths), *value.shape[1:]))
    return [_whole(op, array, parts)]


def _size(lowering: Lowering, op: Operation) -> list[Array]:
    return [np.asarray(_length(lowering.value(op.inputs[0])), np.int32)]


define_op("TensorArrayV3", _new_rule, lower=_create, differentiable=False, object_valued=True)


def _check_place(op: Operation, values: Sequence[Any]) -> CheckResult | None:
    """Runtime check that the index of a read or write is one of the array's elements."""
    array: Value = values[0]
    index: Array = values[1]
    if op.attrs["_element"].dynamic and op.type != "TensorArrayReadV3":
        return None
    size = _length(array)
    action = "read from" if op.type in ("TensorArrayReadV3", "TensorArrayGatherV3") else "write to"
    size_words = "array size is" if action == "read from" else "array is not resizeable and size is"
    return input_checks.first_of(
        input_checks.outside(index, size),
        index,
        message=lambda _, i: f"Tried to {action} index {int(i)} but {size_words}: {size}",
    )


_IN_ARRAY = InputCheck(_check_place, (1,))

define_op("TensorArrayWriteV3", _flow_rule, lower=_write, check=_IN_ARRAY)
define_op("TensorArrayIdentity", _flow_rule, lower=lambda lowering, op: [lowering.value(op.inputs[0])])
define_op("TensorArrayReadV3", _read_rule, lower=_read, check=_IN_ARRAY)
define_op("TensorArrayStack", _stack_rule, lower=lambda lowering, op: [_require_written(lowering.value(op.inputs[0]))])
define_op("TensorArrayGatherV3", _gather_rule, lower=_gather, check=_IN_ARRAY)
define_op("TensorArrayConcatV3", _concat_rule, lower=_concat)
define_op("TensorArrayUnstack", _flow_rule, lower=_unstack)
define_op("TensorArrayScatterV3", _flow_rule, lower=_scatter, check=_IN_ARRAY)
define_op("TensorArraySplitV3", _flow_rule, lower=_split)
define_op(
    "TensorArraySizeV3", lambda inputs, attrs: [Signature(int32, ())], lower=_size, differentiable=False
)  # fmt: skip
