"""Savers: what is saved comes back, files are kept and removed, and what does not fit is refused."""

import json
import os
import subprocess
import sys

import jax
import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from benchmarks.harness import Devices
from towerstrat.checkpoints import sorted_tables
from towerstrat.checkpoints.bundle_reader import Bundle
from towerstrat.graph.eager import mode
from towerstrat.platform import logs
from towerstrat.training.saving.saver_builder import BaseSaverBuilder

GLOBAL = (2, 3)


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def model():
    """Variables of several types, one in parts, with the slots of an optimizer."""
    weights = tf.get_variable("w", initializer=np.arange(6, dtype=np.float32).reshape(GLOBAL))
    bias = tf.get_variable("scope/b", shape=[3], dtype=tf.float64)
    parts = tf.get_variable("p", shape=[7, 2], partitioner=tf.fixed_size_partitioner(3))
    tf.Variable(["a", "bc"], name="words")
    tf.Variable([True, False], name="flags", trainable=False)
    loss = (
        tf.reduce_sum(weights**2) + tf.cast(tf.reduce_sum(bias), tf.float32) + tf.reduce_sum(tf.concat(list(parts), 0))
    )
    return tf.train.AdamOptimizer(0.1).minimize(loss, tf.train.get_or_create_global_step())


def values(session):
    return session.run(tf.global_variables())


def same(first, second):
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


def test_all_variables_come_back(tmp_path):
    train = model()
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        path = saver.save(session, str(tmp_path / "model"), tf.train.get_global_step())
        kept = values(session)
        session.run(train)
        later = values(session)
    assert path == str(tmp_path / "model-1")
    with tf.Session() as session:
        saver.restore(session, path)
        same(values(session), kept)
        session.run(train)
        same(values(session), later)


def test_the_file_has_the_names_and_types_of_the_original(tmp_path):
    model()
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = Bundle(saver.save(session, str(tmp_path / "model"))).entries
    assert {name: (entry.code, entry.shape) for name, entry in found.items() if "Adam" not in name} == {
        "beta1_power": (1, ()),
        "beta2_power": (1, ()),
        "flags": (10, (2,)),
        "global_step": (9, ()),
        "p": (1, (7, 2)),
        "scope/b": (2, (3,)),
        "w": (1, (2, 3)),
        "words": (7, (2,)),
    }
    assert len(found["p"].slices) == 3


def test_operations_have_the_names_of_the_original():
    tf.Variable(1.0)
    first, second = tf.train.Saver(), tf.train.Saver(name="mine")
    assert first.saver_def.filename_tensor_name == "save/Const:0"
    assert first.saver_def.save_tensor_name == "save/control_dependency:0"
    assert first.saver_def.restore_op_name == "save/restore_all"
    assert second.as_saver_def().restore_op_name == "mine/restore_all"
    assert tf.train.Saver.from_proto(second.to_proto()).saver_def == second.saver_def


def test_the_oldest_are_removed_after_the_newest_is_there(tmp_path):
    tf.Variable(1.0)
    saver = tf.train.Saver(max_to_keep=2)
    folder = str(tmp_path)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        paths = [saver.save(session, f"{folder}/model", step) for step in range(4)]
    assert saver.last_checkpoints == paths[2:]
    assert tf.train.latest_checkpoint(folder) == paths[3]
    assert list(tf.train.get_checkpoint_state(folder).all_model_checkpoint_paths) == paths[2:]
    assert [tf.train.checkpoint_exists(p) for p in paths] == [False, False, True, True]
    assert sorted(os.listdir(folder)) == sorted(
        ["checkpoint", *(f"model-{i}.{end}" for i in (2, 3) for end in ("data-00000-of-00001", "index", "meta"))]
    )
    again = tf.train.Saver(max_to_keep=2)
    again.recover_last_checkpoints(tf.train.get_checkpoint_state(folder).all_model_checkpoint_paths)
    assert again.last_checkpoints == paths[2:]


def foreign_files(tmp_path):
    """A folder beside that of the checkpoints, with one of its own; and what state files might say of it."""
    v = tf.Variable(2.0, name="theirs")
    with tf.Session() as session:
        session.run(v.initializer)
        theirs = tf.train.Saver([v]).save(session, str(tmp_path / "elsewhere" / "model"), 1)
    (tmp_path / "elsewhere" / "thesis.txt").write_text("a year's work")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    return [
        theirs, "../elsewhere/model-1", "../link/model-1", "../elsewhere/thesis.txt", "../elsewhere/*",
        str(tmp_path / "mine" / ".." / "elsewhere" / "model-1"), f"file://{tmp_path}/elsewhere/thesis.txt",
        "notes.txt", "*", "model-?????",
    ]  # fmt: skip


