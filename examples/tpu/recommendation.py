"""Learns what users like from what they chose (He et al., https://arxiv.org/abs/1708.05031), with metrics made by hand.

    towerstrat run examples/tpu/recommendation.py --make_data --data_dir /tmp/ratings
    towerstrat run --towers 8 examples/tpu/recommendation.py --data_dir /tmp/ratings
    python3.6 examples/tpu/recommendation.py --use_tpu=false --data_dir /tmp/ratings        # TensorFlow 1.12 itself

ratings.csv has a user and an item on each line, in the order of time. The last item of each user is held back: the
model is good where it puts that among the first ten of a hundred, 99 of which the user did not choose. --make_data
writes invented choices: there are kinds of items, and each user likes one.
"""

import os

import numpy as np
import tensorflow as tf

flags = tf.flags
flags.DEFINE_string("data_dir", None, "The folder with ratings.csv.")
flags.DEFINE_bool("make_data", False, "Write invented choices there, and stop.")
flags.DEFINE_string("model_dir", None, "Where checkpoints are written; default a temporary folder.")
flags.DEFINE_integer("batch_size", 256, "Choices of one step, over all towers; the negative ones among them.")
flags.DEFINE_integer("eval_users", 16, "Users of one step of evaluation, over all towers.")
flags.DEFINE_integer("num_negatives", 3, "Items that were not chosen for one that was.")
flags.DEFINE_integer("epochs", 6, "How often training goes through the choices; each time with new negative ones.")
flags.DEFINE_integer("iterations", 50, "Steps on the device before it returns to the host.")
flags.DEFINE_float("learning_rate", 0.005, "Of Adam.")
flags.DEFINE_bool("use_tpu", True, "Whether to train on towers; TensorFlow without a TPU needs false.")
flags.DEFINE_string("tpu", None, "The TPU to use; the local machine where it is not given.")
FLAGS = flags.FLAGS

CANDIDATES, TOP = 100, 10
FACTORS, LAYERS = 8, [32, 16, 8]


class Ratings:
    """What was chosen: pairs to train on, and the last item of each user."""

    def __init__(self, folder):
        with tf.gfile.GFile(os.path.join(folder, "ratings.csv"), "r") as file:
            pairs = np.array([[int(number) for number in line.split(",")] for line in file], np.int32)
        self.users, self.items = pairs.max(0) + 1
        last = {user: row for row, user in enumerate(pairs[:, 0])}
        self.held_back = pairs[sorted(last.values(), key=lambda row: pairs[row, 0])]
        self.train = np.delete(pairs, sorted(last.values()), axis=0)
        self.chosen = set(map(tuple, pairs.tolist()))

    def others(self, users, chance):
        """For each user an item that it did not choose."""
        items = chance.randint(0, self.items, len(users))
        for i, user in enumerate(users):
            while (user, items[i]) in self.chosen:
                items[i] = chance.randint(0, self.items)
        return items.astype(np.int32)


def train_input_fn_builder(ratings, epoch):
    def input_fn(params):
        chance = np.random.RandomState(epoch)
        users = np.repeat(ratings.train[:, 0], FLAGS.num_negatives + 1)
        items, labels = np.zeros_like(users), np.zeros(len(users), np.float32)
        items[:: FLAGS.num_negatives + 1], labels[:: FLAGS.num_negatives + 1] = ratings.train[:, 1], 1.0
        items[labels == 0] = ratings.others(users[labels == 0], chance)
        order = chance.permutation(len(users))
        features = {"user": users[order], "item": items[order]}
        data = tf.data.Dataset.from_tensor_slices((features, labels[order])).repeat()
        return data.batch(params["batch_size"], drop_remainder=True)

    return input_fn


def eval_input_fn_builder(ratings):
    """Each user with its candidates, of which the first is the one that it chose."""

    def input_fn(params):
        users, wanted = ratings.held_back.T
        users = np.repeat(users, CANDIDATES)
        items = ratings.others(users, np.random.RandomState(0))
        items[::CANDIDATES] = wanted
        data = tf.data.Dataset.from_tensor_slices(({"user": users, "item": items}, np.zeros(len(users), np.float32)))
        return data.batch(params["batch_size"], drop_remainder=True)

    return input_fn


def scores(features, users, items):
    """Logits of the choices: a product of factors beside a small network."""

    def embedded(name, ids, count, size):
        initializer = tf.random_normal_initializer(stddev=0.05)
        table = tf.get_variable(name + "_embedding", [count, size], initializer=initializer)
        return tf.nn.embedding_lookup(table, ids)

    width = FACTORS + LAYERS[0] // 2
    user = embedded("user", features["user"], users, width)
    item = embedded("item", features["item"], items, width)
    product = user[:, :FACTORS] * item[:, :FACTORS]
    net = tf.concat([user[:, FACTORS:], item[:, FACTORS:]], axis=1)
    for size in LAYERS[1:]:
        net = tf.layers.dense(net, size, tf.nn.relu)
    return tf.squeeze(tf.layers.dense(tf.concat([product, net], axis=1), 1, name="score"), axis=1)


