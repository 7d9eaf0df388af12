"""What every strategy of both surfaces must do: train as one device trains on all the data together.

Pairs of replica count, optimizer, loss reduction and input form are covered, all of them with each kind of strategy.
"""

import itertools

import jax
import numpy as np
import pytest

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf
from benchmarks.harness import Devices
from tests.spread import spread
from towerstrat.graph.eager import mode

STEPS, BATCH, FEATURES, CLASSES = 4, 3, 5, 3
"""``BATCH`` is one replica's."""
RANDOM = np.random.RandomState(0)
WEIGHTS = RANDOM.randn(FEATURES, CLASSES).astype(np.float32)
EXAMPLES = RANDOM.randn(8 * STEPS * BATCH, FEATURES).astype(np.float32)
LABELS = RANDOM.randint(0, CLASSES, len(EXAMPLES)).astype(np.int32)

OPTIMIZERS = {
    "descent": lambda: tf1.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf1.train.MomentumOptimizer(0.05, 0.9),
    "adam": lambda: tf1.train.AdamOptimizer(0.02),
    "rmsprop": lambda: tf1.train.RMSPropOptimizer(0.01),
}
REDUCTIONS = ("sum over the global batch size", "mean of each replica")
INPUTS = ("divided", "dealt", "dealt, unknown sizes")


def pairwise(*choices):
    """Combinations that hold every pair of choices."""
    missing = {
        ((i, a), (j, b))
        for (i, first), (j, second) in itertools.combinations(enumerate(choices), 2)
        for a in first
        for b in second
    }
    chosen = []
    while missing:
        best = max(
            itertools.product(*choices),
            key=lambda row: sum(pair in missing for pair in itertools.combinations(enumerate(row), 2)),
        )
        missing -= set(itertools.combinations(enumerate(best), 2))
        chosen.append(best)
    return chosen


CASES = pairwise((1, 2, 3, 8), tuple(OPTIMIZERS), REDUCTIONS, INPUTS)


def dataset(api, form, replicas):
    """All that the replicas see in ``STEPS`` steps, in batches of one replica or of all together."""
    count = STEPS * BATCH * replicas
    data = api.data.Dataset.from_tensor_slices((EXAMPLES[:count], LABELS[:count]))
    return data.batch(BATCH * replicas if form == "divided" else BATCH, drop_remainder=form != "dealt, unknown sizes")


def loss_of(weights, inputs, labels, reduction, replicas):
    logits = tf1.matmul(inputs, weights)
    losses = tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    if reduction == "mean of each replica":
        return tf1.reduce_mean(losses)
    return tf1.reduce_sum(losses) / (BATCH * replicas)


def alone(replicas, optimizer, reduction):
    """The weights after ``STEPS`` steps on one device, without a strategy."""
    with tf1.Graph().as_default(), tf1.Session() as session:
        weights = tf1.Variable(WEIGHTS)
        inputs, labels = dataset(tf1, "divided", replicas).make_one_shot_iterator().get_next()
        scale = replicas if reduction == "mean of each replica" else 1.0
        loss = scale * tf1.reduce_mean(
            tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=tf1.matmul(inputs, weights))
        )
        train = OPTIMIZERS[optimizer]().minimize(loss, var_list=[weights])
        session.run(tf1.global_variables_initializer())
        for _ in range(STEPS):
            session.run(train)
        return session.run(weights)


def towers(replicas, optimizer, reduction, form, strategy=None):
    """``run_steps_on_dataset`` of the tower surface."""
    with tf1.Graph().as_default(), tf1.Session() as session:
        strategy = strategy or tf1.contrib.distribute.TPUStrategy(Devices(jax.devices()[:replicas]), STEPS)
        with strategy.scope():
            weights = tf1.Variable(WEIGHTS)
            # Its datasets are dealt. Steps need known sizes.
            data = strategy.distribute_dataset(lambda: dataset(tf1, "dealt", replicas))

            def tower(inputs, labels):
                loss = loss_of(weights, inputs, labels, reduction, replicas)
                rule = OPTIMIZERS[optimizer]()
                return rule.apply_gradients(zip(tf1.gradients(loss, [weights]), [weights], strict=True))

            def step(context, inputs, labels):
                return strategy.group(strategy.call_for_each_tower(tower, inputs, labels))

            context = strategy.run_steps_on_dataset(step, data.make_one_shot_iterator(), STEPS)
        session.run(tf1.global_variables_initializer())
        session.run(context.run_op)
        return session.run(weights)


