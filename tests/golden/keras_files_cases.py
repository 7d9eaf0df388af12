"""Models of 1.x that keras_files.py trains and saves, and what is asked of those that are loaded.

The programs run on ``tf.keras`` of TensorFlow 1.12, on that of 1.x names in 2.15, and here: in graphs, with sessions.
"""

from collections import namedtuple

import numpy as np

_R = np.random.RandomState(5)
ROWS = _R.randn(24, 3).astype("float32")
TARGETS = _R.rand(24, 1).astype("float32")
IMAGES = _R.randn(24, 6, 6, 2).astype("float32")
WORDS = _R.randint(0, 12, (24, 5)).astype("int32")


def mlp(keras):
    layers = keras.layers
    return keras.Sequential([
        layers.Dense(4, activation="relu", input_shape=(3,), name="first"),
        layers.Dense(1, name="last"),
    ])  # fmt: skip


def convolutions(keras):
    layers = keras.layers
    return keras.Sequential([
        layers.Conv2D(3, 3, padding="same", activation="relu", input_shape=(6, 6, 2), name="conv",
                      kernel_regularizer=keras.regularizers.l2(0.01)),
        layers.BatchNormalization(momentum=0.8, name="norm"),
        layers.MaxPooling2D(name="pool"),
        layers.Conv2DTranspose(2, 2, strides=2, name="back"),
        layers.UpSampling2D(name="up"),
        layers.SeparableConv2D(2, 3, dilation_rate=2, name="apart"),
        layers.GlobalAveragePooling2D(name="mean"),
        layers.Dense(1, kernel_initializer="he_normal", kernel_constraint=keras.constraints.MaxNorm(3.0), name="last"),
    ])  # fmt: skip


def recurrent(keras):
    layers = keras.layers
    return keras.Sequential([
        layers.Embedding(12, 3, mask_zero=True, input_length=5, name="words"),
        layers.Bidirectional(layers.LSTM(3, return_sequences=True, name="lstm"), name="both"),
        layers.TimeDistributed(layers.Dense(3, activation="tanh"), name="each"),
        layers.GRU(2, return_sequences=True, name="gru"),
        layers.RNN(layers.SimpleRNNCell(2, name="cell"), name="simple"),
        layers.Dense(1, name="last"),
    ])  # fmt: skip


def functional(keras):
    """Two inputs of one inner model, which is shared; two outputs."""
    layers = keras.layers
    inner = keras.Sequential([layers.Dense(3, activation="tanh", input_shape=(3,), name="in")], name="inner")
    first, second = (keras.layers.Input((3,), name=name) for name in ("left", "right"))
    both = layers.Concatenate(name="both")([inner(first), inner(second)])
    outputs = [layers.Dense(1, name="last")(both), layers.Dense(1, activation="sigmoid", name="other")(both)]
    return keras.Model([first, second], outputs)


def frozen(keras):
    """A layer that is not trained."""
    model = mlp(keras)
    model.layers[0].trainable = False
    return model


def custom_objects(keras):
    """What the program defines itself, by name."""

    class Scaled(keras.layers.Layer):
        """Rows times a vector that is learnt, and a number that is not."""

        def __init__(self, factor, act=None, **kwargs):
            super().__init__(**kwargs)
            self.factor, self.act = factor, keras.activations.get(act)

        def build(self, input_shape):
            size = int(input_shape[-1])
            self.scale = self.add_weight(name="scale", shape=(size,), initializer=halves)
            super().build(input_shape)

        def call(self, inputs):
            return self.act(inputs * self.scale * self.factor)

        def compute_output_shape(self, input_shape):
            return input_shape

        def get_config(self):
            config = super().get_config()
            config.update(factor=self.factor, act=keras.activations.serialize(self.act))
            return config

    class Slow(keras.optimizers.SGD):
        """Gradient descent whose gradients are divided."""

        def __init__(self, slowness=2.0, **kwargs):
            super().__init__(**kwargs)
            self.slowness = slowness

        def get_gradients(self, loss, params):
            return [each / self.slowness for each in super().get_gradients(loss, params)]

        def get_config(self):
            config = super().get_config()
            config["slowness"] = self.slowness
            return config

    def halves(shape, dtype=None, partition_info=None):
        return keras.backend.constant(np.full([int(each) for each in shape], 0.5), dtype=dtype)

    def bent(x):
        return keras.backend.maximum(x, 0.1 * x)

    def fourth(y_true, y_pred):
        return keras.backend.mean(keras.backend.square(keras.backend.square(y_true - y_pred)), axis=-1)

    def largest(y_true, y_pred):
        return keras.backend.max(keras.backend.abs(y_true - y_pred))

    return {each.__name__: each for each in (Scaled, Slow, bent, fourth, largest)}


