"""The way to compile: ``jax.jit`` with what keeps known defects of XLA's compilers out of programs.

``DEFECTS`` is the table; ``docs/known_compiler_defects.md`` says what each does and how it was found. An option of a
program works whenever it is compiled; the same in ``XLA_FLAGS`` works for all programs of a process, those that JAX
compiles for calls outside of ``jit`` among them, where it is there before XLA starts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jaxlib

from towerstrat.platform import devices

VARIABLE = "XLA_FLAGS"


class Defect(NamedTuple):
    """A defect of XLA, in versions of jaxlib from ``first`` up to and without ``repaired``.

    Attributes:
      platform: for which programs are compiled wrongly. option, value: of XLA; with it they are right.
      issues: of github.com/jax-ml/jax.
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
    """The defects that a version of jaxlib has."""
    return [defect for defect in DEFECTS if defect.first <= version < defect.repaired]


PRESENT = known_defects(jaxlib.version.__version_info__)
"""Those of this process."""


def jit(
    function: Callable[..., Any], platform: str, compiler_options: Mapping[str, str] | None = None, **options: Any
) -> Any:
    """``jax.jit`` of a function that nothing traces: it is a program of its own.

    Args:
      platform: of the devices it runs on, as JAX names it.
      compiler_options: for XLA, besides those that keep defects out. options: of ``jax.jit``.
    """
    kept = {d.option: d.value for d in PRESENT if d.platform == platform and not _is_chosen(d)}
    return jax.jit(function, compiler_options={**kept, **(compiler_options or {})} or None, **options)


def mark(function: Callable[..., Any]) -> Any:
    """``jax.jit`` of a function that is called while a program is traced: its call has a name there."""
    return jax.jit(function)


def default_platform() -> str:
    """The platform of programs whose inputs are on no device yet."""
    settings: Any = jax.config
    device = settings.jax_default_device
    if device is None:
        return jax.default_backend()
    return device if isinstance(device, str) else device.platform


def set_flags() -> None:
    """Enters in ``XLA_FLAGS``, for this process and its children, what keeps the defects out of every program.

    What is there stays. With an accelerator nothing is entered: its plug-in may have an XLA of another version, which
    ends the process at a flag that it does not know.
    """
    flags = os.environ.get(VARIABLE, "")
    if flags.strip() and not flags.lstrip().startswith("-"):  # the name of a file
        return
    for defect in () if devices.may_be_accelerated() else PRESENT:
        if defect.option not in flags:
            flags = f"{flags} {defect.flag}".lstrip()
            os.environ[VARIABLE] = flags


def _is_chosen(defect: Defect) -> bool:
    """Whether the user's ``XLA_FLAGS`` say another value."""
    flags = os.environ.get(VARIABLE, "")
    return defect.option in flags and defect.flag not in flags.split()
