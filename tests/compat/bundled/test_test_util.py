"""Decorators of the original's tests run tests in graphs, with eager execution, or both."""

# ruff: noqa: PT009, PT027 (it is unittest)

import unittest

import pytest

import towerstrat.compat.v1 as tf
from towerstrat.compat import importer
from towerstrat.compat.bundled import test_util as util


def outcome(case):
    """The result of the tests of a case."""
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    assert not result.errors, result.errors
    assert not result.failures, result.failures
    return result


def test_both_modes():
    seen = []

    class Case(tf.test.TestCase):
        def setUp(self):
            super().setUp()
            seen.append("setUp")

        @util.run_in_graph_and_eager_modes
        def test_one(self):
            seen.append(tf.executing_eagerly())
            v = tf.contrib.eager.Variable(2.0, name="v")
            self.evaluate(tf.global_variables_initializer())
            self.assertEqual(self.evaluate({"v": v * 2.0}), {"v": 4.0})
            self.assertAllClose(self.evaluate([v, tf.constant([1.0, 2.0])])[1], [1.0, 2.0])

        @util.run_in_graph_and_eager_modes(reset_test=False)
        def test_two(self):
            if not tf.executing_eagerly():
                self.skipTest("in graphs")
            with self.cached_session() as one, self.session() as two, self.test_session() as three:
                self.assertIs(one, None)
                self.assertIs(two, three)
            seen.append("eager")

    assert outcome(Case).wasSuccessful()
    assert seen == ["setUp", False, "setUp", True, "setUp", "eager"]
    with pytest.raises(ValueError, match="only supports test methods"):
        util.run_in_graph_and_eager_modes(Case)


def test_all_of_a_class():
    seen = []

    @util.run_all_in_graph_and_eager_modes
    class Case(tf.test.TestCase):
        def test_one(self):
            seen.append(tf.executing_eagerly())

        def test_skip_eager(self):
            seen.append("skip")

        def other(self):
            seen.append("other")

    assert outcome(Case).testsRun == 2
    assert seen == [False, True, "skip"]


def test_evaluate_takes_the_default_session():
    class Case(tf.test.TestCase):
        def test_one(self):
            v = tf.get_variable("v", initializer=1.0)
            with self.session() as session:
                session.run(v.initializer)
                self.assertEqual(self.evaluate(v), 1.0)
            with self.assertRaises(tf.errors.FailedPreconditionError):
                self.evaluate(v)

    outcome(Case)


MODES = """
import sys, unittest
import tensorflow.compat.v1 as tf
from tensorflow.python.framework import test_util

@test_util.deprecated_graph_mode_only
class Graphs(tf.test.TestCase):
    def setUp(self):
        super().setUp()
        self.constant = tf.constant(1.0)

    def test_one(self):
        self.assertFalse(tf.executing_eagerly())
        self.assertEqual(self.evaluate(self.constant), 1.0)
        self.assertEqual(len(tf.get_default_graph().get_operations()), 1)

    test_two = test_one

class Mixed(tf.test.TestCase):
    @test_util.run_deprecated_v1
    def test_graph(self):
        self.assertFalse(tf.executing_eagerly())
        self.assertEqual(tf.constant(1.0).name, "Const:0")

    @test_util.run_v1_only("sessions")
    def test_first(self):
        print("of 1.x", file=sys.stdout)

    @test_util.run_v2_only
    def test_second(self):
        print("of 2.x", file=sys.stdout)

@test_util.run_v1_only("sessions")
class First(tf.test.TestCase):
    def test_one(self):
        print("all of 1.x", file=sys.stdout)

tf.test.main()
"""


@pytest.mark.parametrize(("api", "said"), [("1", "all of 1.x\nof 1.x\n"), ("2", "of 2.x\n")])
def test_what_is_the_default_decides(program, api, said):
    code, output, error = program(MODES, options=["--api", api])
    assert (code, output) == (0, said), error


def test_conditions():
    calls = []
    for condition in (True, False, lambda: True, lambda: False):
        util.skip_if(condition)(lambda c=condition: calls.append(c))()
    assert len(calls) == 2

    @util.for_all_test_methods(util.run_gpu_only)
    class Case(tf.test.TestCase):
        def test_one(self):
            raise AssertionError

    assert len(outcome(Case).skipped) == 1


def test_devices_and_layouts():
    for placed in (util.use_gpu(), util.device(use_gpu=False), util.force_cpu()):
        with placed:
            assert tf.constant(1.0).device == "/device:CPU:0"
    with util.force_gpu():
        assert tf.constant(1.0).device == ""
    assert util.NHWCToNCHW([1, 2, 3, 4]) == [1, 4, 2, 3]
    assert util.NCHWToNHWC([1, 4, 2, 3, 5]) == [1, 2, 3, 5, 4]
    assert util.NHWCToNCHW(tf.zeros([1, 2, 3, 4])).shape == [1, 4, 2, 3]
    assert util.NCHWToNHWC(tf.zeros([1, 5, 2, 3, 4])).shape == [1, 2, 3, 4, 5]


def test_operations_in_a_graph():
    tf.constant(1.0, name="one")
    graph = tf.get_default_graph()
    assert util.assert_ops_in_graph({"one": "Const"}, graph)["one"].name == "one"
    for expected in ({"two": "Const"}, {"one": "Add"}):
        with pytest.raises(ValueError, match="Expected the operation"):
            util.assert_ops_in_graph(expected, graph)


def test_combinations_have_names():
    found = util.generate_combinations_with_testcase_name(b=[1, 2], a=True)
    assert found == [
        {"a": True, "b": 1, "testcase_name": "_test_a_True_b_1"},
        {"a": True, "b": 2, "testcase_name": "_test_a_True_b_2"},
    ]
    names = [c["testcase_name"] for c in util.generate_combinations_with_testcase_name(x=[1, 2], y=["p", "q"])]
    assert names == ["_test_x_1_y_p", "_test_x_1_y_q", "_test_x_2_y_p", "_test_x_2_y_q"]


def test_it_has_the_paths_of_the_original():
    with importer.names_installed():
        from tensorflow.python.framework import test_util
        from tensorflow.python.platform import googletest

        assert test_util.TensorFlowTestCase is googletest.TestCase is tf.test.TestCase
