"""Assertions of ``tf.test.TestCase`` about tensors, arrays, messages and devices, beside those of absl's class."""

# ruff: noqa: PT009 (it is unittest)

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from absl.testing import absltest
from google.protobuf import text_format

from towerstrat.errors import InvalidArgumentError, OpError
from towerstrat.graph.eager.tensor import EagerTensor
from towerstrat.graph.ir.device_spec import DeviceSpec
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.types import as_dtype
from towerstrat.graph.ops.ragged.ragged_tensor import RaggedTensor
from towerstrat.graph.ops.ragged.value import RaggedTensorValue
from towerstrat.platform import messages

_SHOWN = 10
"""The most entries that a message lists."""


class ArrayAssertions(absltest.TestCase):
    """Assertions about values; tensors are evaluated."""

    __test__ = False

    def evaluate(self, tensors: Any) -> Any:
        raise NotImplementedError

    def _GetNdArray(self, a: Any) -> np.ndarray[Any, Any]:
        """A tensor, or what numpy takes, as an array."""
        return np.asarray(self.evaluate(a) if isinstance(a, Tensor) else a)

    def evaluate_if_both_tensors(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Two tensors of a graph as they are in one run; other pairs as they are."""
        if any(not isinstance(v, Tensor) or isinstance(v, EagerTensor) for v in (a, b)):
            return a, b
        one, two = self.evaluate([a, b])
        return one, two

    def _both(self, a: Any, b: Any, msg: str | None) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Both as arrays, which must have one shape."""
        a, b = (self._GetNdArray(v) for v in self.evaluate_if_both_tensors(a, b))
        contents = f" with contents {b}" if b.size < 500 else ""
        self.assertEqual(a.shape, b.shape, f"Shape mismatch: expected {a.shape}, got {b.shape}{contents}. {msg or ''}")
        return a, b

    # ---- near and equal ----------------------------------------------------------------------------------------

    def assertAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None) -> None:
        """Structures of arrays are equal within ``atol + rtol * |b|``; NaN is equal to itself.

        Raises:
          AssertionError: values or shapes differ.
          ValueError: one of them has a dict where the other has none, or lists have different lengths.
        """
        self._assert_close(a, b, rtol, atol, "", msg or "")

    def _assert_close(self, a: Any, b: Any, rtol: float, atol: float, place: str, msg: str) -> None:
        a, b = (v._asdict() if hasattr(v, "_asdict") else v for v in (a, b))
        if isinstance(a, Mapping) != isinstance(b, Mapping):
            raise ValueError(f"Can't compare dict to non-dict, a{place} vs b{place}. {msg}")
        if isinstance(a, Mapping):
            self.assertCountEqual(a, b, f"mismatched keys: a{place} has {list(a)}, but b{place} has {list(b)}. {msg}")
            for key in a:
                self._assert_close(a[key], b[key], rtol, atol, f"{place}[{key!r}]", msg)
        elif _is_ragged(a) or _is_ragged(b):
            self._assert_close(self._GetPyList(a), self._GetPyList(b), rtol, atol, place, msg)
        elif isinstance(a, list | tuple) and not (_is_regular(a) and _is_regular(b)):
            if len(a) != len(b):
                raise ValueError(f"Mismatched length: a{place} has {len(a)} items, but b{place} has {len(b)}. {msg}")
            for i, (one, two) in enumerate(zip(a, b, strict=True)):
                self._assert_close(one, two, rtol, atol, f"{place}[{i}]", msg)
        else:
            said = f"Mismatched value: a{place} is different from b{place}. {msg}"
            one, two = self._both(a, b, said)
            np.testing.assert_allclose(one, two, rtol=rtol, atol=atol, err_msg=said)

    def assertNotAllClose(self, a: Any, b: Any, **kwargs: Any) -> None:
        try:
            self.assertAllClose(a, b, **kwargs)
        except AssertionError:
            return
        raise AssertionError(f"The values are close at all elements: {a!r} and {b!r}.")

    def assertAllCloseAccordingToType(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, float_rtol: float = 1e-6,
        float_atol: float = 1e-6, half_rtol: float = 1e-3, half_atol: float = 1e-3, bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2, msg: str | None = None,
    ) -> None:  # fmt: skip
        """``assertAllClose`` with the largest tolerance among those of the two types."""
        single = (float_rtol, float_atol)
        limits = {"float32": single, "complex64": single, "float16": (half_rtol, half_atol),
                  "bfloat16": (bfloat16_rtol, bfloat16_atol)}  # fmt: skip
        a, b = (self._GetNdArray(v) for v in self.evaluate_if_both_tensors(a, b))
        for array in (a, b):
            relative, absolute = limits.get(array.dtype.name, (rtol, atol))
            rtol, atol = max(rtol, relative), max(atol, absolute)
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Shapes and values are equal; NaN is equal to itself."""
        if _is_ragged(a) or _is_ragged(b):
            self.assertEqual(self._GetPyList(a), self._GetPyList(b), msg)
        else:
            np.testing.assert_array_equal(*self._both(a, b, msg), err_msg=msg or "")

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        raise AssertionError(f"The two values are equal at all elements. {msg or ''}")

    def _GetPyList(self, a: Any) -> Any:
        """A ragged value, a tensor or an array as nested lists."""
        if isinstance(a, RaggedTensor):
            a = self.evaluate(a)
        if isinstance(a, RaggedTensorValue):
            return a.to_list()
        return a if isinstance(a, list) else self._GetNdArray(a).tolist()

    def assertDictEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Dicts have equal values; of arrays and tensors those of floating types may be off by rounding."""
        try:
            super().assertDictEqual(a, b, msg)
        except Exception:
            self.assertCountEqual(a, b)
            for key, value in a.items():
                floating = np.issubdtype(self._GetNdArray(value).dtype, np.floating)
                (self.assertAllClose if floating else self.assertAllEqual)(value, b[key], msg=str(key))

    def assertNDArrayNear(self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None) -> None:
        self.assertLess(np.linalg.norm(np.asarray(ndarray1) - np.asarray(ndarray2)), err, msg)

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        self.assertTrue(f1 == f2 or abs(f1 - f2) <= err, f"{f1!r} != {f2!r} +/- {err!r} {msg or ''}")

    def assertArrayNear(self, farray1: Any, farray2: Any, err: float, msg: str | None = None) -> None:
        self.assertEqual(len(farray1), len(farray2), msg)
        for one, two in zip(farray1, farray2, strict=True):
            self.assertNear(float(one), float(two), err, msg)

    # ---- all entries -------------------------------------------------------------------------------------------

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        self.assertGreater(self._GetNdArray(a).min(), self._target(comparison_target))

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        self.assertGreaterEqual(self._GetNdArray(a).min(), self._target(comparison_target))

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        self.assertLess(self._GetNdArray(a).max(), self._target(comparison_target))

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        self.assertLessEqual(self._GetNdArray(a).max(), self._target(comparison_target))

    def _target(self, value: Any) -> Any:
        return self.evaluate(value) if isinstance(value, Tensor) else value

    def assertAllInRange(self, target: Any, lower_bound: Any, upper_bound: Any, open_lower_bound: bool = False,
                         open_upper_bound: bool = False) -> None:  # fmt: skip
        """All entries lie between two numbers.

        Raises:
          AssertionError: some do not, or are NaN, or the type is neither floating nor of integers.
        """
        values = self._GetNdArray(target)
        if not (np.issubdtype(values.dtype, np.floating) or np.issubdtype(values.dtype, np.integer)):
            raise AssertionError(f"The value of {target} does not have an ordered numeric type, but {values.dtype}.")
        self._assert_none(values, np.isnan(values), "NaN")
        below = values <= lower_bound if open_lower_bound else values < lower_bound
        above = values >= upper_bound if open_upper_bound else values > upper_bound
        shown = f"{'(' if open_lower_bound else '['}{lower_bound}, {upper_bound}{')' if open_upper_bound else ']'}"
        self._assert_none(values, below | above, f"outside the range {shown}")

    def _assert_none(self, values: np.ndarray[Any, Any], wrong: np.ndarray[Any, Any], what: str) -> None:
        places = np.argwhere(wrong)
        if len(places):
            listed = [f"  {place} : {values[tuple(place)]}" for place in places[:_SHOWN]]
            listed += ["  ..."] if len(places) > _SHOWN else []
            raise AssertionError("\n".join([f"{len(places)} of the {values.size} element(s) are {what}:", *listed]))

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:
        self.assertEqual(set(self._GetNdArray(target).ravel().tolist()) - set(expected_set), set())

    # ---- types, shapes, devices, messages ----------------------------------------------------------------------

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        for each in target if isinstance(target, list) else [target]:
            self.assertEqual(self._GetNdArray(each).dtype, as_dtype(expected_dtype).as_numpy_dtype)

    def assertShapeEqual(self, np_array: Any, tf_tensor: Any, msg: str | None = None) -> None:
        """Two of arrays and tensors have the same (static) shape. Raises TypeError for anything else."""
        shapes = []
        for value in (np_array, tf_tensor):
            if not isinstance(value, np.ndarray | np.generic | Tensor):
                raise TypeError(f"Expected a NumPy array, scalar or a Tensor, got {type(value).__name__}.")
            shapes.append(value.get_shape().as_list() if isinstance(value, Tensor) else list(value.shape))
        self.assertEqual(shapes[0], shapes[1], msg)

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: str | None = None) -> None:
        """Names of devices, or ``DeviceSpec`` objects, mean the same device."""
        one, two = (_canonical(device) for device in (device1, device2))
        self.assertEqual(one, two, f"Devices {one} and {two} are not equal. {msg or ''}")

    def assertProtoEquals(self, expected_message_maybe_ascii: Any, message: Any, msg: str | None = None) -> None:
        """A message is like another, or like one as text; floating numbers to seven digits after the point."""
        expected = expected_message_maybe_ascii
        if isinstance(expected, str):
            expected = text_format.Merge(expected, type(message)())
        elif not isinstance(expected, type(message)):
            self.fail(f"Can't compare protos of type {type(expected)} and {type(message)}. {msg or ''}")
        if expected != message:
            self.assertMultiLineEqual(_text(expected), _text(message), msg)

    def assertProtoEqualsVersion(
        self, expected: str, actual: Any, producer: int = 27, min_consumer: int = 0, msg: str | None = None
    ) -> None:  # fmt: skip
        """``assertProtoEquals`` of a graph's text without its versions."""
        version = messages.VersionDef(producer=producer, min_consumer=min_consumer)
        self.assertProtoEquals(f"versions {{ {version} }}\n{expected}", actual, msg)

    # ---- errors ------------------------------------------------------------------------------------------------

    @contextmanager
    def assertRaisesWithPredicateMatch(  # type: ignore[override]
        self, exception_type: type[BaseException], expected_err_re_or_predicate: str | Callable[[Any], Any]
    ) -> Iterator[None]:
        """The block raises, and the message matches the expression or the predicate is true of the error."""
        try:
            yield
        except Exception as error:
            wanted = expected_err_re_or_predicate
            if isinstance(error, exception_type):
                op = getattr(error, "op", None)
                said = f"{error}\nCaused by: {op.name}" if op is not None else str(error)
                if wanted(error) if callable(wanted) else re.search(wanted, said):
                    return
            raise AssertionError(
                f"Expected {exception_type.__name__} like {wanted!r}, got {type(error).__name__}: {error}"
            ) from error
        self.fail(f"{exception_type.__name__} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        return self.assertRaisesWithPredicateMatch(OpError, expected_err_re_or_predicate)

    def assertRaisesIncompatibleShapesError(self, exception_type: type[BaseException] = InvalidArgumentError) -> Any:
        return self.assertRaisesWithPredicateMatch(
            exception_type, r"Incompatible shapes|Dimensions must be equal|required broadcastable shapes"
        )

    assertRaisesRegexp = absltest.TestCase.assertRaisesRegex
    assertItemsEqual = absltest.TestCase.assertCountEqual


def _is_ragged(value: Any) -> bool:
    return isinstance(value, RaggedTensor | RaggedTensorValue)


def _is_regular(value: Any) -> bool:
    """Whether a list is an array of numbers, strings or tensors' values, and no structure."""
    if isinstance(value, Mapping) or _is_ragged(value) or hasattr(value, "_asdict"):
        return False
    if not isinstance(value, list | tuple):
        return True
    if not all(map(_is_regular, value)) or any(isinstance(v, Tensor) and not isinstance(v, EagerTensor) for v in value):
        return False
    try:
        return bool(np.asarray(value).dtype != object)
    except ValueError:
        return False


def _canonical(device: Any) -> str:
    if not device:
        return ""
    return (DeviceSpec.from_string(device) if isinstance(device, str) else device).to_string()


def _text(message: Any) -> str:
    """A message as text with rounded numbers, so that those of single and double precision are alike."""
    shown = text_format.MessageToString(message)
    return re.sub(r"(?<=: )-?\d[\d.]*(?:e[-+]?\d+)?$", lambda found: repr(round(float(found[0]), 7)), shown, flags=re.M)