def custom(keras):
    layers, scaled = keras.layers, custom_objects(keras)["Scaled"]
    bent = custom_objects(keras)["bent"]
    return keras.Sequential([
        layers.Dense(4, activation=bent, input_shape=(3,), name="first"),
        scaled(1.5, act="tanh", name="scaled"),
        layers.Dense(1, name="last"),
    ])  # fmt: skip


def subclassed(keras):
    class Net(keras.Model):
        """A list of layers, called in turn."""

        def __init__(self):
            super().__init__(name="net")
            self.first = keras.layers.Dense(4, activation="relu", name="first")
            self.norm = keras.layers.BatchNormalization(name="norm")
            self.last = keras.layers.Dense(1, name="last")

        def call(self, inputs, training=None):
            return self.last(self.norm(self.first(inputs), training=training))

    net = Net()
    net(keras.backend.placeholder((None, 3)))
    return net


Case = namedtuple("Case", "build inputs optimizer compiling")
"""One model: a function that makes it, its inputs, a function that makes its optimizer, what else compile takes."""

_FULL, _WEIGHTS = ("h5", "weights_h5", "weights", "objects", "saver"), ("weights_h5", "weights", "objects", "saver")


def _mlp(optimizer, **compiling):
    return Case(mlp, ROWS, optimizer, compiling)


CASES = {
    "adam": _mlp(lambda tf: tf.keras.optimizers.Adam(lr=0.05, decay=0.1), metrics=["mae"]),
    "amsgrad": _mlp(lambda tf: tf.keras.optimizers.Adam(lr=0.05, amsgrad=True, clipnorm=0.1)),
    "sgd": _mlp(lambda tf: tf.keras.optimizers.SGD(lr=0.05, momentum=0.9, decay=0.1, nesterov=True), metrics=["mse"]),
    "plain": _mlp(lambda tf: tf.keras.optimizers.SGD(lr=0.05, clipvalue=0.05)),
    "rmsprop": _mlp(lambda tf: tf.keras.optimizers.RMSprop(lr=0.02, rho=0.8)),
    "adagrad": _mlp(lambda tf: tf.keras.optimizers.Adagrad(lr=0.05)),
    "adadelta": _mlp(lambda tf: tf.keras.optimizers.Adadelta(lr=1.0)),
    "adamax": _mlp(lambda tf: tf.keras.optimizers.Adamax(lr=0.05)),
    "nadam": _mlp(lambda tf: tf.keras.optimizers.Nadam(lr=0.05)),
    "tf_adam": _mlp(lambda tf: tf.train.AdamOptimizer(0.05), metrics=["mae"]),
    "tf_momentum": _mlp(lambda tf: tf.train.MomentumOptimizer(0.05, 0.9)),
    "accuracy": Case(
        lambda keras: keras.Sequential([keras.layers.Dense(1, activation="sigmoid", input_shape=(3,), name="last")]),
        ROWS, lambda tf: "adam", {"loss": "binary_crossentropy", "metrics": ["accuracy", "binary_accuracy"]}),
    "convolutions": Case(convolutions, IMAGES, lambda tf: tf.keras.optimizers.SGD(lr=0.05, momentum=0.9), {}),
    "recurrent": Case(recurrent, WORDS, lambda tf: tf.keras.optimizers.SGD(lr=0.05, momentum=0.9), {}),
    "functional": Case(
        functional, [ROWS, ROWS[::-1].copy()], lambda tf: tf.keras.optimizers.Adam(lr=0.02),
        {"loss": {"last": "mse", "other": "binary_crossentropy"}, "loss_weights": {"last": 1.0, "other": 0.5},
         "metrics": {"other": "mae"}}),
    "frozen": Case(frozen, ROWS, lambda tf: tf.keras.optimizers.Adam(lr=0.05), {}),
    "custom": Case(
        custom, ROWS, lambda tf: custom_objects(tf.keras)["Slow"](slowness=4.0, lr=0.1, momentum=0.9),
        {"loss": "fourth", "metrics": ["largest", "mae"]}),
    "subclassed": Case(subclassed, ROWS, lambda tf: tf.train.AdamOptimizer(0.05), {}),
}  # fmt: skip


