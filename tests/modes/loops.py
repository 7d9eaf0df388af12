"""Training loops by mode: each builds a program around steps, runs it, and gives what came out."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.graph.gradients.formulas import Nest
from tests.modes.inputs import FED, Input
from tests.modes.model import BATCHES, ROWS, STEPS, Trained
from tests.modes.trainer import Trainer
from towerstrat.graph.eager.mode import eager_mode

ACCUMULATED = 2
"""The number of steps whose gradients are added up."""


# ---- graphs ----------------------------------------------------------------------------------------------------


def _initialize(session: Any, source: Input) -> None:
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    session.run(source.starts)


def _result(trainer: Trainer, losses: Sequence[Any], session: Any) -> Trained:
    return Trained(list(losses), session.run(trainer.values()))


def run_by_run(trainer: Trainer, source: Input) -> Trained:
    """``Session.run`` for each step."""
    losses = trainer.step(source.next())
    with tf.Session() as session:
        _initialize(session, source)
        return _result(trainer, [session.run(losses, source.feeds(t)) for t in range(STEPS)], session)


def several_fetches(trainer: Trainer, source: Input) -> Trained:
    """Each run fetches losses and variables, these as they are after it."""
    fetches = {"losses": trainer.step(source.next()), **trainer.values()}
    with tf.Session() as session:
        _initialize(session, source)
        runs = [session.run(fetches, source.feeds(t)) for t in range(STEPS)]
    return Trained([r.pop("losses") for r in runs], runs[-1])


def run_steps_on_dataset(trainer: Trainer, source: Input) -> Trained:
    """All steps in one run of the strategies of 1.12; they say the losses of the last."""
    place = trainer.place
    distribution = place.distribution
    iterator = source.distributed().make_one_shot_iterator()

    def step(context: Any, x: Any) -> Any:
        batch = x if source.kind == "distributed" else source.next()
        loss = distribution.call_for_each_tower(lambda x: place.tower(trainer.train, x)[0], batch)
        context.set_last_step_output("loss", loss, tf.VariableAggregation.NONE)
        return tf.group(*distribution.unwrap(loss))

    context = distribution.run_steps_on_dataset(step, iterator, STEPS)
    last = list(distribution.unwrap(context.last_step_outputs["loss"]))
    unknown = [[np.nan] * place.count] * (STEPS - 1)
    with tf.Session() as session:
        _initialize(session, source)
        _, found = session.run([context.run_op, last], source.feeds(0))
        return _result(trainer, [*unknown, found], session)


class Watched(tf.train.SessionRunHook):
    """Feeds a step's input, and keeps its losses and what the variables are at the end."""

    def __init__(self, source: Input, losses: Any, values: Any):
        self.source, self.fetches, self.losses, self.values = source, {"losses": losses, **values}, [], {}

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self.source.starts)

    def before_run(self, run_context: Any) -> Any:
        return tf.train.SessionRunArgs(self.fetches, self.source.feeds(len(self.losses)))

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.values = dict(run_values.results)
        self.losses.append(self.values.pop("losses"))


def monitored_session(trainer: Trainer, source: Input) -> Trained:
    """A ``MonitoredTrainingSession`` with hooks that feed, watch and stop."""
    losses = trainer.step(source.next())
    watched = Watched(source, losses, trainer.values())
    hooks = [tf.train.StopAtStepHook(num_steps=STEPS), watched]
    with tf.train.MonitoredTrainingSession(
        hooks=hooks, save_checkpoint_secs=None, log_step_count_steps=None
    ) as session:
        while not session.should_stop():
            session.run(losses)
    return Trained(watched.losses, watched.values)


def loop_in_run(trainer: Trainer, source: Input) -> Trained:
    """A ``while_loop`` around the step, in one run."""
    losses = _loop(trainer, source)
    with tf.Session() as session:
        _initialize(session, source)
        return _result(trainer, session.run(losses, source.feeds(0)), session)


