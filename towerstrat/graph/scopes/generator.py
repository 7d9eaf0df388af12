"""``tf.random.Generator``: random numbers whose state, a counter and a key, is a variable.

Each draw takes the state as a seed and advances the counter by 256 per value, so draws do not depend on other
operations and the state can be saved. The state evolves as the original's does; the numbers drawn from it are not the
original's.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Self, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from towerstrat.graph.ir import nest
from towerstrat.graph.ir.argument_types import ShapeLike, TensorLike
from towerstrat.graph.ir.default_graph import init_scope
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import DTypeLike, as_dtype, float32, int32, int64, uint64
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.building.op_builder import add_op
from towerstrat.graph.ops.collectives import all_reduce
from towerstrat.graph.ops.indexing import slicing  # noqa: F401  (tensors can be indexed)
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.ops.random import stateless
from towerstrat.graph.ops.random.stateful import shape_argument
from towerstrat.graph.ops.random.stateless import Algorithm, algorithm
from towerstrat.graph.variables.trackable import Trackable
from towerstrat.graph.variables.variables import Variable, VariableAggregation, create_variable

Words: TypeAlias = "TensorLike"
"""Words of a state: unsigned or signed 64-bit integers."""
SizesLike: TypeAlias = "ShapeLike | TensorLike"
"""A shape, or a tensor of its sizes."""
AlgorithmLike: TypeAlias = "Algorithm | str | int"
"""An algorithm, its name or its number."""
_STEP = 256
"""Step of the counter per number drawn, as in the original's ``stateful_random_ops``."""


def _state_size(alg: int) -> int:
    """The number of words of a state: a counter of two (Threefry: one), and a key."""
    return 2 if alg == Algorithm.THREEFRY.value else 3


def _as_signed(number: Any) -> Any:
    """An unsigned 64-bit Python integer as the signed one of the same bits; other values as they are."""
    return number - 2**64 if isinstance(number, int) and number >= 2**63 else number


def _state_tensor(value: Words | Variable) -> Tensor:
    """A state, or a part of one, as an int64 tensor."""
    value = nest.map_structure(_as_signed, value)
    return (
        arithmetic.cast(value, int64) if isinstance(value, Tensor | Variable) else constant(np.array(value, np.int64))
    )


def create_rng_state(seed: Words, alg: AlgorithmLike) -> Tensor:
    """Makes a state (int64, ``[3]``; Threefry: ``[2]``) of a seed.

    Args:
      seed: an integer of any size, or a vector of them.
      alg: an ``Algorithm``, its name or its number.

    Raises:
      ValueError: the length of the seed is not known.
    """
    size = _state_size(algorithm(alg))
    if isinstance(seed, int):
        words = [_as_signed((seed >> 64 * i) & (2**64 - 1)) for i in range(size)]
        return constant(words, int64)
    vector = arrays.reshape(_state_tensor(seed), [-1])
    length = vector.shape.as_list()[0]
    if length is None:
        raise ValueError(f"Expected a seed whose length is known, got {seed!r}.")
    leading = vector[:size]
    state: Tensor = arrays.concat([arrays.zeros([max(size - length, 0)], int64), leading], 0)
    return state


# ---- operations --------------------------------------------------------------------------------------------------


def _skip_rule(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Signature]:
    return [Signature(int64, inputs[0].op.attrs["cell"].dims)]


def _skip(lowering: Lowering, op: Operation) -> list[jax.Array]:
    """Moves the counter, the first words, by 256 per number; returns the state before."""
    cell = op.inputs[0].op.attrs["cell"]
    state = jnp.asarray(lowering.state.read(cell, op))
    step = jnp.asarray(lowering.invariant(op.inputs[1])).astype(jnp.uint64) * np.uint64(_STEP)
    low = state[0].astype(jnp.uint64) + step
    after = state.at[0].set(low.astype(jnp.int64))
    if state.shape[0] == 3:
        after = after.at[1].add((low < step).astype(jnp.int64))
    lowering.state.write(cell, after)
    return [state]


def _seed_rule(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Signature]:
    return [Signature(int64, (2,))]


def _seed_of(*words: jax.Array) -> jax.Array:
    """Hashes vectors of integers into a seed of two 32-bit integers, by ``jax.random.fold_in`` of each half word."""
    key = jax.random.wrap_key_data(jnp.zeros([2], jnp.uint32), impl="threefry2x32")
    for word in jnp.concatenate([jnp.ravel(w).astype(jnp.uint64) for w in words]):
        for half in (word, word >> np.uint64(32)):
            key = jax.random.fold_in(key, half.astype(jnp.uint32))
    return jax.random.key_data(key).astype(jnp.int64)


