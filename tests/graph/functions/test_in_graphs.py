"""Functions called while a graph is built: what they reach of it, and variables that they make."""

import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from towerstrat.graph.eager import mode

defun = tf.contrib.eager.defun


def initialized(fetches):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetches)


def test_collections_of_defun_are_the_graphs():
    """1.12's function adds to the collections of the graph around it, nested ones too."""

    @defun
    def inner():
        tf.add_to_collection("x", 2)
        return tf.constant(2)

    @defun
    def function():
        tf.add_to_collection("x", 1)
        seen.append(tf.get_collection("y"))
        return inner() + 1

    seen = []
    tf.add_to_collection("y", "before")
    function()
    assert tf.get_collection("x") == [1, 2]
    assert seen == [["before"]]


def test_collections_of_a_function_are_copies_but_for_those_of_variables():
    """As in 2.x: what a function adds stays inside, unless it is a variable."""
    v = tf.Variable(1.0)

    @tf2.function
    def function():
        tf.add_to_collection("x", 1)
        seen.append((tf.get_collection("y"), tf.get_collection("x"), tf.global_variables()))
        tf.get_variable("w", initializer=2.0)
        return tf.constant(2)

    seen = []
    tf.add_to_collection("y", "before")
    function()
    assert seen[0][:2] == (["before"], [1])
    assert seen[0][2] == [v]
    assert tf.get_collection("x") == []
    assert [x.name for x in tf.global_variables()] == ["Variable:0", "w:0"]


@pytest.mark.parametrize("decorate", [defun, tf2.function], ids=["defun", "function"])
@pytest.mark.parametrize(
    "initial",
    [lambda: 3.0, lambda: lambda: tf.constant(3.0), lambda: tf.constant(1.0) + 2.0, lambda: outside * 3.0],
    ids=["number", "callable", "tensor", "captured"],
)
def test_a_variable_made_in_a_function_belongs_to_the_graph(decorate, initial):
    global outside
    outside = tf.constant(1.0)
    made = []

    def function():
        with tf.name_scope("inside"):
            if not made:
                made.append(tf.Variable(initial(), name="v"))
        return made[0].assign_add(1.0) * 2.0

    with tf.variable_scope("around"):
        traced = decorate(function)
        first, second = traced(), traced()
    assert [v.name for v in tf.global_variables()] == ["inside/v:0"]
    assert tf.trainable_variables() == made
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(first) == 8.0
        assert sess.run(second) == 10.0
        assert sess.run(made[0]) == 5.0
        assert sess.run(made[0].initial_value) == 3.0


def test_a_variable_may_not_start_from_an_argument():
    @defun
    def function(x):
        return tf.Variable(x * 2.0).read_value()

    with pytest.raises(ValueError, match="depends on the argument x"):
        function(tf.constant(1.0))


def test_get_variable_in_a_function_is_found_again_outside():
    @defun
    def function():
        return tf.get_variable("shared", [2], initializer=tf.ones_initializer()) + 1.0

    with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
        result = function()
    with tf.variable_scope("s", reuse=True):
        again = tf.get_variable("shared", [2])
    assert tf.global_variables() == [again]
    assert initialized(result).tolist() == [2.0, 2.0]


def test_what_runs_under_a_control_dependency_on_a_fed_tensor():
    """Nothing waits for a fed placeholder; another operation runs although its output is fed."""
    fed = tf.placeholder(tf.bool)
    v = tf.Variable(1.0)
    value = v + 1.0
    with tf.control_dependencies([fed]):
        loop = tf.while_loop(lambda x: x < 10, lambda x: x + 1, [0])
    with tf.control_dependencies([value]):
        after = tf.constant(1) + 0
    with tf.Session() as sess:
        assert sess.run(loop, {fed: True}) == 10
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value Variable"):
            sess.run(after, {value: 5.0})
        sess.run(v.initializer)
        assert sess.run(after, {value: 5.0}) == 1


def test_reduced_retracing_takes_iterators_and_tells_them_apart():
    """An iterator of several components; two of different elements; shapes beside one are relaxed."""
    with mode.eager_mode():
        pairs = tf2.data.Dataset.from_tensor_slices(([1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 3.0, 4.0, 5.0])).batch(2)
        traces = []

        @tf2.function(reduce_retracing=True)
        def function(iterator, x):
            traces.append(x.shape)
            element = next(iterator)
            element = element[0] * element[1] if isinstance(element, tuple) else element
            return tf2.reduce_sum(element) + tf2.reduce_sum(x)

        iterator = iter(pairs)
        found = [float(function(iterator, tf2.ones([n]))) for n in (1, 2, 3)]
        assert found == [1 + 4 + 1, 9 + 16 + 2, 25 + 3]
        assert [s.as_list() for s in traces] == [[1], [None]]
        one, two = (iter(tf2.data.Dataset.from_tensors(tf2.ones([n]))) for n in (3, 4))
        assert float(function(one, tf2.ones([5]))) == 8.0
        assert float(function(two, tf2.ones([5]))) == 9.0


@pytest.mark.parametrize("taken", [True, False])
def test_branches_of_a_function_may_return_nothing(taken):
    """Their effects run; None among results stays None; both branches must agree."""
    with mode.eager_mode():
        v = tf2.Variable(1.0)

        def adding():
            v.assign_add(1.0)

        @tf2.function
        def function(p):
            nothing = tf2.cond(p, adding, lambda: None)
            both = tf2.cond(p, lambda: (v + 0.0, None), lambda: (v * 2.0, None))
            assert nothing is None
            assert both[1] is None
            return both[0]

        assert float(function(tf2.constant(taken))) == 2.0
        assert v.numpy() == (2.0 if taken else 1.0)

        @tf2.function
        def uneven(p):
            return tf2.cond(p, lambda: None, lambda: v + 0.0)

        with pytest.raises(TypeError, match="same number of outputs"):
            uneven(tf2.constant(taken))
    with pytest.raises(ValueError, match="true_fn must have a return value"):
        tf.cond(tf.constant(taken), lambda: None, lambda: None)


def test_a_tensor_without_a_value_has_no_truth():
    tensor = tf.placeholder(tf.float32, [2])
    for ask in (bool, list):
        with pytest.raises(tf2.errors.OperatorNotAllowedInGraphError):
            ask(tensor)
        with pytest.raises(TypeError):
            ask(tensor)


def test_shapes_that_a_function_set_are_known_where_it_is_called():
    @tf2.function
    def inner(x):
        found = tf.reverse(x, tf.reshape(tf.cast(tf.reduce_sum(x) * 0, tf.int32), [1]))
        rows = tf.boolean_mask(found, [True, True, False])
        rows.set_shape([2, 4])
        return rows

    x = tf.placeholder(tf.float32, [None, 4])
    assert inner(x).shape.as_list() == [2, 4]
