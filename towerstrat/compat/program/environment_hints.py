"""What an error of a program tells of the machines that it was written for."""

from __future__ import annotations

_ADDRESSES = {"COLAB_TPU_ADDR", "KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS", "TPU_ADDRESS", "TPU_IP", "TPU_NAME", "TPU_WORKER"}
"""Variables that Colab and others set to the name or address of a TPU."""


def hint(error: BaseException) -> str | None:
    """A sentence for a TPU's address that is missing in the environment; None for other errors."""
    if not isinstance(error, KeyError) or not error.args or error.args[0] not in _ADDRESSES:
        return None
    name = error.args[0]
    here = "A TPU's address means the devices that are here"
    return f"{here}: run the program with {name}=localhost:8470 in the environment."
