"""Where a program runs: on one device, or on towers of each strategy. All have one form.

A program is a function ``(x, w, s, count) -> tensors`` of one tower: its input, a variable that towers share, and two
of its own. ``Place.run`` gives each tower ``x`` times its number from 1 on.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import jax
import numpy as np

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from benchmarks.harness import Devices
from towerstrat.graph.ir import nest
from towerstrat.graph.runtime.programs.limits import LIMITS

X = np.array([0.3, -0.7])
"""The input of the first tower; the next one has twice that, and so on."""
VARIABLES = {"w": np.float64(0.9), "s": np.array([0.4, 0.2]), "count": np.float64(0.0)}
"""Variables and their initial values."""
OWN = {"s": "SUM", "count": "SUM"}
"""Those of which each tower has its own, and how one reads them together."""

Program = Callable[..., Sequence[Any]]


class Place:
    """One device, and the interface of all others.

    Attributes:
      tf: the namespace that its programs use.
      function: makes a function of a Python function.
      counts_trips: whether loops need no ``maximum_iterations`` for a gradient.
    """

    tf: Any = tf
    function: Any = staticmethod(tf.contrib.eager.defun)
    counts_trips = False

    def __init__(self, towers: int, values: Mapping[str, Any] = VARIABLES, own: Mapping[str, str] = OWN):
        self.count, self.values, self.of_towers = towers, values, own
        self.variables: dict[str, Any] = {}

    def scope(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def make_variables(self) -> None:
        self.variables = {name: self.variable(name, value) for name, value in self.values.items()}

    def variable(self, name: str, value: Any) -> Any:
        return tf.Variable(value, name=name, use_resource=True)

    def run(self, program: Program, x: Any) -> list[list[Any]]:
        """What each tower gives. The number of outputs is the same everywhere; None stays None."""
        return [list(program(x, **self.variables))]

    def total(self) -> Any:
        """How often towers wrote, all together: a tensor or a variable."""
        return self.variables["count"]


class Single(Place):
    """One device, with names of 1.x."""

    counts_trips = True


class Later(Place):
    """One device, with names of 2.x."""

    tf = tf2
    counts_trips = True
    function = staticmethod(functools.partial(tf2.function, autograph=False))

    def variable(self, name: str, value: Any) -> Any:
        return tf2.Variable(value, name=name)


class ByHand(Place):
    """Towers that the program places on devices itself, side by side."""

    @contextmanager
    def scope(self) -> Iterator[None]:
        before, LIMITS.towers_on_cpu = LIMITS.towers_on_cpu, True
        try:
            yield
        finally:
            LIMITS.towers_on_cpu = before

    def make_variables(self) -> None:
        self.variables = {n: self.variable(n, v) for n, v in self.values.items() if n not in self.of_towers}
        self.own = [
            {name: self.variable(f"{name}_{i}", self.values[name]) for name in self.of_towers}
            for i in range(self.count)
        ]

    def run(self, program: Program, x: Any) -> list[list[Any]]:
        found = []
        for i, own in enumerate(self.own):
            with tf.device(f"/gpu:{i}"), tf.name_scope(f"tower_{i}"):
                found.append(list(program(x * (i + 1.0), **self.variables, **own)))
        return found

    def total(self) -> Any:
        return tf.add_n([own["count"].read_value() for own in self.own])


class Contrib(Place):
    """Towers of a strategy of 1.12."""

    def strategy(self) -> Any:
        raise NotImplementedError

    def scope(self) -> AbstractContextManager[Any]:
        self.distribution = self.strategy()
        return self.distribution.scope()

    def variable(self, name: str, value: Any) -> Any:
        if name not in self.of_towers:
            return tf.get_variable(name, dtype=value.dtype, initializer=value, use_resource=True)
        return tf.get_variable(
            name, dtype=value.dtype, initializer=value, trainable=False, use_resource=True,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=getattr(tf.VariableAggregation, self.of_towers[name]),
        )  # fmt: skip

    def run(self, program: Program, x: Any) -> list[list[Any]]:
        found = self.distribution.call_for_each_tower(lambda x: self.tower(program, x), x)
        return transposed([None if f is None else self.distribution.unwrap(f) for f in found], self.count)

    def tower(self, program: Program, x: Any) -> list[Any]:
        number = tf.contrib.distribute.get_tower_context().tower_id
        return list(program(x * (tf.cast(number, tf.float64) + 1.0), **self.variables))

    def steps(self, program: Program, x: Sequence[float], number: int) -> tuple[Any, list[list[Any]]]:
        """The operation that runs steps, and what each tower gives in the last."""
        dataset = tf.data.Dataset.from_tensors(np.array(x)).repeat()
        iterator = self.distribution.distribute_dataset(lambda: dataset).make_one_shot_iterator()
        connected: list[bool] = []

        def step(context: Any, x: Any) -> Any:
            found = self.distribution.call_for_each_tower(lambda x: self.tower(program, x), x)
            connected[:] = [f is not None for f in found]
            for i, value in enumerate(found):
                if value is not None:
                    context.set_last_step_output(str(i), value, tf.VariableAggregation.NONE)
            return tf.group(*[t for f in found if f is not None for t in self.distribution.unwrap(f)])

        context = self.distribution.run_steps_on_dataset(step, iterator, number)
        parts = [
            self.distribution.unwrap(context.last_step_outputs[str(i)]) if c else None for i, c in enumerate(connected)
        ]
        return context.run_op, transposed(parts, self.count)


class ContribMirrored(Contrib):
    def strategy(self) -> Any:
        return tf.contrib.distribute.MirroredStrategy(devices=[f"/device:CPU:{i}" for i in range(self.count)])


class ContribTPU(Contrib):
    def strategy(self) -> Any:
        resolver = tf.contrib.cluster_resolver.TPUClusterResolver(tpu="")
        return tf.contrib.distribute.TPUStrategy(resolver, 1, num_cores=self.count)


class LaterTowers(Later):
    """Replicas of a strategy of 2.x."""

    counts_trips = False

    def strategy(self) -> Any:
        raise NotImplementedError

    def scope(self) -> AbstractContextManager[Any]:
        self.distribution = self.strategy()
        return self.distribution.scope()

    def variable(self, name: str, value: Any) -> Any:
        if name not in self.of_towers:
            return tf2.Variable(value, name=name)
        return tf2.Variable(
            value, name=name, trainable=False, synchronization=tf2.VariableSynchronization.ON_READ,
            aggregation=getattr(tf2.VariableAggregation, self.of_towers[name]),
        )  # fmt: skip

    def run(self, program: Program, x: Any) -> list[list[Any]]:
        found = self.distribution.run(lambda x: self.tower(program, x), (x,))
        parts = [None if f is None else self.distribution.experimental_local_results(f) for f in found]
        return transposed(parts, self.count)

    def tower(self, program: Program, x: Any) -> list[Any]:
        number = tf2.distribute.get_replica_context().replica_id_in_sync_group
        return list(program(x * (tf2.cast(number, tf2.float64) + 1.0), **self.variables))


class LaterMirrored(LaterTowers):
    def strategy(self) -> Any:
        return tf2.distribute.MirroredStrategy([f"CPU:{i}" for i in range(self.count)])


class LaterTPU(LaterTowers):
    def strategy(self) -> Any:
        return tf2.distribute.TPUStrategy(Devices(jax.devices()[: self.count]))


def transposed(outputs: Sequence[Any], towers: int) -> list[list[Any]]:
    """Outputs with a part on each tower -> towers with a part of each output."""
    return [[None if parts is None else nest.flatten(list(parts))[i] for parts in outputs] for i in range(towers)]


STRATEGIES: dict[str, tuple[type[Place], type[Place]]] = {
    "none": (Single, Later),
    "by hand": (ByHand, ByHand),
    "contrib Mirrored": (ContribMirrored, ContribMirrored),
    "contrib TPU": (ContribTPU, ContribTPU),
    "2.x Mirrored": (LaterMirrored, LaterMirrored),
    "2.x TPU": (LaterTPU, LaterTPU),
}
"""By name: where programs in graphs run, and where others do."""
