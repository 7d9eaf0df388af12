"""Models of graphs on two mirrored towers, by ``scope()`` or ``compile(distribute=)``: run by 1.15.5 and by the tests.

Each case gives lists of numbers by name.
"""

import contextlib
import os
import tempfile

import numpy as np

ROWS = np.random.RandomState(0)
X = ROWS.standard_normal((24, 3)).astype(np.float32)
Y = (X @ np.float32([[1.0], [2.0], [-1.0]]) + 0.5).astype(np.float32)
WEIGHTS = np.abs(ROWS.standard_normal(24)).astype(np.float32)
LABELS = (Y > 0).astype(np.int64)
IMAGES = ROWS.random_sample((16, 4, 4, 1)).astype(np.float32)
DEVICES = ["/device:CPU:0", "/device:CPU:1"]
WAYS = [f"{way}, {strategy}" for way in ("scope", "compile") for strategy in ("core", "contrib")]
"""Ways to say the strategy, and which one: contrib's takes batches of one tower, the other divides them."""


class Program:
    """The tools of cases, in one of the ways.

    Args:
      tf: the namespace of 1.x.
      way: of ``WAYS``.
    """

    def __init__(self, tf, way):
        self.tf, self.keras = tf, tf.keras
        self._compiles = way.startswith("compile")
        make = tf.contrib.distribute.MirroredStrategy if way.endswith("contrib") else tf.distribute.MirroredStrategy
        self.strategy = make(devices=DEVICES)

        class Ramp(tf.keras.initializers.Initializer):
            """Values that differ, the same wherever and however often they are made."""

            def __call__(self, shape, dtype=None, partition_info=None):
                shape = [int(size) for size in shape]
                return tf.reshape(tf.linspace(-0.5, 0.7, int(np.prod(shape))), shape)

            def get_config(self):
                return {}

        tf.keras.utils.get_custom_objects()["Ramp"] = Ramp
        self.start = Ramp()

    def dense(self, units, **options):
        return self.keras.layers.Dense(units, kernel_initializer=self.start, **options)

    def sgd(self):
        return self.tf.train.GradientDescentOptimizer(0.05)

    def compiled(self, make, *args, **options):
        """The model that ``make()`` gives, compiled with an optimizer that ``args[0]()`` makes."""
        optimizer, *rest = args
        if self._compiles:
            model = make()
            model.compile(optimizer(), *rest, distribute=self.strategy, **options)
            return model
        with self.strategy.scope():
            model = make()
            model.compile(optimizer(), *rest, **options)
        return model

    def rows(self):
        """A model of two layers."""
        hidden = self.dense(4, activation="tanh", input_shape=(3,))
        return self.compiled(lambda: self.keras.Sequential([hidden, self.dense(1)]), self.sgd, "mse", metrics=["mae"])

    def data(self, *parts, size=4):
        parts = parts if len(parts) > 1 else parts[0]
        return self.tf.data.Dataset.from_tensor_slices(parts).batch(size).repeat()


def _weights(model):
    return [float(v) for w in model.get_weights() for v in w.ravel()]


def _numbers(values):
    return [float(v) for v in np.ravel(values)]


def _history(model, *args, **options):
    history = model.fit(*args, verbose=0, **options).history
    return {name: _numbers(values) for name, values in history.items()}


def datasets(program):
    model, data = program.rows(), program.data(X, Y)
    held_back = program.data(X[:16], Y[:16])
    found = _history(model, data, steps_per_epoch=3, epochs=2, validation_data=held_back, validation_steps=2)
    found["evaluated"] = _numbers(model.evaluate(data, steps=3, verbose=0))
    found["predicted"] = _numbers(model.predict(program.data(X), steps=3))
    found["again"] = _history(model, data, steps_per_epoch=3, epochs=1)["loss"]
    return {**found, "weights": _weights(model)}


def arrays(program):
    model = program.rows()
    found = _history(model, X, Y, batch_size=4, shuffle=False, epochs=2, validation_data=(X[:16], Y[:16]))
    found["evaluated"] = _numbers(model.evaluate(X, Y, batch_size=4, verbose=0))
    found["predicted"] = _numbers(model.predict(X, batch_size=4))
    return {**found, "weights": _weights(model)}


def sample_weights(program):
    model, data = program.rows(), program.data(X, Y, WEIGHTS)
    found = _history(model, data, steps_per_epoch=3, epochs=2)
    found["evaluated"] = _numbers(model.evaluate(data, steps=3, verbose=0))
    found["of arrays"] = _history(model, X, Y, sample_weight=WEIGHTS, batch_size=4, shuffle=False, epochs=1)["loss"]
    return {**found, "weights": _weights(model)}