def listing(folder):
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("take_over", ["recover_last_checkpoints", "set_last_checkpoints"])
def test_a_state_file_cannot_remove_what_this_saver_does_not_save(tmp_path, take_over, caplog):
    """A folder of checkpoints may come from somebody else, and its state file may name any file."""
    named = foreign_files(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine too")
    before = listing(tmp_path)
    lines = [f"all_model_checkpoint_paths: {json.dumps(path)}" for path in named]
    (tmp_path / "mine" / "checkpoint").write_text("\n".join(['model_checkpoint_path: "model-1"', *lines]))
    v = tf.Variable(1.0)
    saver = tf.train.Saver([v], max_to_keep=1)
    getattr(saver, take_over)(tf.train.get_checkpoint_state(str(tmp_path / "mine")).all_model_checkpoint_paths)
    assert saver.last_checkpoints
    with tf.Session() as session:
        session.run(v.initializer)
        path = saver.save(session, str(tmp_path / "mine" / "model"), 12345)
    assert saver.last_checkpoints == [path]
    assert {file: data for file, data in listing(tmp_path).items() if file in before} == before
    assert f"{named[0]} is kept: the state file names it, but it is not in {tmp_path}/mine" in caplog.text


def test_one_of_an_earlier_run_goes_where_its_folder_has_another_name_now(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "name").symlink_to(tmp_path / "real")
    v = tf.Variable(1.0)
    with tf.Session() as session:
        session.run(v.initializer)
        first = tf.train.Saver([v]).save(session, str(tmp_path / "real" / "model"), 1)
        saver = tf.train.Saver([v], max_to_keep=1)
        saver.recover_last_checkpoints([first])
        saver.save(session, str(tmp_path / "name" / "model"), 2)
    assert not tf.train.checkpoint_exists(first)


def test_shards_of_the_first_format_go_as_the_state_file_names_them(tmp_path):
    table = sorted_tables.encode([(b"", b"")])
    for name in ("old-00000-of-00002", "old-00001-of-00002", "one", "oldest-00000-of-00001"):
        (tmp_path / name).write_bytes(table)
    v = tf.Variable(1.0)
    saver = tf.train.Saver([v], max_to_keep=1)
    saver.recover_last_checkpoints([str(tmp_path / "old-?????-of-00002"), str(tmp_path / "one")])
    with tf.Session() as session:
        session.run(v.initializer)
        saver.save(session, str(tmp_path / "model"))
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith("o")] == ["oldest-00000-of-00001"]


def test_one_in_some_hours_is_kept_for_good(tmp_path):
    tf.Variable(1.0)
    saver = tf.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        paths = [saver.save(session, str(tmp_path / "model"), step) for step in range(3)]
    assert saver.last_checkpoints == paths[2:]
    assert all(map(tf.train.checkpoint_exists, paths))


def test_a_folder_can_be_moved(tmp_path):
    tf.Variable(1.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(tmp_path / "one" / "model"))
    (tmp_path / "one").rename(tmp_path / "two")
    assert tf.train.latest_checkpoint(str(tmp_path / "two")) == str(tmp_path / "two" / "model")


def test_what_does_not_fit_is_refused_and_nothing_changes(tmp_path):
    first = tf.get_variable("first", initializer=[1.0, 2.0])
    second = tf.get_variable("second", initializer=[3.0])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
        session.run(first.assign([7.0, 8.0]))
        with pytest.raises(tf.errors.NotFoundError, match="Key third not found in checkpoint"):
            tf.train.Saver({"first": first, "third": second}).restore(session, path)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"lhs shape= \[1\] rhs shape= \[2\].*second"):
            tf.train.Saver({"second": first, "first": second}).restore(session, path)
        with pytest.raises(ValueError, match="not a valid checkpoint"):
            tf.train.Saver().restore(session, f"{path}-7")
        with pytest.raises(ValueError, match="when it is None"):
            tf.train.Saver().restore(session, None)
        assert session.run(first).tolist() == [7.0, 8.0]
    with tf.Graph().as_default(), tf.Session() as session:
        other = tf.get_variable("first", initializer=[1, 2])
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="expected dtype int32 does not equal original dtype float"
        ):
            tf.train.Saver().restore(session, path)
        session.run(other.initializer)


