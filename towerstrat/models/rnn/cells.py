"""Recurrent cells: ``RNNCell`` and those of ``tf.nn.rnn_cell`` that have variables."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from towerstrat.graph.ir import nest
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.shapes import as_shape, size_at
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor, is_tensor
from towerstrat.graph.ir.types import DType, int32
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.linalg import products
from towerstrat.graph.ops.math import arithmetic
from towerstrat.graph.ops.nn import clipping, misc
from towerstrat.graph.scopes.initializers import constant_initializer, zeros_initializer
from towerstrat.graph.scopes.variable_scope import VariableScope, get_variable_scope, variable_scope
from towerstrat.graph.variables.partitioned import PartitionedVariable, fixed_size_partitioner
from towerstrat.models.layers import layer_arguments
from towerstrat.models.layers.layer import InputSpec, Layer
from towerstrat.platform import logs


def assert_like_rnncell(cell_name: str, cell: Any) -> None:
    """Raises TypeError where ``cell`` lacks something that a cell has, naming all that it lacks."""
    problems = [
        problem
        for there, problem in (
            (hasattr(cell, "output_size"), "'output_size' property is missing"),
            (hasattr(cell, "state_size"), "'state_size' property is missing"),
            (
                hasattr(cell, "get_initial_state") or hasattr(cell, "zero_state"),
                "either 'zero_state' or 'get_initial_state' method is required",
            ),
            (callable(cell), "is not callable"),
        )
        if not there
    ]
    if problems:
        raise TypeError(f"The argument {cell_name!r} ({cell}) is not an RNNCell: {', '.join(problems)}.")


def batch_shape(batch_size: Any, size: Any) -> list[Any] | Tensor:
    """The shape ``[batch_size, *size]``.

    Args:
      batch_size: a number, or a scalar tensor.
      size: a number, a TensorShape, or an integer vector.
    """
    if isinstance(size, Tensor):
        return arrays.concat([_vector(batch_size), _vector(size)], 0)
    sizes = as_shape(size).as_list()
    known = constant_value(batch_size) if is_tensor(batch_size) else as_shape(batch_size).as_list()[0]
    if known is None:
        return arrays.concat([_vector(batch_size), sizes], 0)
    return [int(known), *sizes]


def _vector(value: Any) -> Tensor:
    tensor = convert_to_tensor(value, int32) if not is_tensor(value) else arithmetic.cast(value, int32)
    return arrays.reshape(tensor, [-1])


class RNNCell(Layer):
    """A recurrent cell: ``output, next_state = cell(inputs, state)``.

    Subclasses define ``state_size``, ``output_size`` and ``call(inputs, state)``. Variables that ``call`` makes with
    ``tf.get_variable`` are the cell's.

    Args:
      trainable, name, dtype: as of ``Layer``.
    """

    def __init__(self, trainable: bool = True, name: str | None = None, dtype: Any = None, **kwargs: Any):
        super().__init__(trainable=trainable, name=name, dtype=dtype, **kwargs)
        self._around: VariableScope | None = None
        self._last_zeros: tuple[tuple[Any, Any, Any], Any] | None = None

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """``(output, next_state)``.

        Args:
          inputs: ``[batch, n]``, or a structure of such tensors.
          state: ``[batch, state_size]``, in the structure of ``state_size``.
          scope: the variable scope of the first call, a name or a ``VariableScope``; default the cell's name.
        """
        if scope is not None:
            with variable_scope(scope, custom_getter=self._rnn_get_variable) as opened:
                return super().__call__(inputs, state, scope=opened)
        if self._around is None:
            self._around = get_variable_scope()
        with variable_scope(self._around, custom_getter=self._rnn_get_variable):
            return super().__call__(inputs, state)

    def _rnn_get_variable(self, getter: Any, *args: Any, **kwargs: Any) -> Any:
        """A custom getter that takes stock of the variables that are made or shared."""
        variable = getter(*args, **kwargs)
        one = next(iter(variable)) if isinstance(variable, PartitionedVariable) else variable
        kept = self._trainable_weights if one.trainable else self._non_trainable_weights
        if not any(variable is known for known in kept):
            kept.append(variable)
        return variable

    @property
    def state_size(self) -> Any:
        """The size of the state without its batch: a number, a TensorShape, or a structure of them."""
        raise NotImplementedError(f"{type(self).__name__} does not define state_size.")

    @property
    def output_size(self) -> Any:
        """The size of the output without its batch: a number, a TensorShape, or a structure of them."""
        raise NotImplementedError(f"{type(self).__name__} does not define output_size.")

    def build(self, _: Any) -> None:
        """Makes the variables. Here none: ``call`` may make them, and is not told that they are built."""

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """``zero_state`` for the batch and type of ``inputs``, or for ``batch_size`` and ``dtype``.

        Raises:
          ValueError: neither is given, or they disagree.
        """
        if inputs is not None:
            inputs = convert_to_tensor(inputs, name="inputs")
            size = inputs.dims[0]
            static = constant_value(batch_size) if is_tensor(batch_size) else batch_size
            if batch_size is not None and size != static:
                raise ValueError(
                    "batch size from input tensor is different from the input param. Input tensor batch: "
                    f"{size}, batch_size: {batch_size}"
                )
            if dtype is not None and inputs.dtype != dtype:
                raise ValueError(
                    "dtype from input tensor is different from the input param. Input tensor dtype: "
                    f"{inputs.dtype}, dtype: {dtype}"
                )
            batch_size = size or arrays.shape(inputs)[0]
            dtype = inputs.dtype
        if batch_size is None or dtype is None:
            raise ValueError(
                "batch_size and dtype cannot be None while constructing initial state: "
                f"batch_size={batch_size}, dtype={dtype}"
            )
        return self.zero_state(batch_size, dtype)

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Zeros of shape ``[batch_size, *size]`` for each size in ``state_size``, in its structure."""
        sizes = self.state_size
        key = (sizes, batch_size, dtype)
        if get_default_graph().executing_eagerly and not is_tensor(batch_size):
            # Each eager step of a program asks for the same zeros.
            if self._last_zeros is None or self._last_zeros[0] != key:
                self._last_zeros = key, self._zeros(*key)
            return self._last_zeros[1]
        return self._zeros(*key)

    def _zeros(self, sizes: Any, batch_size: Any, dtype: Any) -> Any:
        with get_default_graph().name_scope(f"{type(self).__name__}ZeroState"):
            return nest.map_structure(lambda size: arrays.zeros(batch_shape(batch_size, size), dtype), sizes)


