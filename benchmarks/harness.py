"""What the benchmarks share: our program of a workload, its hand-written JAX twin, and fair measuring of both.

A workload is a model, an optimizer and data. Our program is a contrib-era program: ``TPUStrategy``, an optimizer in
tower context, ``run_steps_on_dataset``, a ``tf.data`` pipeline. The twin has the same model, data, initial values,
optimizer, types and number of devices, written directly in JAX, as three loops: a scan over a whole run, scans over
chunks of ten steps, and one jitted step after the other. The fastest of them counts.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

import towerstrat.compat.v1 as tf

Array = Any
CHUNK = 10
HOPELESS = 4
"""A form of the twin that takes this many times as long as another is measured no further."""


@dataclass(frozen=True)
class Workload:
    """One model with everything that both sides need.

    Attributes:
      name: as it is shown.
      batch: examples of one step on one tower.
      examples: () -> (inputs, labels), a multiple of eight batches.
      initial: initial values by parameter name.
      loss: our side: (inputs, labels, initial) -> scalar tensor.
      optimizer: our side: () -> a ``tf.train.Optimizer``.
      twin_state: the twin's: parameters -> its whole state.
      twin_loss: (parameters, inputs, labels) -> scalar.
      twin_update: (state, gradients) -> state; parameters are ``state["params"]``.
    """

    name: str
    batch: int
    examples: Callable[[], tuple[Array, Array]]
    initial: Mapping[str, Array]
    loss: Callable[..., Any]
    optimizer: Callable[[], Any]
    twin_state: Callable[[Any], Any]
    twin_loss: Callable[..., Any]
    twin_update: Callable[[Any, Any], Any]


class Devices:
    """Stands for a cluster resolver where the towers' devices are given."""

    def __init__(self, devices: Sequence[Any]):
        self._devices = list(devices)

    def devices(self) -> list[Any]:
        return self._devices

    def master(self) -> str:
        return ""

    def get_job_name(self) -> None:
        return None


class Ours:
    """A workload as a contrib-era program in a session.

    Args:
      workload: what to train.
      devices: one tower on each.
      steps_per_run: steps of one ``run()``.
    """

    def __init__(self, workload: Workload, devices: Sequence[Any], steps_per_run: int):
        self.graph = tf.Graph()
        with self.graph.as_default():
            strategy = tf.contrib.distribute.TPUStrategy(Devices(devices), steps_per_run=steps_per_run)

            def dataset_fn() -> Any:
                dataset = tf.data.Dataset.from_tensor_slices(workload.examples())
                return dataset.repeat().batch(workload.batch, drop_remainder=True)

            def tower_fn(inputs: Any, labels: Any) -> Any:
                loss = workload.loss(inputs, labels, workload.initial)
                return workload.optimizer().minimize(loss), loss

            def step_fn(ctx: Any, inputs: Any, labels: Any) -> Any:
                train_op, loss = strategy.call_for_each_tower(tower_fn, inputs, labels)
                ctx.set_last_step_output("loss", loss, tf.VariableAggregation.MEAN)
                return strategy.group(train_op)

            with strategy.scope():
                iterator = strategy.distribute_dataset(dataset_fn).make_one_shot_iterator()
                ctx = strategy.run_steps_on_dataset(step_fn, iterator, iterations=steps_per_run)
            self.fetches = [ctx.run_op, ctx.last_step_outputs["loss"]]
            self.loop = ctx.last_step_outputs["loss"].op
            self.session = tf.Session()
            self.initializer = tf.global_variables_initializer()

    def initialize(self) -> None:
        self.session.run(self.initializer)

    def run(self) -> float:
        return self.session.run(self.fetches)[1]


