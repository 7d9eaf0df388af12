"""The samples and sentences of the reference pages of the later surface, in our words.

The pages are those of ``tf.distribute.Strategy``, ``tf.distribute.TPUStrategy`` (2.x) and
``tf.compat.v2.distribute.experimental.TPUStrategy`` (1.15). Where a sample takes a MirroredStrategy, a TPUStrategy on
virtual devices stands for it; where it takes a model of tf.keras, the model is made of variables.
"""

import contextlib
import inspect
import itertools
import json
import threading
from pathlib import Path

import jax
import numpy as np
import pytest

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf
from tests.data.readers.test_text_and_record_datasets import framed
from tests.spread import spread
from tests.towers.distribute.common import parts, replica_id, steps, strategy
from towerstrat.errors import UnsupportedError

SUM, MEAN = tf.distribute.ReduceOp.SUM, tf.distribute.ReduceOp.MEAN
Experimental = tf.distribute.experimental.TPUStrategy
TPUStrategyV1 = tf1.distribute.experimental.TPUStrategy


@pytest.fixture(autouse=True)
def as_in_2x(later_behavior):
    """Eagerly, and == compares values."""


# ---- TPUStrategy: how one is made -----------------------------------------------------------------------------------


def test_a_strategy_of_a_resolver_has_a_replica_on_each_device():
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    made = tf.distribute.TPUStrategy(resolver)
    assert isinstance(made, tf.distribute.Strategy)
    assert made.num_replicas_in_sync == len(resolver.devices()) == 8
    assert made.cluster_resolver is resolver


@pytest.mark.parametrize("kind", [tf.distribute.TPUStrategy, Experimental])
def test_no_resolver_is_the_local_machine(kind):
    made = kind()
    assert made.num_replicas_in_sync == 8
    assert isinstance(made.cluster_resolver, tf.distribute.cluster_resolver.TPUClusterResolver)
    with pytest.raises(TypeError, match=r"Expected a .*TPUClusterResolver, got 'local'"):
        kind("local")


def test_arguments_are_named_as_documented():
    def names(function):
        return list(inspect.signature(function).parameters)[1:]

    assert names(tf.distribute.TPUStrategy.__init__)[:2] == ["tpu_cluster_resolver", "experimental_device_assignment"]
    assert names(Experimental.__init__) == ["tpu_cluster_resolver", "device_assignment"]
    assert names(Experimental.experimental_run_v2) == ["fn", "args", "kwargs"]
    assert names(Experimental.reduce) == ["reduce_op", "value", "axis"]
    assert names(Experimental.experimental_local_results) == ["value"]
    assert names(Experimental.experimental_make_numpy_dataset)[0] == "numpy_input"
    assert names(Experimental.experimental_distribute_dataset)[0] == "dataset"
    assert names(Experimental.distribute_datasets_from_function) == ["dataset_fn", "options"]
    assert names(Experimental.experimental_distribute_datasets_from_function)[0] == "dataset_fn"
    assert names(tf.distribute.TPUStrategy.experimental_assign_to_logical_device) == ["tensor", "logical_device_id"]
    assert inspect.signature(Experimental.reduce).parameters["axis"].default is inspect.Parameter.empty


def test_device_assignment_says_on_which_cores_replicas_are():
    topology = tf.tpu.experimental.initialize_tpu_system()
    cores = [[[2, 0, 0, 0]], [[0, 0, 0, 1]]]
    made = Experimental(device_assignment=tf.tpu.experimental.DeviceAssignment(topology, np.array(cores)))
    value = made.run(tf.function(lambda: 2 * replica_id()))
    shards = {int(shard.data[0]): shard.device for shard in value.local.array.addressable_shards}
    assert shards == {0: jax.devices()[4], 2: jax.devices()[1]}


