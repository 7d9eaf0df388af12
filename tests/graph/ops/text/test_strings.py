"""Strings and lookup tables against the originals: in graphs, eagerly, in functions and in functions of datasets."""

import json
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.golden.lookup_cases import CASES as TABLES
from tests.golden.strings_cases import CASES, LATER, REALS, plain
from towerstrat.errors import InvalidArgumentError, UnsupportedError
from towerstrat.graph.eager.mode import eager_mode
from towerstrat.graph.ops.text import string_kernels
from towerstrat.graph.runtime.plans.plan import DeviceStage
from towerstrat.graph.runtime.sessions.stage_table import plan_of

FOLDER = Path(__file__).parents[3] / "golden"
GOLDEN, GOLDEN_LATER = (json.loads((FOLDER / f"strings_{i}.json").read_text()) for i in (1, 2))

NO_GROUP = "a rewrite that names a group that is not there leaves the string as it is, as in 2.x"
QUOTES = "strings are quoted, as in 2.x"
DIFFERENT = {
    "tf.as_string(1,fill='x',width=4)": "1.12 wrote 14d for 1, later versions refuse the fill",
    "tf.strings.format('a {} b {}',[tf.constant(1),tf.constant(['x','y'])])": QUOTES,
    "tf.strings.format('a {}',tf.constant('x'))": QUOTES,
    r"tf.strings.regex_replace(['abc'],'b',r'\1')": NO_GROUP,
    "tf.strings.substr(['hello'],[[0],[1]],[[1],[2]])": "1.12 lost a dimension",
}


def outcome(make):
    try:
        return plain(make())
    except Exception as error:
        return f"raises {type(error).__name__}"


def evaluated(case, api=tf):
    return eval(case, {"tf": api, "np": np, "REALS": REALS})


def in_graph(case):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(evaluated(case))


def eagerly(case):
    with eager_mode():
        return evaluated(case)


def in_function(case):
    with eager_mode():
        return tf2.function(lambda: evaluated(case))()


def in_dataset(case):
    def parts(_):
        found = evaluated(case)
        return (found.indices, found.values, found.dense_shape) if isinstance(found, tf.SparseTensor) else found

    with tf.Graph().as_default(), tf.Session() as session:
        dataset = tf.data.Dataset.range(1).map(parts)
        return session.run(dataset.make_one_shot_iterator().get_next())


WAYS = {f.__name__: f for f in (in_graph, eagerly, in_function, in_dataset)}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", CASES)
def test_strings(case, way):
    found = outcome(lambda: WAYS[way](case))
    if case in DIFFERENT:
        assert found != GOLDEN[case]
    elif str(GOLDEN[case]).startswith("raises"):
        assert found in ("raises ValueError", "raises TypeError", "raises InvalidArgumentError",
                         "raises EagerArgumentError")  # fmt: skip
    else:
        assert found == GOLDEN[case]


@pytest.mark.parametrize("case", LATER)
def test_strings_of_later_versions(case):
    with eager_mode():
        found = outcome(lambda: evaluated(case, tf2 if "v1" not in case else tf))
    wanted = GOLDEN_LATER[case]
    assert found.startswith("raises") if str(wanted).startswith("raises") else found == wanted


