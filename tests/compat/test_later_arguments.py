"""Calls with arguments that 1.13 to 1.15 added, or renamed: values, gradients and errors of TensorFlow 1.15."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.golden.goldens import facts
from tests.golden.later_arguments_cases import CASES, INPUTS, evaluated, plain, write_files
from towerstrat.errors import UnsupportedError
from towerstrat.graph.eager.mode import eager_mode

GOLDEN = facts("later_arguments")
ALLOWED = {
    "tf.strings.split('a b')": "ValueError",  # there the vector of a scalar's parts lacks a method
    "tf.gather(cube, ids, axis=0, batch_dims=1)": "ValueError",  # here it is met while the graph is built
}
"""Errors that are other ones here, and why."""
BETTER = {"tf.gather(cube, ids, axis=2, batch_dims=1)", "tf.gather(cube, ids, axis=-1, batch_dims=1)"}
"""Whose gradient 1.15 gives to other columns than those that were gathered, where the axis is behind the batch's."""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_files(str(tmp_path_factory.mktemp("files")))


def test_a_gradient_goes_where_the_values_came_from():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(np.arange(24.0).reshape(2, 3, 4))
        gathered = tf.gather(x, [[2, 0], [1, 1]], axis=2, batch_dims=1)
        found = session.run(tf.gradients(gathered, x)[0])
    wanted = np.zeros((2, 3, 4))
    wanted[0, :, [2, 0]] = 1
    wanted[1, :, 1] = 2
    np.testing.assert_array_equal(found, wanted)


def test_defun_converts_control_flow():
    def magnitude(x):
        if x > 0:
            return x
        return -x

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [])
        converted = tf.contrib.eager.defun(magnitude)(x)
        assert [session.run(converted, {x: value}) for value in (-3.0, 2.0)] == [3.0, 2.0]
        with pytest.raises(TypeError):
            tf.contrib.eager.defun(magnitude, autograph=False)(x)


def test_a_key_that_was_named_as_deleted_cannot_be_used():
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.contrib.lookup.MutableDenseHashTable(tf.int64, tf.int64, -1, empty_key=0, deleted_key=9)
        session.run(table.insert(tf.constant([1], tf.int64), tf.constant([5], tf.int64)))
        assert session.run(table.lookup(tf.constant([1, 2], tf.int64))).tolist() == [5, -1]
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(table.insert(tf.constant([9], tf.int64), tf.constant([5], tf.int64)))


def test_ragged_indices_with_batch_dimensions_are_refused():
    with pytest.raises(UnsupportedError, match="batch_dims=1"):
        tf.gather([[1, 2], [3, 4]], tf.ragged.constant([[1], [0, 0]]), batch_dims=1)


@pytest.mark.parametrize("call", [
    lambda: tf.nn.conv2d(tf.ones([1, 2, 2, 1]), strides=1),
    lambda: tf.nn.conv2d_transpose(tf.ones([1, 2, 2, 1]), output_shape=[1, 2, 2, 1]),
    lambda: tf.decode_raw(["a"]),
    lambda: tf.count_nonzero(axis=0),
    lambda: tf.nn.weighted_cross_entropy_with_logits(logits=[1.0], pos_weight=1.0),
])  # fmt: skip
def test_what_is_left_out_is_named(call):
    with pytest.raises(TypeError, match=r"missing required arguments: (filters|input_bytes|out_type|input|labels)"):
        call()


def test_debug_information_is_refused_before_anything_is_saved(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("v", [], initializer=tf.zeros_initializer())
        session.run(tf.global_variables_initializer())
        with pytest.raises(UnsupportedError, match="save_debug_info"):
            tf.train.Saver().save(session, str(tmp_path / "model"), save_debug_info=True)
    assert list(tmp_path.iterdir()) == []


EAGERLY = [
    case for case in CASES
    if case.startswith(("tf.gather", "tf.nn.max_pool", "tf.strings.", "tf.string_split", "tf.sparse.add"))
    and "error" not in GOLDEN[case]
]  # fmt: skip


@pytest.mark.parametrize("how", [lambda build: build, tf.function], ids=["eager", "function"])
def test_values_without_a_session(how):
    with eager_mode():
        inputs = {name: tf.constant(value) for name, value in INPUTS.items()}
        results = how(lambda: [eval(case, {"tf": tf, **inputs}) for case in EAGERLY])()
        for case, result in zip(EAGERLY, results, strict=True):
            found = [plain(np.asarray(part)) for part in tf.nest.flatten(result, expand_composites=True)]
            wanted = GOLDEN[case]["values"]
            assert not any(differs(f, w) for f, w in zip(found, wanted, strict=True)), case


def differs(found, wanted):
    """Whether a value, as ``plain`` has it, is another one."""
    if isinstance(wanted, list) or isinstance(found, list):
        return found != wanted
    if (found["type"], found["shape"]) != (wanted["type"], wanted["shape"]):
        return True
    return not np.allclose(found["numbers"], wanted["numbers"], rtol=1e-5, atol=1e-6)


def test_every_case_is_there():
    assert set(GOLDEN) == set(CASES)


@pytest.mark.parametrize("case", CASES)
def test_values_gradients_and_errors(files, case):
    found, wanted = evaluated(tf, case, files), GOLDEN[case]
    if "error" in wanted:
        assert found == {"error": ALLOWED.get(case, wanted["error"])}
        return
    assert found.keys() == wanted.keys(), found
    for part in wanted.keys() - ({"gradients"} if case in BETTER else set()):
        assert len(found[part]) == len(wanted[part])
        wrong = [(f, w) for f, w in zip(found[part], wanted[part], strict=True) if differs(f, w)]
        assert not wrong, part