def streaming_mean(values, name):
    """A metric as those of ``tf.metrics``: (the mean of all batches, the operation that adds one)."""

    def local(what):
        return tf.get_variable(
            what,
            shape=[],
            dtype=tf.float32,
            initializer=tf.zeros_initializer(),
            trainable=False,
            collections=[tf.GraphKeys.LOCAL_VARIABLES, tf.GraphKeys.METRIC_VARIABLES],
        )

    with tf.variable_scope(name):
        total, count = local("total"), local("count")
        added = tf.assign_add(total, tf.reduce_sum(values))
        counted = tf.assign_add(count, tf.to_float(tf.size(values)))
        return tf.div(total, tf.maximum(count, 1.0)), tf.div(added, tf.maximum(counted, 1.0), name="update_op")


def metric_fn(logits):
    """Whether the chosen item is among the first ones, and how far in front."""
    by_user = tf.reshape(logits, [-1, CANDIDATES])
    _, first = tf.nn.top_k(by_user, k=TOP)
    # Of each user the place of candidate 0, or TOP where it is not among the first.
    found = tf.to_float(tf.equal(first, 0))
    hit = tf.reduce_sum(found, axis=1)
    discount = tf.log(2.0) / tf.log(tf.range(TOP, dtype=tf.float32) + 2.0)
    return {
        "hit_rate": streaming_mean(hit, "hit_rate"),
        "ndcg": streaming_mean(tf.reduce_sum(found * discount, axis=1), "ndcg"),
    }


def model_fn(features, labels, mode, params):
    logits = scores(features, params["users"], params["items"])
    if mode == tf.estimator.ModeKeys.PREDICT:
        predictions = {"item": features["item"], "probability": tf.sigmoid(logits)}
        return tf.contrib.tpu.TPUEstimatorSpec(mode, predictions=predictions)
    loss = tf.losses.sigmoid_cross_entropy(labels, logits)
    if mode == tf.estimator.ModeKeys.EVAL:
        return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=(metric_fn, {"logits": logits}))
    optimizer = tf.contrib.opt.LazyAdamOptimizer(params["learning_rate"])
    if params["use_tpu"]:
        optimizer = tf.contrib.tpu.CrossShardOptimizer(optimizer)
    train_op = optimizer.minimize(loss, tf.train.get_global_step())
    return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)


def make_data(folder, users=128, items=300, kinds=6):
    tf.gfile.MakeDirs(folder)
    chance = np.random.RandomState(1)
    with tf.gfile.GFile(os.path.join(folder, "ratings.csv"), "w") as file:
        for user in range(users):
            liked = np.arange(chance.randint(kinds), items, kinds)
            for item in chance.choice(liked, 21, replace=False):
                file.write(f"{user},{item}\n")


def main(_):
    tf.logging.set_verbosity(tf.logging.INFO)
    if FLAGS.make_data:
        make_data(FLAGS.data_dir)
        return
    ratings = Ratings(FLAGS.data_dir)
    cluster = tf.contrib.cluster_resolver.TPUClusterResolver(FLAGS.tpu) if FLAGS.use_tpu and FLAGS.tpu else None
    estimator = tf.contrib.tpu.TPUEstimator(
        model_fn=model_fn,
        use_tpu=FLAGS.use_tpu,
        config=tf.contrib.tpu.RunConfig(
            cluster=cluster,
            model_dir=FLAGS.model_dir,
            tpu_config=tf.contrib.tpu.TPUConfig(iterations_per_loop=FLAGS.iterations),
        ),
        params={
            "users": ratings.users,
            "items": ratings.items,
            "learning_rate": FLAGS.learning_rate,
            "use_tpu": FLAGS.use_tpu,
        },
        train_batch_size=FLAGS.batch_size,
        eval_batch_size=FLAGS.eval_users * CANDIDATES,
        predict_batch_size=128,
    )
    steps = len(ratings.train) * (FLAGS.num_negatives + 1) // FLAGS.batch_size
    for epoch in range(FLAGS.epochs):
        estimator.train(train_input_fn_builder(ratings, epoch), steps=steps)
        results = estimator.evaluate(eval_input_fn_builder(ratings), len(ratings.held_back) // FLAGS.eval_users)
        print("step {global_step:4d}  hit rate {hit_rate:.4f}  NDCG {ndcg:.4f}".format(**results))

    def of_one_user(params):
        every = np.arange(ratings.items, dtype=np.int32)
        return tf.data.Dataset.from_tensor_slices({"user": np.zeros_like(every), "item": every}).batch(
            params["batch_size"]
        )

    found = sorted(estimator.predict(of_one_user), key=lambda row: -row["probability"])
    print("for the first user:", *[row["item"] for row in found[:TOP]])


if __name__ == "__main__":
    tf.app.run()