class LayerRNNCell(RNNCell):
    """A cell whose variables are made once, by ``build``, as those of other layers."""

    def __call__(self, inputs: Any, state: Any, scope: Any = None, *args: Any, **kwargs: Any) -> Any:
        """``(output, next_state)``; further arguments go to ``call``."""
        return Layer.__call__(self, inputs, state, *args, scope=scope, **kwargs)

    def _depth(self, input_shape: Any) -> int:
        """The size of the inputs' last dimension. Raises ValueError where it is unknown."""
        depth = size_at(input_shape, -1)
        if depth is None:
            raise ValueError(
                f"Expected inputs.shape[-1] to be known, saw shape: {as_shape(input_shape)} (cell {self.name}). "
                "Use set_shape."
            )
        return depth

    def _multiplied(self, parts: list[Any], kernel: Any, bias: Any) -> Tensor:
        """``concat(parts) @ kernel + bias``."""
        return misc.bias_add(products.matmul(arrays.concat(parts, 1), kernel), bias)

    def _warn_of_one_tensor(self, state_is_tuple: bool) -> None:
        if not state_is_tuple:
            logs.warn("%s: Using a concatenated state is slower and will soon be deprecated.  "
                      "Use state_is_tuple=True.", self)  # fmt: skip


class BasicRNNCell(LayerRNNCell):
    """``output = next_state = activation([inputs, state] @ kernel + bias)``.

    Args:
      num_units: the size of state and output.
      activation: a function or its name; default tanh.
      reuse: True shares the variables of the scope.
      name, dtype: as of ``Layer``.
    """

    def __init__(self, num_units: int, activation: Any = None, reuse: Any = None, name: str | None = None,
                 dtype: Any = None, **kwargs: Any):  # fmt: skip
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self.input_spec = InputSpec(ndim=2)
        self._num_units = num_units
        self._activation = layer_arguments.activation(activation or None) or arithmetic.tanh

    @property
    def state_size(self) -> Any:
        return self._num_units

    @property
    def output_size(self) -> Any:
        return self._num_units

    def build(self, input_shape: Any) -> None:
        rows = self._depth(input_shape) + self._num_units
        self._kernel = self.add_variable("kernel", shape=[rows, self._num_units])
        self._bias = self.add_variable("bias", shape=[self._num_units], initializer=zeros_initializer())
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        output = self._activation(self._multiplied([inputs, state], self._kernel, self._bias))
        return output, output

    def get_config(self) -> dict[str, Any]:
        config = {"num_units": self._num_units, "activation": layer_arguments.described(self._activation)}
        return super().get_config() | config | {"reuse": self._reuse}


