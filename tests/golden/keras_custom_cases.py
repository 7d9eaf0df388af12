"""Models of 2.x with what the program defines itself: keras_custom.py trains, saves and reads them under 2.15."""

import functools

import numpy as np

_R = np.random.RandomState(5)
ROWS = _R.randn(24, 3).astype("float32")
TARGETS = _R.rand(24, 1).astype("float32")
PACKAGE = "Own"


@functools.cache
def defined(tf):
    """Name -> class or function, the first of which are registered, the others named by ``custom_objects``."""
    keras = tf.keras
    register = keras.saving.register_keras_serializable

    def bent(x):
        return tf.maximum(x, 0.1 * x)

    def fourth(y_true, y_pred):
        return tf.reduce_mean((y_true - y_pred) ** 4, axis=-1)

    def largest(y_true, y_pred):
        return tf.reduce_max(tf.abs(y_true - y_pred), axis=-1)

    class Halves(keras.initializers.Initializer):
        """A constant that is configured."""

        def __init__(self, value=0.5):
            self.value = value

        def __call__(self, shape, dtype=None, **kwargs):
            return tf.fill(shape, tf.cast(self.value, dtype or "float32"))

        def get_config(self):
            return {"value": self.value}

    class Small(keras.regularizers.Regularizer):
        def __init__(self, strength):
            self.strength = strength

        def __call__(self, x):
            return self.strength * tf.reduce_sum(tf.abs(x) ** 3)

        def get_config(self):
            return {"strength": self.strength}

    class Ball(keras.constraints.Constraint):
        def __init__(self, radius=2.0):
            self.radius = radius

        def __call__(self, w):
            return tf.clip_by_norm(w, self.radius)

        def get_config(self):
            return {"radius": self.radius}

    class Scaled(keras.layers.Layer):
        """Rows times a vector that is learnt, after a layer of its own, if it has one."""

        def __init__(self, factor, act=None, inner=None, **kwargs):
            super().__init__(**kwargs)
            self.factor, self.act, self.inner = factor, keras.activations.get(act), inner

        def build(self, input_shape):
            self.scale = self.add_weight("scale", (input_shape[-1],), initializer=Halves(0.25), regularizer=Small(0.1))
            self.calls = self.add_weight("calls", (), "int32", initializer="zeros", trainable=False)
            super().build(input_shape)

        def call(self, inputs, training=None):
            if training:
                self.calls.assign_add(1)
            given = inputs if self.inner is None else self.inner(inputs)
            return self.act(given * self.scale * self.factor)

        def get_config(self):
            inner = keras.saving.serialize_keras_object(self.inner) if self.inner is not None else None
            act = keras.activations.serialize(self.act)
            return {**super().get_config(), "factor": self.factor, "act": act, "inner": inner}

        @classmethod
        def from_config(cls, config):
            if config.get("inner") is not None:
                config["inner"] = keras.saving.deserialize_keras_object(config["inner"])
            return cls(**config)

    class Fourth(keras.losses.Loss):
        """A loss with a number."""

        def __init__(self, weight=1.0, name="fourth_loss", **kwargs):
            super().__init__(name=name, **kwargs)
            self.weight = weight

        def call(self, y_true, y_pred):
            return self.weight * fourth(y_true, y_pred)

        def get_config(self):
            return {**super().get_config(), "weight": self.weight}

    class Near(keras.metrics.Metric):
        """The part of predictions that are near."""

        def __init__(self, within=0.5, name="near", **kwargs):
            super().__init__(name=name, **kwargs)
            self.within = within
            self.seen, self.met = (self.add_weight(name=each, initializer="zeros") for each in ("seen", "met"))

        def update_state(self, y_true, y_pred, sample_weight=None):
            near = tf.cast(tf.abs(y_true - y_pred) < self.within, "float32")
            self.met.assign_add(tf.reduce_sum(near))
            self.seen.assign_add(tf.cast(tf.size(near), "float32"))

        def result(self):
            return tf.math.divide_no_nan(self.met, self.seen)

        def get_config(self):
            return {**super().get_config(), "within": self.within}

    class Heavy(keras.optimizers.Optimizer):
        """Gradient descent along a mean of the gradients."""

        def __init__(self, learning_rate=0.1, keep=0.8, name="Heavy", **kwargs):
            super().__init__(name=name, **kwargs)
            self._learning_rate = self._build_learning_rate(learning_rate)
            self.keep = keep

        def build(self, var_list):
            super().build(var_list)
            if getattr(self, "_built", False):
                return
            self._built = True
            self.means = [self.add_variable_from_reference(each, "mean") for each in var_list]

        def update_step(self, gradient, variable):
            mean = self.means[self._index_dict[self._var_key(variable)]]
            mean.assign(self.keep * mean + (1 - self.keep) * gradient)
            variable.assign_sub(tf.cast(self.learning_rate, variable.dtype) * mean)

        def get_config(self):
            rate = self._serialize_hyperparameter(self._learning_rate)
            return {**super().get_config(), "learning_rate": rate, "keep": self.keep}

    class Older(keras.optimizers.legacy.Optimizer):
        """The same in the old kind of optimizers."""

        def __init__(self, learning_rate=0.1, keep=0.8, name="Older", **kwargs):
            super().__init__(name, **kwargs)
            self._set_hyper("learning_rate", learning_rate)
            self._set_hyper("keep", keep)

        def _create_slots(self, var_list):
            for each in var_list:
                self.add_slot(each, "mean")

        def _resource_apply_dense(self, grad, var, apply_state=None):
            keep, mean = self._get_hyper("keep", var.dtype), self.get_slot(var, "mean")
            found = mean.assign(keep * mean + (1 - keep) * grad)
            return var.assign_sub(self._decayed_lr(var.dtype) * found)

        def get_config(self):
            hyper = {name: self._serialize_hyperparameter(name) for name in ("learning_rate", "keep")}
            return {**super().get_config(), **hyper}

    class Net(keras.Model):
        """A model of a class of its own, with a list of layers and a step of training of its own."""

        def __init__(self, units=4, **kwargs):
            super().__init__(**kwargs)
            self.units = units
            self.parts = [keras.layers.Dense(units, activation=bent, name="first"), Scaled(1.5, act="tanh", name="sc")]
            self.last = keras.layers.Dense(1, name="last")

        def call(self, inputs, training=None):
            for part in self.parts:
                inputs = part(inputs)
            return self.last(inputs)

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                shown = self(x, training=True)
                loss = self.compute_loss(x, y, shown)
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            return self.compute_metrics(x, y, shown, None)

        def get_config(self):
            return {**super().get_config(), "units": self.units}

    registered = (bent, Halves, Small, Ball, Scaled, Fourth, Near, Heavy, Net)
    found = {each.__name__: register(package=PACKAGE)(each) for each in registered}
    plain = type("Plain", (Scaled,), {})
    others = {"Plain": plain, "Older": Older, "fourth": fourth, "largest": largest, "hidden": lambda x: bent(x) * 0.5}
    others["hidden"].__name__ = "hidden"
    return found, others


