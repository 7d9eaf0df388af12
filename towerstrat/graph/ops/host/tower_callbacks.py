"""``tf.py_func`` inside of towers: Python that a device program calls while it runs, once for each tower.

The call is a ``jax.experimental.io_callback``, so results need known shapes and numeric types. Two things are peculiar:

* A tower that raised would leave the others waiting in the next collective. So an exception gives zeros and a number as
  a further output; a runtime check of that number raises it after the program (``_test_failures``).
* JAX has no 64-bit types in the threads that call back: 64-bit values go to Python and back as pairs of uint32 words.

    float64[3]  on the device   ->  uint32[3, 2]  ->  float64[3] in Python

Results of unknown shape are not possible in a program. At the top level of a plan such an operation becomes a host
operation that is called for each tower between two programs (``take_out_of_program``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import jax.numpy as jnp
import numpy as np
from jax import ShapeDtypeStruct, lax
from jax.experimental import io_callback

from towerstrat.errors import OpError, UnsupportedError
from towerstrat.graph.ir import op_registry, shapes
from towerstrat.graph.ir.check_definitions import CheckResult, InputCheck
from towerstrat.graph.ir.graph_elements import Operation, Tensor, of_strings
from towerstrat.graph.ir.mesh import everywhere, vary
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.types import Array, HostArray, int32
from towerstrat.graph.ir.uneven_shards import UnevenShards
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.ops.host.python_calls import call_function, raised

Value: TypeAlias = "Array | UnevenShards"
"""A value of all towers, stacked; in parts where its shape differs by tower."""


def _rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    """Signatures of the results, and of the number of the exception that the function raised, 0 for none."""
    return [*(Signature(kind, None) for kind in attrs["Tout"]), Signature(int32, ())]


def _lower(lowering: Lowering, op: Operation) -> list[Array]:
    *results, number = op.outputs
    if of_strings(op) or not all(shapes.known(t.dims) for t in results):
        raise _unknown_shapes(op)
    if lowering.trip_counters:
        raise UnsupportedError(
            f"{op.name} (tf.py_func, created at {op.line}) would be called twice: a loop whose gradient is taken, of "
            "unknown length, is run ahead of the program to count its iterations. Pass maximum_iterations= to "
            "tf.while_loop."
        )
    kinds = [ShapeDtypeStruct(tuple(t.dims or ()), t.dtype.np) for t in (*results, number)]
    values = [jnp.asarray(lowering.classes.require_one_shape(lowering.value(t), t)) for t in op.inputs]
    dtypes = [value.dtype for value in values]

    def call(*words: Array) -> list[HostArray]:
        arrays = [_join_words(np.asarray(w), dtype) for w, dtype in zip(words, dtypes, strict=True)]
        return [_split(value) for value in checked(arrays)]

    def checked(arrays: Sequence[HostArray]) -> list[HostArray]:
        # A position that raised would leave the others waiting for it: the host raises after the program.
        try:
            returned = call_function(op, arrays)
            for kind, value in zip(kinds, returned, strict=False):
                if np.shape(value) != kind.shape:
                    raise ValueError(f"a result has shape {list(np.shape(value))}, expected {list(kind.shape)}")
        except Exception as error:
            failures: list[OpError] = op.attrs["_failures"]
            failures.append(raised(error, op))
            return [*(np.zeros(kind.shape, kind.dtype) for kind in kinds[:-1]), np.array(len(failures), np.int32)]
        return [*returned, np.array(0, np.int32)]

    words = [_split(np.empty(kind.shape, kind.dtype)) for kind in kinds]
    forms = [ShapeDtypeStruct(w.shape, w.dtype) for w in words]
    outputs = io_callback(call, forms, *map(_split_on_device, values), ordered=False)
    return [vary(_join_on_device(value, kind.dtype), lowering.axis) for value, kind in zip(outputs, kinds, strict=True)]


# 64-bit numbers go to Python and back as pairs of 32-bit words: in the threads that call, JAX has no 64-bit types.


def _is_wide(dtype: np.dtype[Any]) -> bool:
    element_dtype = np.dtype(dtype)
    return element_dtype.itemsize // (2 if element_dtype.kind == "c" else 1) == 8


def _split(value: HostArray) -> HostArray:
    array = np.asarray(value)
    return array[..., None].view(np.uint32) if _is_wide(array.dtype) else array


def _join_words(words: HostArray, dtype: np.dtype[Any]) -> HostArray:
    return np.ascontiguousarray(words).view(dtype)[..., 0] if _is_wide(dtype) else words


def _split_on_device(value: Array) -> Array:
    if not _is_wide(value.dtype):
        return value
    parts = jnp.stack([value.real, value.imag], -1) if value.dtype.kind == "c" else value
    words = lax.bitcast_convert_type(parts, jnp.uint32)
    return words.reshape(*value.shape, -1)


def _join_on_device(words: Array, dtype: np.dtype[Any]) -> Array:
    if not _is_wide(dtype):
        return words
    if np.dtype(dtype).kind != "c":
        return lax.bitcast_convert_type(words, dtype)
    parts = lax.bitcast_convert_type(words.reshape(*words.shape[:-1], 2, 2), jnp.float64)
    return lax.complex(parts[..., 0], parts[..., 1])


def _unknown_shapes(op: Operation) -> UnsupportedError:
    return UnsupportedError(
        f"{op.name} (tf.py_func, created at {op.line}) is called while a program of towers runs: it takes and gives "
        f"numbers of known shapes. Its results are {op.outputs[:-1]}: call set_shape() on them."
    )


def _test_failures(op: Operation, values: Sequence[Array]) -> CheckResult:
    failures: list[OpError] = op.attrs["_failures"]
    return CheckResult(values[-1] != 0, (values[-1],), lambda number: failures[int(number) - 1].message)


define_op(
    "PyFuncInPlace",
    _rule,
    lower=_lower,
    check=InputCheck(_test_failures, values=(), words=lambda op: 1, after=True),
    stateful=True,
    callback=True,
    always_varies=True,
    differentiable=False,
    hidden=("_func", "_failures"),
)


def _call_by_position(session: object, op: Operation, values: Sequence[Value]) -> list[Value]:
    axis = op.axis
    assert axis is not None
    if axis.is_multi_process:
        raise _unknown_shapes(op)
    outputs: dict[int, list[HostArray]] = {}
    for position in range(axis.size) if op.axis_indices is None else sorted(op.axis_indices):
        inputs = [
            _part(v, position) if t.varies or isinstance(v, UnevenShards) else v
            for t, v in zip(op.inputs, values, strict=True)
        ]
        outputs[position] = [*call_function(op, inputs), np.array(0, np.int32)]
    unused = next(iter(outputs.values()))
    return [_together(parts) for parts in zip(*(outputs.get(p, unused) for p in range(axis.size)), strict=True)]


def _part(value: Value, position: int) -> Array:
    return value.part(position) if isinstance(value, UnevenShards) else np.asarray(everywhere(value))[position]


def _together(parts: Sequence[HostArray]) -> Value:
    alike = all(np.shape(part) == np.shape(parts[0]) for part in parts)
    return np.stack(parts) if alike else UnevenShards.of(parts)


define_op(
    "PyFuncByPosition",
    _rule,
    host=_call_by_position,
    stateful=True,
    always_varies=True,
    differentiable=False,
    hidden=("_func", "_failures"),
)


def take_out_of_program(op: Operation) -> None:
    """Make a call with results of unknown shape a host operation, called for each tower between two programs."""
    if op.type == "PyFuncInPlace" and op.outputs and not all(shapes.known(t.dims) for t in op.outputs):
        op.type, op.definition = "PyFuncByPosition", op_registry.lookup("PyFuncByPosition")
