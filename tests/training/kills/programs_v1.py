"""Programs of 1.x that train a drawn model, each its own way, and go on where their folder says."""

import numpy as np

import towerstrat.compat.v1 as tf
from tests.training.kills.drawn import BATCH, IDS, LABELS, ROWS, STEPS, TOWERS


def rows(name):
    """The dataset of single rows: (features, ids), label."""
    whole = tf.data.Dataset.from_tensor_slices(((ROWS, IDS), LABELS))
    if name == "filtered":
        return whole.shuffle(50, seed=2).filter(lambda x, y: x[0][0] > -1)
    if name == "interleaved":
        shards = tf.data.Dataset.range(4).shuffle(4, seed=1)
        return shards.interleave(lambda i: whole.shard(4, i).shuffle(20), cycle_length=3, block_length=2)
    if name == "cached":
        return whole.cache().shuffle(64)
    if name == "generator":
        made = tf.data.Dataset.from_generator(
            lambda: zip(ROWS, IDS, LABELS, strict=True), (tf.float32, tf.int32, tf.int32), ([16], [4], [])
        )
        return made.map(lambda x, i, y: ((x, i), y))
    noisy = lambda x, y: ((x[0] + 0.1 * tf.random_normal([16], seed=3), x[1]), y)  # noqa: E731
    if name == "mapped":
        return whole.shuffle(97, seed=5).map(noisy)
    if name == "parallel":
        return whole.shuffle(97).map(noisy, num_parallel_calls=2).prefetch(3)
    return whole.shuffle(203)


def dataset(model, batch=BATCH):
    return rows(model.input).repeat().batch(batch, drop_remainder=True).prefetch(2)


def logits(model, features, ids):
    flat = lambda h: tf.reshape(h, [-1, int(np.prod(h.shape.as_list()[1:]))])  # noqa: E731
    grid = lambda h, *dims: tf.reshape(tf.layers.dense(flat(h), 16), [-1, *dims])  # noqa: E731
    h = tf.reshape(features, [-1, 16])
    for i, layer in enumerate(model.layers):
        if layer == "dense":
            h = tf.layers.dense(flat(h), 12, activation=tf.nn.relu)
        elif layer == "conv":
            h = tf.layers.conv2d(grid(h, 4, 4, 1), 3, 3, padding="same", activation=tf.nn.tanh)
        elif layer == "norm":
            h = tf.layers.batch_normalization(h, training=True, momentum=0.8)
        elif layer == "dropout":
            h = tf.layers.dropout(h, 0.3, training=True)
        elif layer == "rnn":
            cell = tf.nn.rnn_cell.GRUCell(5, name=f"cell{i}")
            h = tf.nn.dynamic_rnn(cell, grid(h, 4, 4), dtype=tf.float32, scope=f"rnn{i}")[1]
        elif layer == "embedding":
            table = tf.get_variable(f"table{i}", [30, 3])
            h = tf.concat([flat(h), flat(tf.reshape(tf.nn.embedding_lookup(table, ids), [-1, 4, 3]))], 1)
        elif layer == "branch":
            chosen = tf.random_uniform([]) > 0.5
            h = tf.cond(chosen, lambda h=h: h + tf.random_normal(tf.shape(h), stddev=0.01), lambda h=h: h * 1.0)
        else:
            h += tf.random_normal(tf.shape(h), stddev=0.05)
    return tf.layers.dense(flat(h), 2)


def optimizer(model, step):
    rate = tf.train.exponential_decay(0.02, step, 10, 0.9) if model.decay else 0.02
    return {
        "adam": tf.train.AdamOptimizer,
        "momentum": lambda rate: tf.train.MomentumOptimizer(rate, 0.9),
        "adagrad": tf.train.AdagradOptimizer,
        "rmsprop": tf.train.RMSPropOptimizer,
        "descent": tf.train.GradientDescentOptimizer,
    }[model.optimizer](rate)


def training(model, features, labels, wrapped=lambda optimizer: optimizer):
    """(loss, training operation)."""
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits(model, *features))
    step = tf.train.get_or_create_global_step()
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        return loss, wrapped(optimizer(model, step)).minimize(loss, step)


def of_checkpoint(folder):
    reader = tf.train.load_checkpoint(tf.train.latest_checkpoint(folder))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def monitored(folder, model, life, begun):
    tf.set_random_seed(model.seed)
    loss, train = training(model, *dataset(model).make_one_shot_iterator().get_next())
    tf.summary.scalar("its_loss", loss)
    hooks = [tf.train.StopAtStepHook(last_step=STEPS)]
    if life.log is not None:
        hooks.append(tf.train.LoggingTensorHook({"loss": loss}, every_n_iter=life.log))
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=folder, hooks=hooks, save_checkpoint_secs=None, save_checkpoint_steps=life.save,
        save_summaries_steps=life.summarize, log_step_count_steps=life.log,
    ) as session:  # fmt: skip
        begun()
        while not session.should_stop():
            session.run(train)
    return of_checkpoint(folder)