def test_what_cannot_be_saved_is_refused(tmp_path):
    with pytest.raises(ValueError, match="No variables to save"):
        tf.train.Saver()
    empty = tf.train.Saver(allow_empty=True)
    variable = tf.Variable(1.0)
    with pytest.raises(TypeError, match="not a Variable"):
        tf.train.Saver([tf.constant(1.0)])
    with pytest.raises(ValueError, match="two names"):
        tf.train.Saver({"a": variable, "b": variable})
    with pytest.raises(ValueError, match="build cannot be deferred"):
        tf.train.Saver([variable], defer_build=True)
    deferred = tf.train.Saver(defer_build=True)
    with tf.Session() as session:
        assert empty.save(session, str(tmp_path / "none"), write_meta_graph=False) is None
        with pytest.raises(RuntimeError, match="before save"):
            deferred.save(session, str(tmp_path / "model"))
        deferred.build()
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value Variable"):
            deferred.save(session, str(tmp_path / "model"))
        session.run(variable.initializer)
        with pytest.raises(ValueError, match="must not contain path"):
            deferred.save(session, str(tmp_path / "model"), latest_filename="a/b")
        with pytest.raises(ValueError, match="collides"):
            deferred.save(session, str(tmp_path / "checkpoint"))
        with pytest.raises(TypeError, match="must be a Session"):
            deferred.save(None, str(tmp_path / "model"))
    assert os.listdir(tmp_path) == []


def test_saveable_objects_of_the_program(tmp_path):
    variable = tf.Variable([1.0, 2.0])

    class Doubled(BaseSaverBuilder.SaveableObject):
        def __init__(self, name):
            spec = BaseSaverBuilder.SaveSpec(variable * 2.0, "", name)
            super().__init__(variable * 2.0, [spec], name)

        def restore(self, restored_tensors, restored_shapes):
            return variable.assign(restored_tensors[0] / 2.0)

    saver = tf.train.Saver([Doubled("doubled")])
    with tf.Session() as session:
        session.run(variable.initializer)
        path = saver.save(session, str(tmp_path / "model"))
        assert tf.train.load_variable(path, "doubled").tolist() == [2.0, 4.0]
        session.run(variable.assign([0.0, 0.0]))
        saver.restore(session, path)
        assert session.run(variable).tolist() == [1.0, 2.0]


def test_reshape(tmp_path):
    variable = tf.get_variable("v", initializer=[[1.0, 2.0], [3.0, 4.0]])
    with tf.Session() as session:
        session.run(variable.initializer)
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
    with tf.Graph().as_default(), tf.Session() as session:
        flat = tf.get_variable("v", shape=[4])
        tf.train.Saver(reshape=True).restore(session, path)
        assert session.run(flat).tolist() == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("towers", [1, 2, 3])
def test_a_checkpoint_of_some_towers_restores_on_others(tmp_path, towers):
    def build(count):
        local = {"trainable": False, "synchronization": tf.VariableSynchronization.ON_READ}
        with tf.contrib.distribute.TPUStrategy(Devices(jax.devices()[:count]), 1).scope():
            mirrored = tf.get_variable("mirrored", initializer=[1.0, 2.0])
            total = tf.get_variable("total", initializer=0.75, aggregation=tf.VariableAggregation.SUM, **local)
            number = tf.get_variable("number", initializer=7, aggregation=tf.VariableAggregation.SUM, **local)
            mean = tf.get_variable("mean", initializer=0.5, aggregation=tf.VariableAggregation.MEAN, **local)
        return mirrored, total, number, mean

    with tf.Graph().as_default(), tf.Session() as session:
        built = build(towers)
        session.run(tf.global_variables_initializer())
        kept = session.run(list(built))
        path = tf.train.Saver(list(built)).save(session, str(tmp_path / "model"))
    entries = Bundle(path).entries
    assert {n: e.shape for n, e in entries.items()} == {"mean": (), "mirrored": (2,), "number": (), "total": ()}
    for other in (1, 4):
        with tf.Graph().as_default(), tf.Session() as session:
            built = build(other)
            tf.train.Saver(list(built)).restore(session, path)
            same(session.run(list(built)), kept)


def test_eagerly(tmp_path):
    with mode.eager_mode():
        variable = tf.contrib.eager.Variable([1.0, 2.0], name="v")
        other = tf.contrib.eager.Variable([3], name="w")
        saver = tf.train.Saver([variable, other])
        path = saver.save(None, str(tmp_path / "model"), 3)
        variable.assign([0.0, 0.0])
        saver.restore(None, path)
        assert variable.numpy().tolist() == [1.0, 2.0]
        variable.assign([0.0, 0.0])
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"int32 of shape \(1,\).*float32 of shape \[2\]"):
            tf.train.Saver({"v": other}).restore(None, path)
        assert variable.numpy().tolist() == [0.0, 0.0]
        with pytest.raises(RuntimeError, match="var_list"):
            tf.train.Saver()