@pytest.mark.parametrize("core", [[0, 0, 0, 0], [1, 0, 0, 1]])
def test_device_assignment_of_a_single_core(core):
    """All that 1.15 had use for: its variables and what is computed are there, and go together with other values."""
    device = jax.devices()[2 * core[0] + core[3]]
    topology = tf.tpu.experimental.initialize_tpu_system()
    made = Experimental(device_assignment=tf.tpu.experimental.DeviceAssignment(topology, np.array([[core]])))
    assert made.num_replicas_in_sync == 1
    with made.scope():
        v = tf.Variable(tf.ones([30, 30]))
    elsewhere = tf.function(lambda x: x @ x)(tf.ones([30, 30]))

    @tf.function
    def step(x):
        v.assign_add(v @ x)
        return v + 1.0

    result = made.experimental_run_v2(step, args=(elsewhere,))
    assert v.value().array.devices() == result.array.devices() == {device}
    assert float((result + elsewhere)[0, 0]) == 1 + 30 * 30 + 1 + 30
    data = made.experimental_distribute_dataset(tf.data.Dataset.range(9).batch(4))

    @tf.function
    def total(data):
        total = tf.constant(0, tf.int64)
        for x in data:
            total += made.reduce(SUM, made.experimental_run_v2(lambda x: 2 * x, args=(x,)), axis=0)
        return total

    assert int(total(data)) == 72
    with tf.GradientTape() as tape:
        squares = tf.function(lambda: tf.reduce_sum(v * v))()
    assert float(tape.gradient(squares, v)[0, 0]) == 2 * 901


@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_variables_of_the_scope_are_on_every_replica_and_kept_in_sync(replicas):
    made = strategy(replicas)
    with made.scope():
        v = tf.Variable([1.0, 2.0], aggregation=tf.VariableAggregation.SUM)
    assert made.extended.variable_created_in_scope(v)
    assert parts(made, v) == [[1.0, 2.0]] * replicas

    @tf.function
    def step():
        v.assign_add([1.0, 1.0] * (tf.cast(replica_id(), tf.float32) + 1))

    made.run(step)
    total = replicas * (replicas + 1) / 2
    assert parts(made, v) == [[1.0 + total, 2.0 + total]] * replicas


# ---- TPUStrategy: functions, and plain functions eagerly ------------------------------------------------------------


def add_one(x):
    return x + 1


class Callable:
    @tf.function
    def __call__(self, x):
        return x + 1

    @tf.function
    def method(self, x):
        return x + 1

    def plain(self, x):
        return x + 1


class Plain:
    def __call__(self, x):
        return x + 1


@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize(
    "function", [add_one, Plain(), Callable().plain, lambda x: x + 1], ids=["function", "object", "method", "lambda"]
)
@pytest.mark.parametrize("method", ["run", "experimental_run_v2"])
def test_a_plain_function_is_executed_for_one_replica_after_the_other(replicas, function, method):
    """TensorFlow refuses it under a TPUStrategy."""
    made = strategy(replicas, Experimental)
    for inside in (False, True):
        with made.scope() if inside else contextlib.nullcontext():
            assert parts(made, getattr(made, method)(function, args=(tf.constant(1),))) == [2] * replicas


@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize("method", ["run", "experimental_run_v2"])
def test_functions_run_and_plain_ones_do_inside_of_a_function(replicas, method):
    run = getattr(strategy(replicas, Experimental), method)
    concrete = tf.function(add_one).get_concrete_function(tf.TensorSpec([], tf.int32))
    for function in (tf.function(add_one), Callable(), Callable().method, concrete):
        assert parts(run.__self__, run(function, args=(tf.constant(1),))) == [2] * replicas
    for function in (add_one, tf.function(add_one), Plain()):
        found = tf.function(lambda x, f=function: run(f, args=(x,)))(tf.constant(1))
        assert parts(run.__self__, found) == [2] * replicas


def test_in_a_graph_nothing_is_eager_and_plain_functions_run():
    made = strategy(2)
    with tf.Graph().as_default():
        total = made.reduce(SUM, made.run(add_one, args=(tf.constant(1),)), axis=None)
        with tf.compat.v1.Session() as session:
            assert session.run(total) == 4


# ---- TPUStrategy: the sample of a training loop ---------------------------------------------------------------------


