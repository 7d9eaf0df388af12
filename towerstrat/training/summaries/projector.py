"""The configuration of TensorBoard's projector, which shows embeddings."""

from __future__ import annotations

import os
from typing import Protocol

from google.protobuf import text_format

from towerstrat.platform import messages
from towerstrat.platform.storage import storage_of

_FILE = "projector_config.pbtxt"


class _Writer(Protocol):
    def get_logdir(self) -> str | None: ...


def visualize_embeddings(summary_writer: _Writer, config: messages.ProjectorConfig) -> None:
    """Writes a configuration to the folder of a writer, where TensorBoard looks for it.

    Args:
      summary_writer: such as a ``FileWriter``.
      config: names the variables that hold embeddings, and the files that describe their rows. Without a path of a
        checkpoint TensorBoard takes the latest one of the folder.

    Raises:
      ValueError: the writer has no folder.
    """
    folder = summary_writer.get_logdir()
    if folder is None:
        raise ValueError("Summary writer must have a logdir")
    path = os.path.join(folder, _FILE)
    with storage_of(path).writing(path) as file:
        file.write(text_format.MessageToString(config).encode())
