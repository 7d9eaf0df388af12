"""``tf.ConditionalAccumulator`` and its kin: gradients that are collected until there are enough of them.

Sources: ``tensorflow/python/ops/data_flow_ops.py``, ``tensorflow/core/kernels/conditional_accumulator_base.cc``,
``sparse_conditional_accumulator.h`` of 1.12.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from towerstrat.errors import CancelledError, InvalidArgumentError
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op, nothing, scalar
from towerstrat.graph.ir.shapes import TensorShape, as_shape
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import Array, DType, as_dtype, int32, int64, resource
from towerstrat.graph.ops.host.python_calls import check_place
from towerstrat.graph.ops.math import arithmetic
from towerstrat.graph.runtime.plans.runner import Runner
from towerstrat.platform import logs
from towerstrat.platform.deadlines import DEADLINE

_KINDS = ("MEAN", "SUM")


class _State:
    """What an accumulator holds in a session.

    Attributes:
      step: gradients of earlier steps are dropped.
      count: gradients since the last one was taken.
      total: the sum of them; of sparse ones ``_Rows``.
      closed: whether the session was closed.
      stopped: whether nobody is to wait for gradients, until the step is set.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.step = 0
        self.count = 0
        self.total: Any = None
        self.closed = False
        self.stopped = False

    def cancel(self) -> None:
        """Ends all waiting, as its session is closed."""
        with self.changed:
            self.closed = True
            self.changed.notify_all()

    def wake(self) -> None:
        """Ends the waiting of sessions that are closed."""
        with self.changed:
            self.changed.notify_all()


class _Rows(NamedTuple):
    """The sum of sparse gradients: the shape of a row, and rows as (index, sum, number of gradients that had it)."""

    dims: tuple[int, ...]
    rows: list[tuple[int, Array, int]]


