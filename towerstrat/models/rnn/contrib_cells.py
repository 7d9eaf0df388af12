"""Cells of ``tf.contrib.rnn``: under names of fused kernels, with layer normalization, with gates and projections."""

from __future__ import annotations

import math as python_math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from towerstrat.graph.ir.default_graph import device as on_device
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.linalg import products
from towerstrat.graph.ops.math import arithmetic
from towerstrat.graph.ops.nn import embedding, misc, normalization
from towerstrat.graph.scopes.initializers import (
    constant_initializer,
    random_uniform_initializer,
    zeros_initializer,
)
from towerstrat.graph.scopes.variable_scope import get_variable, get_variable_scope, variable_scope
from towerstrat.models.rnn.cell_wrappers import WrapperCell
from towerstrat.models.rnn.cells import GRUCell, LSTMCell, LSTMStateTuple, RNNCell, assert_like_rnncell
from towerstrat.models.rnn.dynamic_rnn import bidirectional_dynamic_rnn
from towerstrat.platform import logs


def _width(x: Tensor) -> int:
    """The size of the last dimension. Raises ValueError where it is unknown."""
    size = x.shape.as_list()[-1]
    if size is None:
        raise ValueError(f"Could not infer input size from inputs.get_shape()[-1], got shape {x.shape}. Use set_shape.")
    return int(size)


def _projected(x: Tensor, size: int) -> Tensor:
    """``x @ kernel + bias``, with variables of these names in the scope."""
    kernel = get_variable("kernel", [_width(x), size], dtype=x.dtype)
    bias = get_variable("bias", [size], dtype=x.dtype, initializer=zeros_initializer())
    return misc.bias_add(products.matmul(x, kernel), bias)


# ---- under the names of fused kernels -------------------------------------------------------------------------------


class LSTMBlockCell(LSTMCell):
    """``LSTMCell`` under another name: the original had one kernel for it.

    Args:
      use_peephole: as ``use_peepholes`` of ``LSTMCell``; the gradient is the formula's, which the original's kernel did
        not give with peepholes and clipping. num_units, forget_bias, cell_clip, reuse, name, dtype as there.
    """

    _peepholes = ("w_i_diag", "w_f_diag", "w_o_diag")

    def __init__(self, num_units: int, forget_bias: float = 1.0, cell_clip: float | None = None,
                 use_peephole: bool = False, reuse: Any = None, name: str | None = "lstm_cell",
                 dtype: Any = None):  # fmt: skip
        clip = cell_clip if cell_clip is not None and cell_clip > 0 else None
        super().__init__(num_units, use_peephole, clip, forget_bias=forget_bias, reuse=reuse, name=name, dtype=dtype)


class GRUBlockCellV2(GRUCell):
    """``GRUCell`` under another name: the original had one kernel for it.

    Args:
      num_units, reuse, name: as of ``GRUCell``. cell_size: the deprecated name of ``num_units``.
    """

    def __init__(self, num_units: int | None = None, cell_size: int | None = None, reuse: Any = None,
                 name: str | None = "gru_cell"):  # fmt: skip
        if (num_units is None and cell_size is None) or (num_units is not None and cell_size is not None):
            raise ValueError("Exactly one of num_units or cell_size must be provided.")
        super().__init__(num_units or cell_size or 0, reuse=reuse, name=name)


class GRUBlockCell(GRUBlockCellV2):
    """``GRUBlockCellV2`` whose variables are called ``w_ru``, ``b_ru``, ``w_c`` and ``b_c``."""

    _names: ClassVar[dict[str, tuple[str, str]]] = {"gates": ("w_ru", "b_ru"), "candidate": ("w_c", "b_c")}


# ---- other recurrences ----------------------------------------------------------------------------------------------


