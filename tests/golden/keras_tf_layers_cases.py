"""Programs of 1.12 in which layers of ``tf.layers`` are layers of Keras. Each returns what both sides compare."""

import numpy as np

X = np.random.RandomState(0).rand(32, 4).astype(np.float32)
Y = X.sum(axis=1, keepdims=True)
PAIRS = X.reshape([-1, 2, 2])


def _trained(tf, model, x=X, alike=True):
    """Compiles and trains; the losses of the epochs and two predictions."""
    model.compile(tf.train.GradientDescentOptimizer(0.05), "mse")
    if alike:
        model.train_on_batch(x, Y)
        model.set_weights([np.full(each.shape, 0.1) for each in model.get_weights()])
    losses = model.fit(x, Y, epochs=2, batch_size=8, shuffle=False, verbose=0).history["loss"]
    return {"losses": [float(each) for each in losses], "predicted": model.predict(x[:2], verbose=0).tolist()}


def _constant(tf, value=0.1):
    return tf.constant_initializer(value)


def names(tf):
    """Unnamed layers of both kinds are counted together."""
    layers = [tf.layers.Dense(2), tf.keras.layers.Dense(2), tf.layers.Dense(2)]
    output = tf.layers.dense(tf.placeholder(tf.float32, [None, 4]), 3)
    layers.append(tf.keras.layers.Dense(2))
    return [layer.name for layer in layers], output.name


def kinds(tf):
    """What ``isinstance`` says."""
    kind = tf.keras.layers.Layer
    cell = tf.nn.rnn_cell.LSTMCell(2)
    return [isinstance(tf.layers.Dense(1), kind), isinstance(cell, kind), issubclass(tf.layers.Conv2D, kind)]


def sequential(tf):
    layers = [
        tf.layers.Dense(5, activation=tf.nn.relu, input_shape=(4,), kernel_regularizer=tf.keras.regularizers.l2(0.1)),
        tf.layers.BatchNormalization(), tf.keras.layers.Dropout(0.0), tf.layers.Dense(1),
    ]  # fmt: skip
    model = tf.keras.Sequential(layers)
    losses = len(model.losses), len(tf.losses.get_regularization_losses())
    config = [part["class_name"] for part in model.get_config()["layers"] if part["class_name"] != "InputLayer"]
    return {
        "same": [layer is own for layer, own in zip(model.layers, layers)],  # noqa: B905  (Python 3.6 too)
        "names": sorted(weight.name for weight in model.weights),
        "layers": [layer.name for layer in model.layers],
        "counts": [len(model.trainable_weights), model.count_params(), *losses],
        "config": config,
        **_trained(tf, model),
    }


def functional(tf):
    """A function of ``tf.layers`` and a layer of one's own between layers of Keras."""
    inputs = tf.keras.Input((4,))
    own = _own(tf)(3, name="own")
    net = tf.layers.dense(own(inputs), 3, kernel_initializer=_constant(tf))
    outputs = tf.keras.layers.Dense(1, name="out", kernel_initializer="ones")(tf.layers.flatten(net))
    model = tf.keras.Model(inputs, outputs)
    found = _trained(tf, model, alike=False)
    return {
        "weights": [weight.name for weight in model.weights],
        "own": [model.get_layer("own") is own, own.units, len(model.losses), own.get_weights()[0].shape[1]],
        **found,
    }


def _own(tf):
    class Own(tf.layers.Layer):
        def __init__(self, units, **kwargs):
            super().__init__(**kwargs)
            self.units = units

        def build(self, shape):
            self.w = self.add_variable(
                "w", [int(shape[-1]), self.units], initializer=_constant(tf, 0.2),
                regularizer=tf.keras.regularizers.l2(0.1),
            )  # fmt: skip
            super().build(shape)

        def call(self, inputs):
            return tf.matmul(inputs, self.w)

        def compute_output_shape(self, shape):
            return tf.TensorShape([shape[0], self.units])

    return Own


def subclassed(tf):
    """Attributes and lists of layers of ``tf.layers`` are parts of a model."""

    class Net(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.first = tf.layers.Dense(3, activation=tf.nn.relu)
            self.normal = tf.layers.BatchNormalization(momentum=0.9)
            self.between = [tf.layers.Dense(2)]
            self.between.append(tf.layers.Dense(2))
            self.out = tf.layers.Dense(1)

        def call(self, inputs, training=None):
            net = self.normal(self.first(inputs), training=training)
            for layer in self.between:
                net = layer(net)
            return self.out(net)

    model = Net()
    found = _trained(tf, model)
    names = [weight.name for weight in model.trainable_weights]
    return {"counts": [len(model.layers), len(model.weights), model.count_params()], "names": names, **found}


def wrapped(tf):
    dense = tf.layers.Dense(3, kernel_initializer=_constant(tf))
    layers = [
        tf.keras.layers.TimeDistributed(dense, input_shape=(2, 2)),
        tf.layers.Flatten(),
        tf.layers.Dense(1, kernel_initializer=tf.ones_initializer()),
    ]
    model = tf.keras.Sequential(layers)
    return {"counts": [len(model.weights), model.count_params()], **_trained(tf, model, PAIRS, alike=False)}


def cells(tf):
    """A cell of ``tf.nn.rnn_cell`` in ``RNN``."""
    rnn = tf.keras.layers.RNN(tf.nn.rnn_cell.LSTMCell(3, initializer=_constant(tf)), input_shape=(2, 2))
    model = tf.keras.Sequential([rnn, tf.layers.Dense(1, kernel_initializer=tf.ones_initializer())])
    found = _trained(tf, model, PAIRS, alike=False)
    return {"names": [weight.name for weight in model.weights], **found}


def cloned(tf):
    model = tf.keras.Sequential([tf.layers.Dense(2, input_shape=(4,)), tf.layers.Dropout(0.5)])
    copy = tf.keras.models.clone_model(model)
    return [[type(layer).__name__ for layer in copy.layers], copy.count_params(), copy.layers[0] is model.layers[0]]


def in_graph_code(tf):
    """Layers of Keras between functions of ``tf.layers`` and variables, in a variable scope."""
    with tf.variable_scope("outer"):
        net = tf.keras.layers.Dense(3)(tf.placeholder(tf.float32, [None, 4]))
        net = tf.layers.dense(net, 2, kernel_regularizer=tf.keras.regularizers.l2(0.1))
        net = tf.matmul(net, tf.get_variable("w", [2, 1]))
        normal = tf.keras.layers.BatchNormalization()
        normal(net)
    scoped = [variable.name for variable in tf.trainable_variables("outer")]
    losses = len(tf.losses.get_regularization_losses())
    return {"scoped": scoped, "all": [variable.name for variable in tf.trainable_variables()], "losses": losses}


CASES = {
    case.__name__: case
    for case in (names, kinds, sequential, functional, subclassed, wrapped, cells, cloned, in_graph_code)
}
