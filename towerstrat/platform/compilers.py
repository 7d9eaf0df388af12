"""``jax.jit`` with the compiler options that work around known miscompilations of XLA.

``DEFECTS`` is the table: versions of jaxlib, platform, the option that makes results right again;
``docs/known_compiler_defects.md`` says what each does and how it was found. It is applied in two ways. ``jit`` passes
the options of this version with each program. ``set_flags`` puts them into ``XLA_FLAGS``, which also covers programs
that JAX compiles by itself for calls outside of ``jit``, but works only before XLA starts. A value that the user set
wins.

    >>> [defect.flag for defect in known_defects((0, 10, 2))]
    ['--xla_cpu_experimental_ynn_fusion_type=']
    >>> known_defects((0, 9))
    []
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, ParamSpec, TypeVar

import jax
import jaxlib

from towerstrat.platform import devices

P = ParamSpec("P")
R = TypeVar("R")

VARIABLE = "XLA_FLAGS"


class Defect(NamedTuple):
    """A miscompilation of XLA, and the option that avoids it.

    Attributes:
      first, repaired: versions of jaxlib that have it, ``first <= version < repaired``.
      platform: the platform whose programs are wrong, as JAX names it.
      option, value: XLA option with which they are right. issues: numbers at github.com/jax-ml/jax.
    """

    first: tuple[int, ...]
    repaired: tuple[int, ...]
    platform: str
    option: str
    value: str
    issues: tuple[int, ...]

    @property
    def flag(self) -> str:
        return f"--{self.option}={self.value}"


DEFECTS = (Defect((0, 10, 2), (0, 12), "cpu", "xla_cpu_experimental_ynn_fusion_type", "", (39103, 39257, 40412)),)


def known_defects(version: tuple[int, ...]) -> list[Defect]:
    """Defects of a version of jaxlib."""
    return [defect for defect in DEFECTS if defect.first <= version < defect.repaired]


PRESENT = known_defects(jaxlib.version.__version_info__)
"""Defects of the jaxlib of this process."""


def jit(
    function: Callable[..., Any], platform: str, compiler_options: Mapping[str, str] | None = None, **options: Any
) -> jax.stages.Wrapped:
    """``jax.jit`` for an outermost function, which is compiled as a program of its own.

    Compiler options belong to such programs; a function that is called within a trace takes ``mark``.

    Args:
      function: takes and returns pytrees of arrays.
      platform: of the devices it runs on, as JAX names it.
      compiler_options: for XLA, besides the workarounds.
      **options: of ``jax.jit``.
    """
    workarounds = {d.option: d.value for d in PRESENT if d.platform == platform and not _is_chosen(d)}
    return jax.jit(function, compiler_options={**workarounds, **(compiler_options or {})} or None, **options)


def mark(function: Callable[P, R]) -> Callable[P, R]:
    """``jax.jit`` for a function called within a trace: its call appears by name in the jaxpr."""
    marked: Callable[P, R] = jax.jit(function)
    return marked


def default_platform() -> str:
    """Platform that JAX compiles for where inputs are committed to no device."""
    settings: Any = jax.config
    device: jax.Device | str | None = settings.jax_default_device
    if device is None:
        return jax.default_backend()
    return device if isinstance(device, str) else device.platform


def set_flags() -> None:
    """Add the workarounds to ``XLA_FLAGS``, for this process and its children. Works only before XLA starts.

    Flags that are set already stay. Nothing is added where an accelerator may be found: its plug-in may bring another
    version of XLA, which aborts the process at a flag that it does not know.
    """
    flags = os.environ.get(VARIABLE, "")
    if flags.strip() and not flags.lstrip().startswith("-"):  # the name of a file
        return
    for defect in () if devices.may_be_accelerated() else PRESENT:
        if defect.option not in flags:
            flags = f"{flags} {defect.flag}".lstrip()
            os.environ[VARIABLE] = flags


def _is_chosen(defect: Defect) -> bool:
    """Whether the user's ``XLA_FLAGS`` give the option another value."""
    flags = os.environ.get(VARIABLE, "")
    return defect.option in flags and defect.flag not in flags.split()