def by_numpy(x, y, kernel, bias, rate, order):
    """Steps of gradient descent on the sum of cross-entropies of each step's examples."""
    for rows in order:
        logits = x[rows] @ kernel + bias
        p = np.exp(logits - logits.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        d = p - np.eye(2, dtype=np.float32)[y[rows, 0]]
        kernel, bias = kernel - rate * x[rows].T @ d, bias - rate * d.sum(0)
    return kernel, bias


@spread(("replicas", "per_call"), itertools.product([1, 2, 4], [1, 3]), every=3)
def test_the_sample_of_a_custom_training_loop(replicas, per_call):
    rng = np.random.RandomState(0)
    x, y = rng.random_sample((2, 5)).astype(np.float32), np.array([[1], [0]])
    made = strategy(replicas)
    start = rng.standard_normal((5, 2)).astype(np.float32)

    with made.scope():
        kernel = tf.Variable(start)
        bias = tf.Variable(tf.zeros([2]))
        trainable = [kernel, bias]

    def dataset_fn(context):
        assert context.num_replicas_in_sync == replicas
        return tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(1, drop_remainder=True)

    dist_dataset = made.distribute_datasets_from_function(dataset_fn)
    iterator = iter(dist_dataset)

    @tf.function
    def train_step(iterator):
        def step_fn(inputs):
            features, labels = inputs
            with tf.GradientTape() as tape:
                logits = features @ kernel + bias
                loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels[:, 0], logits=logits)
            gradients = tape.gradient(loss, trainable)
            for variable, gradient in zip(
                trainable, tf.distribute.get_replica_context().all_reduce(SUM, gradients), strict=True
            ):
                variable.assign_sub(0.1 * gradient)

        for _ in tf.range(per_call):
            made.run(step_fn, args=(next(iterator),))

    for _ in range(2):
        train_step(iterator)
    order = np.arange(2 * per_call * replicas).reshape(-1, replicas) % 2
    expected = by_numpy(x, y, start, np.zeros(2, np.float32), 0.1, order)
    for variable, value in zip(trainable, expected, strict=True):
        for copy in made.experimental_local_results(variable):
            np.testing.assert_allclose(copy.numpy(), value, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("replicas", [1, 2])
def test_the_sample_of_a_custom_training_loop_without_its_function(replicas):
    """As the page has it: the step is a plain function, which is executed."""
    x, y = np.arange(10, dtype=np.float32).reshape(2, 5) / 10, np.array([[1], [0]])
    made = strategy(replicas)
    with made.scope():
        model = tf.keras.Sequential([
            tf.keras.layers.Dense(2, activation="softmax", kernel_initializer="zeros", input_shape=(5,)),
        ])  # fmt: skip
        optimizer = tf.keras.optimizers.SGD(learning_rate=0.1)

    def dataset_fn(ctx):
        dataset = tf.data.Dataset.from_tensor_slices((x, y))
        return dataset.repeat().batch(1, drop_remainder=True)

    dist_dataset = made.distribute_datasets_from_function(dataset_fn)
    iterator = iter(dist_dataset)
    losses = []

    def train_step(iterator):
        def step_fn(inputs):
            features, labels = inputs
            with tf.GradientTape() as tape:
                logits = model(features, training=True)
                loss = tf.reduce_sum(tf.keras.losses.sparse_categorical_crossentropy(labels, logits))

            grads = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
            losses.append(float(loss))

        made.run(step_fn, args=(next(iterator),))

    for _ in range(3):
        train_step(iterator)
    assert len(losses) == 3 * replicas
    order = np.arange(3 * replicas).reshape(-1, replicas) % 2
    expected = by_numpy(x, y, np.zeros([5, 2], np.float32), np.zeros(2, np.float32), 0.1, order)
    for variable, value in zip(model.trainable_variables, expected, strict=True):
        for copy in made.experimental_local_results(variable):
            np.testing.assert_allclose(copy.numpy(), value, rtol=2e-5, atol=1e-6)


# ---- TPUStrategy: the sample of logical devices ---------------------------------------------------------------------


def on_logical_devices():
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
    tf.config.experimental_connect_to_cluster(resolver)
    topology = tf.tpu.experimental.initialize_tpu_system(resolver)
    assignment = tf.tpu.experimental.DeviceAssignment.build(topology, computation_shape=[1, 1, 1, 2], num_replicas=1)
    return tf.distribute.TPUStrategy(resolver, experimental_device_assignment=assignment)


def test_the_sample_of_one_replica_on_two_logical_devices():
    made = on_logical_devices()
    assert made.num_replicas_in_sync == 1
    rows = np.arange(12, dtype=np.float32).reshape(4, 3)

    def dataset_fn(context):
        return tf.data.Dataset.from_tensor_slices((rows, np.arange(4))).batch(2, drop_remainder=True)

    iterator = iter(made.distribute_datasets_from_function(dataset_fn))

    @tf.function
    def step_fn(inputs):
        features, _ = inputs
        output = tf.add(features, features)
        return made.experimental_assign_to_logical_device(output, 0)

    for start in (0, 2):
        (output,) = made.experimental_local_results(made.run(step_fn, args=(next(iterator),)))
        np.testing.assert_array_equal(output, 2 * rows[start : start + 2])


def test_both_logical_devices_of_the_replica_compute():
    made = on_logical_devices()
    w = np.arange(12, dtype=np.float32).reshape(3, 4)
    ran_on = []

    @tf.function
    def step_fn(x):
        ran_on.append(tf.compat.v1.get_default_graph().axis)
        return tf.matmul(x, made.experimental_split_to_logical_devices(tf.constant(w), [1, 2]))

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for run in (made.run, tf.function(made.run)):
        np.testing.assert_array_equal(run(step_fn, args=(tf.constant(x),)), x @ w)
    assert {axis.devices for axis in ran_on} == {tuple(jax.devices()[:2])}


@pytest.mark.parametrize("number", [-1, 2, 7])
def test_a_logical_device_that_is_not_there(number):
    made = on_logical_devices()
    with pytest.raises(ValueError, match=rf"{number}"):
        made.run(tf.function(lambda: made.experimental_assign_to_logical_device(tf.ones([2]), number)))
    run_both = tf.function(lambda: [made.experimental_assign_to_logical_device(tf.ones([2]), i) for i in (0, 1)])
    assert [parts(made, value) for value in made.run(run_both)] == [[[1.0, 1.0]]] * 2


# ---- both pages: cluster_resolver and the sample of TF_CONFIG -------------------------------------------------------


CLUSTER = {"worker": ["localhost:12345", "localhost:23456"], "ps": ["localhost:34567"]}


def what_this_task_does(resolver):
    if resolver.task_type == "worker":
        return f"works as number {resolver.task_id}"
    assert resolver.task_type == "ps"
    return f"holds parameters as number {resolver.task_id}"


@pytest.mark.parametrize(("task", "index", "expected"), [
    ("worker", 0, "works as number 0"),
    ("worker", 1, "works as number 1"),
    ("ps", 0, "holds parameters as number 0"),
])  # fmt: skip
def test_the_sample_of_tf_config(monkeypatch, task, index, expected):
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": CLUSTER, "task": {"type": task, "index": index}}))
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    assert what_this_task_does(resolver) == expected
    assert resolver.cluster_spec().as_dict() == CLUSTER


def test_cluster_resolver_of_strategies(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": CLUSTER, "task": {"type": "worker", "index": 1}}))
    given = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
    for made in (tf.distribute.TPUStrategy(given), Experimental(given)):
        assert made.cluster_resolver is given
        assert what_this_task_does(made.cluster_resolver) == "works as number 0"
    assert tf.distribute.OneDeviceStrategy("/cpu:0").cluster_resolver is None
    assert tf.distribute.get_strategy().cluster_resolver is None


def test_strategies_may_say_which_resolver_is_theirs():
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(tf.train.ClusterSpec(CLUSTER), task_type="ps")

    class Mine(tf.distribute.OneDeviceStrategy):
        @property
        def cluster_resolver(self):
            return resolver

    assert Mine("/cpu:0").cluster_resolver.task_type == "ps"


# ---- both pages: distribute_datasets_from_function ------------------------------------------------------------------


@pytest.mark.parametrize("replicas", [1, 2, 3])
@pytest.mark.parametrize(
    "name", ["distribute_datasets_from_function", "experimental_distribute_datasets_from_function"]
)
def test_each_replica_takes_a_batch_of_the_functions_dataset(replicas, name):
    made = strategy(replicas)
    contexts = []

    def dataset_fn(context):
        contexts.append(context)
        return tf.data.Dataset.range(12 * replicas).batch(3)

    data = getattr(made, name)(dataset_fn)
    assert isinstance(data, tf.distribute.DistributedDataset)
    rows = np.arange(12 * replicas).reshape(4, replicas, 3)
    assert steps(made, data) == rows.tolist()
    (context,) = contexts
    assert isinstance(context, tf.distribute.InputContext)
    assert (context.num_input_pipelines, context.input_pipeline_id, context.num_replicas_in_sync) == (1, 0, replicas)


def test_the_functions_dataset_is_neither_batched_nor_divided():
    made = strategy(2)
    data = made.distribute_datasets_from_function(
        lambda context: tf.data.Dataset.range(4), options=tf.distribute.InputOptions()
    )
    assert steps(made, data) == [[0, 1], [2, 3]]


def test_replicas_of_an_infinite_dataset_may_differ_in_their_seed():
    made = strategy(2)

    def dataset_fn(context):
        return tf.data.experimental.RandomDataset(seed=context.input_pipeline_id).batch(4)

    first, second = (iter(made.distribute_datasets_from_function(dataset_fn)) for _ in range(2))
    assert parts(made, next(first)) == parts(made, next(second))
    one, other = parts(made, next(first))
    assert one != other


def test_the_functions_dataset_may_be_sharded_by_hand(tmp_path):
    for i in range(3):
        (tmp_path / f"{i}.txt").write_text(f"{i}a\n{i}b\n")
    made = strategy(2)

    def dataset_fn(context):
        files = sorted(str(path) for path in tmp_path.iterdir())
        files = files[context.input_pipeline_id :: context.num_input_pipelines]
        return tf.data.TextLineDataset(files).batch(context.get_per_replica_batch_size(4))

    expected = [[[b"0a", b"0b"], [b"1a", b"1b"]], [[b"2a", b"2b"], []]]
    assert steps(made, made.distribute_datasets_from_function(dataset_fn)) == expected


def test_what_the_function_must_return():
    with pytest.raises(TypeError, match=r"must return a tf.data.Dataset, got \[1\]"):
        strategy(2).distribute_datasets_from_function(lambda context: [1])


@pytest.mark.parametrize("replicas", [1, 2])
def test_element_spec_is_an_input_signature(replicas):
    made = strategy(replicas)
    data = made.distribute_datasets_from_function(
        lambda context: tf.data.Dataset.from_tensor_slices((np.ones([8, 3], np.float32), np.arange(8))).batch(2)
    )
    traced = []

    @tf.function(input_signature=[data.element_spec])
    def step(inputs):
        traced.append(inputs)
        features, labels = inputs
        weighed = made.run(lambda f, n: tf.cast(n, tf.float32) * tf.reduce_sum(f, 1), args=(features, labels))
        return made.reduce(SUM, weighed, axis=0)

    totals = [float(step(inputs)) for inputs in data]
    assert sum(totals) == 3 * sum(range(8))
    assert len(totals) == 4 // replicas
    assert len(traced) == 1
    with pytest.raises(TypeError):
        step((tf.constant(1), tf.constant(2)))


# ---- Strategy: the sample of a training loop ------------------------------------------------------------------------


@pytest.mark.parametrize("replicas", [1, 2, 3, 5])
def test_the_sample_of_an_epoch_in_a_function(replicas):
    made = strategy(replicas)
    epochs, created, contexts = 2, [], []
    with made.scope():

        @tf.function
        def distribute_train_epoch(dataset):
            def replica_fn(input):
                if not created:
                    created.append(tf.Variable(2.0))
                contexts.append(tf.distribute.get_replica_context())
                return tf.reduce_sum(created[0] * tf.cast(input, tf.float32))

            total_result = 0.0
            for x in dataset:
                per_replica_result = made.run(replica_fn, args=(x,))
                total_result += made.reduce(SUM, per_replica_result, axis=None)
            return total_result

        dist_dataset = made.experimental_distribute_dataset(tf.data.Dataset.range(11).batch(4))
        for _ in range(epochs):
            train_result = distribute_train_epoch(dist_dataset)
            assert float(train_result) == 2 * sum(range(11))
    assert made.extended.variable_created_in_scope(created[0])
    assert parts(made, created[0]) == [2.0] * replicas
    assert all(context.strategy is made and context.num_replicas_in_sync == replicas for context in contexts)


def test_the_sample_of_an_epoch_step_by_step():
    """The loop in Python, around a tf.function."""
    made = strategy(2)
    replica_fn = tf.function(lambda x: tf.reduce_sum(x))
    dist_dataset = made.experimental_distribute_dataset(tf.data.Dataset.range(7).batch(4))
    results = [made.reduce(SUM, made.run(replica_fn, args=(x,)), axis=None) for x in dist_dataset]
    assert [int(r) for r in results] == [6, 15]


# ---- TPUStrategy of 1.15: experimental_distribute_dataset -----------------------------------------------------------


def number(record):
    return tf.ensure_shape(tf.numpy_function(lambda text: np.int64(text), [record], tf.int64), [])


def test_the_sample_of_records_of_files(tmp_path, caplog, capfd):
    """The one worker reads all files, whatever the policy, and nothing is said about it."""
    made = strategy(2, Experimental)
    names = [str(tmp_path / f"{i}.tfr") for i in range(1, 5)]
    for i, name in enumerate(names):
        Path(name).write_bytes(framed([b"%d%d" % (i, record) for record in range(3)]))
    dataset = tf.data.TFRecordDataset(names).map(number).batch(8)
    dist_dataset = made.experimental_distribute_dataset(dataset)

    @tf.function
    def train_step(x):
        return 100 + x

    seen = [parts(made, made.experimental_run_v2(train_step, args=(x,))) for x in dist_dataset]
    assert seen == [[[100, 101, 102, 110], [111, 112, 120, 121]], [[122, 130], [131, 132]]]
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


def test_records_that_stay_strings_do_not_reach_the_devices():
    made = strategy(2)
    (x,) = made.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(["a", "b", "c"]).batch(3))
    assert parts(made, x) == [[b"a", b"b"], [b"c"]]
    with pytest.raises(UnsupportedError, match=r"devices, which have no strings.*dataset.map.*local_results"):
        made.run(tf.function(lambda x: x), args=(x,))
    with pytest.raises(UnsupportedError, match="no strings"):
        made.gather(x, axis=0)


@pytest.mark.parametrize("policy", list(tf.data.experimental.AutoShardPolicy))
@pytest.mark.parametrize("replicas", [1, 2])
def test_batches_are_divided_among_the_workers_devices_even_where_sharding_is_off(replicas, policy, caplog, capfd):
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = policy
    made = strategy(replicas, Experimental)
    data = made.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(4).with_options(options))
    assert steps(made, data) == np.arange(8).reshape(2, replicas, -1).tolist()
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


