"""``tf.contrib.framework``'s functions of checkpoints: those of ``tf.train``, with arguments of older names."""

from __future__ import annotations

from typing import Any

from towerstrat.training.saving import checkpoint_reader
from towerstrat.training.saving import init_from_checkpoint as from_checkpoint


def load_checkpoint(filepattern: str) -> checkpoint_reader.CheckpointReader:
    """As ``tf.train.load_checkpoint``."""
    return checkpoint_reader.load_checkpoint(filepattern)


def load_variable(checkpoint_dir: str, name: str) -> Any:
    """As ``tf.train.load_variable``."""
    return checkpoint_reader.load_variable(checkpoint_dir, name)


def list_variables(checkpoint_dir: str) -> list[tuple[str, list[int]]]:
    """As ``tf.train.list_variables``."""
    return checkpoint_reader.list_variables(checkpoint_dir)


def init_from_checkpoint(checkpoint_dir: str, assignment_map: Any) -> None:
    """As ``tf.train.init_from_checkpoint``."""
    from_checkpoint.init_from_checkpoint(checkpoint_dir, assignment_map)
