"""Cells made of cells: dropout, residual connections, devices, stacks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from numbers import Real
from typing import Any

from towerstrat.graph.ir import nest
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.default_graph import device as on_device
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.control.tensor_array import TensorArray
from towerstrat.graph.ops.math import arithmetic
from towerstrat.graph.ops.nn import misc
from towerstrat.graph.ops.random import stateful
from towerstrat.graph.scopes.variable_scope import variable_scope
from towerstrat.graph.variables.containers import NoDependency
from towerstrat.graph.variables.trackable import Trackable
from towerstrat.models.rnn.cells import LSTMStateTuple, RNNCell, assert_like_rnncell
from towerstrat.platform import logs


class WrapperCell(RNNCell):
    """A cell around another one, whose sizes and zeros it has.

    Args:
      cell: the one inside. kwargs: for ``RNNCell``.
    """

    def __init__(self, cell: Any, **kwargs: Any):
        super().__init__(**kwargs)
        self._cell: Any = NoDependency(cell)
        if isinstance(cell, Trackable):
            self._track_trackable(cell, "cell")

    @property
    def wrapped_cell(self) -> Any:
        """The cell inside."""
        return self._cell

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with get_default_graph().name_scope(f"{type(self).__name__}ZeroState"):
            return self._cell.zero_state(batch_size, dtype)


def _not_memory(state: Any) -> Any:
    """Which parts of a state dropout applies to by default: all but the memory of LSTMs and TensorArrays."""
    if isinstance(state, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not isinstance(state, TensorArray)


def _probability(name: str, value: Any) -> float | Tensor:
    """A probability to keep, as a number where it is constant. Raises ValueError outside of 0 to 1."""
    tensor = convert_to_tensor(value)
    known = constant_value(tensor)
    if known is None:
        return tensor
    if not 0 <= known <= 1:
        raise ValueError(f"Parameter {name} must be between 0 and 1: {known}")
    return float(known)


class DropoutWrapper(WrapperCell):
    """Dropout of the inputs, the outputs and the next state of a cell.

    Args:
      cell: the cell inside.
      input_keep_prob, output_keep_prob, state_keep_prob: probability that an element is kept (and divided by it), a
        number or a scalar tensor.
      variational_recurrent: keep the same elements at all steps and for the whole batch (Gal and Ghahramani 2016,
        https://arxiv.org/abs/1512.05287).
      input_size: the size of the inputs without their batch, where ``variational_recurrent`` drops inputs.
      dtype: the element type of all, where ``variational_recurrent``.
      seed: of the random numbers; each place has one that is derived from it.
      dropout_state_filter_visitor: says which parts of the state are dropped, as the ``traverse_fn`` of
        ``nest.get_traverse_shallow_structure``; default all but the memory ``c`` of LSTMs, and TensorArrays.

    Raises:
      TypeError: ``cell`` is no cell, or the visitor no function.
      ValueError: a probability outside of 0 to 1, or what ``variational_recurrent`` needs is missing.
    """

    def __init__(self, cell: Any, input_keep_prob: Any = 1.0, output_keep_prob: Any = 1.0,
                 state_keep_prob: Any = 1.0, variational_recurrent: bool = False, input_size: Any = None,
                 dtype: Any = None, seed: int | None = None,
                 dropout_state_filter_visitor: Callable[[Any], Any] | None = None):  # fmt: skip
        super().__init__(cell)
        assert_like_rnncell("cell", cell)
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError("dropout_state_filter_visitor must be callable")
        self._visitor = dropout_state_filter_visitor or _not_memory
        with get_default_graph().name_scope("DropoutWrapperInit"):
            self._input_keep_prob = _probability("input_keep_prob", input_keep_prob)
            self._state_keep_prob = _probability("state_keep_prob", state_keep_prob)
            self._output_keep_prob = _probability("output_keep_prob", output_keep_prob)
        self._seed = seed
        self._noise: dict[str, Any] | None = None
        if variational_recurrent:
            self._noise = self._drawn(input_size, dtype)

    def _drawn(self, input_size: Any, dtype: Any) -> dict[str, Any]:
        """The random numbers that decide at all steps, in the structure of what they are for."""
        if dtype is None:
            raise ValueError("When variational_recurrent=True, dtype must be provided")
        sizes = {"state": self._cell.state_size, "output": self._cell.output_size}
        if _drops(self._input_keep_prob):
            if input_size is None:
                raise ValueError(
                    "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, input_size must be "
                    "provided"
                )
            sizes = {"input": input_size, **sizes}

        def draw(salt: str, size: Any) -> Any:
            seeds = self._seeds(salt)
            return nest.map_structure_up_to(
                size,
                lambda s: stateful.random_uniform([1, *TensorShape(s).as_list()], seed=next(seeds), dtype=dtype),
                size,
            )

        return {salt: draw(salt, size) for salt, size in sizes.items()}

    def _seeds(self, salt: str) -> Iterator[int | None]:
        """A seed for each place of a structure."""
        for i in count():
            text = f"{self._seed}{salt}_{i}".encode()
            yield None if self._seed is None else int(hashlib.md5(text).hexdigest()[:8], 16) & 0x7FFFFFFF

    def _dropped(self, salt: str, values: Any, keep_prob: Any, where: Any = None) -> Any:
        """``values`` after dropout, where the flags ``where`` (by default everywhere) are true."""
        where = values if where is None else where
        seeds = self._seeds(salt)

        def drop(flag: Any, value: Any, noise: Any = None) -> Any:
            seed = next(seeds)
            if flag is False:
                return value
            if noise is None:
                return misc.dropout(value, keep_prob=keep_prob, seed=seed)
            kept = arithmetic.div(value, keep_prob) * arithmetic.floor(keep_prob + noise)
            kept.set_shape(value.shape)
            return kept

        noise = [] if self._noise is None else [self._noise[salt]]
        return nest.map_structure_up_to(where, drop, where, values, *noise)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        if _drops(self._input_keep_prob):
            inputs = self._dropped("input", inputs, self._input_keep_prob)
        output, new_state = self._cell(inputs, state, scope=scope)
        if _drops(self._state_keep_prob):
            where = nest.get_traverse_shallow_structure(self._visitor, new_state)
            new_state = self._dropped("state", new_state, self._state_keep_prob, where)
        if _drops(self._output_keep_prob):
            output = self._dropped("output", output, self._output_keep_prob)
        return output, new_state


def _drops(keep_prob: float | Tensor) -> bool:
    return not isinstance(keep_prob, Real) or keep_prob < 1


class ResidualWrapper(WrapperCell):
    """A cell whose outputs have its inputs added.

    Args:
      cell: the cell inside.
      residual_fn: ``f(inputs, outputs)`` instead of their sum.
    """

    def __init__(self, cell: Any, residual_fn: Callable[[Any, Any], Any] | None = None):
        super().__init__(cell)
        self._residual_fn = residual_fn or _residual

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        outputs, new_state = self._cell(inputs, state, scope=scope)
        return self._residual_fn(inputs, outputs), new_state


def _residual(inputs: Any, outputs: Any) -> Any:
    """The sum, leaf by leaf. Raises TypeError or ValueError where structures or shapes differ."""

    def add(one: Any, two: Any) -> Any:
        one.shape.assert_is_compatible_with(two.shape)
        return one + two

    return nest.map_structure(add, inputs, outputs)


class DeviceWrapper(WrapperCell):
    """A cell whose operations have a device, which is recorded and changes no value.

    Args:
      cell: the cell inside.
      device: as of ``tf.device``.
    """

    def __init__(self, cell: Any, device: Any):
        super().__init__(cell)
        self._device = device

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with on_device(self._device):
            return super().zero_state(batch_size, dtype)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        with on_device(self._device):
            return self._cell(inputs, state, scope=scope)


class MultiRNNCell(RNNCell):
    """A stack of cells: the output of each is the input of the next.

    Args:
      cells: the cells, from the input on.
      state_is_tuple: whether the state is a tuple of the cells' states; else they lie along the columns of one tensor.

    Raises:
      TypeError: ``cells`` is no list or tuple.
      ValueError: no cells, or ``state_is_tuple=False`` and a cell whose state is a structure.
    """

    def __init__(self, cells: Sequence[Any], state_is_tuple: bool = True):
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not nest.is_sequence(cells):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        if len({id(cell) for cell in cells}) < len(cells):
            logs.log_first_n(
                logs.WARN,
                "At least two cells provided to MultiRNNCell are the same object and will share weights.",
                1,
            )
        self._cells: Any = NoDependency(cells)
        for i, cell in enumerate(cells):
            if isinstance(cell, Trackable):
                self._track_trackable(cell, f"cell-{i}")
        self._state_is_tuple = state_is_tuple
        if not state_is_tuple and any(nest.is_sequence(c.state_size) for c in cells):
            raise ValueError(
                "Some cells return tuples of states, but the flag state_is_tuple is not set.  State sizes are: "
                f"{[c.state_size for c in cells]}"
            )

    @property
    def state_size(self) -> Any:
        sizes = [cell.state_size for cell in self._cells]
        return tuple(sizes) if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._cells[-1].output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        if not self._state_is_tuple:
            return super().zero_state(batch_size, dtype)
        with get_default_graph().name_scope(f"{type(self).__name__}ZeroState"):
            return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def call(self, inputs: Any, state: Any) -> Any:
        if not self._state_is_tuple:
            state = arrays.split(state, [cell.state_size for cell in self._cells], 1)
        elif not nest.is_sequence(state):
            raise ValueError(f"Expected state to be a tuple of length {len(self.state_size)}, but received: {state}")
        new_states = []
        for i, cell in enumerate(self._cells):
            with variable_scope(f"cell_{i}"):
                inputs, new_state = cell(inputs, state[i])
            new_states.append(new_state)
        return inputs, tuple(new_states) if self._state_is_tuple else arrays.concat(new_states, 1)