@pytest.mark.parametrize("name", TABLES)
def test_tables(name, tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        found = outcome(lambda: TABLES[name](tf, session, str(tmp_path)))
    wanted = GOLDEN[name]
    if name == "floats as keys":
        assert (found, wanted) == ("raises TypeError", "raises InvalidArgumentError")
    else:
        assert found == wanted


def test_what_the_later_versions_give_where_1_12_differs():
    assert in_graph("tf.strings.format('a {} b {}', [1, tf.constant(['x', 'y'])])") == b'a 1 b ["x" "y"]'
    assert in_graph(r"tf.regex_replace(['abc'], 'b', r'\1')").tolist() == [b"abc"]
    with pytest.raises(ValueError, match="Fill argument not supported"):
        in_graph("tf.as_string(1, fill='x', width=4)")


def test_strings_do_not_make_the_device_program_of_their_run_a_slow_one():
    """A run with strings of what the device computed is a device program and work of the host after it."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        v = tf.Variable(2.0)
        session.run(v.initializer)
        y = x * v + 1.0
        text = tf.string_join([tf.as_string(y, precision=1), tf.constant("!")])
        assert session.run([y, text], {x: [1.0, 2.0]})[1].tolist() == [b"3.0!", b"5.0!"]
        (device,) = [stage for stage in plan_of(graph, [y, text], [x]).stages if isinstance(stage, DeviceStage)]
        assert not device.eager


def test_many_strings():
    """Beyond the sizes up to which numpy computes other operations."""
    many = np.array([b"%d" % i for i in range(10000)], object)
    with eager_mode():
        assert tf.string_to_number(tf.concat([many, many], 0), tf.int32).numpy().sum() == 2 * sum(range(10000))
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.string, [None])
        found = session.run(tf.string_join([x, tf.constant(many)], "-"), {x: many})
    assert found[7] == b"7-7"


def test_feeds_and_constants_of_text_become_bytes():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.string, [None])
        assert session.run(x + "b", {x: np.array(["a", "ä"])}).tolist() == [b"ab", "äb".encode()]
        assert session.run(tf.constant(np.array(["a"]))).tolist() == [b"a"]


def test_conditions_and_loops_of_graphs_hold_strings():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.string, [])
        y = tf.cond(tf.equal(x, "a"), lambda: tf.string_join([x, "1"]), lambda: tf.strings.strip(x))
        assert [session.run(y, {x: text}) for text in ("a", " b ")] == [b"a1", b"b"]
        loop = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + tf.as_string(i)), (0, x))
        assert session.run(loop[1], {x: ">"}) == b">012"


def two_towers():
    return tf.contrib.distribute.TPUStrategy(tf.contrib.cluster_resolver.TPUClusterResolver(""), num_cores=2)


def test_towers_refuse_strings_by_name():
    with tf.Graph().as_default(), tf.Session() as session:
        distribution = two_towers()
        x = tf.placeholder(tf.float32, [2])
        with distribution.scope():
            y = distribution.call_for_each_tower(lambda: tf.string_to_number(tf.as_string(tf.reduce_sum(x))))
            total = distribution.reduce(tf.VariableAggregation.SUM, y, destinations="/device:TPU:0")
        with pytest.raises(UnsupportedError, match=r"AsString.*runs on the host"):
            session.run(total, {x: [1.0, 2.0]})


def test_a_table_in_a_tower_is_refused_by_name():
    with tf.Graph().as_default():
        table = tf.contrib.lookup.index_table_from_tensor([3, 5], dtype=tf.int64)
        with two_towers().scope(), pytest.raises(UnsupportedError, match=r"LookupTableFindV2 .* inside a tower"):
            tf.contrib.distribute.get_distribution_strategy().call_for_each_tower(
                lambda: table.lookup(tf.constant([5], tf.int64))
            )


def test_regular_expressions_without_their_package_are_refused_by_name(monkeypatch):
    monkeypatch.setattr(string_kernels, "re2", None)
    string_kernels._compiled.cache_clear()
    with pytest.raises(UnsupportedError, match="pip install google-re2"):
        in_graph("tf.regex_replace('a', 'never seen before', 'b')")


def test_sparse_tensors_are_checked():
    with tf.Graph().as_default():
        with pytest.raises(TypeError, match="Input must be a SparseTensor"):
            tf.sparse_tensor_to_dense(tf.constant([1]))
        with pytest.raises(ValueError, match="rank"):
            tf.SparseTensor([1], [1], [1])
        value = tf.SparseTensorValue([[0, 1]], [7], [2, 2])
        sparse = tf.SparseTensor.from_value(value)
        assert sparse.shape.as_list() == [2, 2]
        with tf.Session():
            assert sparse.eval().values.tolist() == [7]
            assert tf.sparse.to_dense(sparse).eval().tolist() == [[0, 7], [0, 0]]


# ---- the later tables ------------------------------------------------------------------------------------------------


def pairs(*args):
    return tf2.lookup.KeyValueTensorInitializer(*args)


def long(*values):
    return tf2.constant(values, tf2.int64)


def test_later_tables():
    """The values are those of 2.15."""
    with eager_mode():
        table = tf2.lookup.StaticHashTable(pairs(["a", "b"], [1, 2]), -1)
        assert table.lookup(tf2.constant(["a", "q"])).numpy().tolist() == [1, -1]
        assert table[tf2.constant(["b"])].numpy().tolist() == [2]
        assert int(table.size()) == 2
        words = tf2.lookup.StaticVocabularyTable(pairs(["a", "b"], long(0, 1)), 2)
        assert words.lookup(tf2.constant(["a", "z", "y", "b"])).numpy().tolist() == [0, 3, 3, 1]
        assert int(words.size()) == 4
        numbers = tf2.lookup.StaticVocabularyTable(pairs(long(5, 6), long(0, 1)), 3, lookup_key_dtype=tf2.int32)
        assert numbers.lookup(tf2.constant([5, 7])).numpy().tolist() == [0, 3]
        for wrong in (lambda: tf2.lookup.StaticVocabularyTable(pairs(["a"], long(0)), 0),
                      lambda: tf2.lookup.experimental.DenseHashTable(tf2.int64, tf2.int64, -1, 0, 0)):  # fmt: skip
            with pytest.raises(ValueError):
                wrong()
        with pytest.raises(TypeError):
            tf2.lookup.StaticVocabularyTable(pairs(["a", "b"], [0, 1]), 1)


def test_later_tables_that_change():
    with eager_mode():
        table = tf2.lookup.experimental.MutableHashTable(tf2.string, tf2.int64, -1)
        table.insert(["a", "b"], [1, 2])
        table.remove(["a", "c"])
        assert table.lookup(["a", "b"]).numpy().tolist() == [-1, 2]
        assert table.lookup(["x", "b"], long(7, 8)).numpy().tolist() == [7, 2]
        dense = tf2.lookup.experimental.DenseHashTable(tf2.int64, tf2.int64, -1, 0, -1)
        dense.insert(long(1, 2), long(5, 6))
        dense.erase(long(1))
        assert dense.lookup(long(1, 2, 3)).numpy().tolist() == [-1, 6, -1]
        for key in (0, -1):
            with pytest.raises(InvalidArgumentError, match="as a table key is not allowed"):
                dense.insert(long(key), long(3))


def test_functions_and_datasets_reach_the_entries_of_a_table():
    with eager_mode():
        table = tf2.lookup.StaticHashTable(pairs(["a", "b"], [1, 2]), -1)
        assert tf2.function(lambda x: table.lookup(x) + 1)(tf2.constant(["a", "z"])).numpy().tolist() == [2, 0]
        dataset = tf2.data.Dataset.from_tensor_slices(["a", "c"]).map(table.lookup)
        assert [int(x) for x in dataset] == [1, -1]
        changing = tf2.lookup.experimental.MutableHashTable(tf2.string, tf2.int64, -1)

        @tf2.function
        def insert(x):
            changing.insert(x, tf2.cast(tf2.strings.length(x), tf2.int64))
            return changing.lookup(x)

        assert insert(tf2.constant(["abc", "z"])).numpy().tolist() == [3, 1]
        assert int(changing.size()) == 2


def test_reduce_join_keeps_dimensions_under_both_names():
    with tf.Session() as session:
        found = session.run([tf.reduce_join([["a", "b"]], 1, **{name: True}) for name in ("keep_dims", "keepdims")])
    assert [x.tolist() for x in found] == [[[b"ab"]]] * 2
    with pytest.raises(ValueError, match="both 'keep_dims' and 'keepdims'"):
        tf.reduce_join([["a"]], 1, keep_dims=True, keepdims=True)