class GRUCell(LayerRNNCell):
    """Gated recurrent unit (Cho et al. 2014, https://arxiv.org/abs/1406.1078).

    ``r, u = sigmoid([x, h] @ K + b)``, ``c = activation([x, r * h] @ K' + b')``, ``h' = u * h + (1 - u) * c``.

    Args:
      num_units: the size of state and output.
      activation: a function or its name; default tanh.
      kernel_initializer: default the scope's.
      bias_initializer: default 1 for the gates, 0 for the candidate.
      reuse, name, dtype: as of ``BasicRNNCell``.
    """

    _names: ClassVar[dict[str, tuple[str, str]]] = {
        part: (f"{part}/kernel", f"{part}/bias") for part in ("gates", "candidate")
    }

    def __init__(self, num_units: int, activation: Any = None, reuse: Any = None, kernel_initializer: Any = None,
                 bias_initializer: Any = None, name: str | None = None, dtype: Any = None,
                 **kwargs: Any):  # fmt: skip
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self.input_spec = InputSpec(ndim=2)
        self._num_units = num_units
        self._activation = layer_arguments.activation(activation or None) or arithmetic.tanh
        self._kernel_initializer = layer_arguments.initializer(kernel_initializer)
        self._bias_initializer = layer_arguments.initializer(bias_initializer)

    @property
    def state_size(self) -> Any:
        return self._num_units

    @property
    def output_size(self) -> Any:
        return self._num_units

    def build(self, input_shape: Any) -> None:
        rows, units = self._depth(input_shape) + self._num_units, self._num_units

        def pair(part: str, columns: int, bias: Any) -> tuple[Any, Any]:
            first = bias if self._bias_initializer is None else self._bias_initializer
            kernel, its = self._names[part]
            return (
                self.add_variable(kernel, shape=[rows, columns], initializer=self._kernel_initializer),
                self.add_variable(its, shape=[columns], initializer=first),
            )

        self._gate_kernel, self._gate_bias = pair("gates", 2 * units, constant_initializer(1.0))
        self._candidate_kernel, self._candidate_bias = pair("candidate", units, zeros_initializer())
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        gates = arithmetic.sigmoid(self._multiplied([inputs, state], self._gate_kernel, self._gate_bias))
        r, u = arrays.split(gates, 2, 1)
        c = self._activation(self._multiplied([inputs, r * state], self._candidate_kernel, self._candidate_bias))
        new = u * state + (1 - u) * c
        return new, new

    def get_config(self) -> dict[str, Any]:
        config = {
            "num_units": self._num_units,
            "kernel_initializer": layer_arguments.described(self._kernel_initializer),
            "bias_initializer": layer_arguments.described(self._bias_initializer),
            "activation": layer_arguments.described(self._activation),
            "reuse": self._reuse,
        }
        return super().get_config() | config


