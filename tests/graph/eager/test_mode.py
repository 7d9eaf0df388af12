"""Eager or graph: chosen once, before the first operation; graphs inside of eager programs."""

import subprocess
import sys

import numpy as np
import pytest

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf
from towerstrat.graph.eager import mode
from towerstrat.graph.ir.graph import get_default_graph, global_graph


def run(program):
    """What a program prints in a process of its own."""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


START = "import towerstrat.compat.v1 as tf\nfrom towerstrat.graph.eager import mode\n"


def test_graphs_are_the_default():
    assert not mode.executing_eagerly()
    assert not mode.executing_eagerly_outside_functions()
    assert get_default_graph() is global_graph()


def test_the_mode_of_a_context():
    with mode.eager_mode():
        assert mode.executing_eagerly()
        with tf1.Graph().as_default() as graph:
            assert not mode.executing_eagerly()
            assert global_graph() is graph
        with mode.graph_mode():
            assert not mode.executing_eagerly()
        assert mode.executing_eagerly_outside_functions()
    assert not mode.executing_eagerly()


def test_sessions_and_placeholders_inside_of_a_graph():
    with mode.eager_mode():
        with pytest.raises(RuntimeError, match="not compatible with eager execution"):
            tf1.placeholder(tf1.float32)
        with pytest.raises(RuntimeError, match="graph is empty"):
            tf1.Session().run(tf1.constant(1.0))
        with tf1.Graph().as_default():
            fed = tf1.placeholder(tf1.float32)
            variable = tf1.Variable(3.0)
            with tf1.Session() as session:
                session.run(tf1.global_variables_initializer())
                assert session.run(fed * variable, {fed: 2.0}) == 6.0


def test_init_scope_leaves_functions_and_graphs_of_functions():

    with mode.eager_mode():
        seen = []

        @tf.function
        def work(x):
            with tf.init_scope():
                seen.append(tf.constant(2.0) * 3.0)
                assert tf.executing_eagerly()
            assert not tf.executing_eagerly()
            return x + seen[0]

        assert float(work(tf.constant(1.0))) == 7.0
        assert seen[0].numpy() == 6.0


def test_name_scopes_count_eagerly_too():
    with mode.eager_mode(), tf1.name_scope("outer"), tf1.name_scope("inner") as scope:
        assert scope == "outer/inner/"
    with mode.eager_mode(), tf1.name_scope("outer") as scope:
        assert scope == "outer/"


def test_switching_too_late():
    late = run(START + "tf.constant(1)\nmode.enable_eager_execution()")
    assert late.returncode == 1
    assert "must be called at program startup: operations were made already, the first one at <string>:3" in late.stderr
    late = run(START + "mode.enable_eager_execution()\ntf.constant(1)\nmode.disable_eager_execution()")
    assert late.returncode == 1
    assert "must be called at program startup: operations were made already" in late.stderr


def test_switching_in_time():
    done = run(
        START + "mode.enable_eager_execution(); mode.enable_eager_execution()\n"
        "print(tf.constant(1) + 1, tf.executing_eagerly())"
    )
    assert done.stdout == "tf.Tensor(2, shape=(), dtype=int32) True\n", done.stderr
    done = run(START + "mode.enable_eager_execution(); mode.disable_eager_execution()\nprint(tf.constant(1))")
    assert done.stdout == 'Tensor("Const:0", shape=(), dtype=int32)\n', done.stderr


def test_threads_run_eagerly_too():
    done = run(
        START + "import threading\nmode.enable_eager_execution()\n"
        "found = []\n"
        "threads = [threading.Thread(target=lambda: found.append((tf.constant(1) + 1).numpy())) for _ in range(2)]\n"
        "[t.start() for t in threads]\n[t.join() for t in threads]\nprint(*found)"
    )
    assert done.stdout.split() == ["2", "2"], done.stderr


def test_state_of_graphs_and_of_the_eager_context_are_apart():
    with mode.eager_mode():
        variable = tf1.Variable(1.0)
        with tf1.Graph().as_default():
            other = tf1.Variable(2.0)
            with tf1.Session() as session:
                session.run(other.initializer)
                with pytest.raises(RuntimeError, match="EagerTensor|eager"):
                    session.run(variable + other)
        np.testing.assert_array_equal(variable.numpy(), 1.0)
