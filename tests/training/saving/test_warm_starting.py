"""Variables that start from a checkpoint: by name, by pattern, and by the words that their rows stand for."""

import itertools

import numpy as np
import pytest

import towerstrat.compat.v1 as tf

OLD = np.arange(12, dtype=np.float32).reshape(4, 3) + 100.0


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


@pytest.fixture
def saved(tmp_path):
    """A checkpoint with a matrix of words, "mercury venus mars earth", by grades, "good better best"."""
    (tmp_path / "old_rows").write_text("mercury\nvenus\nmars\nearth\n")
    (tmp_path / "new_rows").write_text("venus\njupiter\nmercury\n")
    (tmp_path / "old_columns").write_text("good\nbetter\nbest\n")
    (tmp_path / "new_columns").write_text("good\nbest\nfantastic")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("m", initializer=OLD)
        tf.get_variable("scope/b", initializer=[1.0, 2.0])
        session.run(tf.global_variables_initializer())
        return tf.train.Saver().save(session, str(tmp_path / "ck"))


def counting():
    """An initializer that makes 1, 2, 3, ... over all its calls."""
    numbers = itertools.count(1)
    return lambda shape, *args, **kwargs: np.array(
        [float(next(numbers)) for _ in range(int(np.prod(shape)))], np.float32
    ).reshape(shape)


def values(*variables):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(list(variables))


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_rows_and_columns_in_another_order(saved, tmp_path, parts):
    """The example of the original's documentation."""
    initializer = tf.contrib.framework.load_and_remap_matrix_initializer(
        saved, "m", 3, 3, -1, str(tmp_path / "old_rows"), str(tmp_path / "new_rows"), str(tmp_path / "old_columns"),
        tf.constant(str(tmp_path / "new_columns")), 2, 1, counting(),
    )  # fmt: skip
    variable = tf.get_variable(
        "new", [5, 4], initializer=initializer, partitioner=tf.fixed_size_partitioner(parts) if parts > 1 else None
    )
    (found,) = values(tf.convert_to_tensor(variable))
    w = OLD
    known = {(0, 0): w[1, 0], (0, 1): w[1, 2], (2, 0): w[0, 0], (2, 1): w[0, 2]}
    for place, value in known.items():
        assert found[place] == value
    rest = [found[i, j] for i in range(5) for j in range(4) if (i, j) not in known]
    if parts == 1:
        assert found.tolist() == [
            [w[1, 0], w[1, 2], 1, 12], [2, 3, 4, 13], [w[0, 0], w[0, 2], 5, 14], [6, 7, 8, 15], [9, 10, 11, 16],
        ]  # fmt: skip
    assert sorted(rest) == list(range(1, 17))


def test_embeddings_biases_and_slots(saved, tmp_path):
    files = {"old": str(tmp_path / "old_rows"), "new": str(tmp_path / "new_rows")}
    embedding = tf.get_variable("e", [4, 3], initializer=tf.contrib.framework.load_embedding_initializer(
        saved, "m", 3, 3, files["old"], files["new"], 1, 1))  # fmt: skip
    slot = tf.get_variable("s", [3, 3], initializer=tf.contrib.framework.load_variable_slot_initializer(
        saved, "m", None, 3, 3, files["old"], files["new"]))  # fmt: skip
    found, of_slot = values(embedding, slot)
    np.testing.assert_array_equal(found[2], OLD[0])
    assert abs(found[[0, 1, 3]]).max() < 100.0  # "venus" is behind the one word that counts
    np.testing.assert_array_equal(of_slot, [OLD[1], [0, 0, 0], OLD[0]])
    with pytest.raises(ValueError, match=r"Expected a matrix 'scope/b' in .*, found \[2\]"):
        tf.contrib.framework.load_linear_multiclass_bias_initializer(saved, "scope/b", 3, *files.values())([3, 1])