def _loop(trainer: Trainer, source: Input) -> Any:
    def body(i: Any, found: Any) -> Any:
        return i + 1, found.write(i, tf.stack(trainer.step(source.next())))

    start = [tf.constant(0), tf.TensorArray(tf.float64, STEPS, element_shape=[trainer.place.count])]
    return tf.while_loop(lambda i, found: i < STEPS, body, start)[1].stack()


def accumulation(trainer: Trainer, source: Input) -> Trained:
    """Runs that add gradients up, and runs that apply them."""
    losses, apply = trainer.accumulate(source.next()), trainer.apply()
    with tf.Session() as session:
        _initialize(session, source)
        found = []
        for t in range(STEPS * ACCUMULATED):
            found.append(session.run(losses, source.feeds(t)))
            if (t + 1) % ACCUMULATED == 0:
                session.run(apply)
        return _result(trainer, found, session)


def restoration(trainer: Trainer, source: Input) -> Trained:
    """A ``Saver`` keeps the variables after two steps; they are changed, restored, and trained on."""
    losses, saver = trainer.step(source.next()), tf.train.Saver()
    with tf.Session() as session, tempfile.TemporaryDirectory() as folder:
        _initialize(session, source)
        found = [session.run(losses, source.feeds(t)) for t in range(STEPS - 1)]
        kept = saver.save(session, os.path.join(folder, "model"))
        session.run(tf.global_variables_initializer())
        saver.restore(session, kept)
        found.append(session.run(losses, source.feeds(STEPS - 1)))
        return _result(trainer, found, session)


def function_over_dataset(trainer: Trainer, source: Input) -> Trained:
    """A function that a graph calls, with a loop over a dataset in it."""
    losses = tf2.function(_over_dataset(trainer))(_dataset(source))
    with tf.Session() as session:
        _initialize(session, source)
        return _result(trainer, session.run(losses), session)


def _dataset(source: Input) -> Any:
    return source.distributed(STEPS) if source.kind == "distributed" else source.dataset(STEPS)


def _over_dataset(trainer: Trainer) -> Callable[[Any], Any]:
    towers = trainer.place.count

    def train(data: Any) -> Any:
        found = tf.TensorArray(tf.float64, STEPS, element_shape=[towers])
        i = 0
        for x in data:
            found = found.write(i, tf.stack(trainer.step(x)))
            i += 1  # noqa: SIM113 (autograph converts no enumerate of this)
        return found.stack()

    return train


GRAPH_LOOPS: dict[str, Callable[[Trainer, Input], Trained]] = {
    "run by run": run_by_run,
    "several fetches": several_fetches,
    "run_steps_on_dataset": run_steps_on_dataset,
    "monitored": monitored_session,
    "loop in run": loop_in_run,
    "accumulating": accumulation,
    "saving": restoration,
    "over dataset": function_over_dataset,
}


# ---- estimators ------------------------------------------------------------------------------------------------


class Losses(tf.train.SessionRunHook):
    """The loss of each step of an ``Estimator``."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def begin(self) -> None:
        self.loss = tf.get_collection(tf.GraphKeys.LOSSES)[-1]

    def before_run(self, run_context: Any) -> Any:
        return tf.train.SessionRunArgs(self.loss)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.seen.append([run_values.results])


def train_estimator(trainer: Trainer, kind: str) -> Trained:
    """An ``Estimator`` trains: its losses are means over towers. The place's strategy is its ``train_distribute``."""
    place, losses = trainer.place, Losses()
    strategy = place.strategy() if hasattr(place, "strategy") else None

    def input_fn() -> Any:
        if strategy is not None or kind in ("constant", "variable"):
            dealt = np.reshape(BATCHES[:, : place.count], (-1, ROWS, 2))
            return tf.data.Dataset.from_tensor_slices(dealt)
        source = Input(kind, place, True)
        for start in source.starts:
            tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, start)
        return source.next()

    def model_fn(features: Any, mode: Any) -> Any:
        trainer.make()
        x = Input(kind, place, True).next() if kind in ("constant", "variable") else features
        towers = trainer.step(x) if strategy is None else place.tower(trainer.train, x)
        loss = tf.add_n(towers) / place.count  # Reported are sums over towers where an optimizer divides no loss.
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=loss)

    with tempfile.TemporaryDirectory() as folder:
        config = tf.estimator.RunConfig(folder, train_distribute=strategy, save_summary_steps=None)
        estimator = tf.estimator.Estimator(model_fn, config=config)
        estimator.train(input_fn, steps=STEPS, hooks=[losses])
        values = {name: estimator.get_variable_value(name) for name in estimator.get_variable_names()}
    return Trained(losses.seen, {name: _whole(name, values, place) for name in trainer.compared})