class ConditionalAccumulatorBase:
    """What accumulators share. Each session has gradients of its own, each server those of a shared name.

    Operations run on the host: not inside towers or step loops. A run that waits lets other runs of its session go on.

    Args:
      dtype: of the gradients.
      shape: of the gradients; None: any.
      accumulator_ref: the tensor that stands for the accumulator in its graph.
    """

    _type = "ConditionalAccumulator"

    def __init__(self, dtype: Any, shape: Any, accumulator_ref: Tensor):
        self._dtype = as_dtype(dtype)
        self._shape = as_shape(shape)
        self._accumulator_ref = accumulator_ref
        self._name = accumulator_ref.op.name.split("/")[-1]
        self._shared_name: str | None = None
        self._mean = True

    def _make(self, dtype: Any, shape: Any, shared_name: str | None, name: str, reduction_type: str) -> None:
        graph = get_default_graph()
        if graph.executing_eagerly:
            raise RuntimeError(f"tf.{self._type} is not supported when eager execution is enabled; add tensors up.")
        check_place(f"tf.{self._type}")
        if reduction_type not in _KINDS:
            raise ValueError(
                f"Attr 'reduction_type' of '{self._type}' Op passed string '{reduction_type}' not in: "
                + ", ".join(f'"{kind}"' for kind in _KINDS)
                + "."
            )
        ref = graph.add("Accumulator", (), {"type": self._type}, name).outputs[0]
        ConditionalAccumulatorBase.__init__(self, dtype, shape, ref)
        self._shared_name = shared_name
        self._mean = reduction_type == "MEAN"

    def _state(self, session: Runner, op: Operation) -> _State:
        if session.closed:
            raise CancelledError(None, op, "Session has been closed.")
        owned = session.resource if self._shared_name is None else session.named_resource
        state: _State = owned(("accumulator", self._shared_name or self), _State)
        return state

    def _add(self, type: str, inputs: Sequence[Any], name: str | None, **attrs: Any) -> Operation:
        return get_default_graph().add(type, inputs, {"_accumulator": self, **attrs}, name)

    def _applied(self, inputs: Sequence[Any], local_step: Any, name: str | None, **attrs: Any) -> Operation:
        step = arithmetic.cast(convert_to_tensor(local_step), int64)
        return self._add("AccumulatorApplyGradient", [step, *inputs], name, **attrs)

    def _taken(self, num_required: Any, name: str | None) -> list[Tensor]:
        return self._add("AccumulatorTakeGradient", [convert_to_tensor(num_required, int32)], name).outputs

    @property
    def accumulator_ref(self) -> Tensor:
        """The tensor that stands for the accumulator in its graph."""
        return self._accumulator_ref

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtype(self) -> DType:
        return self._dtype

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """How many gradients it holds, an int32 scalar."""
        return self._add("AccumulatorNumAccumulated", (), name or f"{self._name}_NumAccumulated").outputs[0]

    def set_global_step(self, new_global_step: Any, name: str | None = None) -> Operation:
        """The operation that sets its step, an integer; a lower one than before is logged."""
        step = arithmetic.cast(convert_to_tensor(new_global_step), int64)
        return self._add("AccumulatorSetGlobalStep", [step], name)

    def stop_taking(self, name: str | None = None) -> Operation:
        """The operation that ends the runs that wait for gradients, now and until the step is set."""
        return self._add("AccumulatorStopTaking", [], name)

    # ---- of a kind -----------------------------------------------------------------------------------------------

    def _signatures(self) -> list[Signature]:
        """Of a gradient that is taken."""
        raise NotImplementedError

    def _check(self, total: Any, gradient: Sequence[Array], attrs: Attrs) -> None:
        """Raises ValueError where a gradient has another shape."""
        raise NotImplementedError

    def _summed(self, total: Any, gradient: Sequence[Array]) -> Any:
        """The sum of both; ``total`` is None at first."""
        raise NotImplementedError

    def _result(self, total: Any, count: int) -> list[Array]:
        """What a gradient is taken as, of the sum of so many."""
        raise NotImplementedError


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Collects dense gradients, of which those of earlier steps than its own are dropped.

    Args:
      dtype: of the gradients.
      shape: of the gradients; None: that of the first one.
      shared_name: accumulators of one name in a session share their gradients.
      reduction_type: "MEAN" or "SUM".

    Raises:
      ValueError: another ``reduction_type``.
    """

    def __init__(
        self, dtype: Any, shape: Any = None, shared_name: str | None = None, name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ):  # fmt: skip
        self._make(dtype, shape, shared_name, name, reduction_type)

    def apply_grad(self, grad: Any, local_step: Any = 0, name: str | None = None) -> Operation:
        """The operation that adds a gradient, unless ``local_step`` is before the accumulator's step.

        Raises:
          ValueError: a gradient of another type or shape.
        """
        given = convert_to_tensor(grad, self._dtype)
        given.shape.assert_is_compatible_with(self._shape)
        return self._applied([given], local_step, name)

    def take_grad(self, num_required: Any, name: str | None = None) -> Tensor:
        """The mean (or sum) of the gradients. A run waits for ``num_required`` of them; then the step is one later.

        Raises (when it runs):
          InvalidArgumentError: ``num_required`` is below 1.
        """
        return self._taken(num_required, name)[0]

    def _signatures(self) -> list[Signature]:
        return [Signature(self._dtype, self._shape.raw)]

    def _check(self, total: Any, gradient: Sequence[Array], attrs: Attrs) -> None:
        wanted = self._shape if total is None else TensorShape(np.shape(total))
        if not wanted.is_compatible_with(np.shape(gradient[0])):
            raise ValueError(f"Shape mismatch: expected {wanted.as_list()}, got {list(np.shape(gradient[0]))}")

    def _summed(self, total: Any, gradient: Sequence[Array]) -> Any:
        return np.array(gradient[0]) if total is None else total + gradient[0]

    def _result(self, total: Any, count: int) -> list[Array]:
        return [np.asarray(total / count if self._mean else total).astype(self._dtype.np)]


class SparseTaken(NamedTuple):
    """A gradient that was taken from a sparse accumulator: int64 ``[n]``, ``[n, ...]``, and int64 ``[rank]``."""

    indices: Tensor
    values: Tensor
    shape: Tensor


class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """Collects gradients of rows, of which those of earlier steps than its own are dropped.

    Args:
      dtype: of the gradients.
      shape: of the whole gradients; None: that of the first one.
      shared_name: accumulators of one name in a session share their gradients.
      reduction_type: "MEAN" (over the gradients that had a row) or "SUM".

    Raises:
      ValueError: another ``reduction_type``.
    """

    _type = "SparseConditionalAccumulator"

    def __init__(
        self, dtype: Any, shape: Any = None, shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator", reduction_type: str = "MEAN",
    ):  # fmt: skip
        self._make(dtype, shape, shared_name, name, reduction_type)

    def apply_indexed_slices_grad(self, grad: Any, local_step: Any = 0, name: str | None = None) -> Operation:
        """``apply_grad`` of IndexedSlices."""
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(
        self, grad_indices: Any, grad_values: Any, grad_shape: Any = None, local_step: Any = 0, name: str | None = None
    ) -> Operation:
        """The operation that adds a gradient, unless ``local_step`` is before the accumulator's step.

        Args:
          grad_indices: ``[n]`` integers, the rows. grad_values: ``[n, ...]``, their gradients.
          grad_shape: ``[rank]``, the shape of the whole gradient; None: not said.

        Raises (when it runs):
          InvalidArgumentError: a gradient of another shape, or a row that is not in it.
        """
        indices = arithmetic.cast(convert_to_tensor(grad_indices), int64)
        values = convert_to_tensor(grad_values, self._dtype)
        known = grad_shape is not None
        shape = arithmetic.cast(convert_to_tensor(grad_shape), int64) if known else constant([], int64)
        return self._applied([indices, values, shape], local_step, name)

    def take_grad(self, num_required: Any, name: str | None = None) -> SparseTaken:
        """The mean (or sum) of the gradients: rows, their values, and the shape (-1 where it is not known).

        A run waits for ``num_required`` gradients; then the step is one later.

        Raises (when it runs):
          InvalidArgumentError: ``num_required`` is below 1.
        """
        return SparseTaken(*self._taken(num_required, name))

    def take_indexed_slices_grad(self, num_required: Any, name: str | None = None) -> IndexedSlices:
        """``take_grad`` as IndexedSlices."""
        found = self.take_grad(num_required, name)
        return IndexedSlices(found.values, found.indices, found.shape)

    def _signatures(self) -> list[Signature]:
        return [Signature(int64, (None,)), Signature(self._dtype, None), Signature(int64, (None,))]

    def _check(self, total: Any, gradient: Sequence[Array], attrs: Attrs) -> None:
        indices, values, shape = gradient
        if values.ndim < 1 or len(indices) != len(values):
            raise ValueError(
                f"Expected {len(indices)} non-empty input values, got {values.shape[0] if values.ndim else 0}"
            )
        first = self._shape.raw[0] if self._shape.raw else None
        own = list(self._shape.raw[1:]) if self._shape.raw else None
        if total:
            own = list(total.dims)
        for what, found in (("values", list(values.shape[1:])), ("shape", shape[1:].tolist() if len(shape) else None)):
            if own is None or found is None:
                continue
            if len(found) != len(own):
                raise ValueError(f"Shape mismatch: expected {what} rank {len(own) + 1}, got {len(found) + 1}")
            for place, (mine, theirs) in enumerate(zip(own, found, strict=True), 1):
                if mine not in (None, theirs):
                    raise ValueError(f"Shape mismatch: expected {what} dim {place} to be {mine}, got {theirs}")
        if len(shape) and first not in (None, shape[0]):
            raise ValueError(f"Shape mismatch: expected shape dim 0 to be {first}, got {shape[0]}")
        limit = first if first is not None else int(shape[0]) if len(shape) else None
        for place, index in enumerate(indices.tolist()):
            if index < 0 or (limit is not None and index >= limit):
                raise ValueError(
                    f"Shape mismatch: index of slice {place} exceeded limits of shape; index is {index} "
                    f"exceeded {limit}"
                )

    def _summed(self, total: Any, gradient: Sequence[Array]) -> Any:
        """The rows of both, merged as two lists that are in order: rows that a gradient has twice stay apart."""
        before = [] if total is None else total.rows
        added = [(index, value, 1) for index, value in zip(gradient[0].tolist(), gradient[1], strict=True)]
        rows: list[tuple[int, Array, int]] = []
        i = j = 0
        while i < len(before) and j < len(added):
            (one, mine, count), (other, theirs, _) = before[i], added[j]
            if one == other:
                rows.append((one, mine + theirs, count + 1))
            else:
                rows.append(before[i] if one < other else added[j])
            i, j = i + (one <= other), j + (other <= one)
        return _Rows(np.shape(gradient[1])[1:], [*rows, *before[i:], *added[j:]])

    def _result(self, total: Any, count: int) -> list[Array]:
        indices = np.array([index for index, _, _ in total.rows], np.int64)
        parts = [value / (number if self._mean else 1) for _, value, number in total.rows]
        values = np.array(parts, self._dtype.np).reshape(len(parts), *total.dims)
        known = self._shape.raw or (None,)
        return [indices, values, np.array([-1 if known[0] is None else known[0], *values.shape[1:]], np.int64)]


# ---- when they run -----------------------------------------------------------------------------------------------


def _apply(session: Runner, op: Operation, values: Sequence[Array]) -> list[Array]:
    accumulator: ConditionalAccumulatorBase = op.attrs["_accumulator"]
    state = accumulator._state(session, op)
    step, *gradient = values
    with state.changed:
        if int(step) < state.step:
            return []
        try:
            accumulator._check(state.total, gradient, op.attrs)
        except ValueError as error:
            raise InvalidArgumentError(None, op, str(error)) from None
        state.total = accumulator._summed(state.total, gradient)
        state.count += 1
        state.changed.notify_all()
    return []


def _take(session: Runner, op: Operation, values: Sequence[Array]) -> list[Array]:
    accumulator: ConditionalAccumulatorBase = op.attrs["_accumulator"]
    count = int(values[0])
    if count < 1:
        raise InvalidArgumentError(None, op, f"Argument num_required must be positive, but was {count}")
    state = accumulator._state(session, op)
    with session.unlocked(), state.changed:
        DEADLINE.wait_for(
            state.changed,
            lambda: state.closed or state.stopped or session.closed or state.count >= count,
            f"{count} gradients",
            op,
        )
        if state.closed or state.stopped or session.closed:
            raise CancelledError(None, op, "TakeGrad operation was cancelled")
        found = accumulator._result(state.total, state.count)
        state.total, state.count = None, 0
        state.step += 1
        return found


def _set_step(session: Runner, op: Operation, values: Sequence[Array]) -> list[Array]:
    state = op.attrs["_accumulator"]._state(session, op)
    with state.changed:
        step = int(values[0])
        if step < state.step:
            logs.warning(
                "Attempt to set current_global_step_ to smaller value: current = %d, new = %d", state.step, step
            )
        state.step = step
        state.stopped = False
    return []


def _stop_taking(session: Runner, op: Operation, values: Sequence[Array]) -> list[Array]:
    state = op.attrs["_accumulator"]._state(session, op)
    with state.changed:
        state.stopped = True
        state.changed.notify_all()
    return []


def _define(type: str, rule: Any, host: Any) -> None:
    define_op(type, rule, host=host, stateful=True, differentiable=False, hidden=("_accumulator",))


define_op("Accumulator", scalar(resource), differentiable=False)
_define("AccumulatorApplyGradient", nothing, _apply)
_define("AccumulatorTakeGradient", lambda inputs, attrs: attrs["_accumulator"]._signatures(), _take)
_define("AccumulatorSetGlobalStep", nothing, _set_step)
_define("AccumulatorStopTaking", nothing, _stop_taking)
_define(
    "AccumulatorNumAccumulated",
    scalar(int32),
    lambda session, op, values: [np.asarray(op.attrs["_accumulator"]._state(session, op).count, np.int32)],
)
