"""What a run would need to go on as if it had not stopped: cells with names, and positions of iterators."""

import numpy as np

import towerstrat.compat.v1 as tf
from towerstrat.graph.eager.context import context
from towerstrat.graph.eager.mode import eager_mode


def program(edited=False):
    """Draws in a loop, in a branch and at the top, a check, and an input; ``edited`` adds what is unrelated."""
    graph = tf.Graph()
    with graph.as_default():
        tf.set_random_seed(3)
        if edited:
            tf.identity(tf.constant(1.0) * 2.0, name="added_later")
            tf.check_numerics(tf.constant(1.0), "added later")
        v = tf.get_variable("v", initializer=0.0)
        numbers = tf.data.Dataset.range(100).make_one_shot_iterator().get_next()
        _, in_loop = tf.while_loop(
            lambda i, s: i < 3, lambda i, s: (i + 1, s + tf.random_normal([], name="looped")), [0, 0.0]
        )
        in_branch = tf.cond(v >= 0.0, lambda: tf.random_uniform([]), lambda: tf.constant(0.0))
        total = in_loop + in_branch + tf.random_normal([]) + tf.cast(numbers, tf.float32)
        step = v.assign_add(tf.check_numerics(total, "total"))
    return graph, v, step


def save(session):
    state = session.state
    return {name: np.array(state.get(cell)) for name, cell in state.by_name().items()}


def test_a_run_goes_on_from_the_cells_of_another_whatever_else_the_program_has():
    graph, v, step = program()
    with tf.Session(graph=graph) as session:
        session.run(v.initializer)
        for _ in range(4):
            session.run(step)
        saved = save(session)
        wanted = [session.run(step) for _ in range(3)]
    graph, v, step = program(edited=True)
    with tf.Session(graph=graph) as session:
        cells = graph.cells()
        assert set(saved) <= set(cells)
        session.state.update({cells[name]: value for name, value in saved.items()})
        session.run([op for op in graph.get_operations() if op.type == "IteratorGetNext"])  # makes the position
        (position,) = session.positions.values()
        for _ in range(3):
            position.next()
        np.testing.assert_array_equal([session.run(step) for _ in range(3)], wanted)


def test_counters_of_bodies_are_named_after_their_operations():
    graph, _v, _step = program()
    counters = {name for name in graph.cells() if name.endswith("/counter")}
    assert len(counters) == 3
    assert any("looped" in name for name in counters)
    assert counters == {n for n in program(edited=True)[0].cells() if n.endswith("/counter")}


def test_iterators_are_found_by_name():
    with tf.Graph().as_default():
        one = tf.data.Dataset.range(5).make_initializable_iterator()
        two = tf.data.Dataset.range(5).make_initializable_iterator(shared_name="mine")
        elements = [one.get_next(), two.get_next()]
        with tf.Session() as session:
            session.run([one.initializer, two.initializer])
            session.run(elements)
            assert set(session.positions) == {"iterator", "shared iterator mine"}
            session.positions["iterator"].next()
            assert session.run(elements) == [2, 1]


def test_draws_of_functions_have_the_name_of_the_function():
    with tf.Graph().as_default() as graph:

        @tf.function
        def noisy():
            return tf.random_normal([2])

        noisy()
        assert [n for n in graph.cells() if n.endswith("counter")] == ["random_normal/counter"]
    with eager_mode():
        noisy()
        names = [n for n in context().session.state.by_name() if n.startswith("noisy/")]
        assert names == ["noisy/random_normal/counter"]


def test_eager_draws_are_counts_of_the_state():
    state = context().session.state
    with eager_mode():
        context().seed = 7
        first = tf.random_normal([3]).numpy()
        tf.random_normal([3], seed=5)
        found = {n: int(state.get(c)) for n, c in state.by_name().items() if n.startswith("eager draws")}
        assert found == {"eager draws": 1, "eager draws/RandomStandardNormal/7/5": 1}
        second = tf.random_normal([3]).numpy()
        context().seed = 7
        np.testing.assert_array_equal(tf.random_normal([3]).numpy(), first)
        state.update({state.by_name()["eager draws"]: np.uint32(1)})
        np.testing.assert_array_equal(tf.random_normal([3]).numpy(), second)
        context().seed = None
