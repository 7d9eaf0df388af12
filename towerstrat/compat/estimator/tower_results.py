"""Results of towers that an estimator takes as one: values of metrics, and the pieces of scaffolds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ops.array.arrays import concat
from towerstrat.graph.ops.control.branches import group
from towerstrat.graph.variables.variables import Variable
from towerstrat.towers.engine.distributed_values import PerDevice
from towerstrat.training.sessions.scaffold import Scaffold


def take_results(module: ModuleType) -> None:
    """Lets an estimator's training and evaluation take towers' results in this way."""
    update_ops = vars(module)["_extract_metric_update_ops"]

    def extract(eval_dict: Mapping[str, Any], distribution: Any = None) -> Any:
        if distribution is not None:
            eval_dict = {
                name: (_value_of_all(name, value, distribution), update) for name, (value, update) in eval_dict.items()
            }
        return update_ops(eval_dict, distribution)

    vars(module)["_extract_metric_update_ops"] = extract
    vars(module)["_combine_distributed_scaffold"] = _combine


def _value_of_all(name: str, value: Any, distribution: Any) -> Any:
    """A metric's value where all towers have the same one. Raises ValueError where each has its own."""
    if not isinstance(value, PerDevice) or isinstance(value, Variable):
        return value
    own = value.local
    if isinstance(own, Tensor) and own.varies:
        raise ValueError(
            f"The metric {name!r} has another value on each tower: {own.op.name} (created at {own.op.line}) reads what "
            "one tower has counted. Use a metric of tf.metrics, which adds up what all towers have, or evaluate "
            "without eval_distribute."
        )
    return distribution.experimental_local_results(value)[0]


def _combine(grouped: Any, distribution: Any) -> Scaffold:
    """One scaffold of what each tower's model function has made.

    Operations run for all towers. A summary is the first tower's, since the others make none, and so are functions and
    savers, which are one for all variables.
    """
    made: Sequence[Scaffold] = distribution.experimental_local_results(grouped)

    def pieces(name: str) -> list[Any]:
        found = (getattr(scaffold, name) for scaffold in made)
        return list({id(piece): piece for piece in found if piece is not None}.values())

    def first(name: str) -> Any:
        return next(iter(pieces(name)), None)

    def grouped_op(name: str) -> Any:
        found = pieces(name)
        return group(*found) if found else None

    def joined(name: str) -> Any:
        found = pieces(name)
        return concat(found, 0) if len(found) > 1 else first(name)

    def fed(name: str) -> Any:
        return {key: value for feeds in pieces(name) for key, value in feeds.items()} or None

    return Scaffold(
        init_op=grouped_op("init_op"), init_feed_dict=fed("init_feed_dict"), init_fn=first("_user_init_fn"),
        ready_op=joined("ready_op"), ready_for_local_init_op=joined("ready_for_local_init_op"),
        local_init_op=grouped_op("local_init_op"), summary_op=first("summary_op"), saver=first("saver"),
        local_init_feed_dict=fed("local_init_feed_dict"),
    )  # fmt: skip