def test_sharding_is_turned_off_as_in_1_15():
    off, other = tf.data.Options(), tf.data.Options()
    assert off.experimental_distribute.auto_shard
    off.experimental_distribute.auto_shard = False
    made = strategy(2, Experimental)
    data = tf.data.Dataset.range(4).batch(4).with_options(off).with_options(other)
    assert not data.options().experimental_distribute.auto_shard
    assert steps(made, made.experimental_distribute_dataset(data)) == [[[0, 1], [2, 3]]]


def test_nothing_can_be_added_to_a_distributed_dataset():
    data = strategy(2, Experimental).experimental_distribute_dataset(tf.data.Dataset.range(8).batch(4))
    assert not isinstance(data, tf.data.Dataset)
    assert not any(hasattr(data, name) for name in ("map", "batch", "shuffle", "repeat", "take"))


def test_a_distributed_dataset_can_be_iterated_over_again_and_has_per_replica_values():
    made = strategy(2, Experimental)
    data = made.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(4))
    assert steps(made, data) == steps(made, data) == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
    assert all(isinstance(element, tf.distribute.DistributedValues) for element in data)
    assert isinstance(iter(data), tf.distribute.DistributedIterator)


# ---- TPUStrategy of 1.15: experimental_distribute_datasets_from_function --------------------------------------------


