"""A residual multilayer perceptron as a subclassed model, trained by a step that tf.function compiles."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers


class ResidualBlock(layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.norm = layers.LayerNormalization()
        self.inner = layers.Dense(2 * units, activation="relu")

    def build(self, input_shape):
        start = tf.keras.initializers.Zeros()
        self.kernel = self.add_weight(name="kernel", shape=(2 * self.units, self.units), initializer=start)
        self.scale = self.add_weight(name="scale", shape=(), initializer="ones")

    def call(self, inputs, training=False):
        x = self.inner(self.norm(inputs))
        self.add_loss(1e-3 * tf.reduce_mean(tf.square(x)))
        return inputs + self.scale * tf.matmul(x, self.kernel)


class Regressor(tf.keras.Model):
    def __init__(self, units=12, depth=2):
        super().__init__()
        self.stem = layers.Dense(units)
        self.blocks = [ResidualBlock(units, name=f"block{i}") for i in range(depth)]
        self.head = layers.Dense(1)

    def call(self, inputs, training=False):
        x = self.stem(inputs)
        for block in self.blocks:
            x = block(x, training=training)
        return tf.squeeze(self.head(x), axis=-1)


def target(x):
    return np.sin(2 * x[:, 0]) + 0.5 * x[:, 1] * x[:, 2]


rng = np.random.RandomState(11)
x_train = rng.uniform(-1, 1, (320, 3)).astype(np.float32)
y_train = target(x_train).astype(np.float32)
x_valid = rng.uniform(-1, 1, (80, 3)).astype(np.float32)
y_valid = target(x_valid).astype(np.float32)

model = Regressor()
print("output", model(x_train[:2]).shape)
weights = np.random.RandomState(5)
for variable in model.trainable_variables:
    if variable.shape.rank == 2:
        variable.assign(weights.normal(0, 0.3, variable.shape))
print("variables", len(model.trainable_variables), "parameters", model.count_params())

optimizer = tf.keras.optimizers.SGD(
    tf.keras.optimizers.schedules.ExponentialDecay(0.02, decay_steps=50, decay_rate=0.9), momentum=0.9, nesterov=True
)
mse = tf.keras.losses.MeanSquaredError()
traces = []


@tf.function
def train_step(x, y):
    traces.append(tuple(x.shape))
    with tf.GradientTape() as tape:
        prediction = model(x, training=True)
        penalty = tf.add_n(model.losses)
        loss = mse(y, prediction) + penalty
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss, penalty, tf.linalg.global_norm(gradients)


@tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32), tf.TensorSpec([None], tf.float32)])
def evaluate(x, y):
    error = y - model(x)
    return {
        "mse": tf.reduce_mean(error**2),
        "mae": tf.reduce_mean(tf.abs(error)),
        "worst": tf.reduce_max(tf.abs(error)),
    }


train = tf.data.Dataset.from_tensor_slices((x_train, y_train)).batch(64)
for epoch in range(20):
    for x, y in train:
        loss, penalty, norm = train_step(x, y)
    if epoch % 4 == 3:
        scores = evaluate(x_valid, y_valid)
        print(
            f"epoch {epoch + 1:2d} loss {loss.numpy():.5f} penalty {penalty.numpy():.5f} grad norm {norm.numpy():.5f} "
            f"valid mse {scores['mse'].numpy():.5f} mae {scores['mae'].numpy():.5f}"
        )
print("shapes", set(traces), "steps", int(optimizer.iterations))
print("worst", np.round(evaluate(x_valid, y_valid)["worst"].numpy(), 5))
print("scales", [round(float(block.scale.numpy()), 5) for block in model.blocks])

model.save_weights("regressor")
copy = Regressor()
copy.load_weights("regressor").expect_partial()
print("copy agrees:", np.allclose(copy(x_valid), model(x_valid)))