def mirrored_towers(replicas, optimizer, reduction, form):
    strategy = tf1.contrib.distribute.MirroredStrategy(devices=named(replicas))
    return towers(replicas, optimizer, reduction, form, strategy)


def mirrored_calls(replicas, optimizer, reduction, form):
    """A session run for each step of towers of 1.12, whose input is one iterator."""
    with tf1.Graph().as_default(), tf1.Session() as session:
        strategy = tf1.contrib.distribute.MirroredStrategy(devices=named(replicas))
        with strategy.scope():
            weights = tf1.Variable(WEIGHTS)
            batches = strategy.distribute_dataset(lambda: dataset(tf1, "dealt", replicas)).make_one_shot_iterator()

            def tower(inputs, labels):
                loss = loss_of(weights, inputs, labels, reduction, replicas)
                rule = OPTIMIZERS[optimizer]()
                return rule.apply_gradients(zip(tf1.gradients(loss, [weights]), [weights], strict=True))

            train = strategy.group(strategy.call_for_each_tower(tower, *batches.get_next()))
        session.run(tf1.global_variables_initializer())
        for _ in range(STEPS):
            session.run(train)
        return session.run(strategy.read_var(weights))


def named(replicas):
    return [f"/device:CPU:{i}" for i in range(replicas)]


def one_tower(replicas, optimizer, reduction, form):
    return towers(replicas, optimizer, reduction, form, tf1.contrib.distribute.OneDeviceStrategy("/cpu:0"))


def distributed(strategy, form, replicas, api):
    if form == "divided":
        return strategy.experimental_distribute_dataset(dataset(api, form, replicas))
    return strategy.experimental_distribute_datasets_from_function(lambda context: own(context, api, form, replicas))


def own(context, api, form, replicas):
    """The batches of the replicas of one process. Where there are several, replicas are on them in turn."""
    data, processes = dataset(api, form, replicas), context.num_input_pipelines
    if processes == 1:
        return data
    numbered = api.data.Dataset.zip((api.data.Dataset.range(STEPS * replicas), data))
    mine = numbered.filter(lambda i, _: api.equal(i % replicas % processes, context.input_pipeline_id))
    return mine.map(lambda _, batch: batch)


def functions(replicas, optimizer, reduction, form, make=tf.distribute.TPUStrategy):
    """``Strategy.run`` in a loop of a ``tf.function``."""
    with mode.eager_mode():
        strategy = make(Devices(jax.devices()[:replicas]))
        with strategy.scope():
            weights = tf.Variable(WEIGHTS)
            rule = OPTIMIZERS[optimizer]()
        data = distributed(strategy, form, replicas, tf)

        def step(inputs, labels):
            with tf.GradientTape() as tape:
                loss = loss_of(weights, inputs, labels, reduction, replicas)
            rule.apply_gradients([(tape.gradient(loss, weights), weights)])

        @tf.function
        def train(data):
            for inputs, labels in data:
                strategy.run(step, args=(inputs, labels))

        train(data)
        return weights.numpy()


def calls(replicas, optimizer, reduction, form):
    """A call of a function for each step, by the older name of ``run``."""
    with mode.eager_mode():
        strategy = tf.distribute.experimental.TPUStrategy(Devices(jax.devices()[:replicas]))
        with strategy.scope():
            weights = tf.Variable(WEIGHTS)
            rule = OPTIMIZERS[optimizer]()

        @tf.function
        def step(inputs, labels):
            with tf.GradientTape() as tape:
                loss = loss_of(weights, inputs, labels, reduction, replicas)
            rule.apply_gradients([(tape.gradient(loss, weights), weights)])

        for inputs, labels in distributed(strategy, form, replicas, tf):
            strategy.experimental_run_v2(step, args=(inputs, labels))
        return weights.numpy()


