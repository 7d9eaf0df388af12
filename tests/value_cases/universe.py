"""The things of each kind, and the ways to disturb one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import towerstrat.compat.v1  # (first: that of 2.x alone would run operations at once)
import towerstrat.compat.v2
import towerstrat.graph.ops.control.switch_merge
import towerstrat.training.optimizers.keras_updates
import towerstrat.training.saving.save_restore_ops
import towerstrat.training.summaries.summary_ops
import towerstrat.training.summaries.write_ops  # noqa: F401  (all operation types are registered now)
from tests.value_cases import functions, operations, optimizers, table
from tests.value_cases.change import Change, intercept
from tests.value_cases.exceptions import EXCEPTIONS
from tests.value_cases.functions import Thing, Things
from towerstrat.compat.names import public_names
from towerstrat.graph.ir import op_registry
from towerstrat.models.rnn.cell_wrappers import WrapperCell
from towerstrat.towers.contrib.distribution_strategy import DefaultDistributionStrategy
from towerstrat.towers.distribute.default_strategy import DefaultExtended, DefaultStrategy
from towerstrat.towers.distribute.step_context import MultiStepContext

for api in (1, 2):
    public_names.names(api)

Note = Callable[[str, str], None]
"""Called with kind and name of a thing that a test comes by."""


class Kind(NamedTuple):
    """A kind of things that compute values.

    Attributes:
      names: of all there are.
      disturb: changes what one of them computes, for the rest of the process.
    """

    names: Callable[[], Iterable[str]]
    disturb: Callable[[str, Change], None]


STATISTICS = {
    "_sample_n", "_log_prob", "_prob", "_log_cdf", "_cdf", "_log_survival_function", "_survival_function", "_quantile",
    "_entropy", "_mean", "_mode", "_variance", "_stddev", "_covariance", "_kl_of_kind",
}  # fmt: skip


STRATEGIES = (
    *(f"towers.contrib.{module}" for module in (
        "current_strategy", "distribution_strategy", "mirrored_strategy", "step_context",
    )),
    "towers.contrib_late",
    *(f"towers.distribute.{module}" for module in (
        "central_storage_strategy", "cross_device_ops", "current_strategy", "input_distribution", "mirrored_strategy",
        "multi_worker_strategy", "one_device_strategy", "reduce_op", "replica_context", "strategy",
        "strategy_extended", "tpu_strategy",
    )),
    *(f"towers.engine.{module}" for module in ("collective_all_reduce", "cross_tower_ops", "tower_contexts")),
)  # fmt: skip


GIVEN = (DefaultDistributionStrategy, DefaultExtended, DefaultStrategy, MultiStepContext)
"""Classes without a public name, of which functions and methods of strategies give objects."""


@cache
def schedules() -> Things:
    return dict(functions.functions("training.optimizers.learning_rate_schedules",
                                    "training.optimizers.learning_rate_schedules_v2"))  # fmt: skip


@cache
def losses() -> Things:
    own = ("models.losses", "models.replica_losses", "training.gan.tensor_losses", "training.gan.model_losses")
    return dict(functions.functions(*own))


@cache
def metrics() -> Things:
    return dict(functions.functions("models.metrics"))


@cache
def layers() -> Things:
    own = functions.methods(lambda name: name == "call", "models.layers")
    return {**dict(functions.functions("models.layers")), **dict(own)}


@cache
def cells() -> Things:
    """Functions, and the steps of cells, which are ``call``, or of some around another cell ``__call__``."""

    def is_step(name: str, owner: type) -> bool:
        return name.endswith("__call__") == (issubclass(owner, WrapperCell) and "__call__" in vars(owner))

    own = functions.methods(lambda name: name in ("call", "__call__"), "models.rnn")
    steps = {name: thing for name, thing in own if is_step(name, thing.owner)}
    return {**dict(functions.functions("models.rnn")), **steps}


@cache
def initializers() -> Things:
    where = ("graph.scopes.initializers", "compat.v2_functions.initializers", "models.regularizers")
    own = functions.methods(lambda name: name == "__call__", *where)
    return {**dict(functions.functions(*where)), **dict(own)}


@cache
def distributions() -> Things:
    own = functions.methods(lambda name: name in STATISTICS, "models.distributions")
    return {**dict(functions.functions("models.distributions")), **dict(own)}


@cache
def datasets() -> Things:
    own = functions.methods(lambda name: not name.startswith("_"), "data.api.dataset", "data.api.dataset_v1")
    of_any = {thing.function: name for name, thing in reversed(list(own))}
    methods = {name: Thing(function) for function, name in of_any.items()}
    return {**dict(functions.functions("data.api", "data.readers")), **methods}


@cache
def strategies() -> Things:
    """Public members of strategies, their ``extended``, contexts and ways to reduce; functions that give these."""

    def is_public(name: str) -> bool:
        return not name.startswith("_")

    given = [thing for owner in GIVEN for thing in functions.methods_of(owner, is_public)]
    return functions.by_place([*functions.functions(*STRATEGIES), *functions.methods(is_public, *STRATEGIES), *given])


def _of_things(things: Callable[[], Things]) -> Kind:
    return Kind(things, lambda name, change: functions.disturb(things()[name], change))


KINDS = {
    "operation": Kind(op_registry.types, operations.disturb_operation),
    "gradient": Kind(operations.differentiable_types, operations.disturb_gradient),
    "optimizer": Kind(optimizers.names, optimizers.disturb),
    "rule": Kind(optimizers.variants, optimizers.disturb_variant),
    "schedule": _of_things(schedules),
    "loss": _of_things(losses),
    "metric": _of_things(metrics),
    "layer": _of_things(layers),
    "cell": _of_things(cells),
    "initializer": _of_things(initializers),
    "distribution": _of_things(distributions),
    "dataset": _of_things(datasets),
    "strategy": _of_things(strategies),
}


def missing(kind: str) -> list[str]:
    """The names that have no row and are no exception, sorted."""
    known = {row.name for row in table.read() if row.kind == kind}
    return sorted(set(KINDS[kind].names()) - known - EXCEPTIONS.get(kind, {}).keys())


def watch(note: Note) -> None:
    """From now on ``note`` is called with all things that are used; of a gradient with those that may have one."""

    def looked_up(original: Any, type: str) -> Any:
        found = original(type)
        note("operation", type)
        note("gradient", type)
        return found

    intercept(op_registry.lookup, looked_up)
    optimizers.watch(note)
    for kind, found in KINDS.items():
        things = found.names()
        if isinstance(things, Mapping):
            for name, thing in things.items():
                intercept(thing.function, partial(_noted, thing, partial(note, kind, name)))


def _noted(thing: Thing, note: Callable[[], None], original: Any, *args: Any, **kwargs: Any) -> Any:
    if thing.is_meant(args):
        note()
    return original(*args, **kwargs)