class Begun(tf.train.SessionRunHook):
    def __init__(self, begun):
        self.after_create_session = lambda session, coord: begun()


def estimator(folder, model, life, begun, **config):
    def model_fn(features, labels, mode):
        loss, train = training(model, features, labels)
        hooks = [tf.train.LoggingTensorHook({"loss": loss}, every_n_iter=life.log)] if life.log else []
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, training_hooks=hooks)

    config = tf.estimator.RunConfig(
        tf_random_seed=model.seed, save_checkpoints_steps=life.save, save_summary_steps=life.summarize,
        log_step_count_steps=life.log, **config,
    )  # fmt: skip
    made = tf.estimator.Estimator(model_fn, folder, config)
    made.train(lambda: dataset(model), max_steps=STEPS, hooks=[Begun(begun)])
    return of_checkpoint(folder)


def mirrored_estimator(folder, model, life, begun):
    strategy = tf.contrib.distribute.MirroredStrategy(num_gpus=TOWERS)
    return estimator(folder, model, life, begun, train_distribute=strategy)


def tpu_estimator(folder, model, life, begun):
    def model_fn(features, labels, mode, params):
        given = features["rows"], features["ids"]
        loss, train = training(model, given, labels, tf.contrib.tpu.CrossShardOptimizer)
        return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train)

    config = tf.contrib.tpu.RunConfig(
        tf_random_seed=model.seed, save_checkpoints_steps=life.save, save_summary_steps=life.summarize,
        log_step_count_steps=life.log, tpu_config=tf.contrib.tpu.TPUConfig(life.per_run, num_shards=TOWERS),
    )  # fmt: skip
    made = tf.contrib.tpu.TPUEstimator(model_fn, folder, config, train_batch_size=TOWERS * BATCH)

    def input_fn(params):
        return dataset(model, params["batch_size"]).map(lambda x, y: ({"rows": x[0], "ids": x[1]}, y))

    made.train(input_fn, max_steps=STEPS, hooks=[Begun(begun)])
    return of_checkpoint(folder)


def mirrored(folder, model, life, begun):
    """A session of one's own over towers, with a Saver."""
    strategy = tf.contrib.distribute.MirroredStrategy(num_gpus=TOWERS)
    tf.set_random_seed(model.seed)
    with strategy.scope():
        step = tf.train.get_or_create_global_step()
        iterator = strategy.distribute_dataset(lambda: dataset(model)).make_initializable_iterator()

        def tower(features, labels):
            return training(model, features, labels)[1]

        train = strategy.group(strategy.call_for_each_tower(tower, *iterator.get_next()))
        return _saving(folder, life, begun, train, iterator.initializer, step)


def steps(folder, model, life, begun):
    """``run_steps_on_dataset``, with a Saver."""
    strategy = tf.contrib.distribute.TPUStrategy(steps_per_run=model.per_run)
    tf.set_random_seed(model.seed)
    with strategy.scope():
        step = tf.train.get_or_create_global_step()

        def of_towers(context, features, labels):
            def tower(features, labels):
                return training(model, features, labels)[1]

            return strategy.group(strategy.call_for_each_tower(tower, features, labels))

        iterator = strategy.distribute_dataset(lambda: dataset(model)).make_initializable_iterator()
        loop = strategy.run_steps_on_dataset(of_towers, iterator, model.per_run)
        return _saving(folder, life, begun, loop.run_op, iterator.initializer, step)


def _saving(folder, life, begun, train, initializer, step):
    saver, draw = tf.train.Saver(max_to_keep=3), tf.random_uniform([2])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        latest = tf.train.latest_checkpoint(folder)
        if latest:
            saver.restore(session, latest)
        session.run(initializer)
        begun()
        saved = done = session.run(step)
        while done < STEPS:
            session.run(train)
            done = session.run(step)
            if done % 2:
                session.run(draw)
            if done - saved >= life.save or done == STEPS:
                saver.save(session, f"{folder}/model", step, write_meta_graph=False)
                saved = done
    return of_checkpoint(folder)


tf.estimator.Estimator, tf.contrib.tpu.TPUEstimator  # noqa: B018  (They are imported once for all lives.)

WAYS = {
    "monitored": monitored,
    "estimator": estimator,
    "tpu_estimator": tpu_estimator,
    "steps": steps,
    "mirrored": mirrored,
    "mirrored_estimator": mirrored_estimator,
}
