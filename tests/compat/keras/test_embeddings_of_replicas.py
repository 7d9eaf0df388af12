"""Tables of embeddings on several replicas train as on one device that has the whole batch, by every optimizer."""

import itertools

import numpy as np
import pytest

import towerstrat.compat.v2 as tf
from tests.spread import spread
from towerstrat.graph.runtime.programs.limits import LIMITS
from towerstrat.graph.variables import table_sums

keras, v1 = tf.keras.optimizers, tf.compat.v1
IDS = np.array([[2, 2, 1, 3, 0, 2], [1, 1, 4, 4, 4, 0], [3, 3, 3, 3, 3, 3]])
OPTIMIZERS = {
    "Adam": lambda: keras.Adam(0.1),
    "legacy.Momentum": lambda: keras.legacy.SGD(0.1, momentum=0.9),
    "v1.Adam": lambda: v1.train.AdamOptimizer(0.1),
    "SGD": lambda: keras.SGD(0.1, momentum=0.9, nesterov=True),
    "legacy.Adam": lambda: keras.legacy.Adam(0.1),
    "v1.Momentum": lambda: v1.train.MomentumOptimizer(0.1, 0.9),
    "RMSprop": lambda: keras.RMSprop(0.1, centered=True),
    "legacy.Adamax": lambda: keras.legacy.Adamax(0.1),
    "v1.Adagrad": lambda: v1.train.AdagradOptimizer(0.1),
    "Adagrad": lambda: keras.Adagrad(0.1),
    "legacy.Nadam": lambda: keras.legacy.Nadam(0.1),
    "v1.RMSProp": lambda: v1.train.RMSPropOptimizer(0.1),
    "Adamax": lambda: keras.Adamax(0.1),
    "legacy.RMSprop": lambda: keras.legacy.RMSprop(0.1),
    "v1.Ftrl": lambda: v1.train.FtrlOptimizer(0.1),
    "legacy.Adadelta": lambda: keras.legacy.Adadelta(0.1),
    "Adadelta": lambda: keras.Adadelta(0.1),
    "Ftrl": lambda: keras.Ftrl(0.1),
    "AdamW": lambda: keras.AdamW(0.1),
}


FORMS = {"rows": 0.0, "table": np.inf}
"""What replicas sum: the rows that they looked up, or a table of them."""


@pytest.fixture
def choose(monkeypatch):
    def chosen(form):
        for name in ("ADDED_UP_TO", "JOINED_UP_TO"):
            monkeypatch.setattr(table_sums, name, FORMS[form])

    return chosen


@pytest.fixture(autouse=True)
def as_2_x(later_behavior):
    yield
    tf.keras.backend.clear_session()


def start():
    return np.linspace(-1, 1, 15, dtype=np.float32).reshape(5, 3)


def loss_of(table, ids):
    return tf.reduce_sum(tf.square(tf.gather(table, ids)))


def trained(optimizer, strategy, wrap):
    """The table after a step for each row of ids, and the values of the optimizer's variables of its shape."""
    with strategy.scope():
        table = tf.Variable(start(), name="table")
        made = OPTIMIZERS[optimizer]()

    def step(ids):
        with tf.GradientTape() as tape:
            loss = loss_of(table, ids)
        made.apply_gradients([(tape.gradient(loss, table), table)])
        return loss

    run = wrap(lambda ids: strategy.run(step, args=(ids,)))
    data = tf.data.Dataset.from_tensor_slices(IDS.ravel()).batch(IDS.shape[1])
    for ids in strategy.experimental_distribute_dataset(data):
        run(ids)
    variables = made.variables if isinstance(made.variables, list) else made.variables()
    return table.numpy(), [np.asarray(v) for v in variables if v.shape == table.shape]


def assignment(replicas):
    topology = tf.tpu.experimental.initialize_tpu_system()
    return tf.tpu.experimental.DeviceAssignment.build(topology, num_replicas=replicas)


def tpu(replicas):
    return tf.distribute.TPUStrategy(None, assignment(replicas))


def mirrored(replicas):
    return tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(replicas)])


WAYS = {
    "Mirrored, function": (mirrored, tf.function),
    "TPU, function": (tpu, tf.function),
    "Mirrored, eager": (mirrored, lambda f: f),
}


@spread(("form", "optimizer", "way", "replicas"), itertools.product(FORMS, OPTIMIZERS, WAYS, [2, 3, 1]), every=19)
def test_replicas_train_as_one_device(form, optimizer, way, replicas, choose):
    choose(form)
    make, wrap = WAYS[way]
    found, slots = trained(optimizer, make(replicas), wrap)
    wanted, wanted_slots = trained(optimizer, tf.distribute.get_strategy(), tf.function)
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-6)
    assert len(slots) == len(wanted_slots)
    for ours, theirs in zip(slots, wanted_slots, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)