def sessions(replicas, optimizer, reduction, form, make=tf1.distribute.experimental.TPUStrategy):
    """``experimental_run_v2`` in a graph of 1.15, run by a session for each step."""
    with tf1.Graph().as_default(), tf1.Session() as session:
        strategy = make(Devices(jax.devices()[:replicas]))
        with strategy.scope():
            weights = tf1.Variable(WEIGHTS)
            rule = OPTIMIZERS[optimizer]()
            iterator = distributed(strategy, form, replicas, tf1).make_initializable_iterator()

            def step(inputs, labels):
                loss = loss_of(weights, inputs, labels, reduction, replicas)
                return rule.apply_gradients(zip(tf1.gradients(loss, [weights]), [weights], strict=True))

            train = strategy.experimental_run_v2(step, args=iterator.get_next())
        session.run([tf1.global_variables_initializer(), iterator.initializer])
        for _ in range(STEPS):
            session.run(strategy.group(train))
        return session.run(weights)


def mirrored_functions(replicas, optimizer, reduction, form):
    return functions(replicas, optimizer, reduction, form, lambda _: tf.distribute.MirroredStrategy(named(replicas)))


def mirrored_sessions(replicas, optimizer, reduction, form):
    return sessions(replicas, optimizer, reduction, form, lambda _: tf1.distribute.MirroredStrategy(named(replicas)))


def mirrored_eagerly(replicas, optimizer, reduction, form):
    """``Strategy.run`` of operations that run at once."""
    with mode.eager_mode():
        strategy = tf.distribute.MirroredStrategy(named(replicas))
        with strategy.scope():
            weights = tf.Variable(WEIGHTS)
            rule = OPTIMIZERS[optimizer]()

        def step(inputs, labels):
            with tf.GradientTape() as tape:
                loss = loss_of(weights, inputs, labels, reduction, replicas)
            rule.apply_gradients([(tape.gradient(loss, weights), weights)])

        for inputs, labels in distributed(strategy, form, replicas, tf):
            strategy.run(step, args=(inputs, labels))
        return weights.numpy()


def one_replica(replicas, optimizer, reduction, form):
    return functions(replicas, optimizer, reduction, form, lambda _: tf.distribute.OneDeviceStrategy("/cpu:0"))


def one_replica_of_sessions(replicas, optimizer, reduction, form):
    return sessions(replicas, optimizer, reduction, form, lambda _: tf1.distribute.OneDeviceStrategy("/cpu:0"))


def no_strategy(replicas, optimizer, reduction, form):
    return functions(replicas, optimizer, reduction, form, lambda _: tf.distribute.get_strategy())


@spread(("replicas", "optimizer", "reduction", "form"), CASES, every=23)
@pytest.mark.parametrize("surface", [towers, functions, calls, sessions])
def test_several_train_as_one(surface, replicas, optimizer, reduction, form):
    wanted = alone(replicas, optimizer, reduction)
    np.testing.assert_allclose(surface(replicas, optimizer, reduction, form), wanted, rtol=2e-5, atol=2e-6)


MIRRORED = (mirrored_towers, mirrored_calls, mirrored_functions, mirrored_sessions, mirrored_eagerly)


@spread(
    ("surface", "replicas", "optimizer", "reduction", "form"),
    pairwise(MIRRORED, (1, 2, 3, 8), tuple(OPTIMIZERS), REDUCTIONS, INPUTS), every=7,
)  # fmt: skip
def test_mirrored_towers_train_as_one(surface, replicas, optimizer, reduction, form):
    wanted = alone(replicas, optimizer, reduction)
    np.testing.assert_allclose(surface(replicas, optimizer, reduction, form), wanted, rtol=2e-5, atol=2e-6)


@spread(("optimizer", "form"), pairwise(tuple(OPTIMIZERS), INPUTS), every=23)
@pytest.mark.parametrize("surface", [one_tower, one_replica, one_replica_of_sessions, no_strategy])
def test_one_is_one(surface, optimizer, form):
    wanted = alone(1, optimizer, REDUCTIONS[0])
    np.testing.assert_allclose(surface(1, optimizer, REDUCTIONS[0], form), wanted, rtol=2e-5, atol=2e-6)
