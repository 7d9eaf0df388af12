"""The benchmarks' models by name."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks import convnet, mlp, transformer
from benchmarks.harness import Workload

MODELS: dict[str, Callable[[], Workload]] = {
    "mlp": mlp.workload,
    "convnet": convnet.workload,
    "transformer": transformer.workload,
}