@pytest.mark.parametrize("replicas", [1, 2, 4])
def test_the_sample_of_an_input_function(replicas):
    made = strategy(replicas, Experimental)
    global_batch_size = 8

    def dataset_fn(input_context):
        batch_size = input_context.get_per_replica_batch_size(global_batch_size)
        d = tf.data.Dataset.from_tensors([[1.0]]).repeat().batch(batch_size)
        return d.shard(input_context.num_input_pipelines, input_context.input_pipeline_id)

    replica_fn = tf.function(lambda batch: tf.reduce_sum(batch, [1, 2]))
    inputs = made.experimental_distribute_datasets_from_function(dataset_fn)
    for _, batch in zip(range(3), inputs, strict=False):
        replica_results = made.experimental_run_v2(replica_fn, args=(batch,))
        assert parts(made, replica_results) == [[1.0] * (global_batch_size // replicas)] * replicas
        plain = made.experimental_run_v2(lambda batch: tf.reduce_sum(batch, [1, 2]), args=(batch,))
        assert parts(made, plain) == parts(made, replica_results)


def test_a_batch_size_that_does_not_divide():
    def dataset_fn(input_context):
        return tf.data.Dataset.range(8).batch(input_context.get_per_replica_batch_size(9))

    with pytest.raises(ValueError, match=r"`global_batch_size` 9 is not divisible by `num_replicas_in_sync` 2"):
        strategy(2, Experimental).experimental_distribute_datasets_from_function(dataset_fn)


# ---- TPUStrategy of 1.15: experimental_local_results ----------------------------------------------------------------


@pytest.mark.parametrize("replicas", [1, 3])
def test_local_results(replicas):
    made = strategy(replicas, Experimental)
    with made.scope():
        v = tf.Variable(5.0)
    number = tf.function(replica_id)
    by_run = made.run(number)
    by_extended = tf.function(lambda: made.run(number))()
    for value, expected in ((by_run, range(replicas)), (by_extended, range(replicas)), (v, [5.0] * replicas)):
        results = made.experimental_local_results(value)
        assert isinstance(results, tuple)
        assert [r.numpy() for r in results] == list(expected)
    for single in (3, None, "text", tf.constant(1.0)):
        (result,) = made.experimental_local_results(single)
        assert result is single


@pytest.mark.parametrize("replicas", [1, 3])
def test_local_results_of_what_runs_in_a_graph_of_1x(replicas):
    with tf.Graph().as_default():
        made = strategy(replicas, lambda resolver, assignment: TPUStrategyV1(resolver, device_assignment=assignment))
        with made.scope():
            iterator = made.make_dataset_iterator(tf1.data.Dataset.range(2 * replicas).batch(2 * replicas))
            by_run = made.experimental_run(lambda x: x + 1, iterator)
            by_extended = made.extended.call_for_each_replica(lambda: 2 * replica_id())
        fetches = [made.experimental_local_results(value) for value in (by_run, by_extended)]
        assert all(isinstance(results, tuple) for results in fetches)
        with tf1.Session() as session:
            session.run(iterator.initialize())
            numbers, doubled = session.run(fetches)
    assert np.array(numbers).tolist() == np.arange(1, 2 * replicas + 1).reshape(replicas, 2).tolist()
    assert list(doubled) == [2 * i for i in range(replicas)]


def test_local_results_of_structures_are_a_structure_for_each_replica():
    made = strategy(2)
    value = made.run(tf.function(replica_id))
    one, other = made.experimental_local_results({"a": value, "b": (7, value)})
    assert (int(one["a"]), int(other["a"]), one["b"][0], other["b"][0]) == (0, 1, 7, 7)
    assert (int(one["b"][1]), int(other["b"][1])) == (0, 1)


# ---- TPUStrategy of 1.15: experimental_make_numpy_dataset -----------------------------------------------------------


@pytest.mark.parametrize("replicas", [1, 2])
def test_the_sample_of_numpy_arrays(replicas):
    """Batched, as experimental_distribute_dataset wants it; without a batch there is nothing to divide."""
    made = strategy(replicas, Experimental)
    numpy_input = np.ones([10], dtype=np.float32)
    dataset = made.experimental_make_numpy_dataset(numpy_input)
    assert isinstance(dataset, tf.data.Dataset)
    assert [x.numpy() for x in dataset] == [1.0] * 10
    dist_dataset = made.experimental_distribute_dataset(dataset.batch(4))
    total = tf.function(lambda x: tf.reduce_sum(x))
    totals = [float(made.reduce(SUM, made.run(total, args=(x,)), axis=None)) for x in dist_dataset]
    assert totals == [4.0, 4.0, 2.0]
    if replicas > 1:
        with pytest.raises(ValueError, match=r"has no batch.*Call batch\(global_batch_size\)"):
            made.experimental_distribute_dataset(dataset)


def test_numpy_arrays_in_structures_and_lists():
    made = strategy(2, Experimental)
    rows = np.arange(6).reshape(3, 2)
    element = next(iter(made.experimental_make_numpy_dataset({"a": rows, "b": (rows[:, 0],)})))
    assert element["a"].numpy().tolist() == [0, 1]
    assert element["b"][0].numpy() == 0
    stacked = made.experimental_make_numpy_dataset([rows[:, 0], rows[:, 1]])
    assert [x.numpy().tolist() for x in stacked] == [[0, 2, 4], [1, 3, 5]]


# ---- TPUStrategy of 1.15: reduce ------------------------------------------------------------------------------------


def divided(made, values, batch):
    """The only batch of some values, over the replicas."""
    (element,) = made.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(values).batch(batch))
    return made.experimental_run_v2(tf.function(lambda x: tf.identity(x)), args=(element,))


def test_reduce_of_a_global_batch_of_eight():
    made = strategy(2, Experimental)
    value = divided(made, list(range(8)), 8)
    assert parts(made, value) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    across = made.reduce(SUM, value, axis=None)
    assert isinstance(across, tf.Tensor)
    assert across.numpy().tolist() == [0 + 4, 1 + 5, 2 + 6, 3 + 7]
    total = made.reduce(SUM, value, axis=0)
    assert total.shape == ()
    assert int(total) == 28
    assert made.reduce(MEAN, value, axis=None).numpy().tolist() == [2, 3, 4, 5]


def test_reduce_of_a_partial_batch_of_six():
    made = strategy(2, Experimental)
    value = divided(made, [float(i) for i in range(6)], 6)
    uneven = made.experimental_distribute_values_from_function(
        lambda c: np.arange(4.0) if c.replica_id_in_sync_group == 0 else np.arange(4.0, 6.0)
    )
    assert parts(made, value) == [[0, 1, 2], [3, 4, 5]]
    assert parts(made, uneven) == [[0, 1, 2, 3], [4, 5]]
    assert float(made.reduce(MEAN, uneven, axis=0)) == 15 / 6
    assert float(made.reduce(SUM, uneven, axis=0)) == 15
    means = made.run(tf.function(lambda x: tf.reduce_mean(x)), args=(uneven,))
    assert float(made.reduce(MEAN, means, axis=None)) == (1.5 + 4.5) / 2
    with pytest.raises(tf.errors.InvalidArgumentError, match="shape"):
        made.reduce(SUM, uneven, axis=None)


# ---- TPUStrategy of 1.15: scope, extended ---------------------------------------------------------------------------


def test_scope_makes_the_strategy_current_for_this_thread():
    made = strategy(2, Experimental)
    assert not tf.distribute.has_strategy()
    elsewhere = []
    with made.scope() as entered:
        assert entered is made
        assert tf.distribute.get_strategy() is made
        assert tf.distribute.in_cross_replica_context()
        assert tf.distribute.get_replica_context() is None
        assert made.extended.variable_created_in_scope(tf.Variable(1.0))
        thread = threading.Thread(target=lambda: elsewhere.append(tf.distribute.has_strategy()))
        thread.start()
        thread.join()
    assert elsewhere == [False]
    assert not tf.distribute.has_strategy()
    assert not made.extended.variable_created_in_scope(tf.Variable(1.0))


@pytest.mark.parametrize("replicas", [1, 2, 8])
def test_properties(replicas):
    made = strategy(replicas, Experimental)
    assert made.num_replicas_in_sync == replicas
    assert isinstance(made.extended, tf.distribute.StrategyExtended)
    assert len(made.extended.worker_devices) == replicas
    assert type(made) is tf1.compat.v2.distribute.experimental.TPUStrategy
