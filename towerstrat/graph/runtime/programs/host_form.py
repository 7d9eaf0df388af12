"""The numpy form of an operation, for inputs with which numpy is faster than a program, or must be used.

    add of two float32[2]                 numpy: small (``SMALL``), and on the host or a CPU
    matmul of [512, 512]                  a program
    reverse of a new image, [800, 600]    numpy the first times (``FIRST_TIMES``): its bits are those of a program
    strings                               numpy always

An eager operation asks its form first (``eager_programs``): ``take`` says whether numpy is to compute it, ``compute``
does.

>>> from types import SimpleNamespace
>>> from towerstrat.graph.ir.graph import Graph
>>> from towerstrat.graph.ir.tensor_conversion import placeholder
>>> from towerstrat.graph.ops.math import arithmetic
>>> with Graph().as_default():
...     op = arithmetic.negative(placeholder("float32", [None])).op
>>> form = HostForm(op, op.inputs)
>>> form.compute(form.take([SimpleNamespace(array=np.float32([1, 2]))]))
[array([-1., -2.], dtype=float32)]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax
import numpy as np

from towerstrat.errors import InvalidArgumentError, ResourceExhaustedError
from towerstrat.graph.ir.graph_elements import Operation, runs_in_numpy
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.types import Array, DType, HostArray, host_array

SMALL = 4096
"""Elements up to which numpy computes what it can."""

FIRST_TIMES = 4
"""First calls of an exact type with new input shapes that numpy computes: many image sizes never come again."""

LARGEST_IMAGE = 1 << 22
"""Elements up to which numpy computes these first calls."""


class Argument(Protocol):
    """Protocol of an input: an eager tensor, or a ``Value``. A variable's handle has a ``cell`` besides."""

    array: Array
    dtype: DType
    dims: Dims

    def host(self) -> HostArray:
        """The value on the host."""


class HostForm:
    """The numpy form of one operation, whose type has one.

    Args:
      op: the operation.
      inputs: of the dtypes that it is for.
    """

    __slots__ = ("_always", "_arguments", "_first_times", "_function", "_is_view", "_of_integers", "_types", "op")

    def __init__(self, op: Operation, inputs: Sequence[Argument]):
        definition = op.definition
        assert definition.numpy is not None
        self.op = op
        self._function: Callable[..., Any] = definition.numpy
        self._arguments = op.arguments
        self._types = [t.dtype.np for t in op.outputs]
        self._of_integers = all(t.dtype.is_integer for t in op.outputs[:1])
        self._always = runs_in_numpy(op)
        self._is_view = definition.view
        self._first_times = FIRST_TIMES if definition.same_bits and all(map(_plain, inputs)) else 0
        """Number of further times that numpy computes it for inputs that are not small."""

    def take(self, inputs: Sequence[Argument]) -> list[HostArray] | None:
        """The inputs as numpy arrays, where numpy is to compute the outputs; else None."""
        arrays, large = [], False
        always = self._always
        view = self._is_view and _on_cpu()
        limit = LARGEST_IMAGE if self._first_times and _on_cpu() else SMALL
        for argument in inputs:
            array = argument.array
            if not (always or view) and array.size > limit:
                return None
            large = large or array.size > SMALL
            if not isinstance(array, np.ndarray):
                if not (always or _on_cpu()) and array.size > 1 and not self._of_integers:
                    return None
                array = np.asarray(array)
            arrays.append(array)
        self._first_times -= large and self._first_times > 0
        return arrays

    def compute(self, arrays: Sequence[HostArray]) -> list[Array]:
        """Compute the outputs by numpy.

        Raises:
          InvalidArgumentError: numpy raises for these values. ResourceExhaustedError: the result is too large.
        """
        try:
            result = self._function(*arrays, **self._arguments)
        except (TypeError, ValueError, IndexError, ZeroDivisionError) as error:
            raise InvalidArgumentError(None, self.op, f"{error} (operation {self.op.type})") from error
        except MemoryError as error:
            raise ResourceExhaustedError(None, self.op, f"{error} (operation {self.op.type})") from error
        values = [result] if len(self._types) == 1 and not isinstance(result, tuple | list) else result
        return [host_array(v, t) for v, t in zip(values, self._types, strict=True)]


def _plain(value: Argument) -> bool:
    """Whether the elements are integers, booleans, or floats of 32 or 64 bits."""
    kind = value.dtype.np
    return kind.kind in "biu" or (kind.kind == "f" and kind.itemsize > 2)


def _on_cpu() -> bool:
    return jax.default_backend() == "cpu"
