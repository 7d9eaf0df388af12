"""``tf.sysconfig``: how the original was built. Here nothing is compiled or linked against it."""

from __future__ import annotations

from typing import Any, NoReturn

from towerstrat.errors import UnsupportedError

CXX11_ABI_FLAG = 0
MONOLITHIC_BUILD = 0


def get_include() -> str:
    """Raises UnsupportedError: there are no headers."""
    _refuse("get_include")


def get_lib() -> str:
    """Raises UnsupportedError: there is no library to link."""
    _refuse("get_lib")


def get_compile_flags() -> list[Any]:
    """Raises UnsupportedError: there are no headers."""
    _refuse("get_compile_flags")


def get_link_flags() -> list[Any]:
    """Raises UnsupportedError: there is no library to link."""
    _refuse("get_link_flags")


def get_build_info() -> dict[str, Any]:
    """What the original was built for: neither CUDA nor ROCm, JAX brings what runs on accelerators."""
    return {"cpu_compiler": "XLA", "is_cuda_build": False, "is_rocm_build": False, "is_tensorrt_build": False}


def _refuse(name: str) -> NoReturn:
    raise UnsupportedError(
        f"tf.sysconfig.{name}(): operations in C++ cannot be built, there are no headers and no library of TensorFlow. "
        "Write the operation with those that are there, or as a Python function with tf.py_func."
    )
