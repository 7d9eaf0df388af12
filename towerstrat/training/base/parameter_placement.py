"""Strategies that choose the tasks for variables, as ``ps_strategy`` of ``tf.train.replica_device_setter``.

Source: ``tensorflow/contrib/training/python/training/device_setter.py`` of 1.12.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np

from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.shapes import TensorShape


class RandomStrategy:
    """Chooses by a hash of the operation's name: the same task in each run of a program.

    Args:
      num_ps_tasks: the number of tasks.
      seed: part of what is hashed.
    """

    def __init__(self, num_ps_tasks: int, seed: int = 0):
        self._num_tasks = num_ps_tasks
        self._seed = seed

    def __call__(self, op: Operation) -> int:
        digest = hashlib.md5(f"{op.name}_{self._seed:d}".encode(), usedforsecurity=False)
        return int(digest.hexdigest(), 16) % self._num_tasks


class GreedyLoadBalancingStrategy:
    """Chooses the task with the least load so far; of equal ones the first.

    Args:
      num_tasks: the number of tasks.
      load_fn: operation -> its load, a number.
    """

    def __init__(self, num_tasks: int, load_fn: Callable[[Operation], float]):
        self._num_tasks = num_tasks
        self._load_fn = load_fn
        self._ps_loads = np.zeros(num_tasks)

    def __call__(self, op: Operation) -> int:
        task = int(np.argmin(self._ps_loads))
        self._ps_loads[task] += self._load_fn(op)
        return task


def byte_size_load_fn(op: Operation) -> int:
    """The bytes of what an operation has or holds: of its one output, or of the variable that it stands for.

    Raises:
      ValueError: it has several outputs or none, or the shape is not known.
    """
    if len(op.outputs) != 1:
        raise ValueError(f"Op {op} must have a single output; it has {len(op.outputs)}.")
    output = op.outputs[0]
    held = op.attrs["cell"] if op.type == "VarHandleOp" else None
    dtype, shape = (output.dtype, output.shape) if held is None else (held.dtype, TensorShape(held.dims))
    shape.assert_is_fully_defined()
    return int(shape.num_elements() or 0) * dtype.size
