"""Checks of operations' inputs: by every route, with the state that stays, and off by the switch."""

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.golden.data_checks_cases import CASES
from tests.spread import spread
from tests.towers.common import tpu
from towerstrat import data_checks_enabled, set_data_checks
from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.eager.mode import eager_mode
from towerstrat.graph.functions.polymorphic import function as traced

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "data_checks.json").read_text())
DYNAMIC = {"segment_sum", "segment_sum_negative", "dynamic_partition"}
"""Their shapes depend on values, so that no loop or tower can hold them."""
STATIC = {"matrix_band_part"}
"""They take numbers that must be known where a program is compiled."""
WRITES = {"scatter_update", "scatter_nd_add", "embedding_lookup"}
"""They make a variable: in eager code and in functions it would have to be made outside."""
OPTIMIZERS = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "adam": lambda: tf.train.AdamOptimizer(0.1),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.1),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.1),
}


ARRAYS = {"tensor_array_read", "tensor_array_gather", "tensor_array_write"}
"""Eagerly these are lists, which raise OutOfRangeError as 2.x's do."""


def cases(*without, every=1):
    left_out = set().union(*without)
    return spread("case", [c for c in CASES if c[0] not in left_out], every, ids=lambda case: case[0])


def arrays(case):
    return [np.asarray(value, dtype) for value, dtype in case[2]]


def refused(case):
    return pytest.raises(InvalidArgumentError, match=re.compile(case[3] or ".", re.DOTALL))


# ---- routes --------------------------------------------------------------------------------------------------------


def test_the_original_refuses_all_of_them():
    assert set(GOLDEN) == {case[0] for case in CASES}


@cases()
def test_fed(case):
    places = [tf.placeholder(a.dtype, a.shape) for a in arrays(case)]
    result = case[1](tf, *places)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with refused(case) as caught:
            session.run(result, dict(zip(places, arrays(case), strict=True)))
        assert "created at" in str(caught.value)
        assert caught.value.op.graph is tf.get_default_graph()


@cases(every=3)
def test_fed_of_unknown_shape(case):
    places = [tf.placeholder(a.dtype) for a in arrays(case)]
    for place, array in zip(places, arrays(case), strict=True):
        place.set_shape([None] * array.ndim)
    result = case[1](tf, *places)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with refused(case):
            session.run(result, dict(zip(places, arrays(case), strict=True)))


@cases(every=3)
def test_of_variables(case):
    variables = [tf.Variable(a) for a in arrays(case)]
    result = case[1](tf, *variables)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with refused(case):
            session.run(result)


@cases(WRITES, ARRAYS)
def test_eagerly(case):
    with eager_mode(), refused(case):
        case[1](tf, *(tf.constant(a) for a in arrays(case)))


@cases(WRITES, every=3)
def test_in_a_function(case):
    with eager_mode(), refused(case):
        traced(lambda *tensors: case[1](tf, *tensors))(*(tf.constant(a) for a in arrays(case)))


@cases(DYNAMIC, STATIC, WRITES, every=3)
def test_in_a_loop_and_a_branch(case):
    places = [tf.placeholder(a.dtype, a.shape) for a in arrays(case)]
    turns = tf.placeholder(tf.int32, [])

    def body(i, total):
        result = tf.cond(i > 1, lambda: tf.reduce_sum(tf.to_float(case[1](tf, *places))), lambda: 0.0)
        return i + 1, total + result

    total = tf.while_loop(lambda i, total: i < turns, body, [0, 0.0])[1]
    feed = dict(zip(places, arrays(case), strict=True))
    with tf.Session() as session:
        assert session.run(total, {**feed, turns: 2}) == 0.0, "the branch is not taken"
        with refused(case):
            session.run(total, {**feed, turns: 4})