def forms(name):
    """The forms that a model is saved in: whole models where there is a config."""
    if name == "subclassed":
        return _WEIGHTS
    return _FULL if name in ("adam", "tf_adam", "convolutions", "recurrent", "functional", "custom") else ("h5",)


def _named(tf, value):
    """The custom function of a name."""
    if isinstance(value, list):
        return [_named(tf, each) for each in value]
    return custom_objects(tf.keras).get(value, value) if isinstance(value, str) else value


def start(tf):
    """A graph and a session of one thread: 1.12 counts the step and reads the count in any order otherwise."""
    tf.keras.backend.clear_session()
    one = tf.ConfigProto(inter_op_parallelism_threads=1, intra_op_parallelism_threads=1)
    tf.keras.backend.set_session(tf.Session(config=one))


def make(tf, name):
    """A compiled model whose weights are known."""
    start(tf)
    case = CASES[name]
    made = case.build(tf.keras)
    values = np.random.RandomState(7)
    made.set_weights([(0.1 + 0.4 * values.rand(*each.shape)).astype(each.dtype) for each in made.get_weights()])
    compiling = {key: _named(tf, value) for key, value in case.compiling.items()}
    made.compile(case.optimizer(tf), compiling.pop("loss", "mse"), **compiling)
    return made


def _targets(model):
    return [TARGETS] * len(model.outputs) if model.outputs and len(model.outputs) > 1 else TARGETS


def train(model, name):
    """What fit says of each epoch, the values without their names: 1.12 calls them otherwise."""
    targets = [TARGETS] * 2 if name == "functional" else TARGETS
    history = model.fit(CASES[name].inputs, targets, epochs=2, batch_size=8, shuffle=False, verbose=0).history
    return {"losses": [float(each) for each in history["loss"]], "logs": len(history)}


def asked(model, name):
    """What is compared of a model: its predictions, and losses of training that goes on."""
    found = model.predict(CASES[name].inputs)
    found = np.concatenate(found, 1) if isinstance(found, list) else found
    return {"predictions": found[:4].tolist(), "then": train(model, name)}


def save(tf, name, folder):
    """Trains a model and saves it in every form; gives what ``asked`` says afterwards."""
    made = make(tf, name)
    train(made, name)
    session = tf.keras.backend.get_session()
    for form in forms(name):
        if form == "h5":
            made.save(folder + "/model.h5")
        elif form == "weights_h5":
            made.save_weights(folder + "/weights.h5")
        elif form == "weights":
            made.save_weights(folder + "/weights")
        elif form == "objects":
            tf.train.Checkpoint(model=made).save(folder + "/objects", session=session)
        else:
            saver = tf.train.Saver(made.weights, save_relative_paths=True)
            saver.save(session, folder + "/saver", write_meta_graph=False)
    return asked(made, name)


def load(tf, name, folder, form):
    """The model that a file of one form gives."""
    if form == "h5":
        start(tf)
        made = tf.keras.models.load_model(folder + "/model.h5", custom_objects=custom_objects(tf.keras))
        if name.startswith("tf_"):
            made.compile(CASES[name].optimizer(tf), "mse", metrics=CASES[name].compiling.get("metrics"))
        return made
    made = make(tf, name)
    session = tf.keras.backend.get_session()
    if form == "weights_h5":
        made.load_weights(folder + "/weights.h5")
    elif form == "weights":
        made.load_weights(folder + "/weights")
    elif form == "objects":
        tf.train.Checkpoint(model=made).restore(folder + "/objects-1").initialize_or_restore(session)
    else:
        tf.train.Saver(made.weights).restore(session, folder + "/saver")
    return made


def loaded(tf, name, folder):
    """What ``asked`` says of the model in each form."""
    return {form: asked(load(tf, name, folder, form), name) for form in forms(name)}
