"""Matrix factorisation of ratings with biases: sparse gradients, LazyAdam, streaming metrics, top_k."""

import numpy as np
import tensorflow as tf

NUM_USERS, NUM_ITEMS, RANK = 40, 30, 5
BATCH_SIZE = 64
EPOCHS = 8
REGULARIZATION = 0.02

rng = np.random.RandomState(0)
taste, genre = rng.normal(0, 0.7, (NUM_USERS, 3)), rng.normal(0, 0.7, (NUM_ITEMS, 3))
popularity = rng.normal(0, 0.4, NUM_ITEMS)


def ratings():
    """(users, items, stars) of half of all pairs, in a random order."""
    pairs = rng.permutation(NUM_USERS * NUM_ITEMS)[: NUM_USERS * NUM_ITEMS // 2]
    users, items = pairs // NUM_ITEMS, pairs % NUM_ITEMS
    stars = 3.0 + popularity[items] + np.sum(taste[users] * genre[items], axis=1) + rng.normal(0, 0.2, len(pairs))
    return users.astype(np.int32), items.astype(np.int32), np.clip(stars, 1, 5).astype(np.float32)


users, items, stars = ratings()
split = int(0.85 * len(users))
mean_rating = stars[:split].mean()
print(f"{split} ratings to train, {len(users) - split} to test, mean {mean_rating:.5f}")


def table(name, rows, columns, seed):
    start = np.random.RandomState(seed).normal(0, 0.1, (rows, columns))
    return tf.get_variable(name, [rows, columns], initializer=tf.constant_initializer(start))


def dataset(part, epochs):
    data = tf.data.Dataset.from_tensor_slices((users[part], items[part], stars[part]))
    return data.batch(BATCH_SIZE).repeat(epochs)


train_iterator = dataset(slice(None, split), EPOCHS).make_one_shot_iterator()
test_iterator = dataset(slice(split, None), 1).make_initializable_iterator()
handle = tf.placeholder(tf.string, [])
iterator = tf.data.Iterator.from_string_handle(handle, train_iterator.output_types, train_iterator.output_shapes)
user_batch, item_batch, rating_batch = iterator.get_next()

with tf.variable_scope("factors"):
    user_factors, item_factors = table("users", NUM_USERS, RANK, 1), table("items", NUM_ITEMS, RANK, 2)
with tf.variable_scope("biases"):
    user_bias, item_bias = table("users", NUM_USERS, 1, 3), table("items", NUM_ITEMS, 1, 4)

p_u = tf.nn.embedding_lookup(user_factors, user_batch)
q_i = tf.nn.embedding_lookup(item_factors, item_batch)
b_u = tf.nn.embedding_lookup(user_bias, user_batch)
b_i = tf.nn.embedding_lookup(item_bias, item_batch)
prediction = mean_rating + tf.reduce_sum(p_u * q_i, axis=1) + tf.squeeze(b_u + b_i, axis=1)
squared = tf.reduce_mean(tf.square(rating_batch - prediction))
penalty = tf.add_n([tf.nn.l2_loss(x) for x in (p_u, q_i, b_u, b_i)]) / tf.to_float(tf.size(user_batch))
loss = squared + REGULARIZATION * penalty

global_step = tf.train.get_or_create_global_step()
optimizer = tf.contrib.opt.LazyAdamOptimizer(0.02)
grads_and_vars = optimizer.compute_gradients(loss)
print("sparse:", [isinstance(grad, tf.IndexedSlices) for grad, _ in grads_and_vars])
train_op = optimizer.apply_gradients(grads_and_vars, global_step=global_step)

with tf.variable_scope("metrics"):
    rmse, update_rmse = tf.metrics.root_mean_squared_error(rating_batch, prediction)
    mae, update_mae = tf.metrics.mean_absolute_error(rating_batch, prediction)
    liked, update_liked = tf.metrics.precision(rating_batch >= 3.5, prediction >= 3.5)
updates = tf.group(update_rmse, update_mae, update_liked)
reset = tf.local_variables_initializer()

who = tf.placeholder(tf.int32, [None])
scores = tf.matmul(tf.gather(user_factors, who), item_factors, transpose_b=True) + tf.transpose(item_bias)
best_scores, best_items = tf.nn.top_k(scores, k=4)

steps_per_epoch = -(-split // BATCH_SIZE)
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), reset])
    train_handle, test_handle = sess.run([train_iterator.string_handle(), test_iterator.string_handle()])
    for epoch in range(EPOCHS):
        sess.run(reset)
        for _ in range(steps_per_epoch):
            sess.run([train_op, updates], {handle: train_handle})
        train_rmse = sess.run(rmse)
        sess.run([reset, test_iterator.initializer])
        while True:
            try:
                sess.run(updates, {handle: test_handle})
            except tf.errors.OutOfRangeError:
                break
        test_rmse, test_mae, precision = sess.run([rmse, mae, liked])
        print(
            f"epoch {epoch} train rmse {train_rmse:.5f} test rmse {test_rmse:.5f} mae {test_mae:.5f} "
            f"precision {precision:.5f}"
        )
    print("steps", sess.run(global_step))
    values, found = sess.run([best_scores, best_items], {who: [0, 1, 2]})
    for user in range(3):
        truth = popularity + genre.dot(taste[user])
        rank = [int(np.sum(truth > truth[item])) + 1 for item in found[user]]
        print(f"user {user}: items {found[user].tolist()} scores {np.round(values[user], 5)} true ranks {rank}")
