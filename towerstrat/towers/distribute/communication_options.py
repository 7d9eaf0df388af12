"""Options of the later surface's methods: what they would choose between, the compiler chooses here."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple


class RunOptions(NamedTuple):
    """Options of ``Strategy.run``.

    Attributes:
      experimental_enable_dynamic_batch_size: shapes may always change; changes nothing.
      experimental_bucketizing_dynamic_shape: every shape is compiled as it is; changes nothing.
      experimental_xla_options: the compiler's; changes nothing.
    """

    experimental_enable_dynamic_batch_size: bool = True
    experimental_bucketizing_dynamic_shape: bool = False
    experimental_xla_options: Any = None


class CommunicationImplementation(enum.Enum):
    """The library that would compute sums. Here the compiler's collectives do, whichever it is."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


class CommunicationOptions:
    """Options of reductions over replicas.

    Args:
      bytes_per_pack: the compiler packs as it finds best; changes no value.
      timeout_seconds: nothing is waited for without end; changes no value.
      implementation: the compiler's collectives are used; changes no value.

    Raises:
      ValueError: a negative ``bytes_per_pack``.
    """

    def __init__(
        self,
        bytes_per_pack: int = 0,
        timeout_seconds: float | None = None,
        implementation: CommunicationImplementation = CommunicationImplementation.AUTO,
    ):
        if bytes_per_pack < 0:
            raise ValueError(f"Argument `bytes_per_pack` must be >=0, Received {bytes_per_pack}.")
        if isinstance(implementation, str):
            implementation = CommunicationImplementation(implementation.upper())
        if not isinstance(implementation, CommunicationImplementation):
            raise ValueError(
                "Argument `implementation` must be instance of "
                f"`tf.distribute.experimental.CommunicationImplementation`, got {implementation!r}."
            )
        self.bytes_per_pack = bytes_per_pack
        self.timeout_seconds = timeout_seconds
        self.implementation = implementation


class CollectiveHints(CommunicationOptions):
    """``CommunicationOptions``, as 2.3 spelt it.

    Args:
      bytes_per_pack, timeout_seconds: as there.
    """

    def __init__(self, bytes_per_pack: int = 0, timeout_seconds: float | None = None):
        super().__init__(bytes_per_pack, timeout_seconds)
