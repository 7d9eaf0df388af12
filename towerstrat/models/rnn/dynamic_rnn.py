"""Recurrences over a time dimension as loops: ``tf.nn.dynamic_rnn``, ``bidirectional_dynamic_rnn``, ``raw_rnn``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.graph.ir import nest
from towerstrat.graph.ir.default_graph import control_dependencies
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import DType, as_dtype, int32
from towerstrat.graph.ops.array import arrays, padding
from towerstrat.graph.ops.control.tensor_array import TensorArray
from towerstrat.graph.ops.control.while_loop import while_loop
from towerstrat.graph.ops.host import runtime_checks
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.scopes.variable_scope import variable_scope
from towerstrat.models.rnn.cells import assert_like_rnncell, batch_shape


def state_dtype(explicit: Any, state: Any) -> DType:
    """The element type of outputs: ``explicit``, else that of the state.

    Raises:
      ValueError: there is none, or the state has several.
    """
    if explicit is not None:
        return as_dtype(explicit)
    kinds = list(dict.fromkeys(leaf.dtype for leaf in nest.flatten(state)))
    if not kinds:
        raise ValueError("Unable to infer dtype from empty state.")
    if len(kinds) > 1:
        raise ValueError(
            "State has tensors of different inferred_dtypes. Unable to infer a single representative dtype."
        )
    kind: DType = kinds[0]
    return kind


def first_state(cell: Any, batch_size: Any, dtype: Any, initial_state: Any) -> Any:
    """The state before the first step. Raises ValueError where neither it nor ``dtype`` is given."""
    if initial_state is not None:
        return initial_state
    if not dtype:
        raise ValueError("If there is no initial_state, you must give a dtype.")
    if getattr(cell, "get_initial_state", None) is not None:
        return cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
    return cell.zero_state(batch_size, dtype)


def kept_where(done: Tensor, old: Any, new: Any) -> Any:
    """``new``, with the rows of ``old`` where a sequence is done; scalars and TensorArrays of ``new`` as they are."""
    nest.assert_same_structure(old, new)

    def choose(old: Any, new: Any) -> Any:
        if isinstance(old, TensorArray) or old.shape.ndims == 0:
            return new
        chosen = arrays.where(done, old, new)
        chosen.set_shape(old.shape)
        return chosen

    return nest.map_structure(choose, old, new)


def checked_lengths(sequence_length: Any, batch_size: Any) -> Tensor | None:
    """``sequence_length`` as int32, checked to have one entry per sequence when it runs."""
    if sequence_length is None:
        return None
    lengths = arithmetic.cast(convert_to_tensor(sequence_length), int32)
    if lengths.shape.ndims not in (None, 1):
        raise ValueError(f"sequence_length must be a vector of length batch_size, but saw shape: {lengths.shape}")
    lengths = arrays.identity(lengths, name="sequence_length")
    if get_default_graph().executing_eagerly:
        return lengths
    wanted, found = arrays.stack([batch_size]), arrays.shape(lengths)
    data = [f"Expected shape for Tensor {lengths.name} is ", wanted, " but saw shape: ", found]
    with control_dependencies([runtime_checks.Assert(reductions.reduce_all(arithmetic.equal(found, wanted)), data)]):
        return arrays.identity(lengths, name="CheckSeqLen")


def dynamic_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> Any:
    """Runs a cell over the time dimension of ``inputs``, as one loop.

    Args:
      cell: an ``RNNCell``.
      inputs: ``[batch, time, ...]`` (``[time, batch, ...]`` where ``time_major``), or a structure of such tensors; the
        sizes behind the first two must be known.
      sequence_length: ``[batch]``, integers: at later steps the state of a sequence stays, and its outputs are zeros.
      initial_state: ``[batch, state_size]`` in the structure of the cell's; default its ``zero_state`` of ``dtype``.
      dtype: the element type of the initial state and the outputs.
      time_major: how inputs and outputs lie.
      scope: the variable scope, a name or a ``VariableScope``; default "rnn".
      parallel_iterations, swap_memory: scheduling of the original; they change no value.

    Returns:
      The outputs of all steps, ``[batch, time, output_size]`` in the structure of the cell's, and the last state.

    Raises:
      TypeError: ``cell`` is no cell.
      ValueError: neither ``initial_state`` nor ``dtype``, unknown sizes of inputs, or inputs that disagree.
    """
    assert_like_rnncell("cell", cell)
    with variable_scope(scope or "rnn"):
        flat = [convert_to_tensor(x) for x in nest.flatten(inputs)]
        if not time_major:
            flat = [_transposed(x) for x in flat]
        batch_size = _batch_size(flat)
        state = first_state(cell, batch_size, dtype, initial_state)
        lengths = checked_lengths(sequence_length, batch_size)
        outputs, final = _loop(cell, inputs, flat, batch_size, state, lengths, dtype)
        return outputs if time_major else nest.map_structure(_transposed, outputs), final


def _transposed(x: Tensor) -> Tensor:
    """``x`` with batch and time exchanged; a tensor of fewer dimensions as it is."""
    if x.dims is None:
        return arrays.transpose(x, arrays.concat([[1, 0], arrays.range(2, arrays.rank(x))], 0))
    return x if len(x.dims) < 2 else arrays.transpose(x, [1, 0, *range(2, len(x.dims))])


def _batch_size(flat: Sequence[Tensor]) -> Any:
    """The number of sequences: a number where an input's shape tells, else a scalar tensor."""
    for tensor in flat:
        if tensor.dims is None:
            continue
        if len(tensor.dims) < 2:
            raise ValueError(f"Expected input tensor {tensor} to have rank at least 2")
        if tensor.dims[1] is not None:
            return tensor.dims[1]
    return arrays.shape(flat[0])[1]