def test_a_differentiated_loop_keeps_its_checks():
    x, places = tf.placeholder(tf.float32, [4]), tf.placeholder(tf.int32, [3])
    total = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * tf.gather(x, places[i])), [0, 1.0])[1]
    gradient = tf.gradients(total, x)[0]
    with tf.Session() as session:
        value = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
        np.testing.assert_allclose(session.run(gradient, {x: value, places: [1, 2, 3]}), [0.0, 12.0, 8.0, 6.0])
        with pytest.raises(InvalidArgumentError, match="= 4 is not in"):
            session.run(gradient, {x: value, places: [1, 4, 3]})


@pytest.mark.parametrize("depth", [1, 4, 6, 9])
def test_coordinates_of_any_depth(depth):
    x, places = tf.placeholder(tf.float32, [2] * depth), tf.placeholder(tf.int32, [2, depth])
    picked = tf.gather_nd(x, places)
    value, wrong = np.arange(2.0**depth, dtype=np.float32).reshape([2] * depth), np.ones((2, depth), np.int32)
    with tf.Session() as session:
        assert session.run(picked, {x: value, places: wrong})[0] == 2**depth - 1
        wrong[1, 0] = 5
        with pytest.raises(InvalidArgumentError, match=r"indices\[1\] = \[5.*does not index into param shape"):
            session.run(picked, {x: value, places: wrong})


def test_data_functions_check_too():
    data = tf.data.Dataset.from_tensor_slices([0, 1, 5, 2]).map(lambda i: tf.gather([1.0, 2.0, 3.0], i))
    element = data.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert [session.run(element) for _ in range(2)] == [1.0, 2.0]
        with pytest.raises(InvalidArgumentError, match="indices = 5 is not in"):
            session.run(element)


@pytest.mark.parametrize("source", ["table", "stream"])
def test_elements_before_the_wrong_one_are_delivered_where_maps_are_vectorized(source):
    places = np.zeros(5000, np.int32)
    places[4000] = 9
    data = tf.data.Dataset.from_tensor_slices(places)
    if source == "stream":
        data = tf.data.Dataset.from_generator(lambda: iter(places), tf.int32, [])
    data = data.map(lambda i: tf.gather([1.0, 2.0, 3.0], i), num_parallel_calls=64).batch(100)
    element = data.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        for _ in range(40):
            assert session.run(element).sum() == 100.0
        with pytest.raises(InvalidArgumentError, match="= 9 is not in"):
            session.run(element)


# ---- the state that stays --------------------------------------------------------------------------------------------


def model(optimizer, labels, ids):
    table = tf.get_variable("table", [50, 4], use_resource=True)
    weights = tf.get_variable("weights", [4, 3])
    logits = tf.matmul(tf.nn.embedding_lookup(table, ids), weights)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    return optimizer.minimize(tf.check_numerics(loss, "the loss"), tf.train.get_or_create_global_step())


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_failed_step_changes_nothing(name):
    labels, ids = tf.placeholder(tf.int32, [5]), tf.placeholder(tf.int32, [5])
    train = model(OPTIMIZERS[name](), labels, ids)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        good = {labels: [0, 1, 2, 0, 1], ids: [4, 4, 7, 49, 0]}
        session.run(train, good)
        before = session.run(tf.global_variables())
        for bad, words in (
            ({labels: [0, 1, 3, 0, 1]}, "label value of 3"),
            ({ids: [1, 2, 50, 3, 4]}, "= 50 is not in"),
        ):
            with pytest.raises(InvalidArgumentError, match=words):
                session.run(train, {**good, **bad})
            for one, other in zip(before, session.run(tf.global_variables()), strict=True):
                np.testing.assert_array_equal(one, other)
        session.run(train, good)
        assert session.run(tf.train.get_global_step()) == 2


def test_a_check_behind_the_write_is_kept_too():
    v, x = tf.Variable([1.0, 2.0]), tf.placeholder(tf.float32, [])
    up = v.assign_add([1.0, 1.0])
    late = tf.check_numerics(tf.reduce_sum(up) / x, "too late")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(InvalidArgumentError, match="too late"):
            session.run(late, {x: 0.0})
        assert session.run(v).tolist() == [1.0, 2.0]
        assert session.run(late, {x: 1.0}) == 5.0


