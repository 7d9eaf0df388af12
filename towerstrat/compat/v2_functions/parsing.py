"""Examples and csv files with the arguments of 2.x."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.data.parsing import csv_fields, examples
from towerstrat.data.parsing.feature_specs import Features
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.training.hooks import input_checkpoint
from towerstrat.training.saving import iterator_saveables

_POLICIES = (None, "warn", "ignore", "fail")


def _check_policy(policy: str | None) -> None:
    if policy not in _POLICIES:
        raise ValueError(f"Invalid `external_state_policy` {policy!r}; expected one of {_POLICIES[1:]}.")


class CheckpointInputPipelineHook(input_checkpoint.CheckpointInputPipelineHook):
    """Saves where input pipelines are whenever a checkpoint is saved, and goes on from there.

    Args:
      estimator: whose checkpoints they are.
      external_state_policy: "warn", "ignore" or "fail"; changes nothing, since pipelines save their random state too.

    Raises:
      ValueError: another policy.
    """

    def __init__(self, estimator: Any, external_state_policy: str | None = None):
        _check_policy(external_state_policy)
        super().__init__(estimator)


def make_saveable_from_iterator(iterator: Any, external_state_policy: str | None = None) -> Any:
    """What a saver saves of an iterator: where it is. The policy is that of ``CheckpointInputPipelineHook``."""
    _check_policy(external_state_policy)
    return iterator_saveables.make_saveable_from_iterator(iterator)


def parse_example(serialized: Any, features: Features, example_names: Any = None, name: str | None = None) -> Any:
    """The features of a batch of serialized ``Example`` messages; of one, where ``serialized`` is a scalar.

    Args:
      features: key -> ``FixedLenFeature``, ``VarLenFeature``, ``SparseFeature``, ``RaggedFeature`` or
        ``FixedLenSequenceFeature``.
      example_names: strings that messages of errors show.
    """
    return examples.parse_any(serialized, features, name, example_names)


def parse_single_example(
    serialized: Any, features: Features, example_names: Any = None, name: str | None = None
) -> Any:  # fmt: skip
    """The features of one serialized ``Example`` message."""
    return examples.parse_single_example(serialized, features, name, example_names)


def decode_csv(
    records: Any, record_defaults: Sequence[Any], field_delim: str = ",", use_quote_delim: bool = True,
    na_value: str = "", select_cols: Sequence[int] | None = None, name: str | None = None,
) -> list[Tensor]:  # fmt: skip
    """The columns of comma-separated values, a tensor for each."""
    return csv_fields.decode_csv(records, record_defaults, field_delim, use_quote_delim, name, na_value, select_cols)
