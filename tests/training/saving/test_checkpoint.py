"""``tf.train.Checkpoint``: what objects hold comes back, in graphs and eagerly, also to what is not there yet."""

import copy
import gc
import logging
import weakref
from contextlib import nullcontext

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from towerstrat.graph.eager import mode
from towerstrat.graph.variables.trackable import Trackable
from towerstrat.training.saving import saver_sessions


class Model(tf.contrib.checkpoint.Checkpointable):
    """A layer and an optimizer, in a graph or eagerly."""

    def __init__(self):
        self.layer = tf.layers.Dense(2, name="dense")
        self.optimizer = tf.train.AdamOptimizer(0.1)
        self.step = tf.Variable(0, dtype=tf.int64, name="step", trainable=False)

    def loss(self):
        return tf.reduce_sum(self.layer(tf.constant([[1.0, -2.0]])) ** 2)

    def train(self):
        """The operation of a step; eagerly, a step."""
        loss = self.loss if tf.executing_eagerly() else self.loss()
        return self.optimizer.minimize(loss, global_step=self.step)


@pytest.fixture
def trained(tmp_path):
    """A checkpoint after one step of ``Model``, and the loss after another one."""
    with mode.eager_mode():
        model = Model()
        model.train()
        path = tf.train.Checkpoint(model=model).save(str(tmp_path / "ck"))
        model.train()
        return path, float(model.loss())


def test_a_graph_takes_what_was_saved_eagerly(trained):
    path, loss = trained
    model = Model()
    train, found = model.train(), model.loss()
    checkpoint = tf.train.Checkpoint(model=model)
    status = checkpoint.restore(path).assert_consumed()
    tf.get_default_graph().finalize()
    with tf.Session() as session:
        status.initialize_or_restore()
        session.run(train)
        np.testing.assert_allclose(session.run(found), loss, rtol=1e-6)
        assert session.run([model.step, checkpoint.save_counter]) == [2, 1]
        assert checkpoint.save(path[:-2], session) == path[:-2] + "-2"


def test_what_comes_after_restoring_takes_its_values_then(trained):
    path, loss = trained
    for eager in (True, False):
        with mode.eager_mode() if eager else tf.Graph().as_default():
            checkpoint = tf.train.Checkpoint()
            status = checkpoint.restore(path)
            with pytest.raises(AssertionError, match=r"Unresolved object in checkpoint \(root\).model"):
                status.assert_consumed()
            with pytest.raises(AssertionError, match="Nothing to load"):
                tf2.train.Checkpoint().read(path).expect_partial().assert_nontrivial_match()
            model = checkpoint.model = Model()
            if eager:
                assert int(model.step) == 1
                model.train()
                found = float(model.loss())
            else:
                train, later = model.train(), model.loss()
                with tf.Session() as session:
                    status.initialize_or_restore(session)
                    session.run(train)
                    found = session.run(later)
            status.assert_consumed()
            np.testing.assert_allclose(found, loss, rtol=1e-6)


def test_the_later_call_of_restore_decides(tmp_path):
    with mode.eager_mode():
        for number in (1.0, 2.0):
            tf2.train.Checkpoint(v=tf.Variable(number)).write(str(tmp_path / f"{number}"))
        checkpoint = tf2.train.Checkpoint()
        checkpoint.read(str(tmp_path / "2.0"))
        checkpoint.read(str(tmp_path / "1.0"))
        checkpoint.v = tf.Variable(0.0)
        assert float(checkpoint.v) == 1.0


def test_what_is_missing_is_initialized_in_a_graph(trained):
    path, _ = trained
    model, extra = Model(), tf.Variable(3.0)
    model.train()
    checkpoint = tf.train.Checkpoint(model=model, extra=extra)
    status = checkpoint.restore(path)
    with pytest.raises(AssertionError, match="Found 1 Python objects that were not bound"):
        status.assert_existing_objects_matched()
    with tf.Session() as session:
        status.initialize_or_restore(session)
        assert session.run([extra, model.step]) == [3.0, 1]
        nothing = checkpoint.restore(None)
        nothing.initialize_or_restore(session)
        assert session.run(model.step) == 0
        with pytest.raises(AssertionError, match="No checkpoint specified"):
            nothing.assert_consumed()
        with pytest.raises(AssertionError, match="no restore ops"):
            nothing.run_restore_ops(session)