def _check(shapes: Sequence[TensorShape]) -> None:
    """Raises ValueError where the sizes behind time and batch are unknown, or those of time and batch disagree."""
    first = shapes[0].as_list()
    for shape in shapes:
        if not shape[2:].is_fully_defined():
            raise ValueError(
                "Input size (depth of inputs) must be accessible via shape inference, but saw value None. Got inputs "
                f"of shape {shape} (time, batch, ...); use set_shape."
            )
        for axis, what in enumerate(("Time steps", "Batch_size")):
            if shape.as_list()[axis] != first[axis]:
                raise ValueError(
                    f"{what} is not the same for all the elements in the input: {first[axis]} and "
                    f"{shape.as_list()[axis]}."
                )


def _loop(
    cell: Any, inputs: Any, flat: Sequence[Tensor], batch_size: Any, state: Any, lengths: Tensor | None, dtype: Any
) -> tuple[Any, Any]:
    """The loop over the time-major inputs ``flat``: (outputs, last state)."""
    _check([x.shape.with_rank_at_least(3) for x in flat])
    first = flat[0]
    steps = first.dims[0] if first.dims and first.dims[0] is not None else arrays.shape(first)[0]
    kind = state_dtype(dtype, state)
    zeros = nest.map_structure(lambda size: arrays.zeros(batch_shape(batch_size, size), kind), cell.output_size)
    with get_default_graph().name_scope("dynamic_rnn"):
        rows = [TensorArray(x.dtype, size=steps, tensor_array_name=f"input_{i}").unstack(x)
                for i, x in enumerate(flat)]  # fmt: skip
        made = [TensorArray(kind, size=steps, element_shape=zero.shape, tensor_array_name=f"output_{i}")
                for i, zero in enumerate(nest.flatten(zeros))]  # fmt: skip

    def step(time: Tensor, made: Sequence[TensorArray], state: Any) -> Any:
        given = [a.read(time) for a in rows]
        for row, x in zip(given, flat, strict=True):
            row.set_shape(x.shape[1:])
        output, new_state = cell(nest.pack_sequence_as(inputs, given), state)
        if lengths is not None:
            # All steps are made, also those that no sequence needs: a loop of known length is one scan.
            done = arithmetic.greater_equal(time, lengths)
            output, new_state = kept_where(done, zeros, output), kept_where(done, state, new_state)
        written = [a.write(time, value) for a, value in zip(made, nest.flatten(output), strict=True)]
        return time + 1, written, new_state

    _, made, final = while_loop(
        lambda time, *_: arithmetic.less(time, steps), step, (constant(0, int32, name="time"), made, state)
    )
    outputs = [a.stack() for a in made]
    for output, zero in zip(outputs, nest.flatten(zeros), strict=True):
        output.set_shape(TensorShape([first.dims[0] if first.dims else None]).concatenate(zero.shape))
    return nest.pack_sequence_as(cell.output_size, outputs), final


