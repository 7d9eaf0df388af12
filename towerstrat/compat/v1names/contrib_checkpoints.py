"""``tf.contrib.framework``'s functions of checkpoints: those of ``tf.train``, with arguments of older names."""

from __future__ import annotations

from typing import Any

from towerstrat.training.saving import from_checkpoint, reading


def load_checkpoint(filepattern: str) -> reading.CheckpointReader:
    """As ``tf.train.load_checkpoint``."""
    return reading.load_checkpoint(filepattern)


def load_variable(checkpoint_dir: str, name: str) -> Any:
    """As ``tf.train.load_variable``."""
    return reading.load_variable(checkpoint_dir, name)


def list_variables(checkpoint_dir: str) -> list[tuple[str, list[int]]]:
    """As ``tf.train.list_variables``."""
    return reading.list_variables(checkpoint_dir)


def init_from_checkpoint(checkpoint_dir: str, assignment_map: Any) -> None:
    """As ``tf.train.init_from_checkpoint``."""
    from_checkpoint.init_from_checkpoint(checkpoint_dir, assignment_map)
