"""Programs of 1.x whose numbers depend on the release of ``tf.keras``: each gives the losses of three epochs."""

import numpy as np

X = np.random.RandomState(0).rand(12, 5, 3).astype(np.float32)
PICTURES = np.random.RandomState(1).rand(12, 4, 6, 3).astype(np.float32)
ROWS = X[:, 0]
SUMS = ROWS.sum(1, keepdims=True)
LABELS = (SUMS > 1.5).astype(np.float32)
WEIGHTS = np.linspace(0, 1, 12).astype(np.float32)
OF_STEPS = np.outer(WEIGHTS, [1, 2, 3, 4, 5]).astype(np.float32)
OF_CLASSES = {0: 1.0, 1: 3.0}


def _losses(tf, layers, x, y, loss="mse", optimizer=None, mode=None, **weights):
    model = tf.keras.models.Sequential(layers)
    model.compile(optimizer or tf.train.GradientDescentOptimizer(0.1), loss, sample_weight_mode=mode)
    history = model.fit(x, y, batch_size=5, epochs=3, shuffle=False, verbose=0, **weights)
    return [float(value) for value in history.history["loss"]]


def _start(tf):
    return tf.keras.initializers.Constant(0.3)


def _rows(**weights):
    def case(tf):
        layer = tf.keras.layers.Dense(1, "sigmoid", kernel_initializer=_start(tf), input_shape=(3,))
        return _losses(tf, [layer], ROWS, LABELS, "binary_crossentropy", **weights)

    return case


def _sequences(masks, **weights):
    def case(tf):
        x = X.copy()
        x[::2, 2:] = 0
        layers = tf.keras.layers
        first = [layers.Masking(0.0, input_shape=(5, 3))] if masks else []
        dense = layers.Dense(2, kernel_initializer=_start(tf))
        given = {} if masks else {"input_shape": (5, 3)}
        return _losses(tf, [*first, layers.TimeDistributed(dense, **given)], x, X[:, :, :2], **weights)

    return case


def _pictures(**weights):
    def case(tf):
        layer = tf.keras.layers.Conv2D(1, 1, kernel_initializer=_start(tf), input_shape=(4, 6, 3))
        return _losses(tf, [layer], PICTURES, PICTURES[..., :1], **weights)

    return case


def _optimizer(name, *args):
    def case(tf):
        layer = tf.keras.layers.Dense(1, kernel_initializer=_start(tf), input_shape=(3,))
        return _losses(tf, [layer], ROWS, SUMS, optimizer=getattr(tf.keras.optimizers, name)(*args))

    return case


CASES = {
    "weights of rows": _rows(sample_weight=WEIGHTS), "weights of classes": _rows(class_weight=OF_CLASSES),
    "weights of both": _rows(sample_weight=WEIGHTS, class_weight=OF_CLASSES), "no weights": _rows(),
    "mask": _sequences(True), "mask and weights": _sequences(True, sample_weight=WEIGHTS),
    "mask and weights of steps": _sequences(True, sample_weight=OF_STEPS, mode="temporal"),
    "sequences": _sequences(False), "sequences with weights": _sequences(False, sample_weight=WEIGHTS),
    "sequences with weights of steps": _sequences(False, sample_weight=OF_STEPS, mode="temporal"),
    "pictures": _pictures(), "Adadelta": _optimizer("Adadelta"), "Adadelta with a rate": _optimizer("Adadelta", 0.5),
    "Adagrad": _optimizer("Adagrad"), "Adagrad with a rate": _optimizer("Adagrad", 0.05),
    "SGD": _optimizer("SGD", 0.05, 0.9), "RMSprop": _optimizer("RMSprop"),
}  # fmt: skip
EARLIER = {"pictures with weights": _pictures(sample_weight=WEIGHTS)}
"""Programs that only 1.12 runs."""