def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> Any:
    """``dynamic_rnn`` of one cell forwards and of another backwards in time.

    Args:
      cell_fw, cell_bw, initial_state_fw, initial_state_bw: for either direction.
      sequence_length: a sequence is reversed up to its length.
      inputs, dtype, time_major, parallel_iterations, swap_memory: as of ``dynamic_rnn``.
      scope: default "bidirectional_rnn"; the directions are ``fw`` and ``bw`` in it.

    Returns:
      ``(outputs_fw, outputs_bw)``, both in the order of the inputs, and ``(last_state_fw, last_state_bw)``.
    """
    assert_like_rnncell("cell_fw", cell_fw)
    assert_like_rnncell("cell_bw", cell_bw)
    time_axis, batch_axis = (0, 1) if time_major else (1, 0)

    def reverse(x: Any) -> Tensor:
        if sequence_length is None:
            return arrays.reverse(x, axis=[time_axis])
        return padding.reverse_sequence(x, sequence_length, seq_axis=time_axis, batch_axis=batch_axis)

    def run(cell: Any, inputs: Any, state: Any, scope: Any) -> Any:
        return dynamic_rnn(cell, inputs, sequence_length, state, dtype, time_major=time_major, scope=scope)

    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as forward:
            output_fw, state_fw = run(cell_fw, inputs, initial_state_fw, forward)
        with variable_scope("bw") as backward:
            reversed_inputs = nest.map_structure(reverse, inputs)
            output_bw, state_bw = run(cell_bw, reversed_inputs, initial_state_bw, backward)
    return (output_fw, nest.map_structure(reverse, output_bw)), (state_fw, state_bw)


def raw_rnn(
    cell: Any,
    loop_fn: Callable[..., Any],
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: Any = None,
) -> Any:
    """A recurrence whose inputs, outputs and end are up to a function.

    Args:
      cell: an ``RNNCell``.
      loop_fn: ``f(time, cell_output, cell_state, loop_state)``, called before the first step with None for the last
        three and after each step, returns ``(finished, next_input, next_cell_state, emit_output, next_loop_state)``:
        ``finished`` is ``[batch]`` of bool; ``emit_output`` of the first call tells structure, shapes (without the
        batch) and types of what is emitted, None those of the cell's output; ``next_loop_state`` None keeps the last.
      parallel_iterations, swap_memory: scheduling of the original; they change no value.
      scope: default "rnn".

    Returns:
      The emitted values, TensorArrays over time in their structure; the last state; the last loop state, or None. A
      sequence that is finished emits zeros, and its state stays.
    """
    assert_like_rnncell("cell", cell)
    if not callable(loop_fn):
        raise TypeError("loop_fn must be a callable")
    with variable_scope(scope or "rnn"):
        time = constant(0, int32)
        finished, inputs, state, emit, first_loop_state = loop_fn(time, None, None, None)
        loop_state = constant(0, int32) if first_loop_state is None else first_loop_state
        flat = nest.flatten(inputs)
        for tensor in flat[1:]:
            flat[0].shape[:1].merge_with(tensor.shape[:1])
        known = next((x.dims[0] for x in flat if x.dims[0] is not None), None)
        batch_size = arrays.shape(flat[0])[0] if known is None else known
        nest.assert_same_structure(state, cell.state_size)
        state = nest.map_structure(convert_to_tensor, state)
        if emit is None:
            kind = nest.flatten(state)[0].dtype
            zeros = nest.map_structure(lambda s: arrays.zeros(batch_shape(batch_size, s), kind), cell.output_size)
        else:
            zeros = nest.map_structure(lambda e: _zeros_like_rows(batch_size, e), emit)
        emitted = nest.map_structure(
            lambda z: TensorArray(z.dtype, size=0, dynamic_size=True, element_shape=z.shape), zeros
        )

        def step(time: Tensor, finished: Tensor, inputs: Any, emitted: Any, state: Any, loop_state: Any) -> Any:
            output, cell_state = cell(inputs, state)
            nest.assert_same_structure(state, cell_state)
            nest.assert_same_structure(cell.output_size, output)
            after = time + 1
            ends, next_inputs, next_state, emit, next_loop_state = loop_fn(after, output, cell_state, loop_state)
            nest.assert_same_structure(inputs, next_inputs)
            values = kept_where(finished, zeros, emit)
            written = nest.map_structure(lambda a, value: a.write(time, value), emitted, values)
            next_state = kept_where(finished, state, next_state)
            kept = loop_state if next_loop_state is None else next_loop_state
            return after, arithmetic.logical_or(finished, ends), next_inputs, written, next_state, kept

        *_, emitted, state, loop_state = while_loop(
            lambda time, finished, *_: arithmetic.logical_not(reductions.reduce_all(finished)),
            step,
            [time, finished, inputs, emitted, state, loop_state],
        )
        return emitted, state, None if first_loop_state is None else loop_state


def _zeros_like_rows(batch_size: Any, emit: Any) -> Tensor:
    """Zeros for what is emitted per sequence like ``emit``, ``[batch, *emit.shape]``."""
    emit = convert_to_tensor(emit)
    size = emit.shape if emit.shape.is_fully_defined() else arrays.shape(emit)
    return arrays.zeros(batch_shape(batch_size, size), emit.dtype)