class _LSTMStateTuple(NamedTuple):
    c: Any
    h: Any


class LSTMStateTuple(_LSTMStateTuple):
    """The state of an LSTM: the memory ``c`` and the output ``h``."""

    __slots__ = ()

    @property
    def dtype(self) -> DType:
        """The element type of both. Raises TypeError where they differ."""
        if self.c.dtype != self.h.dtype:
            raise TypeError(f"Inconsistent internal state: {self.c.dtype} vs {self.h.dtype}")
        kind: DType = self.c.dtype
        return kind


class BasicLSTMCell(LayerRNNCell):
    """LSTM without peepholes, clipping and projection (Zaremba et al. 2014, https://arxiv.org/abs/1409.2329).

    ``i, j, f, o = split([x, h] @ kernel + bias)``, ``c' = c * sigmoid(f + forget_bias) + sigmoid(i) * activation(j)``,
    ``h' = activation(c') * sigmoid(o)``.

    Args:
      num_units: the size of ``c``, ``h`` and the output.
      forget_bias: added to the forget gate.
      state_is_tuple: whether the state is an ``LSTMStateTuple``; else ``[c, h]`` along the columns.
      activation: a function or its name; default tanh.
      reuse, name, dtype: as of ``BasicRNNCell``.
    """

    def __init__(self, num_units: int, forget_bias: float = 1.0, state_is_tuple: bool = True, activation: Any = None,
                 reuse: Any = None, name: str | None = None, dtype: Any = None, **kwargs: Any):  # fmt: skip
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._warn_of_one_tensor(state_is_tuple)
        self.input_spec = InputSpec(ndim=2)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = layer_arguments.activation(activation or None) or arithmetic.tanh

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._num_units, self._num_units) if self._state_is_tuple else 2 * self._num_units

    @property
    def output_size(self) -> Any:
        return self._num_units

    def build(self, input_shape: Any) -> None:
        rows = self._depth(input_shape) + self._num_units
        self._kernel = self.add_variable("kernel", shape=[rows, 4 * self._num_units])
        self._bias = self.add_variable("bias", shape=[4 * self._num_units], initializer=zeros_initializer())
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        c, h = state if self._state_is_tuple else arrays.split(state, 2, 1)
        i, j, f, o = arrays.split(self._multiplied([inputs, h], self._kernel, self._bias), 4, 1)
        new_c = c * arithmetic.sigmoid(f + self._forget_bias) + arithmetic.sigmoid(i) * self._activation(j)
        new_h = self._activation(new_c) * arithmetic.sigmoid(o)
        return new_h, LSTMStateTuple(new_c, new_h) if self._state_is_tuple else arrays.concat([new_c, new_h], 1)

    def get_config(self) -> dict[str, Any]:
        config = {
            "num_units": self._num_units,
            "forget_bias": self._forget_bias,
            "state_is_tuple": self._state_is_tuple,
            "activation": layer_arguments.described(self._activation),
            "reuse": self._reuse,
        }
        return super().get_config() | config


