"""``tf.test``: a TestCase with a fresh graph per test, a cached session and comparisons of arrays."""

# ruff: noqa: PT009, PT028 (it is unittest)

from __future__ import annotations

import random
import re
import sys
import tempfile
import unittest
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from towerstrat.compat.v1_functions.benchmark import pattern_of, run_benchmarks
from towerstrat.errors import OpError
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.context_stacks import get_default_session
from towerstrat.graph.ir.graph import entered_graphs, get_default_graph, reset_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.types import as_dtype
from towerstrat.graph.ops.random.stateful import set_random_seed
from towerstrat.graph.runtime.sessions.session import BaseSession, Session

_SEED = 87654321


def get_temp_dir() -> str:
    """A folder for the files of tests."""
    return tempfile.gettempdir()


def main(argv: list[str] | None = None) -> None:
    """Runs the tests of the main module, or the benchmarks that ``--benchmarks=PATTERN`` asks for."""
    arguments = argv or sys.argv
    pattern = pattern_of(arguments)
    if pattern is None:
        unittest.main(argv=arguments)
    else:
        run_benchmarks(pattern)


class _NoTest:
    """A method that no test loader takes for a test, though its name says so."""

    def __init__(self, method: Any):
        self._method = method

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else self._method.__get__(instance, owner)