def batch_normalization(program):
    layers = program.keras.layers

    def make():
        normalized = layers.BatchNormalization(momentum=0.5)
        return program.keras.Sequential(
            [program.dense(4, input_shape=(3,)), normalized, layers.Activation("relu"), program.dense(1)]
        )

    model, data = program.compiled(make, program.sgd, "mse"), program.data(X, Y)
    found = _history(model, data, steps_per_epoch=3, epochs=2)
    found["evaluated"] = _numbers(model.evaluate(data, steps=3, verbose=0))
    return {**found, "weights": _weights(model)}


def own_loss_and_metric(program):
    tf = program.tf

    def huber(labels, predictions):
        error = tf.abs(labels - predictions)
        return tf.reduce_mean(tf.where(error < 1, error * error / 2, error - 0.5), axis=-1)

    def biggest(labels, predictions):
        return tf.reduce_max(tf.abs(labels - predictions))

    def make():
        regularizer = program.keras.regularizers.l2(0.1)
        return program.keras.Sequential(
            [program.dense(4, input_shape=(3,), kernel_regularizer=regularizer), program.dense(1)]
        )

    model = program.compiled(make, program.sgd, huber, metrics=[biggest, "mae"])
    found = _history(model, program.data(X, Y), steps_per_epoch=3, epochs=2)
    found["evaluated"] = _numbers(model.evaluate(program.data(X, Y), steps=3, verbose=0))
    return {**found, "weights": _weights(model)}


def several_inputs_and_outputs(program):
    layers = program.keras.layers

    def make():
        a, b = program.keras.Input((3,), name="a"), program.keras.Input((1,), name="b")
        hidden = layers.concatenate([program.dense(2)(a), b])
        one = program.dense(1, name="one")(hidden)
        two = program.dense(2, name="two", activation="softmax")(hidden)
        return program.keras.Model([a, b], [one, two])

    losses = ["mse", "sparse_categorical_crossentropy"]
    model = program.compiled(make, program.sgd, losses, loss_weights=[1.0, 0.5])
    data = program.data((X, Y * 0.1), (Y, LABELS))
    found = _history(model, data, steps_per_epoch=3, epochs=2)
    found["evaluated"] = _numbers(model.evaluate(data, steps=2, verbose=0))
    found["predicted"] = [v for output in model.predict([X, Y * 0.1], batch_size=4) for v in _numbers(output)]
    return {**found, "weights": _weights(model)}


def pictures(program):
    layers = program.keras.layers

    def make():
        convolution = layers.Conv2D(2, 3, kernel_initializer=program.start, input_shape=(4, 4, 1), activation="relu")
        dense = program.dense(2, activation="softmax")
        return program.keras.Sequential([convolution, layers.MaxPooling2D(2), layers.Flatten(), dense])

    def momentum():
        return program.tf.train.MomentumOptimizer(0.1, 0.9)

    model = program.compiled(make, momentum, "sparse_categorical_crossentropy", metrics=["accuracy"])
    found = _history(model, program.data(IMAGES, LABELS[:16]), steps_per_epoch=2, epochs=2)
    return {**found, "weights": _weights(model)}


def optimizers_of_keras(program):
    keras = program.keras

    def make():
        return keras.Sequential([program.dense(4, activation="tanh", input_shape=(3,)), program.dense(1)])

    model = program.compiled(make, lambda: keras.optimizers.Adam(0.1), "mse")
    found = _history(model, program.data(X, Y), steps_per_epoch=3, epochs=2)
    return {**found, "weights": _weights(model)}


def saved_weights(program):
    model, data = program.rows(), program.data(X, Y)
    model.fit(data, steps_per_epoch=3, verbose=0)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "weights")
        model.save_weights(path)
        found = {"there": _weights(model)}
        model.fit(data, steps_per_epoch=3, verbose=0)
        with contextlib.suppress(AttributeError):  # 1.15 cannot say of a model on towers what it has read
            model.load_weights(path).expect_partial()
    found["evaluated"] = _numbers(model.evaluate(data, steps=3, verbose=0))
    return {**found, "weights": _weights(model)}


CASES = {
    case.__name__: case
    for case in (
        datasets, arrays, sample_weights, batch_normalization, own_loss_and_metric, several_inputs_and_outputs,
        pictures, optimizers_of_keras, saved_weights,
    )
}  # fmt: skip