define_op("RngReadAndSkip", _skip_rule, lower=_skip, reads=True, writes=True, stateful=True, differentiable=False)
define_op("SeedOfState", _seed_rule, _seed_of, differentiable=False)


# ---- generators --------------------------------------------------------------------------------------------------


class Generator(Trackable):
    """A random number generator whose state is a variable, which each draw advances.

    In tower context the numbers depend on the state and the tower.

    Args:
      copy_from: a generator whose state and algorithm are copied.
      state: a vector of integers, ``[3]`` or for Threefry ``[2]``; a variable is used itself.
      alg: with ``state``: an ``Algorithm``, its name or its number. It decides the state's size only.

    Raises:
      ValueError: neither ``copy_from`` nor both others, or a state of another size.
    """

    def __init__(
        self,
        copy_from: Generator | None = None,
        state: Words | Variable | None = None,
        alg: AlgorithmLike | None = None,
    ):
        if copy_from is not None:
            if state is not None or alg is not None:
                raise ValueError("Expected copy_from alone, or state and alg; got both.")
            self._alg = copy_from.algorithm
            self._state = self._track(_variable(copy_from.state.initialized_value()))
            return
        if state is None or alg is None:
            raise ValueError(
                "Expected copy_from, or state and alg. Generator.from_seed(seed) makes a generator from a seed."
            )
        self._alg = algorithm(alg)
        value = state if isinstance(state, Variable) else _state_tensor(state)
        value.shape.assert_is_compatible_with([_state_size(self._alg)])
        self._state = self._track(value if isinstance(value, Variable) else _variable(value))

    def _track(self, state: Variable) -> Variable:
        self._track_trackable(state, "_state_var")
        return state

    @classmethod
    def from_state(cls, state: Words, alg: AlgorithmLike) -> Self:
        """A generator that continues from a state."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_seed(cls, seed: Words, alg: AlgorithmLike | None = None) -> Self:
        """A generator whose numbers are determined by ``seed``: an integer or a vector of them."""
        kind = Algorithm.PHILOX if alg is None else alg
        return cls(state=create_rng_state(seed, kind), alg=kind)

    @classmethod
    def from_non_deterministic_state(cls, alg: AlgorithmLike | None = None) -> Self:
        """A generator with a state from the operating system's random source."""
        kind = algorithm(Algorithm.PHILOX if alg is None else alg)
        words = np.frombuffer(os.urandom(8 * _state_size(kind)), np.int64)
        return cls(state=constant(words), alg=kind)

    @classmethod
    def from_key_counter(cls, key: Words, counter: Words, alg: AlgorithmLike) -> Self:
        """A generator with a counter (``[2]``; Threefry: ``[1]``) and a scalar key."""
        return cls(state=_join(key, counter, algorithm(alg)), alg=alg)

    def reset(self, state: Words) -> None:
        """Sets the state."""
        value = _state_tensor(state)
        value.shape.assert_is_compatible_with([_state_size(self._alg)])
        self._state.assign(value)

    def reset_from_seed(self, seed: Words) -> None:
        """Sets the state as ``from_seed`` does."""
        self._state.assign(create_rng_state(seed, self._alg))

    def reset_from_key_counter(self, key: Words, counter: Words) -> None:
        """Sets the state as ``from_key_counter`` does."""
        self._state.assign(_join(key, counter, self._alg))

    @property
    def state(self) -> Variable:
        """The variable that holds the state."""
        return self._state

    @property
    def algorithm(self) -> int:
        """The number of the algorithm."""
        return self._alg

    @property
    def key(self) -> Tensor:
        """The last word of the state: streams of different keys are independent."""
        return convert_to_tensor(self._state)[-1]

    def skip(self, delta: TensorLike) -> Tensor:
        """Advances the state as drawing ``delta`` numbers does; returns the state before."""
        return add_op("RngReadAndSkip", [self._state.handle, arithmetic.cast(delta, uint64)])

    def _seed(self, shape: SizesLike) -> Tensor:
        """The seed for a draw of this shape; advances the state by the number of values."""
        inputs, dims = shape_argument(shape)
        count = reductions.reduce_prod(inputs[0]) if dims is None else prod(d or 0 for d in dims)
        words = [self.skip(count)]
        graph = get_default_graph()
        if graph.axis is not None:
            words.append(all_reduce.position(graph.axis))
        elif graph.running_index is not None:
            words.append(constant(graph.running_index.position, int32))
        return add_op("SeedOfState", words)

    # ---- drawing ---------------------------------------------------------------------------------------------

    def normal(
        self,
        shape: SizesLike,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike = float32,
        name: str | None = None,
    ) -> Tensor:
        """Normally distributed values."""
        return stateless.stateless_normal(shape, self._seed(shape), mean, stddev, dtype, name or "stateful_normal")

    def truncated_normal(
        self,
        shape: SizesLike,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike = float32,
        name: str | None = None,
    ) -> Tensor:
        """Normally distributed values, truncated at two standard deviations from the mean."""
        seed = self._seed(shape)
        return stateless.stateless_truncated_normal(shape, seed, mean, stddev, dtype, name or "truncated_normal")

    def uniform(
        self,
        shape: SizesLike,
        minval: TensorLike | None = 0,
        maxval: TensorLike | None = None,
        dtype: DTypeLike = float32,
        name: str | None = None,
    ) -> Tensor:
        """Uniformly distributed values in ``[minval, maxval)``; floats are in [0, 1) by default.

        Raises:
          ValueError: one of the bounds for integers without the other; both as None mean the whole range of the type.
        """
        kind = as_dtype(dtype)
        if kind.is_integer and minval is not None and maxval is not None:
            return stateless.uniform_between(shape, self._seed(shape), minval, maxval, kind, name or "stateful_uniform")
        if kind.is_integer and (minval is None) != (maxval is None):
            raise ValueError(
                f"For integer dtype {kind.name}, minval and maxval must be both None or both not, "
                f"got minval={minval} and maxval={maxval}."
            )
        return stateless.stateless_uniform(
            shape, self._seed(shape), minval, maxval, kind, name or "stateful_uniform"
        )  # fmt: skip

    def uniform_full_int(self, shape: SizesLike, dtype: DTypeLike = uint64, name: str | None = None) -> Tensor:
        """Uniformly distributed values of the whole range of an integer type."""
        return self.uniform(shape, None, None, dtype, name or "stateful_uniform_full_int")

    def binomial(
        self, shape: SizesLike, counts: TensorLike, probs: TensorLike, dtype: DTypeLike = int32, name: str | None = None
    ) -> Tensor:
        """Binomially distributed values; ``counts`` (trials) and ``probs`` (of success) are broadcast to ``shape``."""
        return stateless.stateless_binomial(shape, self._seed(shape), counts, probs, dtype, name or "binomial")

    def make_seeds(self, count: int = 1) -> Tensor:
        """``[2, count]``: each column is a seed for a stateless operation."""
        keys = self.uniform_full_int([count], int64)
        return arrays.stack([keys, arrays.zeros_like(keys)])

    def split(self, count: int = 1) -> list[Generator]:
        """``count`` generators with new keys, independent of this one and of each other."""
        keys = self.uniform_full_int([count], int64)
        zeros = [constant(0, int64)] * (_state_size(self._alg) - 1)
        return [Generator(state=arrays.stack([*zeros, key]), alg=self._alg) for key in arrays.unstack(keys, num=count)]


def _variable(initial_value: Tensor) -> Variable:
    """A variable for a generator's state."""
    variable: Variable = create_variable(
        initial_value=initial_value,
        trainable=False,
        name="StateVar",
        dtype=int64,
        aggregation=VariableAggregation.ONLY_FIRST_TOWER,
    )
    return variable


def _join(key: Words, counter: Words, alg: int) -> Tensor:
    """A state from its key and counter. Raises ValueError where their shapes are others."""
    counter, key = _state_tensor(counter), _state_tensor(key)
    counter.shape.assert_is_compatible_with([_state_size(alg) - 1])
    key.shape.assert_is_compatible_with([])
    state: Tensor = arrays.concat([counter, arrays.reshape(key, [1])], 0)
    return state


_GLOBAL: list[Generator] = []


def get_global_generator() -> Generator:
    """The program's global generator, made when first asked for, from the operating system's random source."""
    if not _GLOBAL:
        with init_scope():
            _GLOBAL.append(Generator.from_non_deterministic_state())
    return _GLOBAL[0]


def set_global_generator(generator: Generator) -> None:
    """Replaces the global generator. Functions that were traced before keep the previous one."""
    _GLOBAL[:] = [generator]