class LayerNormBasicLSTMCell(RNNCell):
    """``BasicLSTMCell`` with layer normalization (arxiv.org/abs/1607.06450) and recurrent dropout (1603.05118).

    Args:
      num_units, forget_bias, activation, reuse: as of ``BasicLSTMCell``.
      input_size: deprecated, changes nothing.
      layer_norm: whether gates and state are normalized; else there is a bias.
      norm_gain, norm_shift: the initial ``gamma`` and ``beta``.
      dropout_keep_prob: of the new input, a number or a scalar tensor. dropout_prob_seed: its seed.
    """

    def __init__(self, num_units: int, forget_bias: float = 1.0, input_size: Any = None,
                 activation: Callable[..., Any] = arithmetic.tanh, layer_norm: bool = True, norm_gain: float = 1.0,
                 norm_shift: float = 0.0, dropout_keep_prob: Any = 1.0, dropout_prob_seed: int | None = None,
                 reuse: Any = None):  # fmt: skip
        super().__init__(_reuse=reuse)
        if input_size is not None:
            logs.warn("%s: The input_size parameter is deprecated.", self)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._activation = activation
        self._layer_norm = layer_norm
        self._gain, self._shift = norm_gain, norm_shift
        self._keep_prob = dropout_keep_prob
        self._seed = dropout_prob_seed

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> Any:
        return self._num_units

    def _normalized(self, x: Tensor, scope: str) -> Tensor:
        if not self._layer_norm:
            return x
        with variable_scope(scope):
            gamma = get_variable("gamma", x.shape[-1:], x.dtype, constant_initializer(self._gain))
            beta = get_variable("beta", x.shape[-1:], x.dtype, constant_initializer(self._shift))
        mean, variance = normalization.moments(x, [1], keep_dims=True)
        return normalization.batch_normalization(x, mean, variance, beta, gamma, 1e-12)

    def call(self, inputs: Any, state: Any) -> Any:
        c, h = state
        x = arrays.concat([inputs, h], 1)
        kernel = get_variable("kernel", [_width(x), 4 * self._num_units], dtype=x.dtype)
        gates = products.matmul(x, kernel)
        if not self._layer_norm:
            gates = misc.bias_add(gates, get_variable("bias", [4 * self._num_units], dtype=x.dtype))
        parts = zip(arrays.split(gates, 4, 1), ("input", "transform", "forget", "output"), strict=True)
        i, j, f, o = [self._normalized(gate, scope) for gate, scope in parts]
        g = self._activation(j)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            g = misc.dropout(g, self._keep_prob, seed=self._seed)
        new_c = c * arithmetic.sigmoid(f + self._forget_bias) + arithmetic.sigmoid(i) * g
        new_c = self._normalized(new_c, "state")
        new_h = self._activation(new_c) * arithmetic.sigmoid(o)
        return new_h, LSTMStateTuple(new_c, new_h)


class UGRNNCell(RNNCell):
    """Update gate recurrence (Collins et al. 2017, https://arxiv.org/abs/1611.09913): between an RNN and a GRU.

    ``g, c = split([x, h] @ kernel + bias)``, ``u = sigmoid(g + forget_bias)``,
    ``h' = u * h + (1 - u) * activation(c)``.

    Args:
      num_units: the size of state and output. initializer: of the kernel; default the scope's.
      forget_bias: added to the gate. activation: a function. reuse: as of ``BasicRNNCell``.
    """

    def __init__(self, num_units: int, initializer: Any = None, forget_bias: float = 1.0,
                 activation: Callable[..., Any] = arithmetic.tanh, reuse: Any = None):  # fmt: skip
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._initializer = initializer
        self._forget_bias = forget_bias
        self._activation = activation

    @property
    def state_size(self) -> Any:
        return self._num_units

    @property
    def output_size(self) -> Any:
        return self._num_units

    def call(self, inputs: Any, state: Any) -> Any:
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            gate, new = arrays.split(_projected(arrays.concat([inputs, state], 1), 2 * self._num_units), 2, 1)
        gate = arithmetic.sigmoid(gate + self._forget_bias)
        new_state = gate * state + (1.0 - gate) * self._activation(new)
        return new_state, new_state


# ---- wrappers -------------------------------------------------------------------------------------------------------


class InputProjectionWrapper(WrapperCell):
    """A cell whose inputs are projected before.

    Args:
      cell: the cell inside. num_proj: the size of its inputs. activation: a function of the projection, or None.
      input_size: deprecated, changes nothing. reuse: as of ``BasicRNNCell``.
    """

    def __init__(self, cell: Any, num_proj: int, activation: Callable[..., Any] | None = None,
                 input_size: Any = None, reuse: Any = None):  # fmt: skip
        super().__init__(cell, _reuse=reuse)
        if input_size is not None:
            logs.warn("%s: The input_size parameter is deprecated.", self)
        assert_like_rnncell("cell", cell)
        self._num_proj = num_proj
        self._activation = activation

    def call(self, inputs: Any, state: Any) -> Any:
        projected = _projected(inputs, self._num_proj)
        return self._cell(self._activation(projected) if self._activation else projected, state)


