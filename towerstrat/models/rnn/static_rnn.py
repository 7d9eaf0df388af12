"""Recurrences over a Python list, unrolled: ``tf.nn.static_rnn`` and its kin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.graph.ir import nest
from towerstrat.graph.ir.default_graph import control_dependencies
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import int32
from towerstrat.graph.ops.array import arrays, padding
from towerstrat.graph.ops.math import arithmetic
from towerstrat.graph.scopes.variable_scope import variable_scope
from towerstrat.models.rnn.cells import assert_like_rnncell, batch_shape
from towerstrat.models.rnn.dynamic_rnn import first_state, kept_where, state_dtype


def static_rnn(
    cell: Any,
    inputs: Sequence[Any],
    initial_state: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> Any:
    """Runs a cell over a list of inputs, one after the other.

    Args:
      cell: an ``RNNCell``.
      inputs: for each step ``[batch, n]``, or a structure of such tensors.
      initial_state, dtype, sequence_length: as of ``dynamic_rnn``.
      scope: default "rnn".

    Returns:
      The list of outputs, and the last state.

    Raises:
      TypeError: ``cell`` is no cell, or ``inputs`` no sequence.
      ValueError: no inputs, inputs of unknown or different sizes, or neither ``initial_state`` nor ``dtype``.
    """
    assert_like_rnncell("cell", cell)
    if not nest.is_sequence(inputs):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    outputs = []
    with variable_scope(scope or "rnn") as opened:
        flat = [convert_to_tensor(x) for x in nest.flatten(inputs)]
        known = _known_batch(flat)
        batch_size = known or arrays.shape(flat[0])[0]
        state = first_state(cell, batch_size, dtype, initial_state)
        lengths = zeros = None
        if sequence_length is not None:
            lengths = arithmetic.cast(convert_to_tensor(sequence_length, name="sequence_length"), int32)
            if lengths.shape.ndims not in (None, 1):
                raise ValueError("sequence_length must be a vector of length batch_size")
            kind = state_dtype(dtype, state)
            zeros = nest.map_structure(lambda s: arrays.zeros(batch_shape(batch_size, s), kind), cell.output_size)
        for time, row in enumerate(inputs):
            if time > 0:
                opened.reuse_variables()
            output, new_state = cell(row, state)
            if lengths is not None:
                done = arithmetic.greater_equal(time, lengths)
                output, new_state = kept_where(done, zeros, output), kept_where(done, state, new_state)
            state = new_state
            outputs.append(output)
        return outputs, state


def _known_batch(flat: Sequence[Tensor]) -> int | None:
    """The number of sequences where a shape tells it. Raises ValueError where other sizes are unknown."""
    if flat[0].shape.ndims == 1:
        return flat[0].shape.as_list()[0]
    batch = TensorShape([None])
    for tensor in flat:
        shape = tensor.shape.with_rank_at_least(2)
        batch = batch.merge_with(shape[:1])
        for i, size in enumerate(shape.as_list()[1:]):
            if size is None:
                raise ValueError(
                    f"Input size (dimension {i} of inputs) must be accessible via shape inference, but saw value None."
                )
    return batch.as_list()[0]


def static_state_saving_rnn(
    cell: Any,
    inputs: Sequence[Any],
    state_saver: Any,
    state_name: Any,
    sequence_length: Any = None,
    scope: Any = None,
) -> Any:
    """``static_rnn`` whose initial state comes from, and whose last one goes to, a state saver.

    Args:
      state_saver: an object with the methods ``state(name)`` and ``save_state(name, value)``, which gives an operation.
      state_name: the name, or names in the structure of ``cell.state_size``.
      cell, inputs, sequence_length, scope: as of ``static_rnn``.

    Returns:
      The list of outputs, the last of which comes after the state was saved, and the last state.
    """
    if nest.is_sequence(cell.state_size) != nest.is_sequence(state_name):
        raise ValueError(
            "state_name should be the same type as cell.state_size.  "
            f"state_name: {state_name}, cell.state_size: {cell.state_size}"
        )
    names, sizes = nest.flatten(state_name), nest.flatten(cell.state_size)
    if len(names) != len(sizes):
        raise ValueError(f"#elems(state_name) != #elems(state_size): {len(names)} vs. {len(sizes)}")
    initial = nest.pack_sequence_as(cell.state_size, [state_saver.state(name) for name in names])
    outputs, state = static_rnn(cell, inputs, initial, sequence_length=sequence_length, scope=scope)
    saved = [state_saver.save_state(name, part) for name, part in zip(names, nest.flatten(state), strict=True)]
    with control_dependencies(saved):
        outputs[-1] = nest.map_structure(arrays.identity, outputs[-1])
        return outputs, nest.map_structure(arrays.identity, state)


def static_bidirectional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Sequence[Any],
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> Any:
    """``static_rnn`` of one cell forwards and of another backwards in time.

    Args:
      cell_fw, cell_bw, initial_state_fw, initial_state_bw: for either direction.
      inputs, dtype, sequence_length: as of ``static_rnn``.
      scope: default "bidirectional_rnn"; the directions are ``fw`` and ``bw`` in it.

    Returns:
      The list of outputs, both directions along the last dimension, and the last states forwards and backwards.
    """
    assert_like_rnncell("cell_fw", cell_fw)
    assert_like_rnncell("cell_bw", cell_bw)
    if not nest.is_sequence(inputs):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as forward:
            output_fw, state_fw = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length, scope=forward)
        with variable_scope("bw") as backward:
            found, state_bw = static_rnn(
                cell_bw, _reversed(inputs, sequence_length), initial_state_bw, dtype, sequence_length, scope=backward
            )
    output_bw = _reversed(found, sequence_length)
    joined = [
        arrays.concat([one, two], 1) for one, two in zip(nest.flatten(output_fw), nest.flatten(output_bw), strict=True)
    ]
    return nest.pack_sequence_as(output_fw, joined), state_fw, state_bw


def _reversed(values: Sequence[Any], lengths: Any) -> list[Any]:
    """The list backwards; each sequence only up to its length, where ``lengths`` are given."""
    if lengths is None:
        return list(reversed(values))
    steps = [nest.flatten(value) for value in values]
    columns = [
        arrays.unstack(padding.reverse_sequence(arrays.stack(column), lengths, 0, 1), num=len(values))
        for column in zip(*steps, strict=True)
    ]
    return [
        nest.pack_sequence_as(value, parts) for value, parts in zip(values, zip(*columns, strict=True), strict=True)
    ]