def test_a_function_makes_variables_that_start_from_the_checkpoint(tmp_path):
    class Lazy(tf2.Module):
        def __init__(self):
            super().__init__()
            self.v = None

        @tf2.function
        def __call__(self, x):
            if self.v is None:
                self.v = tf2.Variable([1.0, 2.0])
            return x * self.v

    with mode.eager_mode():
        first = Lazy()
        first(tf2.constant(1.0))
        first.v.assign([5.0, 6.0])
        path = tf2.train.Checkpoint(first).write(str(tmp_path / "lazy"))
        second = Lazy()
        status = tf2.train.Checkpoint(second).read(path)
        assert second(tf2.constant(2.0)).numpy().tolist() == [10.0, 12.0]
        status.assert_consumed()

        @tf2.function
        def saving():
            return tf2.train.Checkpoint(first).save(path)

        with pytest.raises(NotImplementedError, match="from a function"):
            saving()


def test_a_root_has_the_names_of_its_own(tmp_path):
    with mode.eager_mode():
        model = Model()
        model.train()
        checkpoint = tf2.train.Checkpoint(weakref.ref(model), further=tf.Variable(4.0))
        path = checkpoint.save(tmp_path / "root")
        names = [name for name, _ in tf.train.list_variables(path)]
        assert "layer/kernel/.OPTIMIZER_SLOT/optimizer/m/.ATTRIBUTES/VARIABLE_VALUE" in names
        assert {"further/.ATTRIBUTES/VARIABLE_VALUE", "save_counter/.ATTRIBUTES/VARIABLE_VALUE"} <= set(names)
        again, further = Model(), tf.Variable(0.0)
        other = tf2.train.Checkpoint(again, further=further)
        other.restore(path).expect_partial()
        assert [float(further), int(other.save_counter), int(again.step)] == [4.0, 1, 1]
        with pytest.raises(ValueError, match="root.step already exists"):
            tf2.train.Checkpoint(again, step=further)
        del model
        gc.collect()
        with pytest.raises(ReferenceError, match="has been deleted"):
            checkpoint.save(tmp_path / "root")


def test_variables_by_name_are_found(tmp_path):
    with tf.Graph().as_default():
        model = Model()
        train = model.train()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(train)
            path = tf.train.Saver().save(session, str(tmp_path / "names"))
            kernel = session.run(model.layer.kernel)
            checkpoint = tf.train.Checkpoint(model=model)
            status = checkpoint.restore(path)
            session.run(tf.global_variables_initializer())
            status.initialize_or_restore(session)
            np.testing.assert_array_equal(session.run(model.layer.kernel), kernel)
            status.assert_consumed()
            objects = checkpoint.save(str(tmp_path / "objects"), session)
            session.run(tf.global_variables_initializer())
            tf.train.Saver().restore(session, objects)
            np.testing.assert_array_equal(session.run(model.layer.kernel), kernel)
    with mode.eager_mode():
        later = Model()
        tf.train.Checkpoint(model=later).restore(path)
        later.loss()
        np.testing.assert_array_equal(later.layer.kernel.numpy(), kernel)
        assert int(later.step) == 1


def test_what_does_not_fit_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(saver_sessions._provider, "function", None)  # keras gives one, where a test has loaded it
    with mode.eager_mode():
        path = tf2.train.Checkpoint(a=tf.Variable(1.0), b=tf.Variable([1.0, 2.0])).save(str(tmp_path / "ck"))
        a, b = tf.Variable(0.0), tf.Variable([0.0])
        with pytest.raises(ValueError, match=r"its value in the checkpoint float32 of shape \[2\]"):
            tf2.train.Checkpoint(a=a, b=b).restore(path)
        assert float(a) == 0.0
        with pytest.raises(tf.errors.NotFoundError, match="missing the checkpoint suffix"):
            tf2.train.Checkpoint(a=a).restore(str(tmp_path / "ck"))
        with pytest.raises(ValueError, match="expecting a to be a trackable object"):
            tf2.train.Checkpoint(a=3)
    a, b = tf.Variable(0.0), tf.Variable([0.0])
    checkpoint = tf.train.Checkpoint(a=a, b=b)
    status = checkpoint.restore(path)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError):
            status.run_restore_ops(session)
        assert session.run(a) == 0.0
    with pytest.raises(RuntimeError, match="needs a session"):
        status.run_restore_ops()
    with tf.Session(), pytest.raises(tf.errors.FailedPreconditionError, match="save_counter"):
        checkpoint.save(str(tmp_path / "other"))


