"""``tf.test.TestCase`` runs the tests of old programs."""

# ruff: noqa: PT009 (it is unittest)

import unittest

import numpy as np
import pytest

from towerstrat.compat.bundled import test_util
from towerstrat.compat.v1_functions import test_case
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.tensor_conversion import constant, placeholder
from towerstrat.graph.ir.types import float32
from towerstrat.graph.ops.math.arithmetic import add, cast


def outcome(*functions):
    """Runs functions as the tests of one case; the result."""
    case = type("Case", (test_case.TestCase,), {f"test_{i}": f for i, f in enumerate(functions)})
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    assert not result.errors, result.errors
    return result


def test_each_test_has_a_fresh_graph_and_seed():
    found = []

    def body(self):
        found.append((len(get_default_graph().get_operations()), np.random.rand(), get_default_graph().seed))
        constant(1.0)

    assert outcome(body, body).wasSuccessful()
    assert found[0] == found[1]
    assert found[0][0] == 0


def test_sessions():
    def body(self):
        with self.cached_session() as one, self.test_session() as two, self.session() as three:
            self.assertIs(one, two)
            self.assertIsNot(one, three)
            self.assertEqual(3.0, add(constant(1.0), 2.0).eval())
        self.assertAllEqual(self.evaluate([constant([1, 2])])[0], [1, 2])

    assert outcome(body).wasSuccessful()


def test_assertions_hold():
    def body(self):
        self.assertAllClose([1.0, 2.0], [1.0, 2.0 + 1e-7])
        self.assertAllClose({"a": [np.ones(2), 3.0]}, {"a": [np.ones(2), 3.0]})
        self.assertAllClose(constant([1.0]), [1.0])
        self.assertNotAllClose([1.0], [1.1])
        self.assertAllEqual(constant([[1], [2]]), [[1], [2]])
        self.assertAllGreater([2, 3], 1)
        self.assertAllGreaterEqual([1, 3], 1)
        self.assertAllLess([2, 3], 4)
        self.assertAllLessEqual([2, 4], 4)
        self.assertAllInRange([1, 2], 1, 2)
        self.assertAllInSet([1, 2, 1], {1, 2, 3})
        self.assertAllCloseAccordingToType(np.float16([1.0]), np.float16([1.001]))
        self.assertDTypeEqual(np.float32([1.0]), float32)
        self.assertNDArrayNear(np.ones([2, 2]), np.ones([2, 2]) * 1.01, 0.1)
        self.assertNear(1.0, 1.1, 0.2)
        self.assertArrayNear([1.0], [1.1], 0.2)
        self.assertShapeEqual(np.ones([2, 3]), placeholder(float32, [2, 3]))
        self.assertStartsWith("abc", "ab")
        self.assertItemsEqual([1, 2], [2, 1])
        with self.assertRaisesWithPredicateMatch(TypeError, "dtype|type"):
            cast(constant(1), "nonsense")
        with self.assertRaisesWithPredicateMatch(ValueError, lambda e: "x" in str(e)):
            raise ValueError("x")

    assert outcome(body).wasSuccessful()


def test_assertions_fail():
    def failing(action):
        return lambda self: action(self)

    actions = [
        lambda s: s.assertAllClose([1.0], [1.1]),
        lambda s: s.assertAllClose({"a": 1.0}, {"b": 1.0}),
        lambda s: s.assertAllClose([np.ones(2), 1.0], [np.ones(2), 2.0]),
        lambda s: s.assertNotAllClose([1.0], [1.0]),
        lambda s: s.assertAllEqual([1], [2]),
        lambda s: s.assertAllGreater([1, 3], 1),
        lambda s: s.assertAllLess([1, 3], 3),
        lambda s: s.assertAllInRange([1, 2], 1, 2, open_upper_bound=True),
        lambda s: s.assertAllInSet([1, 4], {1, 2, 3}),
        lambda s: s.assertAllCloseAccordingToType(np.float32([1.0]), np.float32([1.001])),
        lambda s: s.assertDTypeEqual(np.float64([1.0]), float32),
        lambda s: s.assertNDArrayNear(np.ones([2, 2]), np.ones([2, 2]) * 1.01, 0.001),
        lambda s: s.assertNear(1.0, 1.1, 0.01),
        lambda s: s.assertStartsWith("abc", "b"),
        lambda s: s.assertShapeEqual(np.ones([2]), placeholder(float32, [2, 3])),
    ]
    assert len(outcome(*map(failing, actions)).failures) == len(actions)


def test_an_error_that_does_not_match_or_does_not_come():
    def other(self):
        with self.assertRaisesWithPredicateMatch(ValueError, "that"):
            raise ValueError("this")

    def none(self):
        with self.assertRaisesOpError("x"):
            pass

    assert len(outcome(other, none).failures) == 2


def test_run_in_graph_and_eager_modes_runs_a_test_twice():
    modes = []

    class Twice(test_case.TestCase):
        def setUp(self):
            super().setUp()
            modes.append("set up")

        @test_util.run_in_graph_and_eager_modes
        def test_sum(self):
            modes.append("eagerly" if get_default_graph().executing_eagerly else "graph")
            self.assertAllEqual([4, 6], self.evaluate(add([1, 2], [3, 4])))

        @test_util.run_in_graph_and_eager_modes(reset_test=False)
        def test_zero(self):
            self.assertEqual(self.evaluate(constant(0.0)), 0.0)

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Twice).run(result)
    assert result.wasSuccessful(), result.errors + result.failures
    assert modes == ["set up", "graph", "set up", "eagerly", "set up"]
    with pytest.raises(ValueError, match="test methods"):
        test_util.run_in_graph_and_eager_modes(Twice)
