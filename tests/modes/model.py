"""The model of all programs, once in names of the library, once in arithmetic; and its training in arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.golden.gradient_structures_cases import Kit, function_of, names_in
from tests.graph.gradients import jets
from tests.graph.gradients.formulas import Arithmetic, Nest
from tests.modes.structures import STRUCTURES

ROWS, STEPS, TOWERS = 3, 3, 3
_RANDOM = np.random.RandomState(5)
BATCHES = _RANDOM.uniform(-0.8, 0.8, (2 * STEPS, TOWERS, ROWS, 2))
"""By step, and by tower where each has input of its own."""
RATE, MOMENTUM = 0.0625, 0.5
VARIABLES: dict[str, Any] = {
    "w": np.float64(0.9), "v": np.array([0.7, -1.1]), "table": np.array([[0.6, -0.3], [0.2, 0.8], [-0.5, 0.4]]),
    "one": np.float64(1.0), "s": np.array([0.4, 0.2]), "moving": np.array([0.1, -0.2]), "count": np.float64(0.0),
}  # fmt: skip
"""Initial values. Trained are ``w``, ``v``, which gets the gradient of ``s`` too, and ``table``; ``one`` stays 1."""
OWN = {"s": "SUM", "moving": "MEAN", "count": "SUM"}
"""Variables of which each tower has its own, and how they are read together."""


def trainable(nest: Nest) -> list[str]:
    """The names of the variables that a model trains."""
    return ["w", "v", "table"] if "embedding" in names_in(nest) else ["w", "v"]


def reads_back(nest: Nest) -> bool:
    return any(STRUCTURES[name].reads_back for name in names_in(nest))


def writes_inside(nest: Nest) -> bool:
    """Whether the innermost function writes: not where that would keep a map from being vectorized."""
    return "vectorized_map" not in names_in(nest)


class ModelKit(Kit):
    """Parts of models, by names of the library.

    Attributes:
      table: a variable of three rows.
      moving: a variable of the moving average.
      taped: whether gradients are taken by tapes.
      updates: what a step has to run besides.
    """

    def __init__(self, *arguments: Any, table: Any, moving: Any, taped: bool):
        super().__init__(*arguments)
        self.table, self.moving, self.taped = table, moving, taped
        self.updates: list[Any] = []

    def recompute(self, f: Callable[[Any], Any], x: Any) -> Any:
        return self.tf.recompute_grad(f)(x)

    def gradient(self, f: Callable[[Any], Any], x: Any) -> Any:
        if not self.taped:
            return self.v1.gradients(f(x), x)[0]
        with self.tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    def average(self, mean: Any) -> None:
        self.updates.append(self.moving.assign_sub((self.moving - self.tf.stop_gradient(mean)) * 0.5))

    def call_python(self, f: Callable[[Any], Any], x: Any) -> Any:
        called = self.v1.numpy_function(f, [x], self.tf.float64)
        called.set_shape([2])
        return called


class Numbers(Arithmetic):
    """The kit of arithmetic."""

    def __init__(
        self, w: Any, s: Any, table: Any, moving: Any, frozen: Sequence[Any] | None = None, counts: bool = True
    ):
        super().__init__(w, s, frozen)
        self.table, self.moving, self.counts = table, moving, counts

    def writes(self) -> None:
        self.count += self.counts

    def recompute(self, f: Callable[[Any], Any], x: Any) -> Any:
        f(x)
        return f(x)

    def gradient(self, f: Callable[[Any], Any], x: Any) -> Any:
        return self.jacobian(f, x).sum(0)

    def average(self, mean: Any) -> None:
        self.moving = self.moving - (self.moving - jets.plain(mean)) * 0.5

    def rsqrt(self, x: Any) -> Any:
        if not isinstance(x, jets.Jet):
            return x**-0.5
        return x.of(x.value**-0.5, -0.5 * x.value**-1.5, 0.75 * x.value**-2.5)

    def call_python(self, f: Callable[[Any], Any], x: Any) -> Any:
        return self.stopped(f(jets.plain(x)))


def model(nest: Nest, kit: Any, v: Any, batch: Any) -> Any:
    """The loss of a batch, by names of the library."""
    hidden = batch * v
    y = function_of(kit, nest, "build", STRUCTURES)(kit.tf.reduce_mean(hidden, 0))
    return kit.tf.reduce_mean(kit.tf.reduce_sum(kit.tf.square(hidden - y), 1))


def formula(nest: Nest, kit: Any, v: Any, batch: Any) -> Any:
    """The loss of a batch in arithmetic."""
    hidden = v * batch
    y = function_of(kit, nest, "formula", STRUCTURES)(hidden.sum(0) * (1.0 / ROWS))
    difference = hidden - y
    return (difference * difference).sum(1).sum(0) * (1.0 / ROWS)


@dataclass
class Trained:
    """The result of a training.

    Attributes:
      losses: by step, of each tower.
      values: of variables by their names; those of towers together.
    """

    losses: list[list[float]]
    values: dict[str, Any]


def training(nest: Nest, batches: Sequence[Sequence[Any]], accumulates: int = 1) -> Trained:
    """The training of a model in arithmetic: momentum, with the mean of the towers' gradients.

    Args:
      batches: by step, of each tower.
      accumulates: how many steps' gradients are added up before variables change.
    """
    names, towers = trainable(nest), len(batches[0])
    values = {name: np.array(value) for name, value in VARIABLES.items()}
    moving, count, applied = [values["moving"]] * towers, 0, 0
    gathered, moment = ({name: np.zeros_like(values[name]) for name in names} for _ in range(2))
    losses: list[list[float]] = []
    for number, parts in enumerate(batches):
        losses.append([])
        for i, batch in enumerate(parts):
            loss, gradients, kit = loss_and_gradients(nest, values, moving[i], batch)
            losses[-1].append(loss)
            moving[i] = kit.moving
            count += 1 + kit.count
            for name in names:
                gathered[name] = gathered[name] + gradients[name] / towers
        if (number + 1) % accumulates == 0:
            applied += 1
            for name in names:
                moment[name] = MOMENTUM * moment[name] + gathered[name]
                values[name] = values[name] - RATE * moment[name]
                gathered[name] = np.zeros_like(gathered[name])
    averages = {"moving": np.mean(moving, 0)} if "batch_norm" in names_in(nest) else {}
    return Trained(losses, {**{n: values[n] for n in names}, **averages, "count": count, "step": applied})


def loss_and_gradients(
    nest: Nest, values: dict[str, Any], moving: Any, batch: Any
) -> tuple[float, dict[str, Any], Numbers]:
    """The loss of a batch, its derivatives by the trained variables, and the kit that was used."""
    names = [*trainable(nest), *(["s"] if reads_back(nest) else [])]
    numbers = {**values, **dict(zip(names, jets.sources([values[n] for n in names]), strict=True))}
    kit = Numbers(numbers["w"], numbers["s"], numbers["table"], moving, counts=writes_inside(nest))
    loss = formula(nest, kit, numbers["v"], batch)
    cuts = np.cumsum([np.size(values[name]) for name in names])[:-1]
    parts = {n: p.reshape(np.shape(values[n])) for n, p in zip(names, np.split(loss.first, cuts), strict=True)}
    parts["v"] = parts["v"] + parts.pop("s", 0.0)
    return float(loss.value), parts, kit
