"""Values of checkpoints without a graph: ``tf.train.load_checkpoint`` and its kin."""

from __future__ import annotations

import os
from typing import Any

from towerstrat.checkpoints.checkpoint_file import opened
from towerstrat.graph.ir.types import DType, as_dtype
from towerstrat.platform.files import IsDirectory
from towerstrat.platform.text import as_text
from towerstrat.training.saving.latest_checkpoint import latest_checkpoint


class CheckpointReader:
    """What a checkpoint holds, and its values as they are asked for.

    Args:
      filepattern: the path of a checkpoint of either format.

    Raises:
      NotFoundError: there is none. DataLossError: it is damaged.
    """

    def __init__(self, filepattern: str):
        self._checkpoint = opened(os.fsdecode(filepattern))

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Name -> shape, as a list."""
        return {name: list(entry.shape) for name, entry in self._checkpoint.entries.items()}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """Name -> element type."""
        return {name: as_dtype(entry.code) for name, entry in self._checkpoint.entries.items()}

    def has_tensor(self, tensor_str: str) -> bool:
        return as_text(tensor_str) in self._checkpoint

    def get_tensor(self, tensor_str: str) -> Any:
        """A value as a numpy array; a scalar as a numpy scalar, or bytes. Raises NotFoundError, DataLossError."""
        return self._checkpoint.read(as_text(tensor_str))[()]

    def debug_string(self) -> bytes:
        """A line for each value: name, type, shape."""
        types = self.get_variable_to_dtype_map()
        shapes = self.get_variable_to_shape_map()
        return "".join(f"{name} (DT_{types[name].name.upper()}) {shapes[name]}\n" for name in shapes).encode()


def NewCheckpointReader(filepattern: str) -> CheckpointReader:
    """A ``CheckpointReader``; arguments and errors as of that."""
    return CheckpointReader(filepattern)


def checkpoint_filename(ckpt_dir_or_file: str) -> str:
    """The path of a checkpoint: as given, or the latest one of a folder. Raises ValueError for a folder without."""
    path = os.fsdecode(ckpt_dir_or_file)
    if not IsDirectory(path):
        return path
    latest = latest_checkpoint(path)
    if latest is None:
        raise ValueError(
            f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}. Pass the path of a checkpoint."
        )
    return latest


def load_checkpoint(ckpt_dir_or_file: str) -> CheckpointReader:
    """A reader of a checkpoint, or of the latest one in a folder.

    Raises:
      ValueError: a folder without checkpoints. NotFoundError, DataLossError: as ``CheckpointReader``.
    """
    return CheckpointReader(checkpoint_filename(ckpt_dir_or_file))


def load_variable(ckpt_dir_or_file: str, name: str) -> Any:
    """One value of a checkpoint, as a numpy array; ``name`` may end in ":0"."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


def list_variables(ckpt_dir_or_file: str) -> list[tuple[str, list[int]]]:
    """Pairs of name and shape, sorted by name."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())
