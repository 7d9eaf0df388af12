"""Models that keras_saving.py trains and saves under the originals, and what is asked of those that are loaded.

The programs run on keras 2.15 and, but for those of ``LATER``, on ``tf.keras`` of TensorFlow 1.12.
"""

import numpy as np

_R = np.random.RandomState(5)
ROWS = _R.randn(24, 3).astype("float32")
TARGETS = _R.randn(24, 1).astype("float32")
IMAGES = _R.randn(24, 6, 6, 2).astype("float32")
WORDS = _R.randint(0, 12, (24, 5)).astype("int32")
SERIES = _R.randn(24, 5, 3).astype("float32")
NAMES = np.array([["a", "c"], ["b", "zz"], ["c", "a"]] * 8)
TEXTS = np.array([["the cat sat"], ["a cat"], ["dog sat on the mat"]] * 8)


def mlp(keras):
    layers = keras.layers
    return keras.Sequential(
        [layers.Dense(4, activation="relu", input_shape=(3,), name="first"), layers.Dense(1, name="last")]
    )


def convolutions(keras):
    layers = keras.layers
    return keras.Sequential([
        layers.Conv2D(3, 3, activation="relu", input_shape=(6, 6, 2), name="conv"),
        layers.BatchNormalization(momentum=0.8, name="norm"),
        layers.MaxPooling2D(name="pool"),
        layers.Flatten(name="flat"),
        layers.Dense(1, name="last"),
    ])  # fmt: skip


def recurrent(keras):
    layers = keras.layers
    return keras.Sequential([
        layers.Embedding(12, 3, mask_zero=True, input_length=5, name="words"),
        layers.LSTM(3, return_sequences=True, name="lstm"),
        layers.GRU(2, reset_after=True, recurrent_activation="sigmoid", name="gru"),
        layers.Dense(1, name="last"),
    ])  # fmt: skip


def functional(keras):
    """Two inputs of one inner model, which is shared."""
    layers = keras.layers
    inner = keras.Sequential([layers.Dense(3, activation="tanh", input_shape=(3,), name="in")], name="inner")
    first, second = (keras.layers.Input((3,), name=name) for name in ("left", "right"))
    both = layers.Concatenate(name="both")([inner(first), inner(second)])
    return keras.Model([first, second], layers.Dense(1, name="last")(both))


def attention(keras):
    layers = keras.layers
    given = keras.Input((5, 3), name="given")
    seen = layers.MultiHeadAttention(2, 3, name="heads")(given, given)
    seen = layers.LayerNormalization(name="norm")(layers.Add(name="sum")([given, seen]))
    return keras.Model(given, layers.Dense(1, name="last")(layers.GlobalAveragePooling1D(name="mean")(seen)))


def preprocessing(keras):
    """Layers that have learnt from data: a vocabulary given, one adapted, statistics."""
    layers = keras.layers
    rows, names, texts = (
        keras.Input(shape, name=name, dtype=dtype)
        for name, shape, dtype in (("rows", (3,), "float32"), ("names", (2,), "string"), ("texts", (1,), "string"))
    )
    scaled = layers.Normalization(name="scale")
    scaled.adapt(ROWS)
    bins = layers.Discretization(bin_boundaries=[-0.5, 0.5], name="bins")
    vector = layers.TextVectorization(output_sequence_length=4, name="vector")
    vector.adapt(TEXTS[:3])
    chosen = layers.StringLookup(vocabulary=["a", "b", "c"], output_mode="multi_hot", name="names_of")
    parts = [
        scaled(rows), layers.Rescaling(0.5, name="half")(bins(rows)), chosen(names),
        layers.Rescaling(0.1, name="tenth")(vector(texts)),
    ]  # fmt: skip
    return keras.Model([rows, names, texts], layers.Dense(1, name="last")(layers.Concatenate(name="all")(parts)))