def _whole(name: str, values: dict[str, Any], place: Any) -> Any:
    """The value of a variable in a checkpoint; of one that towers of a program's own have, that of all."""
    if name == "step":
        return values["global_step"]
    if name in values:
        return values[name]
    parts = [values[f"{name}_{i}"] for i in range(place.count)]
    return np.mean(parts, 0) if place.of_towers[name] == "MEAN" else np.sum(parts, 0)


# ---- outside of sessions ---------------------------------------------------------------------------------------


def _at_once(trainer: Trainer, losses: Any) -> Trained:
    values = {name: tf.convert_to_tensor(value).numpy() for name, value in trainer.values().items()}
    return Trained([[float(loss) for loss in step] for step in losses], values)


class Calls:
    """Steps of a mode outside of sessions: operation by operation, or in functions."""

    def __init__(self, trainer: Trainer, source: Input, mode: str):
        self.trainer, self.source, self.mode = trainer, source, mode
        shape = [None if source.kind == "fed unknown" else ROWS, 2]
        self.signature = [tf.TensorSpec(shape, tf.float64)] if source.kind in FED else None

    def make_step(self, step: Callable[[Any], Any]) -> Callable[[int], Any]:
        """Makes what runs a step of a number."""
        source = self.source
        if self.mode == "eager":
            return lambda t: step(source.argument(t))
        if not source.is_argument:
            called = tf2.function(lambda: step(source.next()), autograph=False)
            return lambda t: called()
        called = tf2.function(step, autograph=False, input_signature=self.signature)
        return lambda t: called(source.argument(t))

    def run_by_run(self) -> Trained:
        step = self.make_step(self.trainer.step)
        return _at_once(self.trainer, [step(t) for t in range(STEPS)])

    def run_steps_on_dataset(self) -> Trained:
        place = self.trainer.place
        distribution, found = place.distribution, []
        iterator = self.source.distributed().make_one_shot_iterator()

        def step(context: Any, x: Any) -> None:
            batch = x if self.source.kind == "distributed" else self.source.argument(0)
            found.append(distribution.call_for_each_tower(lambda x: place.tower(self.trainer.train, x)[0], batch))

        distribution.run_steps_on_dataset(step, iterator, STEPS)
        return _at_once(self.trainer, [distribution.unwrap(loss) for loss in found])

    def loop_in_run(self) -> Trained:
        """A loop around the step: of Python, of a function, or of a statement that autograph converts."""
        return _at_once(self.trainer, self._many()(STEPS))

    def _many(self) -> Callable[[int], Any]:
        """Makes what runs a number of steps."""
        trainer, source = self.trainer, self.source

        def loop(number: Any, x: Any = None) -> Any:
            found = tf.TensorArray(tf.float64, STEPS, element_shape=[trainer.place.count])
            for t in tf.range(number):
                found = found.write(t, tf.stack(trainer.step(source.next() if x is None else x)))
            return found.stack()

        def while_loop(number: Any, x: Any = None) -> Any:
            def body(t: Any, found: Any) -> Any:
                return t + 1, found.write(t, tf.stack(trainer.step(source.next() if x is None else x)))

            start = [tf.constant(0), tf.TensorArray(tf.float64, STEPS, element_shape=[trainer.place.count])]
            return tf.while_loop(lambda t, found: t < number, body, start)[1].stack()

        signature = self.signature and [tf.TensorSpec([], tf.int32), *self.signature]
        function = functools.partial(tf2.function, input_signature=signature)
        many = {"eager": while_loop, "function": function(while_loop, autograph=False), "autograph": function(loop)}
        inputs = [source.argument(0)] if source.kind in FED else []
        return lambda number: many[self.mode](tf.constant(number), *inputs)[:number]

    def _steps(self) -> Callable[[int, int], list[Any]]:
        """(first, number) -> losses."""
        if self.mode == "autograph":
            many = self._many()
            return lambda first, number: list(many(number))
        step = self.make_step(self.trainer.step)
        return lambda first, number: [step(first + t) for t in range(number)]

    def over_dataset(self) -> Trained:
        data = _dataset(self.source)
        if self.mode == "autograph":
            return _at_once(self.trainer, tf2.function(_over_dataset(self.trainer))(data))
        step = self.trainer.step
        if self.mode == "function":
            step = tf2.function(step, autograph=False)
        return _at_once(self.trainer, [step(x) for x in data])

    def accumulation(self) -> Trained:
        trainer = self.trainer
        if self.mode == "autograph":
            return _at_once(trainer, self._loop_of_statements())
        accumulate, apply = self.make_step(trainer.accumulate), trainer.apply
        if self.mode == "function":
            apply = tf2.function(apply, autograph=False)
        found = []
        for t in range(STEPS * ACCUMULATED):
            found.append(accumulate(t))
            if (t + 1) % ACCUMULATED == 0:
                apply()
        return _at_once(trainer, found)

    def _loop_of_statements(self) -> Any:
        """Statements that autograph converts: each second step applies what was added up."""
        trainer, source = self.trainer, self.source

        def loop(x: Any = None) -> Any:
            found = tf.TensorArray(tf.float64, STEPS * ACCUMULATED, element_shape=[trainer.place.count])
            for t in tf.range(STEPS * ACCUMULATED):
                losses = trainer.accumulate(source.next() if x is None else x)
                found = found.write(t, tf.stack(losses))
                if tf.equal((t + 1) % ACCUMULATED, 0):
                    trainer.apply()
            return found.stack()

        inputs = [source.argument(0)] if source.kind in FED else []
        return tf2.function(loop, input_signature=self.signature)(*inputs)

    def restoration(self) -> Trained:
        """A ``Checkpoint`` keeps the variables after two steps; they are changed, restored, and trained on."""
        trainer = self.trainer
        steps = self._steps()
        found = steps(0, STEPS - 1)
        kept = {**trainer.place.variables, "optimizer": trainer.optimizer, "global_step": trainer.global_step}
        checkpoint = tf2.train.Checkpoint(**kept)
        with tempfile.TemporaryDirectory() as folder:
            path = checkpoint.write(os.path.join(folder, "model"))
            for variable in [*(trainer.place.variables[n] for n in trainer.names), *trainer.optimizer.variables()]:
                variable.assign(np.zeros(variable.shape))
            checkpoint.restore(path)
        return _at_once(trainer, found + steps(STEPS - 1, 1))


METHODS = {
    "run by run": Calls.run_by_run,
    "run_steps_on_dataset": Calls.run_steps_on_dataset,
    "loop in run": Calls.loop_in_run,
    "over dataset": Calls.over_dataset,
    "accumulating": Calls.accumulation,
    "saving": Calls.restoration,
}


def carry_out(nest: Nest, strategy: str, mode: str, kind: str, loop: str) -> Trained:
    """Runs the program of a row."""
    trainer = Trainer(nest, strategy, mode, loop == "accumulating")
    if loop == "estimator":
        return train_estimator(trainer, kind)
    with ExitStack() as stack:
        stack.enter_context(tf.Graph().as_default() if trainer.graph else eager_mode())
        stack.enter_context(trainer.place.scope())
        trainer.make()
        source = Input(kind, trainer.place, trainer.graph, loop != "over dataset")
        if trainer.graph:
            return GRAPH_LOOPS[loop](trainer, source)
        return METHODS[loop](Calls(trainer, source, mode))