def test_saveable_objects_of_several_tensors_eagerly(tmp_path):
    with mode.eager_mode():
        first, second = tf.contrib.eager.Variable(1.0, name="a"), tf.contrib.eager.Variable(2.0, name="b")

        class Both(BaseSaverBuilder.SaveableObject):
            def __init__(self):
                specs = [
                    BaseSaverBuilder.SaveSpec(v.read_value, "", n, v.dtype) for v, n in ((first, "x"), (second, "y"))
                ]
                super().__init__(first, specs, "both")

            def restore(self, restored_tensors, restored_shapes):
                for variable, value in zip((first, second), restored_tensors, strict=True):
                    variable.assign(value)

        saver = tf.train.Saver([Both()])
        path = saver.save(None, str(tmp_path / "model"))
        first.assign(0.0)
        second.assign(0.0)
        saver.restore(None, path)
        assert (float(first), float(second)) == (1.0, 2.0)


def test_initial_values_from_a_checkpoint(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        train = model()
        session.run(tf.global_variables_initializer())
        session.run(train)
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
    with tf.variable_scope("mine"):
        bias = tf.get_variable("b", [3], tf.float64)
    weights = tf.get_variable("weights", GLOBAL)
    parts = tf.get_variable("q", shape=[7, 2], partitioner=tf.fixed_size_partitioner(2))
    tf.train.init_from_checkpoint(str(tmp_path), {"w": weights, "scope/": "mine/", "p": "q"})
    reader = tf.train.load_checkpoint(path)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        same(session.run([weights, bias]), [reader.get_tensor("w"), reader.get_tensor("scope/b")])
        np.testing.assert_array_equal(np.concatenate(session.run(list(parts))), reader.get_tensor("p"))
    with pytest.raises(ValueError, match="is not found in"):
        tf.train.init_from_checkpoint(path, {"nowhere": weights})
    with pytest.raises(ValueError, match="doesn't match with shape"):
        tf.train.init_from_checkpoint(path, {"w": bias})
    with pytest.raises(ValueError, match="Should be 'scope/'"):
        tf.train.init_from_checkpoint(path, {"w": "mine/"})
    assert ("w", [2, 3]) in tf.train.list_variables(path)
    assert reader.has_tensor("w")
    assert not reader.has_tensor("nowhere")


def test_the_graph_beside_a_checkpoint(tmp_path):
    with tf.name_scope("outer"), tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [2], name="x")
        with tf.name_scope("outer"), tf.control_dependencies([x]):
            tf.square(x, name="y")
            tf.no_op(name="after")
    weight = tf.get_variable("w", [3])
    tf.add_to_collection("numbers", 7)
    path = str(tmp_path / "graph.meta")
    made = tf.train.export_meta_graph(path)
    assert tf.MetaGraphDef.FromString((tmp_path / "graph.meta").read_bytes()) == made
    names, inner = [op.name for op in tf.get_default_graph().get_operations()], "w/Initializer/random_uniform/"
    assert [n.name for n in made.graph_def.node if not n.name.startswith(inner)] == names
    assert {f"{inner}{last}" for last in ("shape", "RandomUniform", "mul")} <= {n.name for n in made.graph_def.node}
    assert list(made.collection_def["numbers"].int64_list.value) == [7]
    assert len(made.collection_def["trainable_variables"].bytes_list.value) == 1
    part = tf.train.export_meta_graph(export_scope="outer", clear_devices=True).graph_def
    part = {node.name: list(node.input) for node in part.node}
    assert part["x"] == []
    assert part["outer/y"] == ["x"]
    assert part["outer/after"] == ["^x"]
    assert weight.op.name not in part
    with pytest.raises(NotImplementedError, match="Build the graph"):
        tf.train.import_meta_graph(path)


def test_rotation_keeps_what_another_program_has_overwritten(tmp_path, monkeypatch):
    tf.get_variable("v", initializer=1.0)
    saver = tf.train.Saver(max_to_keep=1)
    said = []
    monkeypatch.setattr(logs, "warning", lambda text, *values: said.append(text % values))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = saver.save(session, str(tmp_path / "model"), 1)
        program = "import sys, numpy as np\nfrom towerstrat.checkpoints.bundle_writer import Saved, write\n"
        program += "write(sys.argv[1], [Saved('v', lambda: np.float32(7))])"
        subprocess.run([sys.executable, "-c", program, first], check=True)
        second = saver.save(session, str(tmp_path / "model"), 2)
        third = saver.save(session, str(tmp_path / "model"), 3)
    assert Bundle(first).read("v") == 7
    assert not tf.train.checkpoint_exists(second)
    assert tf.train.latest_checkpoint(str(tmp_path)) == third
    assert [text.partition(" ")[0] for text in said] == [first]