MODELS = {
    "mlp": (mlp, lambda: ROWS), "convolutions": (convolutions, lambda: IMAGES), "recurrent": (recurrent, lambda: WORDS),
    "functional": (functional, lambda: [ROWS, ROWS[::-1].copy()]), "attention": (attention, lambda: SERIES),
    "preprocessing": (preprocessing, lambda: [ROWS, NAMES, TEXTS]),
}  # fmt: skip
LATER = ("attention", "preprocessing")
NO_H5 = ("preprocessing",)
"""Models whose vocabularies the original saves in no ``.h5`` file."""
OPTIMIZERS = {
    "mlp": ("Adam", {}), "convolutions": ("SGD", {"momentum": 0.9}), "recurrent": ("RMSprop", {}),
    "functional": ("Adagrad", {}), "attention": ("Adam", {}), "preprocessing": ("Adam", {}),
}  # fmt: skip


def optimizer(keras, name, legacy=False):
    """The optimizer of a model, the old kind of 2.15 if ``legacy``."""
    kind, how = OPTIMIZERS[name]
    place = keras.optimizers.legacy if legacy else keras.optimizers
    return getattr(place, kind)(0.05, **how)


def make(keras, name, legacy=False, compiled=True):
    """A model whose weights are known."""
    made = MODELS[name][0](keras)
    values = np.random.RandomState(7)
    made.set_weights([
        (0.1 + 0.4 * values.rand(*each.shape)).astype(each.dtype) if each.dtype.kind == "f" and each.shape else each
        for each in made.get_weights()
    ])  # fmt: skip
    if compiled:
        made.compile(optimizer(keras, name, legacy), "mse", metrics=["mae"])
    return made


def train(model, name, epochs=2):
    """The loss of each epoch."""
    found = model.fit(MODELS[name][1](), TARGETS, epochs=epochs, batch_size=8, shuffle=False, verbose=0)
    return [float(each) for each in found.history["loss"]]


def predictions(model, name):
    return np.asarray(model.predict(MODELS[name][1](), verbose=0))[:4].tolist()


def asked(model, name):
    """What is compared of a model that was loaded: its predictions, and the losses of training that goes on."""
    return {"predictions": predictions(model, name), "losses": train(model, name)}


def forms(name, legacy=False):
    """The files that a model is saved in, by form."""
    h5 = {} if name in NO_H5 else {"h5": "model.h5", "weights_h5": "weights.h5"}
    return h5 if legacy else {**h5, "keras": "model.keras", "weights_keras": "last.weights.h5"}


def save(tf, name, folder, legacy=False):
    """Trains a model and saves it in every form; gives what ``asked`` says afterwards.

    Args:
      folder: where the files of ``forms`` and two checkpoints, ``weights`` and ``objects``, go.
    """
    made = make(tf.keras, name, legacy)
    train(made, name)
    for form, file in forms(name, legacy).items():
        (made.save_weights if form.startswith("weights") else made.save)(folder + "/" + file)
    made.save_weights(folder + "/weights")
    tf.train.Checkpoint(model=made, optimizer=made.optimizer).write(folder + "/objects")
    return asked(made, name)


def loaded(tf, name, folder, legacy=False):
    """What ``asked`` says of the model, or its predictions alone, by form."""
    found = {}
    for form, file in forms(name, legacy).items():
        if form.startswith("weights"):
            made = make(tf.keras, name, compiled=False)
            made.load_weights(folder + "/" + file)
            found[form] = {"predictions": predictions(made, name)}
        else:
            found[form] = asked(tf.keras.models.load_model(folder + "/" + file), name)
    made = make(tf.keras, name, legacy)
    status = made.load_weights(folder + "/weights")
    found["weights"] = asked(made, name)
    status.assert_existing_objects_matched()
    for form in ("objects", "objects_deferred"):  # where the optimizer has its variables, and before it has them
        made = make(tf.keras, name, legacy)
        if form == "objects":
            train(made, name)
        status = tf.train.Checkpoint(model=made, optimizer=made.optimizer).read(folder + "/objects")
        found[form] = asked(made, name)
        status.assert_existing_objects_matched()
    return found
