"""The ways in which a program of the table is run: in a graph, in a function, eagerly, in a loop of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.golden.gradient_structures_cases import Kit, function_of, reads_back
from tests.graph.gradients.formulas import Nest
from tests.graph.gradients.strategies import STRATEGIES, Contrib, Place, X
from towerstrat.graph.eager.mode import eager_mode

STEPS = 2
MOST_TRIPS = 3


@dataclass(frozen=True)
class Task:
    """What is computed of a function of a vector: its value, gradients, gradients of the sum of their squares.

    Attributes:
      nest: the function.
      order: 1 or 2.
      writes: whether writes are counted.
      x: the first tower's input.
    """

    nest: Nest
    order: int
    writes: bool
    x: tuple[float, ...] = tuple(X)


@dataclass
class Found:
    """What came out.

    Attributes:
      towers: of each tower the value, and what was asked for of gradients.
      writes: how often all towers wrote.
      runs: how many steps that were.
      graph: what was built for a session.
    """

    towers: list[list[Any]]
    writes: float
    runs: int = 1
    graph: Any = None


def in_graph(task: Task, strategy: str, towers: int) -> Found:
    """By a session, with ``tf.gradients``."""
    place = STRATEGIES[strategy][0](towers)
    with tf.Graph().as_default() as graph, place.scope():
        place.make_variables()
        x, flag = tf.placeholder(tf.float64, [2]), tf.placeholder(tf.bool, [])
        found = place.run(lambda x, **variables: _by_gradients(_kit(place, task, flag, **variables), task, x), x)
        return _of_session(graph, found, place, {x: task.x, flag: True})


def in_function(task: Task, strategy: str, towers: int) -> Found:
    """In a ``tf.function`` that is called eagerly, with tapes."""
    place = STRATEGIES[strategy][1](towers)
    with eager_mode(), place.scope():
        place.make_variables()
        step = tf2.function(lambda x, flag: place.run(_taped(place, task, flag), x), autograph=False)
        return _of_values(step(tf2.constant(task.x, tf2.float64), tf2.constant(True)), place)


def in_function_in_graph(task: Task, strategy: str, towers: int) -> Found:
    """In a function that each tower calls, in a graph, with tapes."""
    place = STRATEGIES[strategy][0](towers)
    with tf.Graph().as_default() as graph, place.scope():
        place.make_variables()
        x, flag = tf.placeholder(tf.float64, [2]), tf.placeholder(tf.bool, [])

        def called(x: Any, **variables: Any) -> Any:
            return place.function(lambda x, flag: _taped(place, task, flag)(x, **variables))(x, flag)

        return _of_session(graph, place.run(called, x), place, {x: task.x, flag: True})


def in_steps(task: Task, strategy: str, towers: int) -> Found:
    """In the steps of ``run_steps_on_dataset``, with ``tf.gradients``."""
    place = STRATEGIES[strategy][0](towers)
    assert isinstance(place, Contrib)
    with tf.Graph().as_default() as graph, place.scope():
        place.make_variables()
        flag = tf.placeholder(tf.bool, [])
        run, found = place.steps(
            lambda x, **variables: _by_gradients(_kit(place, task, flag, **variables), task, x), task.x, STEPS
        )
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            values = _fetched(session, [*found, [run]], {flag: True})
            return Found(values[:-1], float(session.run(place.total())), STEPS, graph)


def eagerly(task: Task, strategy: str, towers: int) -> Found:
    """Operation by operation, with tapes."""
    place = STRATEGIES[strategy][1](towers)
    with eager_mode(), place.scope():
        place.make_variables()
        return _of_values(place.run(_taped(place, task, tf.constant(True)), tf.constant(task.x, tf.float64)), place)


WAYS: dict[str, Callable[[Task, str, int], Found]] = {
    "graph": in_graph,
    "function": in_function,
    "function in graph": in_function_in_graph,
    "eager": eagerly,
    "steps": in_steps,
}


# ---- gradients -------------------------------------------------------------------------------------------------


def _kit(place: Place, task: Task, flag: Any, w: Any, s: Any, count: Any) -> Kit:
    limit = None if place.counts_trips else MOST_TRIPS
    return Kit(place.tf, tf, place.function, w, s, count if task.writes else None, flag, limit)


def _sources(kit: Kit, task: Task, x: Any) -> list[Any]:
    return [x, kit.w, kit.s] if reads_back(task.nest) else [x, kit.w]


def _squares(gradients: Sequence[Any]) -> Any:
    return tf.add_n([tf.reduce_sum(tf.square(g)) for g in gradients if g is not None])


def _by_gradients(kit: Kit, task: Task, x: Any) -> list[Any]:
    sources = _sources(kit, task, x)
    y = function_of(kit, task.nest, "build")(x)
    found = [y, *tf.gradients(y, sources)]
    return found if task.order == 1 else found + tf.gradients(_squares(found[1:]), sources)


def _taped(place: Place, task: Task, flag: Any) -> Callable[..., list[Any]]:
    def program(x: Any, **variables: Any) -> list[Any]:
        kit = _kit(place, task, flag, **variables)
        if task.order == 1:
            return _by_tape(kit, task, x)
        sources = _sources(kit, task, x)
        with place.tf.GradientTape() as tape:
            tape.watch(sources)
            found = _by_tape(kit, task, x)
            squares = _squares(found[1:])
        return found + tape.gradient(squares, sources)

    return program


def _by_tape(kit: Kit, task: Task, x: Any) -> list[Any]:
    sources = _sources(kit, task, x)
    with kit.tf.GradientTape() as tape:
        tape.watch(sources)
        y = function_of(kit, task.nest, "build")(x)
    return [y, *tape.gradient(y, sources)]


# ---- results ---------------------------------------------------------------------------------------------------


def _of_session(graph: Any, found: Sequence[Sequence[Any]], place: Place, feeds: Any) -> Found:
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return Found(_fetched(session, found, feeds), float(session.run(place.total())), graph=graph)


def _fetched(session: Any, found: Sequence[Sequence[Any]], feeds: Any) -> list[list[Any]]:
    values = iter(session.run([t for tower in found for t in tower if t is not None], feeds))
    return [[None if t is None else next(values) for t in tower] for tower in found]


def _of_values(found: Sequence[Sequence[Any]], place: Place) -> Found:
    values = [[None if t is None else t.numpy() for t in tower] for tower in found]
    return Found(values, float(place.tf.convert_to_tensor(place.total()).numpy()))