class OutputProjectionWrapper(WrapperCell):
    """A cell whose outputs are projected.

    Args:
      cell: the cell inside. output_size: the size of the outputs. activation: a function of them, or None.
      reuse: as of ``BasicRNNCell``.
    """

    def __init__(self, cell: Any, output_size: int, activation: Callable[..., Any] | None = None, reuse: Any = None):
        super().__init__(cell, _reuse=reuse)
        assert_like_rnncell("cell", cell)
        if output_size < 1:
            raise ValueError(f"Parameter output_size must be > 0: {output_size}.")
        self._output_size = output_size
        self._activation = activation

    @property
    def output_size(self) -> Any:
        return self._output_size

    def call(self, inputs: Any, state: Any) -> Any:
        output, new_state = self._cell(inputs, state)
        projected = _projected(output, self._output_size)
        return (self._activation(projected) if self._activation else projected), new_state


class EmbeddingWrapper(WrapperCell):
    """A cell whose inputs are rows of a table, chosen by integers ``[batch]``.

    Args:
      cell: the cell inside. embedding_classes, embedding_size: the shape of the table.
      initializer: of the table; default the scope's, else uniform with variance 1. reuse: as of ``BasicRNNCell``.
    """

    def __init__(self, cell: Any, embedding_classes: int, embedding_size: int, initializer: Any = None,
                 reuse: Any = None):  # fmt: skip
        super().__init__(cell, _reuse=reuse)
        assert_like_rnncell("cell", cell)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(
                f"Both embedding_classes and embedding_size must be > 0: {embedding_classes}, {embedding_size}."
            )
        self._shape = [embedding_classes, embedding_size]
        self._initializer = initializer

    def call(self, inputs: Any, state: Any) -> Any:
        limit = python_math.sqrt(3)
        with on_device("/cpu:0"):
            initializer = self._initializer or get_variable_scope().initializer
            table = get_variable(
                "embedding", self._shape, (state[0] if isinstance(state, tuple) else state).dtype,
                initializer or random_uniform_initializer(-limit, limit),
            )  # fmt: skip
            return self._cell(embedding.embedding_lookup(table, arrays.reshape(inputs, [-1])), state)


def stack_bidirectional_dynamic_rnn(
    cells_fw: Sequence[Any],
    cells_bw: Sequence[Any],
    inputs: Any,
    initial_states_fw: Sequence[Any] | None = None,
    initial_states_bw: Sequence[Any] | None = None,
    dtype: Any = None,
    sequence_length: Any = None,
    parallel_iterations: int | None = None,
    time_major: bool = False,
    scope: Any = None,
    swap_memory: bool = False,
) -> Any:
    """Layers of ``bidirectional_dynamic_rnn``: the outputs of both directions are the inputs of the next layer.

    Args:
      cells_fw, cells_bw, initial_states_fw, initial_states_bw: lists, one entry per layer.
      inputs, dtype, sequence_length, time_major: as of ``dynamic_rnn``.
      parallel_iterations, swap_memory: scheduling of the original; they change no value.
      scope: default "stack_bidirectional_rnn".

    Returns:
      The outputs of the last layer, both directions along the last dimension, and tuples of the layers' last states
      forwards and backwards.

    Raises:
      ValueError: no cells, or lists that are none or of different lengths.
    """
    if not cells_fw or not cells_bw:
        raise ValueError(f"Must specify at least one {'bw' if cells_fw else 'fw'} cell for BidirectionalRNN.")
    for name, given in (("cells_fw", cells_fw), ("cells_bw", cells_bw)):
        if not isinstance(given, list):
            raise ValueError(f"{name} must be a list of RNNCells (one per layer).")
    if len(cells_fw) != len(cells_bw):
        raise ValueError("Forward and Backward cells must have the same depth.")
    for name, states in (("initial_states_fw", initial_states_fw), ("initial_states_bw", initial_states_bw)):
        if states is not None and (not isinstance(states, list) or len(states) != len(cells_fw)):
            raise ValueError(f"{name} must be a list of state tensors (one per layer).")
    found = []
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (forward, backward) in enumerate(zip(cells_fw, cells_bw, strict=True)):
            with variable_scope(f"cell_{i}"):
                outputs, states = bidirectional_dynamic_rnn(
                    forward, backward, inputs, sequence_length,
                    initial_states_fw[i] if initial_states_fw else None,
                    initial_states_bw[i] if initial_states_bw else None,
                    dtype, time_major=time_major,
                )  # fmt: skip
                inputs = arrays.concat(outputs, 2)
            found.append(states)
    states_fw, states_bw = zip(*found, strict=True)
    return inputs, states_fw, states_bw