def registered(tf):
    own, layers = defined(tf)[0], tf.keras.layers
    made = tf.keras.Sequential([
        layers.Dense(4, own["bent"], input_shape=(3,), kernel_constraint=own["Ball"](1.5), name="first"),
        own["Scaled"](1.5, act=own["bent"], inner=layers.Dense(4, "tanh", name="inner"), name="scaled"),
        layers.Dense(1, kernel_initializer=own["Halves"](0.1), kernel_regularizer=own["Small"](0.01), name="last"),
    ])  # fmt: skip
    made.compile(own["Heavy"](0.2), own["Fourth"](2.0), metrics=[own["Near"](0.25), "mae"])
    return made


def named(tf):
    """With objects that ``custom_objects`` names."""
    other, layers = defined(tf)[1], tf.keras.layers
    given = tf.keras.Input((3,), name="given")
    shown = other["Plain"](0.5, act="tanh", name="plain")(layers.Dense(4, "relu", name="in")(given))
    made = tf.keras.Model(given, layers.Dense(1, name="last")(layers.Concatenate(name="both")([shown, given])))
    made.compile(other["Older"](0.2, keep=0.7), other["fourth"], metrics=[other["largest"]])
    return made


def activations(tf):
    """Functions that ``custom_objects`` names, which the original reads in no ``.h5``."""
    (own, other), layers = defined(tf), tf.keras.layers
    made = tf.keras.Sequential([
        layers.Dense(4, other["hidden"], input_shape=(3,), name="in"),
        other["Plain"](0.5, act=other["hidden"], name="plain"),
        layers.Activation(other["hidden"], name="act"),
        layers.Dense(1, name="last"),
    ])  # fmt: skip
    made.compile(own["Heavy"](0.2), other["fourth"], metrics=[other["largest"]])
    return made