def test_values_that_nothing_took_are_named_unless_that_is_expected(tmp_path, caplog):
    with mode.eager_mode():
        path = tf2.train.Checkpoint(a=tf.Variable(1.0), b=tf.Variable(2.0)).save(str(tmp_path / "ck"))
        for expected in (True, False):
            caplog.clear()
            with caplog.at_level(logging.WARNING):
                checkpoint = tf2.train.Checkpoint(a=tf.Variable(0.0))
                status = checkpoint.restore(path)
                if expected:
                    status.expect_partial()
                del checkpoint, status
                gc.collect()
            assert ("could not be found in the restored object: (root).b" in caplog.text) is not expected


def test_state_in_python_and_tensors_of_an_object_are_saved(tmp_path):
    class Counter(tf2.train.experimental.PythonState):
        number = 0

        def serialize(self):
            return str(self.number)

        def deserialize(self, string_value):
            self.number = int(string_value)

    class Pair(Trackable):
        def __init__(self):
            self.values = [tf.Variable(1.0), tf.Variable(2)]

        def _serialize_to_tensors(self):
            return {"first": self.values[0].value(), "the/second": self.values[1].value()}

        def _restore_from_tensors(self, restored_tensors):
            return tf.group(
                self.values[0].assign(restored_tensors["first"]), self.values[1].assign(restored_tensors["the/second"])
            )

    def check():
        counter, pair, arrays = Counter(), Pair(), tf.contrib.checkpoint.NumpyState()
        arrays.x = np.arange(3)
        parts = tf.contrib.checkpoint.split_dependency(
            ["low", "high"], [tf.float32, tf.float32],
            lambda buffer: buffer.update(low=pair.values[0] - 1.0, high=pair.values[0] + 1.0),
            lambda buffer: pair.values[0].assign((buffer["low"] + buffer["high"]) / 2.0),
        )  # fmt: skip
        whole = tf.train.Checkpoint(counter=counter, pair=pair, arrays=arrays)
        divided = tf.train.Checkpoint(**parts)
        with nullcontext() if tf.executing_eagerly() else tf.Session() as session:
            if not tf.executing_eagerly():
                session.run(tf.global_variables_initializer())
            counter.number = 7
            path, other = whole.save(str(tmp_path / "whole")), divided.save(str(tmp_path / "divided"))
            names = [name for name, _ in tf.train.list_variables(path)]
            assert "pair/.ATTRIBUTES/the.Ssecond" in names
            assert "arrays/x/.ATTRIBUTES/py_state" in names
            for saved in ((whole, path), (divided, other), (whole, path)):
                counter.number, arrays.x = 0, np.zeros(1)
                changed = [pair.values[0].assign(9.0), pair.values[1].assign(9)]
                if not tf.executing_eagerly():
                    session.run(changed)
                status = saved[0].restore(saved[1])
                status.run_restore_ops()
                values = [v.numpy() if tf.executing_eagerly() else session.run(v) for v in pair.values]
                assert values == [1.0, 9 if saved[0] is divided else 2]
            assert counter.number == 7
            assert arrays.x.tolist() == [0, 1, 2]

    check()
    with mode.eager_mode():
        check()


def test_the_graph_of_objects_is_shown(trained):
    path, _ = trained
    graph = tf.contrib.checkpoint.object_metadata(path)
    assert [child.local_name for child in graph.nodes[0].children] == ["model", "save_counter"]
    shown = tf.contrib.checkpoint.dot_graph_from_checkpoint(path)
    assert shown.startswith("digraph {\nN_0 [")
    assert shown.count("orange") == 4
    assert shown.count('label="kernel"]') == 1


def test_a_copy_of_an_object_is_saved_by_itself(tmp_path):
    with mode.eager_mode():
        first = tf2.train.Checkpoint(parts=[tf.Variable(1.0), {"a": tf.Variable(2.0)}])
        second = copy.deepcopy(first.parts)
        second[0].assign(5.0)
        path = tf2.train.Checkpoint(parts=second).save(str(tmp_path / "copy"))
        first.restore(path).assert_consumed()
        assert [float(first.parts[0]), float(first.parts[1]["a"])] == [5.0, 2.0]