class Twin:
    """A workload written by hand in JAX.

    Args:
      workload: what to train.
      devices: as many positions of the mesh axis.
      steps_per_run: steps of one ``run()``.
      form: "scan" over a whole run, "chunks" of ten steps, or "steps" one by one.
    """

    def __init__(self, workload: Workload, devices: Sequence[Any], steps_per_run: int, form: str):
        self.workload = workload
        self.towers = len(devices)
        self.mesh = Mesh(np.array(devices), ("tower",), axis_types=(AxisType.Auto,))
        self.chunk = {"scan": steps_per_run, "chunks": min(CHUNK, steps_per_run), "steps": 1}[form]
        self.chunks = steps_per_run // self.chunk
        self.form = form
        self.step = partial(twin_step, workload, self.towers)
        one, leading = PartitionSpec(), PartitionSpec("tower") if form == "steps" else PartitionSpec(None, "tower")
        function = self._one if form == "steps" else self._many
        options: dict[str, Any] = {}
        if self.towers > 1:
            function = jax.shard_map(function, mesh=self.mesh, in_specs=(one, leading, leading), out_specs=(one, one))
            replicated, split = NamedSharding(self.mesh, one), NamedSharding(self.mesh, leading)
            options["in_shardings"] = (replicated, split, split)
        self.device = devices[0]
        self.function = jax.jit(function, donate_argnums=0, **options)
        self.position = 0
        self.ahead: Any = None

    def _one(self, state: Any, inputs: Any, labels: Any) -> Any:
        return self.step(state, self._own(inputs), self._own(labels))

    def _own(self, batch: Any) -> Any:
        return batch[0] if self.towers > 1 else batch

    def _many(self, state: Any, inputs: Any, labels: Any) -> Any:
        def body(carry: Any, batch: Any) -> Any:
            return self.step(carry[0], self._own(batch[0]), self._own(batch[1])), None

        (state, loss), _ = lax.scan(body, (state, jnp.zeros((), jnp.float32)), (inputs, labels))
        return state, loss

    def abstract(self) -> tuple[Any, Any, Any]:
        """Arguments of the compiled function, without values."""
        state = jax.eval_shape(lambda: self.workload.twin_state(jax.tree.map(jnp.asarray, self.workload.initial)))
        lead = (() if self.form == "steps" else (self.chunk,)) + ((self.towers,) if self.towers > 1 else ())
        batches = [
            jax.ShapeDtypeStruct((*lead, self.workload.batch, *a.shape[1:]), a.dtype) for a in self.workload.examples()
        ]
        return state, batches[0], batches[1]

    def initialize(self) -> None:
        state = self.workload.twin_state(jax.tree.map(np.array, dict(self.workload.initial)))
        if self.towers > 1:
            self.state = jax.device_put(state, NamedSharding(self.mesh, PartitionSpec()))
        else:
            self.state = jax.device_put(state, self.device)
        self.position = 0
        self.ahead = self._assemble()

    def _assemble(self) -> tuple[Array, Array]:
        """The input of the next call: rows gathered by their numbers, in one copy, as a shuffled input has it."""
        examples = self.workload.examples()
        lead = (() if self.form == "steps" else (self.chunk,)) + ((self.towers,) if self.towers > 1 else ())
        count = self.chunk * self.towers * self.workload.batch
        rows = np.arange(self.position, self.position + count) % len(examples[0])
        self.position += count
        inputs, labels = (a.take(rows, axis=0).reshape(*lead, self.workload.batch, *a.shape[1:]) for a in examples)
        return inputs, labels

    def run(self) -> float:
        """All steps of a run, input one chunk ahead, its loss fetched once."""
        for _ in range(self.chunks):
            self.state, loss = self.function(self.state, *self.ahead)
            self.ahead = self._assemble()
        return float(loss)


def twin_step(workload: Workload, towers: int, state: Any, inputs: Any, labels: Any) -> tuple[Any, Any]:
    """One training step: the loss is the mean over the towers, so are the gradients."""
    params = state["params"]
    if towers == 1:
        loss, grads = jax.value_and_grad(workload.twin_loss)(params, inputs, labels)
        return workload.twin_update(state, grads), loss
    own = jax.tree.map(lambda p: lax.pcast(p, ("tower",), to="varying"), params)
    loss, grads = jax.value_and_grad(lambda p: workload.twin_loss(p, inputs, labels) / towers)(own)
    grads, loss = lax.psum((grads, loss), "tower")
    return workload.twin_update(state, grads), loss