class TestCase(unittest.TestCase):
    """A test with its own default graph, the same seeds each time, and assertions on arrays."""

    __test__ = False
    _cached: Session | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__test__ = True

    def setUp(self) -> None:
        super().setUp()
        self._cached = None
        self._temp_dir: tempfile.TemporaryDirectory[str] | None = None
        random.seed(_SEED)
        np.random.seed(_SEED)
        if all(graph.executing_eagerly for graph in entered_graphs()):
            reset_default_graph()
        set_random_seed(_SEED)

    def tearDown(self) -> None:
        if self._cached is not None:
            self._cached.close()
        if self._temp_dir is not None:
            self._temp_dir.cleanup()
        super().tearDown()

    def get_temp_dir(self) -> str:
        """A folder of this test's own, removed after it."""
        if self._temp_dir is None:
            self._temp_dir = tempfile.TemporaryDirectory()
        return self._temp_dir.name

    @contextmanager
    def session(self, graph: Any = None, config: Any = None, use_gpu: bool = False,
                force_gpu: bool = False) -> Iterator[Session | None]:  # fmt: skip
        """A new session as the default one, None with eager execution. ``use_gpu`` and ``force_gpu`` change nothing."""
        if get_default_graph().executing_eagerly:
            yield None
            return
        with Session(graph=graph, config=config) as session:
            yield session

    @contextmanager
    def cached_session(self, graph: Any = None, config: Any = None, use_gpu: bool = False,
                       force_gpu: bool = False) -> Iterator[Session | None]:  # fmt: skip
        """The session of this test as the default one, always the same; None with eager execution."""
        if get_default_graph().executing_eagerly:
            yield None
            return
        if self._cached is None:
            self._cached = Session(graph=graph, config=config)
        with self._cached.graph.as_default(), self._cached.as_default():
            yield self._cached

    @_NoTest
    @contextmanager
    def test_session(self, graph: Any = None, config: Any = None, use_gpu: bool = False,
                     force_gpu: bool = False) -> Iterator[Session | None]:  # fmt: skip
        """``cached_session``, or a new session when a graph is given."""
        chosen = self.cached_session if graph is None else self.session
        with chosen(graph, config, use_gpu, force_gpu) as session:
            yield session

    def evaluate(self, tensors: Any) -> Any:
        """The values of a structure of tensors, in a graph by the default or the cached session."""
        if get_default_graph().executing_eagerly:
            return nest.map_structure(lambda v: v.numpy() if hasattr(v, "numpy") else v, tensors)
        session = get_default_session()
        if not isinstance(session, BaseSession):
            session = self._cached = self._cached or Session()
        return session.run(tensors)

    # ---- assertions ------------------------------------------------------------------------------------------

    def _array(self, value: Any) -> np.ndarray[Any, Any]:
        return np.asarray(self.evaluate(value) if isinstance(value, Tensor) else value)

    def assertAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None) -> None:
        """Structures of arrays are equal within ``atol + rtol * |b|``."""
        if isinstance(a, Mapping) or isinstance(b, Mapping):
            self.assertEqual(set(a), set(b), msg)
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, f"{msg or ''} at key {key!r}")
            return
        if any(isinstance(v, list | tuple) and any(nest.is_sequence(p) or np.ndim(p) for p in v) for v in (a, b)):
            self.assertEqual(len(a), len(b), msg)
            for i, (one, two) in enumerate(zip(a, b, strict=True)):
                self.assertAllClose(one, two, rtol, atol, f"{msg or ''} at position {i}")
            return
        np.testing.assert_allclose(self._array(a), self._array(b), rtol=rtol, atol=atol, err_msg=msg or "")

    def assertNotAllClose(self, a: Any, b: Any, **kwargs: Any) -> None:
        try:
            self.assertAllClose(a, b, **kwargs)
        except AssertionError:
            return
        raise AssertionError(f"The values are close: {a!r} and {b!r}.")

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        np.testing.assert_array_equal(self._array(a), self._array(b), err_msg=msg or "")

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        self.assertGreater(self._array(a).min(), comparison_target)

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        self.assertGreaterEqual(self._array(a).min(), comparison_target)

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        self.assertLess(self._array(a).max(), comparison_target)

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        self.assertLessEqual(self._array(a).max(), comparison_target)

    def assertAllInRange(self, target: Any, lower_bound: Any, upper_bound: Any, open_lower_bound: bool = False,
                         open_upper_bound: bool = False) -> None:  # fmt: skip
        values = self._array(target)
        self.assertTrue(np.all(values > lower_bound if open_lower_bound else values >= lower_bound), values)
        self.assertTrue(np.all(values < upper_bound if open_upper_bound else values <= upper_bound), values)

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:
        self.assertEqual(set(self._array(target).ravel().tolist()) - set(expected_set), set())

    def assertAllCloseAccordingToType(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, float_rtol: float = 1e-6,
        float_atol: float = 1e-6, half_rtol: float = 1e-3, half_atol: float = 1e-3, bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2, msg: str | None = None,
    ) -> None:  # fmt: skip
        """``assertAllClose`` with the largest tolerance among those of the two types."""
        limits = {"float32": (float_rtol, float_atol), "float16": (half_rtol, half_atol),
                  "bfloat16": (bfloat16_rtol, bfloat16_atol)}  # fmt: skip
        for array in (self._array(a), self._array(b)):
            relative, absolute = limits.get(array.dtype.name, (rtol, atol))
            rtol, atol = max(rtol, relative), max(atol, absolute)
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        self.assertEqual(self._array(target).dtype, as_dtype(expected_dtype).as_numpy_dtype)

    def assertNDArrayNear(self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None) -> None:
        self.assertLess(np.linalg.norm(np.asarray(ndarray1) - np.asarray(ndarray2)), err, msg)

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        self.assertLessEqual(abs(f1 - f2), err, msg)

    def assertArrayNear(self, farray1: Any, farray2: Any, err: float, msg: str | None = None) -> None:
        self.assertEqual(len(farray1), len(farray2), msg)
        for one, two in zip(farray1, farray2, strict=True):
            self.assertNear(float(one), float(two), err, msg)

    def assertShapeEqual(self, np_array: Any, tf_tensor: Any, msg: str | None = None) -> None:
        self.assertEqual(list(np.shape(np_array)), tf_tensor.get_shape().as_list(), msg)

    def assertStartsWith(self, actual: str, expected_start: str, msg: str | None = None) -> None:
        if not actual.startswith(expected_start):
            self.fail(self._formatMessage(msg, f"{actual!r} does not start with {expected_start!r}"))

    def assertItemsEqual(self, first: Any, second: Any, msg: str | None = None) -> None:
        self.assertCountEqual(first, second, msg)

    @contextmanager
    def assertRaisesWithPredicateMatch(
        self, exception_type: type[BaseException], expected_err_re_or_predicate: str | Callable[[Any], bool]
    ) -> Iterator[None]:
        """The block raises, and the message matches the expression or the predicate is true of the error."""
        try:
            yield
        except exception_type as error:
            if callable(expected_err_re_or_predicate):
                fits = expected_err_re_or_predicate(error)
            else:
                fits = re.search(expected_err_re_or_predicate, str(error)) is not None
            if not fits:
                raise AssertionError(
                    f"Expected an error like {expected_err_re_or_predicate!r}, got: {error}"
                ) from error
        else:
            self.fail(f"{exception_type.__name__} was not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        return self.assertRaisesWithPredicateMatch(OpError, expected_err_re_or_predicate)