@pytest.mark.parametrize("kind", ["cond", "while"])
def test_writes_in_branches_and_loops_are_taken_back(kind):
    v, x = tf.Variable([1.0, 2.0]), tf.placeholder(tf.int32, [])
    if kind == "cond":
        up = tf.cond(x > -5, lambda: tf.identity(v.assign_add([1.0, 1.0])), lambda: tf.identity(v))
    else:
        up = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, v.assign_add([1.0, 1.0])), [0, v.read_value()])[1]
    divided = 6 // x
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(InvalidArgumentError, match="division by zero"):
            session.run([up, divided], {x: 0})
        assert session.run(v).tolist() == [1.0, 2.0]
        session.run([up, divided], {x: 2})
        assert session.run(v).tolist() == ([2.0, 3.0] if kind == "cond" else [4.0, 5.0])


@spread(("name", "towers", "steps"), itertools.product(("sgd", "adam"), (2, 1), (4, 1, 20)), every=11)
def test_a_step_loop_stops_at_the_last_good_step(name, towers, steps):
    """One label is wrong in step 6: the state is that of a loop over the six steps before it."""
    count = 12 * towers
    labels = np.arange(5 * count).reshape(count, 5) % 3
    ids = np.arange(5 * count).reshape(count, 5) % 50
    wrong = labels.copy()
    wrong[6 * towers + towers - 1, 2] = 7

    def after(rows, iterations):
        strategy = tpu(towers, steps)
        with tf.Graph().as_default(), strategy.scope(), tf.Session() as session:
            tf.set_random_seed(3)
            data = tf.data.Dataset.from_tensor_slices((rows, ids)).repeat()
            iterator = data.make_initializable_iterator()

            def step(context, *element):
                return strategy.call_for_each_tower(
                    lambda labels, ids: model(OPTIMIZERS[name](), labels, ids), *element
                )

            loop = strategy.run_steps_on_dataset(step, iterator, iterations)
            session.run([tf.global_variables_initializer(), iterator.initializer])
            message = None
            try:
                for _ in range(-(-12 // iterations) if rows is wrong else 1):
                    session.run(loop.run_op)
            except InvalidArgumentError as error:
                message = str(error)
            return message, session.run(tf.global_variables())

    message, found = after(wrong, steps)
    assert "label value of 7" in message
    assert "in step " in message
    _, wanted = after(labels, 6)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


# ---- the switch ------------------------------------------------------------------------------------------------------


@pytest.fixture
def unchecked():
    set_data_checks(False)
    yield
    set_data_checks(True)


@pytest.mark.usefixtures("unchecked")
def test_the_switch_turns_them_off_in_every_mode():
    assert not data_checks_enabled()
    x, i = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.int32, [])
    rows = tf.gather(x, i)
    with tf.Session() as session:
        assert session.run(rows, {x: [1.0, 2.0], i: 7}) == 2.0
        v = tf.Variable(1.0)
        table = tf.Variable(np.ones((3, 2), np.float32))
        session.run([v.initializer, table.initializer])
        session.run(tf.scatter_add(table, [i], tf.ones([1, 2])), {i: 7})
        assert (session.run(table) == 1).all()
        with pytest.raises(InvalidArgumentError, match="still"), tf.control_dependencies([v.assign(2.0)]):
            session.run(tf.check_numerics(rows, "still"), {x: [1.0, np.nan], i: 1})
    with eager_mode():
        assert float(tf.gather(tf.constant([1.0, 2.0]), 7)) == 2.0
        assert float(traced(tf.gather)(tf.constant([1.0, 2.0]), tf.constant(7))) == 2.0


def test_operations_keep_what_was_set_when_they_were_made(unchecked):
    x, i = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.int32, [])
    loose = tf.gather(x, i)
    set_data_checks(True)
    strict = tf.gather(x, i)
    with tf.Session() as session:
        assert session.run(loose, {x: [1.0, 2.0], i: 7}) == 2.0
        with pytest.raises(InvalidArgumentError):
            session.run(strict, {x: [1.0, 2.0], i: 7})