IN_GRAPHS = [name for name in OPTIMIZERS if name.startswith("v1.")]


def by_hand(optimizer, towers):
    """Rows of all towers, which are called in a loop over devices, go to one update."""
    table = v1.get_variable("table", initializer=start(), use_resource=True)
    ids = v1.placeholder(tf.int32, [None])
    rows = []
    for i, part in enumerate(tf.split(ids, towers)):
        with tf.device(f"/gpu:{i}"):
            rows += v1.gradients(loss_of(table, part), [table])
    together = tf.IndexedSlices(tf.concat([r.values for r in rows], 0), tf.concat([r.indices for r in rows], 0))
    return table, ids, optimizer.apply_gradients([(together, table)])


@spread(("form", "optimizer", "towers"), itertools.product(FORMS, IN_GRAPHS, [2, 3, 1]), every=7)
def test_towers_by_hand_train_as_one_device(form, optimizer, towers, choose, monkeypatch):
    choose(form)
    monkeypatch.setattr(LIMITS, "towers_on_cpu", True)
    with tf.Graph().as_default(), v1.Session() as session:
        table, ids, train = by_hand(OPTIMIZERS[optimizer](), towers)
        session.run(v1.global_variables_initializer())
        for row in IDS:
            session.run(train, {ids: row})
        found = session.run(table)
    wanted, _ = trained(optimizer, tf.distribute.get_strategy(), tf.function)
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-6)


@spread(
    ("form", "optimizer", "kind", "replicas"),
    itertools.product(FORMS, IN_GRAPHS, ["Mirrored", "TPU"], [2, 3]), every=11,
)  # fmt: skip
def test_replicas_train_in_a_graph(form, optimizer, kind, replicas, choose):
    choose(form)
    with tf.Graph().as_default(), v1.Session() as session:
        if kind == "TPU":
            strategy = v1.distribute.experimental.TPUStrategy(None, device_assignment=assignment(replicas))
        else:
            strategy = v1.distribute.MirroredStrategy([f"CPU:{i}" for i in range(replicas)])
        with strategy.scope():
            table = v1.get_variable("table", initializer=start(), use_resource=True)
            made = OPTIMIZERS[optimizer]()
            data = v1.data.Dataset.from_tensor_slices(IDS.ravel()).batch(IDS.shape[1], drop_remainder=True)
            iterator = strategy.make_dataset_iterator(data)
            step = strategy.experimental_run(lambda ids: made.minimize(loss_of(table, ids)), iterator)
            train = strategy.group(step)
        session.run([v1.global_variables_initializer(), iterator.initialize()])
        for _ in IDS:
            session.run(train)
        found = session.run(table)
    wanted, _ = trained(optimizer, tf.distribute.get_strategy(), tf.function)
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("make", [mirrored, tpu])
def test_fit_of_a_model_with_an_embedding(make):
    """The losses are those of TensorFlow 2.15, on one replica and on two."""
    ids = np.random.RandomState(0).randint(0, 5, (16, 3))
    targets = ids.sum(1, keepdims=True).astype(np.float32)
    with make(2).scope():
        model = tf.keras.Sequential([
            tf.keras.layers.Embedding(5, 2, embeddings_initializer="ones", input_length=3),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(1, kernel_initializer="ones"),
        ])  # fmt: skip
        model.compile(keras.Adam(0.1), "mse")
    history = model.fit(ids, targets, batch_size=8, epochs=2, shuffle=False, verbose=0)
    np.testing.assert_allclose(history.history["loss"], [6.349, 3.556], atol=5e-4)


def test_an_index_out_of_range_is_still_found():
    table = tf.Variable(start())
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[0\] = 2147483647 is not in \[0, 5\)"):
        tf.function(lambda i: tf.gather(table + 1.0, i))(tf.constant([2147483647]))


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function])
def test_rows_looked_up_by_int32_and_int64(wrap):
    table = tf.Variable(start())

    def rows():
        with tf.GradientTape() as tape:
            first = tf.reduce_sum(tf.gather(table, tf.constant([0, 1])))
            loss = first + tf.reduce_sum(tf.gather(table, tf.constant([1, 2], tf.int64)))
        gradient = tape.gradient(loss, table)
        assert gradient.indices.dtype == tf.int64
        return tf.convert_to_tensor(gradient)

    assert wrap(rows)().numpy().sum(1).tolist() == [3.0, 6.0, 3.0, 0.0, 0.0]


def test_a_replicas_copy_is_an_array_for_numpy():
    strategy = mirrored(2)
    with strategy.scope():
        table = tf.Variable(start())
    copy = np.asarray(strategy.experimental_local_results(table)[1])
    assert copy.dtype == np.float32
    np.testing.assert_array_equal(copy, start())
