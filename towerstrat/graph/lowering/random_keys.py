"""PRNG keys of random operations: a hash of the seeds, and the number of the execution.

``RandomKeys.key`` makes a Threefry key (Salmon et al., *Parallel Random Numbers: As Easy as 1, 2, 3*, SC 2011) of the
two, so that draws depend on the operation's seeds and, without an op-level seed, its name, but not on the other
operations of the program; along an axis the index is folded in. The number of the execution is a counter in the session
state, which goes up by one and is saved with checkpoints of the session.

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default():
...     op = tf.random_normal([2], seed=7).op
>>> state = StateEnvironment({op.counter: np.uint32(0)})
>>> first, second = (RandomKeys(state, None).key(op) for _ in range(2))
>>> bool(np.any(jax.random.key_data(first) != jax.random.key_data(second))), int(state[op.counter])
(True, 2)
"""

from __future__ import annotations

import zlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.mesh import Axis, axis_index
from towerstrat.graph.ir.types import Array
from towerstrat.graph.lowering.state_environment import StateEnvironment
from towerstrat.hosts.process_index import PROCESSES


class RandomKeys:
    """The keys of an evaluation's random operations, from counters in its state.

    Args:
      state: has a counter of each random operation, a uint32 scalar.
      axis: the named axis that the evaluation is mapped over, or None.
    """

    def __init__(self, state: StateEnvironment, axis: Axis | None):
        self._state = state
        self._axis = axis

    def key(self, op: Operation) -> jax.Array:
        """The PRNG key of this execution of an operation; adds one to its counter.

        Without a seed of its own an operation is told apart by its name, so that edits elsewhere do not move its draws;
        without any seed also by the process.
        """
        counter = op.counter
        assert counter is not None
        count = self._state[counter]
        stable = hash_of_seeds(op, None if self._axis is None else axis_index(self._axis))
        data: Any
        if isinstance(count, jax.core.Tracer) or isinstance(stable, jax.core.Tracer):
            data = jnp.stack([jnp.full((), stable, jnp.uint32), jnp.asarray(count, jnp.uint32)])
        else:
            count = np.asarray(count)
            data = np.array([stable, count], np.uint32)
        key: jax.Array = jax.random.wrap_key_data(data, impl="threefry2x32")
        if op.axis is not None and self._axis is not None and "_same_draws" not in op.attrs:
            key = jax.random.fold_in(key, lax.axis_index(self._axis.name))
        self.advance(op)
        return key

    def advance(self, op: Operation) -> None:
        """Count an execution of an operation."""
        counter = op.counter
        assert counter is not None
        count = self._state[counter]
        count = count if isinstance(count, jax.core.Tracer) else np.asarray(count)
        self._state.write(counter, count + np.uint32(1))


def hash_of_seeds(op: Operation, position: Array | None) -> Array | int:
    """The crc32 of an operation's seeds (and name, where it has no seed of its own); along an axis that of the shard.

    Args:
      op: a random operation; its attribute ``_own`` has the seeds of each shard, where they differ.
      position: the axis index, of a program that has one.
    """
    seeds, shard_seeds = op.attrs.get("seeds"), op.attrs.get("_own")
    if shard_seeds is not None and position is not None:
        return jnp.asarray(np.array([_hash((each, "")) for each in shard_seeds], np.uint32))[position]
    source: tuple[object, ...] = (seeds, op.name if seeds is not None and seeds[1] is None else "")
    return _hash((*source, PROCESSES.stream) if PROCESSES.stream and seeds == (None, None) else source)


def _hash(source: tuple[object, ...]) -> int:
    return zlib.crc32(repr(source).encode())
