"""Eager execution in 1.12: a line by implicit gradients, then a small network with tfe metrics and checkpoints."""

import os

import numpy as np
import tensorflow as tf

tf.enable_eager_execution()
tfe = tf.contrib.eager

NUM_EXAMPLES = 200
rng = np.random.RandomState(0)

# --- a line ---
x_line = rng.normal(size=NUM_EXAMPLES).astype(np.float32)
y_line = x_line * 3 + 2 + rng.normal(0, 0.3, NUM_EXAMPLES).astype(np.float32)
W = tfe.Variable(5.0, name="weight")
B = tfe.Variable(10.0, name="bias")


def line_loss(inputs, labels):
    return tf.reduce_mean(tf.square(inputs * W + B - labels))


optimizer = tf.train.GradientDescentOptimizer(learning_rate=0.05)
loss_and_grads = tfe.implicit_value_and_gradients(line_loss)
for step in range(60):
    loss, grads_and_vars = loss_and_grads(x_line, y_line)
    optimizer.apply_gradients(grads_and_vars)
    if step % 20 == 0:
        print(f"Loss at step {step:03d}: {loss.numpy():.5f}")
print(f"Final loss: {line_loss(x_line, y_line).numpy():.5f}, W = {W.numpy():.5f}, B = {B.numpy():.5f}")


def cube(x):
    return x * x * x


slope = tfe.gradients_function(cube)
curvature = tfe.gradients_function(lambda x: slope(x)[0])
print("x^3 at 2:", cube(2.0), "slope", slope(2.0)[0].numpy(), "curvature", curvature(2.0)[0].numpy())


# --- a network ---
class Network(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense1 = tf.layers.Dense(12, activation=tf.nn.relu, kernel_initializer=self.initial((8, 12), 1))
        self.dense2 = tf.layers.Dense(3, kernel_initializer=self.initial((12, 3), 2))

    @staticmethod
    def initial(shape, seed):
        return tf.constant_initializer(np.random.RandomState(seed).normal(0, 0.4, shape))

    def call(self, inputs):
        return self.dense2(self.dense1(inputs))


labels = rng.randint(0, 3, NUM_EXAMPLES)
features = (np.eye(3)[labels].dot(rng.normal(size=(3, 8))) + rng.normal(0, 0.6, (NUM_EXAMPLES, 8))).astype(np.float32)
train_ds = tf.data.Dataset.from_tensor_slices((features[:160], labels[:160])).batch(32)
test_ds = tf.data.Dataset.from_tensor_slices((features[160:], labels[160:])).batch(32)

model = Network()
adam = tf.train.AdamOptimizer(1e-2)
step_counter = tf.train.get_or_create_global_step()
checkpoint = tf.train.Checkpoint(model=model, optimizer=adam, step_counter=step_counter)


def loss_fn(logits, y):
    return tf.losses.sparse_softmax_cross_entropy(labels=y, logits=logits)


def evaluate(network):
    average, accuracy = tfe.metrics.Mean("loss"), tfe.metrics.Accuracy("accuracy")
    for x, y in tfe.Iterator(test_ds):
        logits = network(x)
        average(loss_fn(logits, y))
        accuracy(tf.argmax(logits, axis=1, output_type=tf.int64), tf.cast(y, tf.int64))
    return average.result().numpy(), accuracy.result().numpy()


for epoch in range(4):
    for x, y in tfe.Iterator(train_ds):
        with tf.GradientTape() as tape:
            logits = model(x)
            loss = loss_fn(logits, y)
        grads = tape.gradient(loss, model.variables)
        adam.apply_gradients(zip(grads, model.variables), global_step=step_counter)
    test_loss, accuracy = evaluate(model)
    print(f"epoch {epoch}: train {loss.numpy():.5f} test {test_loss:.5f} accuracy {accuracy:.5f}")
path = checkpoint.save(os.path.join("checkpoints", "ckpt"))
print("saved", path, "at step", step_counter.numpy())

other = Network()
other(tf.zeros([1, 8]))
status = tf.train.Checkpoint(model=other, step_counter=step_counter).restore(tf.train.latest_checkpoint("checkpoints"))
print("restored: test %.5f accuracy %.5f" % evaluate(other))
print("classes", tf.argmax(other(features[160:170]), axis=1).numpy(), labels[160:170])
