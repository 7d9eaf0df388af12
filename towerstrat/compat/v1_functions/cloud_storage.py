"""``tf.contrib.cloud``: settings of the original's reader of Google Cloud Storage, which is not here."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.platform import logs


class BlockCacheParams:
    """How the original kept blocks of files in memory.

    Args:
      block_size: bytes, default 128 MiB. max_bytes: of all blocks, default two. max_staleness: seconds.
    """

    def __init__(self, block_size: int | None = None, max_bytes: int | None = None, max_staleness: int | None = None):
        self._block_size = block_size or 128 * 1024 * 1024
        self._max_bytes = max_bytes or 2 * self._block_size
        self._max_staleness = max_staleness or 0

    @property
    def block_size(self) -> int:
        return self._block_size

    @property
    def max_bytes(self) -> int:
        return self._max_bytes

    @property
    def max_staleness(self) -> int:
        return self._max_staleness


def configure_gcs(
    session: SessionLike, credentials: Any = None, block_cache: BlockCacheParams | None = None, device: Any = None
) -> None:
    """Changes nothing, and says so once."""
    logs.log_first_n(
        logs.WARN,
        "configure_gcs has no effect: files are local ones, and addresses of gs:// are refused.",
        1,
    )


def configure_colab_session(session: SessionLike) -> None:
    """``configure_gcs``, by the name that notebooks used."""
    configure_gcs(session)