class LSTMCell(LayerRNNCell):
    """LSTM with peepholes, clipping and a projection, each where it is asked for.

    Gers et al. 1999; peepholes as in Sak et al. 2014 (https://research.google.com/pubs/archive/43905.pdf).

    Args:
      num_units: the size of ``c``.
      use_peepholes: whether the gates see ``c``, each unit its own.
      cell_clip: ``c`` is clipped to within -cell_clip and cell_clip.
      initializer: of the kernels; default the scope's.
      num_proj: the size of ``h`` and the output, by a projection of ``num_units``; None: no projection.
      proj_clip: the projection is clipped to within -proj_clip and proj_clip.
      num_unit_shards, num_proj_shards: the number of parts of the variables ``kernel`` and ``projection/kernel``.
      forget_bias, state_is_tuple, activation, reuse, name, dtype: as of ``BasicLSTMCell``.
    """

    _peepholes = ("w_f_diag", "w_i_diag", "w_o_diag")
    _w_f_diag: Any
    _w_i_diag: Any
    _w_o_diag: Any

    def __init__(self, num_units: int, use_peepholes: bool = False, cell_clip: float | None = None,
                 initializer: Any = None, num_proj: int | None = None, proj_clip: float | None = None,
                 num_unit_shards: int | None = None, num_proj_shards: int | None = None, forget_bias: float = 1.0,
                 state_is_tuple: bool = True, activation: Any = None, reuse: Any = None, name: str | None = None,
                 dtype: Any = None, **kwargs: Any):  # fmt: skip
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._warn_of_one_tensor(state_is_tuple)
        if num_unit_shards is not None or num_proj_shards is not None:
            logs.warn("%s: The num_unit_shards and proj_unit_shards parameters are deprecated and will be removed in "
                      "Jan 2017.  Use a variable scope with a partitioner instead.", self)  # fmt: skip
        self.input_spec = InputSpec(ndim=2)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = layer_arguments.initializer(initializer)
        self._num_proj = num_proj
        self._proj_clip = proj_clip
        self._num_unit_shards = num_unit_shards
        self._num_proj_shards = num_proj_shards
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = layer_arguments.activation(activation or None) or arithmetic.tanh

    @property
    def state_size(self) -> Any:
        h = self._num_proj or self._num_units
        return LSTMStateTuple(self._num_units, h) if self._state_is_tuple else self._num_units + h

    @property
    def output_size(self) -> Any:
        return self._num_proj or self._num_units

    def build(self, input_shape: Any) -> None:
        units, made = self._num_units, self._initializer
        rows = self._depth(input_shape) + (units if self._num_proj is None else self._num_proj)
        self._kernel = self.add_variable(
            "kernel", shape=[rows, 4 * units], initializer=made, partitioner=_parts(self._num_unit_shards)
        )
        self._bias = self.add_variable("bias", shape=[4 * units], initializer=zeros_initializer())
        if self._use_peepholes:
            for name in self._peepholes:
                setattr(self, f"_{name}", self.add_variable(name, shape=[units], initializer=made))
        if self._num_proj is not None:
            self._proj_kernel = self.add_variable(
                "projection/kernel", shape=[units, self._num_proj], initializer=made,
                partitioner=_parts(self._num_proj_shards),
            )  # fmt: skip
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        c, h = state if self._state_is_tuple else arrays.split(state, [self._num_units, self.output_size], 1)
        i, j, f, o = arrays.split(self._multiplied([inputs, h], self._kernel, self._bias), 4, 1)
        f += self._forget_bias
        if self._use_peepholes:
            f, i = f + self._w_f_diag * c, i + self._w_i_diag * c
        c = arithmetic.sigmoid(f) * c + arithmetic.sigmoid(i) * self._activation(j)
        if self._cell_clip is not None:
            c = clipping.clip_by_value(c, -self._cell_clip, self._cell_clip)
        if self._use_peepholes:
            o += self._w_o_diag * c
        h = arithmetic.sigmoid(o) * self._activation(c)
        if self._num_proj is not None:
            h = products.matmul(h, self._proj_kernel)
            if self._proj_clip is not None:
                h = clipping.clip_by_value(h, -self._proj_clip, self._proj_clip)
        return h, LSTMStateTuple(c, h) if self._state_is_tuple else arrays.concat([c, h], 1)

    def get_config(self) -> dict[str, Any]:
        config = {
            "num_units": self._num_units,
            "use_peepholes": self._use_peepholes,
            "cell_clip": self._cell_clip,
            "initializer": layer_arguments.described(self._initializer),
            "num_proj": self._num_proj,
            "proj_clip": self._proj_clip,
            "num_unit_shards": self._num_unit_shards,
            "num_proj_shards": self._num_proj_shards,
            "forget_bias": self._forget_bias,
            "state_is_tuple": self._state_is_tuple,
            "activation": layer_arguments.described(self._activation),
            "reuse": self._reuse,
        }
        return super().get_config() | config


def _parts(shards: int | None) -> Any:
    return None if shards is None else fixed_size_partitioner(shards)
