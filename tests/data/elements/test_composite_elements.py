"""Ragged and sparse tensors in datasets and outside of them, against TensorFlow 2.15; what is kept in files."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf
from tests.golden import composites_cases
from tests.spread import spread
from towerstrat.errors import InvalidArgumentError, NotFoundError, UnsupportedError
from towerstrat.graph.eager.mode import eager_mode

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "composites.json").read_text())


@spread("name", composites_cases.CASES, every=5)
def test_case(name):
    with eager_mode():
        assert json.loads(json.dumps(composites_cases.CASES[name](tf))) == GOLDEN[name]


@pytest.mark.long
def test_ragged_elements_in_a_graph():
    rows = tf1.data.Dataset.from_tensor_slices(tf1.ragged.constant([[1, 2], [], [3]]))
    with tf1.Session() as session:
        batches = rows.batch(2).make_initializable_iterator()
        following = batches.get_next()
        total = tf1.reduce_sum(following, axis=1)
        session.run(batches.initializer)
        assert session.run(following).to_list() == [[1, 2], []]
        assert session.run(total).tolist() == [3]
        assert rows.output_classes is tf1.RaggedTensor


def test_elements_of_all_kinds_are_kept_in_files(tmp_path):
    def element(i):
        pieces = {"row": tf.range(i), "text": tf.strings.as_string(i), "ragged": tf.ragged.range(tf.range(i))}
        return pieces | {"sparse": tf.sparse.from_dense([i, 0]), "pair": (i, tf.stack([["a"], ["bc"]]))}

    def taken(data):
        return [json.dumps(composites_cases.facts(one), sort_keys=True) for one in data]

    with eager_mode():
        data = tf.data.Dataset.range(4).map(element)
        expected = taken(data)
        cached = data.cache(str(tmp_path / "cache"))
        next(iter(cached))
        assert list(tmp_path.iterdir()) == []  # a pass that did not end leaves nothing
        assert taken(cached) == expected
        assert taken(data.take(0).cache(str(tmp_path / "cache"))) == expected
        data.save(str(tmp_path / "saved"), "GZIP", lambda one: one["pair"][0] % 2)
        found = tf.data.Dataset.load(str(tmp_path / "saved"), compression="GZIP")
        assert taken(found) == expected
        assert found.element_spec["ragged"] == tf.RaggedTensorSpec([None, None], tf.int64)
        one_by_one = tf.data.Dataset.load(
            str(tmp_path / "saved"), data.element_spec, "GZIP", lambda shards: shards.flat_map(lambda shard: shard)
        )
        assert [int(e["pair"][0]) for e in one_by_one] == [0, 2, 1, 3]


def test_a_snapshot_belongs_to_one_pipeline(tmp_path):
    with eager_mode():
        for factor in (2, 3, 2):
            data = tf.data.Dataset.range(3).map(lambda x, factor=factor: x * factor)
            data = data.apply(tf.data.experimental.snapshot(str(tmp_path)))
            for _ in range(2):
                assert [int(x) for x in data] == [0, factor, 2 * factor]
        assert len(list(tmp_path.iterdir())) == 2


def test_files_of_other_elements_are_refused(tmp_path):
    with eager_mode():
        data = tf.data.Dataset.range(3)
        assert [int(x) for x in data.cache(str(tmp_path / "cache"))] == [0, 1, 2]
        with pytest.raises(InvalidArgumentError, match="Expected elements in .* with types"):
            list(data.map(tf.strings.as_string).cache(str(tmp_path / "cache")))
        with pytest.raises(NotFoundError, match=r"Dataset\.save writes them"):
            tf.data.Dataset.load(str(tmp_path / "none"))
        for refused in (
            lambda: data.save(str(tmp_path), compression="SNAPPY"),
            lambda: data.save(str(tmp_path), checkpoint_args={"step_counter": 1}),
            lambda: data.snapshot(str(tmp_path), shard_func=lambda x: x),
        ):
            with pytest.raises(UnsupportedError):
                refused()


def test_a_save_in_a_graph_is_an_operation(tmp_path):
    forms = {"method": tf1.data.Dataset.save, "function": tf.data.experimental.save}
    with tf1.Graph().as_default(), tf1.Session() as session:
        for name, form in forms.items():
            save = form(tf1.data.Dataset.range(3), str(tmp_path / name))
            assert not (tmp_path / name).exists()
            session.run(save)
    with eager_mode():
        for load in (tf.data.Dataset.load, tf.data.experimental.load):
            assert [[int(x) for x in load(str(tmp_path / name))] for name in forms] == [[0, 1, 2]] * 2


@pytest.mark.long
def test_lmdb(tmp_path):
    lmdb = importlib.import_module("lmdb") if importlib.util.find_spec("lmdb") else None
    if lmdb is None:
        with eager_mode(), pytest.raises(UnsupportedError, match=r"towerstrat\[lmdb\]"):
            list(tf1.contrib.data.LMDBDataset(str(tmp_path)))
        return
    for name, folder in (("folder", True), ("file", False)):
        with lmdb.open(str(tmp_path / name), subdir=folder) as database, database.begin(write=True) as transaction:
            for i in range(3):
                transaction.put(b"k%d" % (2 - i), b"%s %d" % (name.encode(), i))
    with tf1.Graph().as_default(), tf1.Session() as session:
        names = [str(tmp_path / "folder"), str(tmp_path / "file")]
        following = tf1.contrib.data.LMDBDataset(names).make_one_shot_iterator().get_next()
        found = [session.run(following) for _ in range(6)]
        assert found[0] == (b"k0", b"folder 2")
        assert found[5] == (b"k2", b"file 0")


@pytest.mark.long
def test_resampled_classes_come_in_the_proportions_that_were_asked_for():
    classes = (np.arange(4000) % 10 == 0).astype(np.int32)
    with eager_mode():
        data = tf.data.Dataset.from_tensor_slices(classes)
        found = data.rejection_resample(lambda x: x, [0.5, 0.5], [0.9, 0.1], seed=1)
        firsts = [int(c) for c, _ in found.take(300)]
        assert all(int(c) == int(x) for c, x in found.take(50))
        assert 0.35 < np.mean(firsts) < 0.65
        assert [int(c) for c, _ in data.take(20).rejection_resample(lambda x: x, [0.5, 0.5], [0.5, 0.5])] == list(
            classes[:20]
        )


@pytest.mark.long
def test_ragged_batches_are_not_divided_among_replicas():
    with eager_mode():
        rows = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1, 2], [], [3], [4, 5]])).batch(4)
        strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver(""))
        with pytest.raises(UnsupportedError, match=r"to_tensor\(\)"):
            strategy.experimental_distribute_dataset(rows)
        one = tf.distribute.OneDeviceStrategy("/cpu:0")
        assert [batch.to_list() for batch in one.experimental_distribute_dataset(rows)] == [[[1, 2], [], [3], [4, 5]]]


@pytest.mark.long
def test_statistics_of_elements_go_to_their_aggregator():
    extra = tf1.data.experimental
    with tf1.Graph().as_default(), tf1.Session() as session:
        aggregator = extra.StatsAggregator()
        data = tf1.data.Dataset.range(9).map(lambda x: tf1.fill([x], x)).apply(extra.bytes_produced_stats("bytes"))
        unobserved = data.make_one_shot_iterator().get_next()
        data = data.apply(extra.latency_stats("latency")).apply(extra.set_stats_aggregator(aggregator))
        following = data.make_one_shot_iterator().get_next()
        summary = aggregator.get_summary()
        assert session.run(summary) == b""
        for _ in range(4):
            session.run([unobserved, following])
        found = {v.tag: v.histo for v in tf1.Summary.FromString(session.run(summary)).value}
        assert (found["bytes"].num, found["bytes"].sum, found["bytes"].max) == (4, 48, 24)
        assert found["latency"].num == 4


def test_operators_of_ragged_tensors_with_python_values_at_the_left():
    with eager_mode():
        rows = tf.ragged.constant([[True], [False, True]])
        assert (True & rows).to_list() == [[True], [False, True]]
        assert (True | rows).to_list() == [[True], [True, True]]
        assert (True ^ rows).to_list() == [[False], [True, False]]
        with pytest.raises(TypeError, match="boolean"):
            bool(rows)