def test_what_cannot_be_brought_into_order(saved, tmp_path):
    load, old, new = tf.contrib.framework.load_and_remap_matrix_initializer, *(
        str(tmp_path / name) for name in ("old_rows", "new_rows"))  # fmt: skip
    for arguments, message in (
        ({}, "Must provide either row or column"), ({"old_row_vocab_file": old}, "must both be specified"),
        ({"num_row_oov_buckets": -1}, "must be >= 0"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            load(saved, "m", 3, 3, **arguments)
    with pytest.raises(TypeError, match="must be callable"):
        load(saved, "m", 3, 3, -1, old, new, initializer=3)
    whole = load(saved, "m", 4, 3, -1, old, new)
    with pytest.raises(ValueError, match="has 3 words, 4 are needed"):
        whole([4, 3])
    with pytest.raises(ValueError, match="the second of 3 columns"):
        whole([4, 2])
    with pytest.raises(TypeError, match="only float32"):
        whole([3, 3], tf.float64)
    (tmp_path / "old_rows").write_text("mercury\nvenus\nmercury\n")
    with pytest.raises(ValueError, match="'mercury' in line 1 and in line 3"):
        whole([3, 3])


def test_warm_start(saved, tmp_path):
    matrix = tf.get_variable("m", [3, 3], partitioner=tf.fixed_size_partitioner(2))
    columns = tf.get_variable("columns", [4, 4])
    bias = tf.get_variable("other/b", [2])
    statistics = tf.get_variable("scope/b", [2], trainable=False)
    rows = tf.train.VocabInfo(str(tmp_path / "new_rows"), 3, 0, str(tmp_path / "old_rows"))
    grades = tf.train.VocabInfo(
        str(tmp_path / "new_columns"), 3, 1, str(tmp_path / "old_columns"), -1, tf.constant_initializer(7.0), axis=1
    )
    tf.train.warm_start(saved, ".*", {"m": rows, "columns": grades}, {"other/b": "scope/b", "columns": "m"})
    tf.train.warm_start(str(tmp_path), ["scope"])
    found = values(tf.convert_to_tensor(matrix), columns, bias, statistics)
    np.testing.assert_array_equal(found[0], [OLD[1], [0, 0, 0], OLD[0]])
    np.testing.assert_array_equal(found[1], np.c_[OLD[:, [0, 2]], np.full((4, 2), 7.0)])
    assert [value.tolist() for value in found[2:]] == [[1.0, 2.0]] * 2
    with pytest.raises(ValueError, match=r"var_name_to_vocab_info that were not used: \['n'\]"):
        tf.train.warm_start(saved, "m", {"n": rows})
    with pytest.raises(ValueError, match="vars_to_warm_start must be"):
        tf.train.warm_start(saved, 3)
    with pytest.raises(ValueError, match="axis argument are 0 and 1"):
        tf.train.VocabInfo("new", 3, 0, "old", axis=2)


def test_warm_start_of_variables_with_vocabularies_alone(saved, tmp_path):
    matrix, bias = tf.get_variable("m", [3, 3]), tf.get_variable("b", initializer=[5.0, 5.0])
    rows = tf.train.VocabInfo(str(tmp_path / "new_rows"), 3, 0, str(tmp_path / "old_rows"))
    tf.train.warm_start(saved, None, {"m": rows})
    assert values(bias)[0].tolist() == [5.0, 5.0]
    tf.train.warm_start(saved, [bias], None, {"b": "scope/b"})
    found = values(matrix, bias)
    assert (found[0][0].tolist(), found[1].tolist()) == (OLD[1].tolist(), [1.0, 2.0])


def test_assign_from_checkpoint(saved):
    matrix = tf.get_variable("m", [4, 3], partitioner=tf.fixed_size_partitioner(2))
    bias = tf.get_variable("b", [2])
    operation, feed = tf.contrib.framework.assign_from_checkpoint(saved, {"m": matrix, "scope/b": bias})
    restore = tf.contrib.framework.assign_from_checkpoint_fn(saved, {"scope/b": bias, "none": bias}, True)
    with tf.Session() as session:
        session.run(operation, feed)
        np.testing.assert_array_equal(session.run(tf.convert_to_tensor(matrix)), OLD)
        assert session.run(bias).tolist() == [1.0, 2.0]
        session.run(bias.assign([0.0, 0.0]))
        restore(session)
        assert session.run(bias).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match=r"missing variable \[b\]"):
        tf.contrib.framework.assign_from_checkpoint(saved, [matrix, bias])
    assert tf.contrib.framework.assign_from_checkpoint(saved, [bias], ignore_missing_vars=True)[1] == {}
    assert tf.contrib.framework.assign_from_checkpoint_fn(saved, [bias], ignore_missing_vars=True) is None
    with pytest.raises(ValueError, match="unchanged for m"):
        tf.contrib.framework.assign_from_checkpoint(saved, {"m": bias})
    with pytest.raises(ValueError, match="cannot be empty"):
        tf.contrib.framework.assign_from_checkpoint_fn(saved, [])