def test_a_slot_is_saved_once(tmp_path):
    with mode.eager_mode():
        model = Model()
        model.train()
        slot = model.optimizer.get_slot(model.layer.kernel, "m")
        with pytest.raises(NotImplementedError, match="(?s)The slot 'm' of .* is saved already"):
            tf2.train.Checkpoint(model=model, slot=slot).save(str(tmp_path / "twice"))


def test_cells_tables_generators_and_wrapped_optimizers(tmp_path):
    def built():
        inner = tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.BasicLSTMCell(2), output_keep_prob=0.5)
        cell = tf.nn.rnn_cell.MultiRNNCell([inner, tf.nn.rnn_cell.GRUCell(3)])
        cell(tf.ones([1, 2]), cell.zero_state(1, tf.float32))
        table = tf2.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
        generator = tf2.random.Generator.from_seed(3)
        optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.1))
        variable = tf.Variable([1.0])
        return tf2.train.Checkpoint(cell=cell, table=table, generator=generator, optimizer=optimizer, variable=variable)

    with mode.eager_mode():
        first = built()
        first.table.insert(["a", "b"], [1, 2])
        first.optimizer.apply_gradients([(tf.constant([1.0]), first.variable)])
        path = first.write(str(tmp_path / "ck"))
        drawn = first.generator.normal([2]).numpy()
        first.optimizer.apply_gradients([(tf.constant([1.0]), first.variable)])
        names = {name.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE") for name, _ in tf.train.list_variables(path)}
        assert names >= {
            "cell/cell-0/cell/kernel", "cell/cell-1/gates.Skernel", "generator/_state_var", "optimizer/beta1_power",
            "variable/.OPTIMIZER_SLOT/optimizer/m", "table/.ATTRIBUTES/table-keys"}  # fmt: skip
        second = built()
        second.table.insert(["c"], [3])
        status = second.read(path)
        assert second.table.lookup(tf.constant(["a", "b", "c"])).numpy().tolist() == [1, 2, -1]
        np.testing.assert_array_equal(second.generator.normal([2]).numpy(), drawn)
        second.optimizer.apply_gradients([(tf.constant([1.0]), second.variable)])
        np.testing.assert_array_equal(second.variable.numpy(), first.variable.numpy())
        status.assert_consumed()
        for one, other in zip(first.cell.variables, second.cell.variables, strict=True):
            np.testing.assert_array_equal(one.numpy(), other.numpy())


def test_containers_of_nothing_leave_no_trace(tmp_path):
    """1.12 has no objects for them, and refuses a checkpoint with such nodes in ``assert_consumed``."""
    with mode.eager_mode():
        holder = tf.contrib.checkpoint.Checkpointable()
        holder.sizes, holder.named, holder.v = [3, [4]], {"a": {"b": 1}}, [tf.Variable(1.0), []]
        path = tf.train.Checkpoint(holder=holder).write(str(tmp_path / "ck"))
        graph = tf.contrib.checkpoint.object_metadata(path)
        assert [[child.local_name for child in node.children] for node in graph.nodes] == [["holder"], ["v"], ["0"], []]


def test_iterators_are_saved_where_they_are(tmp_path):
    def numbers(count=20):
        return iter(tf2.data.Dataset.range(count).shuffle(5, seed=3).map(lambda x: 2 * x).batch(2))

    with mode.eager_mode():
        holder = tf2.Module()
        holder.iterator = numbers()
        for _ in range(3):
            next(holder.iterator)
        path = tf2.train.Checkpoint(holder=holder).write(str(tmp_path / "middle"))
        assert "holder/iterator/.ATTRIBUTES/ITERATOR_STATE" in dict(tf.train.list_variables(path))
        rest = [batch.numpy().tolist() for batch in holder.iterator]
        ended = tf2.train.Checkpoint(holder=holder).write(str(tmp_path / "end"))
        for saved, wanted in ((path, rest), (ended, [])):
            holder.iterator = numbers()
            tf2.train.Checkpoint(holder=holder).read(saved).assert_consumed()
            assert [batch.numpy().tolist() for batch in holder.iterator] == wanted
        holder.iterator = numbers(30)
        with pytest.raises(tf.errors.InvalidArgumentError, match="state of an iterator"):
            tf2.train.Checkpoint(holder=holder).read(path)
