"""Tests over combinations of strategies, modes and optimizers: ``tensorflow.python.distribute.combinations``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from itertools import product
from typing import Any

from absl.testing import parameterized

from towerstrat.graph.eager import mode
from towerstrat.graph.ir.graph import Graph
from towerstrat.platform.local import num_gpus
from towerstrat.towers.cluster.tpu_system import ContribTPUClusterResolver
from towerstrat.towers.contrib_late.strategies import MirroredStrategy, OneDeviceStrategy, TPUStrategy
from towerstrat.training.optimizers import v2
from towerstrat.training.optimizers.adagrad import AdagradOptimizer
from towerstrat.training.optimizers.adam import AdamOptimizer
from towerstrat.training.optimizers.gradient_descent import GradientDescentOptimizer
from towerstrat.training.optimizers.rmsprop import RMSPropOptimizer

Combination = dict[str, Any]


class NamedObject:
    """An object with a name for the names of tests; it has the object's attributes, and is called as it is."""

    def __init__(self, name: str, obj: Any):
        self._name = name
        self._obj = obj

    def __getattr__(self, name: str) -> Any:
        return getattr(self._obj, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._obj(*args, **kwargs)

    def __repr__(self) -> str:
        return self._name


class NamedDistribution:
    """A strategy that a test asks for, made when it runs.

    Args:
      distribution_fn: makes it.
      required_gpus: tests are skipped where there are fewer. required_tpu: changes nothing, any device is a core.
    """

    def __init__(
        self,
        name: str,
        distribution_fn: Callable[[], Any],
        required_gpus: int | None = None,
        required_tpu: bool = False,
    ):
        self._name = name
        self._make = distribution_fn
        self.required_gpus = required_gpus
        self.required_tpu = required_tpu

    @property
    def strategy(self) -> Any:
        return self._make()

    def __repr__(self) -> str:
        return self._name


def combine(**kwargs: Any) -> list[Combination]:
    """Every combination of the options: a name with its values in a list, or with its only value."""
    names = sorted(kwargs)
    values = [v if isinstance(v, list) else [v] for v in (kwargs[name] for name in names)]
    return [dict(zip(names, chosen, strict=True)) for chosen in product(*values)]


def times(*combined: Sequence[Combination]) -> list[Combination]:
    """Every combination of one from each list.

    Raises:
      ValueError: two lists have an option in common.
    """
    found = []
    for parts in product(*combined):
        names = [name for part in parts for name in part]
        if len(set(names)) < len(names):
            raise ValueError(f"Keys need to not overlap: {sorted(names)}")
        found.append({name: value for part in parts for name, value in part.items()})
    return found


def generate(combinations: Sequence[Combination]) -> Callable[[Callable[..., Any]], Any]:
    """A decorator of a test in a ``parameterized.TestCase``: one test for each combination.

    The test gets those options that are among its arguments, a ``NamedDistribution`` as its strategy. The option
    ``mode``, ``"graph"`` by default or ``"eager"``, says how it runs.
    """

    def decorated(test: Callable[..., Any]) -> Any:
        accepted = inspect.signature(test).parameters

        @wraps(test)
        def run(self: Any, **options: Any) -> None:
            named = [v for v in options.values() if isinstance(v, NamedDistribution)]
            missing = max((v.required_gpus or 0 for v in named), default=0)
            if missing > num_gpus():
                self.skipTest(f"{missing} GPUs are not available for this test. {num_gpus()} GPUs are available")
            how = options.get("mode", "graph")
            if how not in ("graph", "eager"):
                raise ValueError(f"'mode' has to be either 'eager' or 'graph' and not {how!r}")
            with mode.eager_mode() if how == "eager" else Graph().as_default():
                given = {k: v.strategy if v in named else v for k, v in options.items() if k in accepted}
                test(self, **given)

        # What tells of the test's own arguments would mislead absl about those of a combination.
        del run.__wrapped__
        cases = [{**c, "testcase_name": _name(c)} for c in combinations]
        return parameterized.named_parameters(*cases)(run)

    return decorated


def _name(combination: Combination) -> str:
    parts = (f"_{name}_{value}" for name, value in sorted(combination.items()))
    return "_test" + "".join("".join(c for c in part if c.isalnum() or c == "_") for part in parts)


def _tpu(steps_per_run: int) -> Callable[[], TPUStrategy]:
    return lambda: TPUStrategy(ContribTPUClusterResolver(""), steps_per_run=steps_per_run)


def _mirrored(*devices: str) -> Callable[[], MirroredStrategy]:
    return lambda: MirroredStrategy(list(devices))


one_device_strategy = NamedDistribution("OneDeviceCPU", lambda: OneDeviceStrategy("/cpu:0"))
tpu_strategy = NamedDistribution("TPU", _tpu(2), required_tpu=True)
tpu_strategy_one_step = tpu_strategy_single_iteration = NamedDistribution("TPUOneStep", _tpu(1), required_tpu=True)
mirrored_strategy_with_gpu_and_cpu = NamedDistribution(
    "MirroredCPUAndGPU", _mirrored("/gpu:0", "/cpu:0"), required_gpus=1
)
mirrored_strategy_with_two_gpus = NamedDistribution("Mirrored2GPUs", _mirrored("/gpu:0", "/gpu:1"), required_gpus=2)
strategies_minus_tpu = [one_device_strategy, mirrored_strategy_with_gpu_and_cpu, mirrored_strategy_with_two_gpus]

adam_optimizer_v1_fn = NamedObject("AdamV1", lambda: AdamOptimizer(0.001, epsilon=1))
adagrad_optimizer_v1_fn = NamedObject("AdagradV1", lambda: AdagradOptimizer(0.001))
gradient_descent_optimizer_v1_fn = NamedObject("GradientDescentV1", lambda: GradientDescentOptimizer(0.2))
rmsprop_optimizer_v1_fn = NamedObject("RmsPropV1", lambda: RMSPropOptimizer(0.001))
optimizers_v1 = [adam_optimizer_v1_fn, gradient_descent_optimizer_v1_fn]
adam_optimizer_v2_fn = NamedObject("AdamV2", lambda: v2.AdamOptimizer(0.001, epsilon=1))
gradient_descent_optimizer_v2_fn = NamedObject("GradientDescentV2", lambda: v2.GradientDescentOptimizer(0.2))
optimizers_v2 = [adam_optimizer_v2_fn, gradient_descent_optimizer_v2_fn]
graph_and_eager_modes = ["graph", "eager"]


def distributions_and_v1_optimizers() -> list[Combination]:
    """The strategies that need no TPU with the optimizers of 1.x."""
    return combine(distribution=strategies_minus_tpu, optimizer_fn=optimizers_v1)


def distributions_and_v2_optimizers() -> list[Combination]:
    """The strategies that need no TPU with the optimizers of ``tf.contrib.optimizer_v2``."""
    return combine(distribution=strategies_minus_tpu, optimizer_fn=optimizers_v2)
