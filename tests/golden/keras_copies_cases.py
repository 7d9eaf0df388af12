"""Copies of compiled models, and models made of configs: what of a model they have, under 1.x and 2.x."""

import copy
import pickle

import numpy as np

_R = np.random.RandomState(5)
ROWS = _R.randn(16, 3).astype("float32")
TARGETS = _R.rand(16, 1).astype("float32")


def sequential(keras):
    return keras.Sequential([
        keras.layers.Dense(4, activation="relu", input_shape=(3,), name="first"),
        keras.layers.BatchNormalization(name="norm"),
        keras.layers.Dense(1, name="last"),
    ])  # fmt: skip


def functional(keras):
    given = keras.Input((3,), name="given")
    shown = keras.layers.Dense(3, activation="tanh", name="in")(given)
    return keras.Model(given, keras.layers.Dense(1, name="last")(keras.layers.Add(name="sum")([given, shown])))


COPIES = {
    "clone": lambda keras, model: keras.models.clone_model(model),
    "config": lambda keras, model: type(model).from_config(model.get_config()),
    "json": lambda keras, model: keras.models.model_from_json(model.to_json()),
    "deepcopy": lambda keras, model: copy.deepcopy(model),
    "pickle": lambda keras, model: pickle.loads(pickle.dumps(model)),
    "copy": lambda keras, model: copy.copy(model),
}
MODELS = {each.__name__: each for each in (sequential, functional)}
CASES = [(name, way, compiled) for name in MODELS for way in COPIES for compiled in (True, False)]


def _known(model, seed):
    values = np.random.RandomState(seed)
    model.set_weights([0.1 + 0.4 * values.rand(*each.shape) for each in model.get_weights()])


def _trained(model):
    found = model.fit(ROWS, TARGETS, epochs=2, batch_size=8, shuffle=False, verbose=0).history
    return [float(each) for each in found["loss"]]


def found(tf, name, way, compiled):
    """Of a copy: class, names, weights, whether it is compiled, how it trains beside its model; or the error."""
    keras = tf.keras
    keras.backend.clear_session()
    model = MODELS[name](keras)
    _known(model, 7)
    if compiled:
        model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
        _trained(model)
    try:
        other = COPIES[way](keras, model)
    except Exception as error:
        return {"error": type(error).__name__}
    said = {
        "class": type(other).__name__,
        "name": other.name,
        "layers": [[type(each).__name__, each.name] for each in other.layers],
        "weights": [list(map(int, each.shape)) for each in other.weights],
        "same weights": all(map(np.array_equal, other.get_weights(), model.get_weights())),
        "compiled": getattr(other, "optimizer", None) is not None,
    }
    if not said["same weights"]:
        _known(other, 8)
    if not said["compiled"]:
        other.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
    before = [np.array(each) for each in model.get_weights()]
    said["losses"] = _trained(other)
    said["apart"] = all(map(np.array_equal, before, model.get_weights()))
    return said
