"""Hash the seeds of a random operation: the word of its PRNG key that says which operation draws.

``Lowering.key`` makes a Threefry key of (this hash, number of the execution), so that draws depend on the operation's
seeds and, without an op-level seed, its name, but not on the other operations of the program: an edit elsewhere does
not move them. Processes of a run that are each on their own draw apart where no seed is set (``PROCESSES.stream``).

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default():
...     tf.set_random_seed(1)
...     seeded = [tf.random_uniform([2], seed=7, name=name).op for name in "ab"]
...     others = [tf.random_uniform([2], name=name).op for name in "cd"]
>>> [op.attrs["seeds"] for op in (seeded[0], others[0])]
[(1, 7), (1, None)]
>>> hash_of_seeds(seeded[0], None) == hash_of_seeds(seeded[1], None)
True
>>> hash_of_seeds(others[0], None) == hash_of_seeds(others[1], None)
False
"""

from __future__ import annotations

import zlib

import jax.numpy as jnp
import numpy as np

from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.types import Array
from towerstrat.hosts.process_index import PROCESSES


def hash_of_seeds(op: Operation, position: Array | None) -> Array | int:
    """The crc32 of an operation's seeds (and name, where it has no seed of its own); along an axis that of the shard.

    Args:
      op: a random operation; its attribute ``_own`` has the seeds of each shard, where they differ.
      position: the axis index, of a program that has one.
    """
    seeds, own = op.attrs.get("seeds"), op.attrs.get("_own")
    if own is not None and position is not None:
        return jnp.asarray(np.array([_hash((each, "")) for each in own], np.uint32))[position]
    source: tuple[object, ...] = (seeds, op.name if seeds is not None and seeds[1] is None else "")
    return _hash((*source, PROCESSES.stream) if PROCESSES.stream and seeds == (None, None) else source)


def _hash(source: tuple[object, ...]) -> int:
    return zlib.crc32(repr(source).encode())