# ---- measuring ---------------------------------------------------------------------------------------------------


def interleaved(
    runs: Mapping[str, Callable[[], Any]], repetitions: int, sample: float, clock: Callable[[], Any] = time.perf_counter
) -> dict[str, list[Any]]:
    """Seconds per call of each function, in turns: ``repetitions`` samples of about ``sample`` seconds each."""
    counts = {}
    for name, run in runs.items():
        run()
        start = time.perf_counter()
        run()
        counts[name] = max(1, int(sample / (time.perf_counter() - start)))
    times: dict[str, list[Any]] = {name: [] for name in runs}
    gc.collect()
    gc.disable()
    try:
        for _ in range(repetitions):
            for name, run in runs.items():
                start = clock()
                for _ in range(counts[name]):
                    run()
                times[name].append((clock() - start) / counts[name])
    finally:
        gc.enable()
    return times


def _clocks() -> np.ndarray[Any, Any]:
    """Seconds of the clock on the wall, and of the process' threads together."""
    return np.array([time.perf_counter(), time.process_time()])


@dataclass(frozen=True)
class Comparison:
    """Our loop beside the twin's, seconds per run.

    Attributes:
      ours: of our runs, median.
      twins: form of the twin -> median.
      fastest: our fastest sample over the twin's fastest: what is left of the ratio where others use the machine too.
      processor: the processors' time of our runs over that of the form of the twin that takes least, by medians.
    """

    ours: float
    twins: Mapping[str, float]
    fastest: float
    processor: float

    @property
    def best(self) -> str:
        return min(self.twins, key=lambda form: self.twins[form])

    @property
    def twin(self) -> float:
        return self.twins[self.best]

    @property
    def ratio(self) -> float:
        return self.ours / self.twin


def compare(
    workload: Workload, devices: Sequence[Any], steps_per_run: int, repetitions: int, sample: float
) -> Comparison:
    """Measures our loop and the twin's forms in turns, after checking that they compute the same loss.

    Raises:
      AssertionError: the losses after two runs differ by more than rounding.
    """
    forms = ["steps"] if steps_per_run == 1 else ["steps", "scan"]
    if steps_per_run > CHUNK:
        forms.append("chunks")
    sides: dict[str, Any] = {"ours": Ours(workload, devices, steps_per_run)}
    sides |= {form: Twin(workload, devices, steps_per_run, form) for form in forms}
    losses, seconds = {}, {}
    for name, side in sides.items():
        side.initialize()
        first = side.run()
        start = time.perf_counter()
        losses[name] = [first, side.run()]
        seconds[name] = time.perf_counter() - start
    tolerance = 2e-3 if steps_per_run <= CHUNK else 0.2  # rounding errors grow from step to step
    if devices[0].platform != "cpu":
        tolerance = max(tolerance, 0.05)  # products of short floats there
    hopeless = HOPELESS * min(seconds[form] for form in forms)
    for form in forms:
        if seconds[form] > hopeless:
            del sides[form]
        np.testing.assert_allclose(losses["ours"], losses[form], tolerance, err_msg=f"{workload.name}: ours and {form}")
    times = interleaved({name: side.run for name, side in sides.items()}, repetitions, sample, _clocks)
    medians = {name: np.median(values, axis=0) for name, values in times.items()}
    lowest = {name: np.min(values, axis=0)[0] for name, values in times.items()}
    ours, processor = medians.pop("ours")
    twins = {name: float(wall) for name, (wall, _) in medians.items()}
    fastest = lowest.pop("ours") / min(lowest.values())
    return Comparison(float(ours), twins, float(fastest), float(processor / min(cpu for _, cpu in medians.values())))