def subclassed(tf):
    own = defined(tf)[0]
    made = own["Net"](5, name="net")
    made(tf.zeros((1, 3)))
    made.compile(tf.keras.optimizers.Adam(0.02), own["Fourth"](), metrics=[own["Near"]()])
    return made


CASES = {"registered": registered, "named": named, "activations": activations, "subclassed": subclassed}
FORMS = {
    "h5": "model.h5", "keras": "model.keras", "weights_h5": "weights.h5", "weights_keras": "last.weights.h5",
    "weights": "weights",
}  # fmt: skip


def forms(name):
    """What a model is saved and loaded as: those of classes of their own are in no ``.h5``."""
    whole = ("keras", "keras_scope") if name == "subclassed" else ("h5", "keras", "h5_scope", "keras_scope")
    return (*whole, "weights_h5", "weights_keras", "weights")


def make(tf, name):
    """A compiled model whose weights are known."""
    made = CASES[name](tf)
    values = np.random.RandomState(7)
    made.set_weights([
        (0.1 + 0.4 * values.rand(*each.shape)).astype(each.dtype) if each.dtype.kind == "f" else each
        for each in made.get_weights()
    ])  # fmt: skip
    return made


def train(model):
    found = model.fit(ROWS, TARGETS, epochs=2, batch_size=8, shuffle=False, verbose=0).history
    return {name: [float(each) for each in values] for name, values in found.items()}


def asked(model, trained=True):
    """What is compared of a model: predictions, and what ``fit`` says of training that goes on."""
    found = {"predictions": np.asarray(model.predict(ROWS, verbose=0))[:4].tolist()}
    return {**found, "then": train(model)} if trained else found


def save(tf, name, folder):
    """Trains a model and saves it in every form; gives what ``asked`` says afterwards."""
    made = make(tf, name)
    train(made)
    for form in forms(name):
        if form in FORMS:
            (made.save_weights if form.startswith("weights") else made.save)(folder + "/" + FORMS[form])
    return asked(made)


def loaded(tf, name, folder, form):
    """What ``asked`` says of the model that a file of one form gives, or the error."""
    others = defined(tf)[1]  # which registers the first of them
    if form.startswith("weights"):
        made = make(tf, name)
        made.load_weights(folder + "/" + FORMS[form])
        return asked(made, trained=form == "weights")  # the others have no state of the optimizer
    objects = others if name in ("named", "activations") else {}
    tf.keras.layers.Dense(1)  # a class has the ``from_config`` of the mode, graph or eager, that last made one of it
    try:
        if not form.endswith("_scope"):
            return asked(tf.keras.models.load_model(folder + "/" + FORMS[form], custom_objects=objects))
        with tf.keras.saving.custom_object_scope(objects):
            made = tf.keras.models.load_model(folder + "/" + FORMS[form.removesuffix("_scope")], compile=False)
        return asked(made, trained=False)
    except TypeError as error:  # the original reads no ``.h5`` with functions of the program, its own neither
        return {"error": type(error).__name__}


def refused(tf, folder):
    """What is said of a file whose objects nothing names."""
    found = {}
    for form in ("h5", "keras"):
        try:
            tf.keras.models.load_model(folder + "/" + FORMS[form])
        except Exception as error:
            found[form] = type(error).__name__
    return found


CASES_OF_FORMS = [(name, form) for name in CASES for form in forms(name)]
