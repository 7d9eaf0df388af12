"""A training step on towers: a loss, its gradients, their application; and what accumulates them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import towerstrat.compat.v1 as tf
from tests.golden.gradient_structures_cases import names_in
from tests.graph.gradients.formulas import Nest
from tests.graph.gradients.strategies import ByHand, LaterTowers, Place
from tests.modes.model import MOMENTUM, OWN, RATE, VARIABLES, ModelKit, model, reads_back, trainable, writes_inside
from tests.modes.places import place_of

MOST_TRIPS = 3


class Trainer:
    """The training of a model in a place.

    Attributes:
      place: where.
      graph: whether it is built for a session.
    """

    def __init__(self, nest: Nest, strategy: str, mode: str, accumulates: bool):
        self.nest, self.names = nest, trainable(nest)
        self.graph = mode in ("graph", "function in graph")
        self.taped, self.in_function = mode != "graph", mode == "function in graph"
        unused = set() if reads_back(nest) else {"s"}
        unused |= {
            name for name, user in (("table", "embedding"), ("moving", "batch_norm")) if user not in names_in(nest)
        }
        values = {name: value for name, value in VARIABLES.items() if name not in unused}
        own = {name: together for name, together in OWN.items() if name not in unused}
        if accumulates:
            values |= {f"sum_{name}": np.zeros_like(VARIABLES[name]) for name in self.names}
            own |= {f"sum_{name}": "SUM" for name in self.names}
        self.place: Place = place_of(strategy, self.graph, values, own)

    def make(self) -> None:
        """Makes the variables, in the scope of the place."""
        self.place.make_variables()
        if self.graph:
            self.global_step = tf.train.get_or_create_global_step()
        else:
            self.global_step = self.place.variable("step", np.int64(0))
        self.optimizer = tf.train.MomentumOptimizer(RATE, MOMENTUM)

    def step(self, x: Any) -> list[Any]:
        """Trains by a batch. Returns the loss of each tower before that."""
        if self.in_function and isinstance(self.place, LaterTowers):
            return list(self.place.function(self._step)(x))
        return self._step(x)

    def _step(self, x: Any) -> list[Any]:
        if not isinstance(self.place, ByHand):
            return [found[0] for found in self.place.run(self.train, x)]
        towers = self.place.run(self._gradients, x)
        train = self._apply([self._add(parts) for parts in list(zip(*towers, strict=True))[1:]])
        return [_after([train], tower[0]) for tower in towers]

    def accumulate(self, x: Any) -> list[Any]:
        """Adds the gradients of a batch to those before. Returns the loss of each tower."""
        return [found[0] for found in self.place.run(self._accumulate, x)]

    def apply(self) -> Any:
        """Trains by the gradients that were added up. Returns a tensor that depends on that."""
        nothing = tf.constant(0.0, tf.float64)
        if not isinstance(self.place, ByHand):
            return tf.add_n([found[0] for found in self.place.run(self._apply_sums, nothing)])
        towers = [[own[f"sum_{name}"] for name in self.names] for own in self.place.own]
        train = self._apply([self._add(parts) for parts in zip(*towers, strict=True)])
        return tf.add_n([_after(self._clear(own, train), nothing) for own in self.place.own])

    @property
    def compared(self) -> list[str]:
        """The names of ``values``."""
        return [*self.names, *(["moving"] if "moving" in self.place.of_towers else []), "count", "step"]

    def values(self) -> dict[str, Any]:
        """The values that are compared after the training: tensors or variables by name."""
        values = {name: self.place.variables[name] for name in self.names}
        if "moving" in self.place.of_towers:
            by_hand = isinstance(self.place, ByHand)
            moving = [own["moving"].read_value() for own in self.place.own] if by_hand else []
            values["moving"] = tf.add_n(moving) / len(moving) if by_hand else self.place.variables["moving"]
        return {**values, "count": self.place.total(), "step": self.global_step}

    # ---- towers ------------------------------------------------------------------------------------------------

    def train(self, x: Any, **variables: Any) -> list[Any]:
        """The step of one tower. Returns its loss, in a list."""
        loss, *gradients = self._gradients(x, **variables)
        return [_after([self._apply(gradients)], loss)]

    def _accumulate(self, x: Any, **variables: Any) -> list[Any]:
        loss, *gradients = self._gradients(x, **variables)
        pairs = zip(self.names, gradients, strict=True)
        added = [variables[f"sum_{name}"].assign_add(tf.convert_to_tensor(g)) for name, g in pairs]
        return [_after(added, loss)]

    def _apply_sums(self, x: Any, **variables: Any) -> list[Any]:
        train = self._apply([tf.convert_to_tensor(variables[f"sum_{name}"]) for name in self.names])
        return [_after(self._clear(variables, train), x)]

    def _clear(self, variables: Any, train: Any) -> list[Any]:
        with tf.control_dependencies([] if train is None else [train]):
            sums = [variables[f"sum_{name}"] for name in self.names]
            return [total.assign(np.zeros(total.shape)) for total in sums]

    def _gradients(self, x: Any, **variables: Any) -> list[Any]:
        """The loss, and the part of a tower in the gradients of the mean loss."""
        if not self.in_function:
            return self._differentiate(x, **variables)
        return list(self.place.function(lambda x: self._differentiate(x, **variables))(x))

    def _differentiate(self, x: Any, **variables: Any) -> list[Any]:
        v, count = variables["v"], variables["count"]
        kit = ModelKit(
            self.place.tf, tf, self.place.function, variables["w"], variables.get("s"),
            count if writes_inside(self.nest) else None, tf.greater(variables["one"], 0.0),
            None if self.place.counts_trips else MOST_TRIPS,
            table=variables.get("table"), moving=variables.get("moving"), taped=self.taped,
        )  # fmt: skip
        sources = [variables[name] for name in (*self.names, "s") if name in variables]
        if self.taped:
            with self.place.tf.GradientTape() as tape:
                tape.watch(sources)
                loss = model(self.nest, kit, v, x)
                part = loss / self.place.count
            gradients = tape.gradient(part, sources)
        else:
            loss = model(self.nest, kit, v, x)
            gradients = tf.gradients(loss / self.place.count, sources)
        if "s" in variables:
            gradients[self.names.index("v")] += gradients.pop()
        return [_after([*kit.updates, count.assign_add(1.0)], loss), *gradients]

    def _apply(self, gradients: Sequence[Any]) -> Any:
        variables = [self.place.variables[name] for name in self.names]
        return self.optimizer.apply_gradients(list(zip(gradients, variables, strict=True)), self.global_step)

    @staticmethod
    def _add(parts: Sequence[Any]) -> Any:
        return tf.add_n([tf.convert_to_tensor(part) for part in parts])


def _after(operations: Sequence[Any], value: Any) -> Any:
    """The value, once these have run."""
    if tf.executing_eagerly():
        return value
    with tf.control_dependencies([o for o in operations if o is not None]):
        return tf.identity(value)
