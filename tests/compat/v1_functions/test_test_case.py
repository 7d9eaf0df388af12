"""``tf.test.TestCase`` runs the tests of old programs."""

# ruff: noqa: PT009 (it is unittest)

import collections
import os
import unittest

import numpy as np
import pytest

from towerstrat.compat.bundled import test_util
from towerstrat.compat.v1_functions import test_case
from towerstrat.graph.eager import mode
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.sparse_tensor import SparseTensor, SparseTensorValue
from towerstrat.graph.ir.tensor_conversion import constant, placeholder
from towerstrat.graph.ir.types import float32
from towerstrat.graph.ops.math.arithmetic import add, cast
from towerstrat.graph.ops.ragged import constructors as ragged
from towerstrat.graph.variables.variables import Variable
from towerstrat.platform import messages


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
        lambda s: s.assertAllClose([1.0, 1.0], 1.0),
        lambda s: s.assertAllEqual([1, 1], 1),
        lambda s: s.assertNotAllEqual([1, 1], [1, 1]),
        lambda s: s.assertAllInRange([float("nan")], 0, 1),
        lambda s: s.assertAllInRange(["a"], 0, 1),
        lambda s: s.assertDictEqual({"a": np.ones(2)}, {"a": np.zeros(2)}),
        lambda s: s.assertDeviceEqual("/cpu:0", "/gpu:0"),
        lambda s: s.assertProtoEquals("value { tag: 'a' }", messages.Summary()),
        lambda s: s.assertProtoEquals(messages.GraphDef(), messages.Summary()),
        lambda s: s.assertBetween(3, 1, 2),
    ]
    assert len(outcome(*map(failing, actions)).failures) == len(actions)


def test_assertions_of_structures_messages_and_devices():
    pair = collections.namedtuple("pair", "a b")

    def body(self):
        self.assertAllClose(pair([1.0], {"x": np.ones(2)}), pair([1.0], {"x": [1.0, 1.0 + 1e-8]}))
        self.assertAllClose([float("nan"), 1.0], [float("nan"), 1.0])
        self.assertAllEqual(ragged.constant([[1, 2], []]), [[1, 2], []])
        self.assertAllClose(ragged.constant([[1.0, 2.0], []]), [[1.0, 2.0 + 1e-8], []])
        self.assertNotAllEqual([1, 2], [1, 3])
        self.assertDictEqual({"a": np.float32([1.0]), "b": constant([1])}, {"a": [1.0 + 1e-8], "b": [1]})
        self.assertDeviceEqual("/job:worker/device:cpu:0", "/job:worker/cpu:0")
        self.assertProtoEquals(
            "value { tag: 'a' simple_value: 0.1 }",
            messages.Summary(value=[messages.Summary.Value(tag="a", simple_value=0.1)]),
        )
        self.assertProtoEquals(messages.GraphDef(), messages.GraphDef())
        self.assertProtoEqualsVersion("", messages.GraphDef(versions=messages.VersionDef(producer=27)))
        self.assertBetween(1, 0, 2)
        self.assertLen([1, 2], 2)
        with pytest.raises(ValueError, match=r"dict to non-dict, a\[0\] vs"):
            self.assertAllClose([{"a": 1}], [1])
        with pytest.raises(ValueError, match="Mismatched length"):
            self.assertAllClose([[1], [2, 3]], [[1]])

    assert outcome(body).wasSuccessful()


def test_a_test_may_have_a_set_up_of_its_own():
    class Case(test_case.TestCase):
        def setUp(self):
            self.folder = self.get_temp_dir()

        def test_folder(self):
            assert os.path.isdir(self.folder)
            assert self.get_temp_dir() == self.folder
            folders.append(self.folder)

    folders = []
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(result)
    assert result.wasSuccessful()
    assert not os.path.exists(folders[0])


def test_threads_that_fail_or_are_left_fail_the_test():
    def fine(self):
        found = []
        thread = self.checkedThread(target=lambda a, b: found.append((a, b)), args=(1,), kwargs={"b": 2})
        thread.start()
        thread.join()
        self.assertFalse(thread.is_alive())
        self.assertEqual(found, [(1, 2)])

    def raising(self):
        thread = self.checkedThread(target=lambda: 1 // 0)
        thread.start()
        thread.join()

    def left(self):
        self.checkedThread(target=lambda: None).start()

    result = outcome(fine, raising, left)
    said = sorted(text.splitlines()[-1] for _, text in result.failures)
    assert said == [
        "AssertionError: A checked thread was not joined.",
        "AssertionError: Error in checkedThread: integer division or modulo by zero",
    ]


def test_writes_to_a_stream_are_captured(tmp_path):
    with open(tmp_path / "stream", "w") as stream:

        def body(self):
            with self.captureWritesToStream(stream) as written:
                stream.write("inside")
                os.write(stream.fileno(), b"")
            self.assertEqual(written.contents(), "inside")
            stream.write("after")

        assert outcome(body).wasSuccessful()
    assert (tmp_path / "stream").read_text() == "after"


def test_evaluates_what_eager_programs_have():
    def body(self):
        variable = Variable(2.0)
        self.assertEqual(self.evaluate(lambda: variable + 1.0), 3.0)
        self.assertEqual(self.evaluate({"v": variable, "n": [None, constant(1)]}), {"v": 2.0, "n": [None, 1]})
        sparse = self.evaluate(SparseTensor([[0]], [5], [2]))
        self.assertIsInstance(sparse, SparseTensorValue)
        self.assertAllEqual(sparse.values, [5])
        self.assertAllEqual(self.evaluate(ragged.constant([[1], []])), [[1], []])

    with mode.eager_mode():
        assert outcome(body).wasSuccessful()


def test_the_cached_session_is_of_one_graph():
    def body(self):
        with self.cached_session():
            pass
        with pytest.raises(ValueError, match="self.session"), self.cached_session(graph=Graph()):
            pass

    assert outcome(body).wasSuccessful()


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
