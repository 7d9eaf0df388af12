"""Programs of 1.x with ``tf.keras``, in graphs and sessions: run by the original (2.15) and by the tests."""

import os
import tempfile

import numpy as np

ROWS = np.random.RandomState(0)
X = ROWS.standard_normal((64, 3)).astype(np.float32)
Y = ROWS.standard_normal((64, 1)).astype(np.float32)
IMAGES = ROWS.standard_normal((32, 8, 8, 3)).astype(np.float32)
LABELS = ROWS.randint(0, 4, (32,))
WORDS = ROWS.randint(0, 20, (32, 6))
SERIES = ROWS.standard_normal((32, 6, 3)).astype(np.float32)


def with_weights(model, seed=7):
    """The model, with weights that are the same wherever it is made."""
    draws = np.random.RandomState(seed)
    model.set_weights(
        [
            np.abs(draws.standard_normal(w.shape)) * 0.1 if w.ndim == 1 else draws.standard_normal(w.shape) * 0.3
            for w in model.get_weights()
        ]
    )
    return model


def fitted(model, x, y, **options):
    history = with_weights(model).fit(x, y, epochs=2, batch_size=16, shuffle=False, verbose=0, **options).history
    return {name: [float(v) for v in values] for name, values in history.items()}


def mlp(keras):
    layers = keras.layers
    return keras.Sequential([layers.Dense(8, activation="relu", input_shape=(3,)), layers.Dense(1)])


def functional(tf):
    layers = tf.keras.layers
    given = tf.keras.Input((3,))
    first, second = layers.Dense(4, activation="relu")(given), layers.Dense(4)(given)
    result = layers.Dense(1)(layers.Concatenate()([first, layers.Add()([first, second])]))
    model = tf.keras.Model(given, result)
    model.compile("adam", "mse", metrics=["mae"])
    return fitted(model, X, Y)


def functions_of_tf(tf):
    layers = tf.keras.layers
    given = tf.keras.Input((3,))
    mean = tf.reduce_mean(tf.nn.relu(given * 2.0 + 1.0), axis=1, keepdims=True) + given[:, :1]
    model = tf.keras.Model(given, layers.Dense(1)(mean))
    model.compile("adam", "mse")
    return fitted(model, X, Y)


def several_outputs(tf):
    layers = tf.keras.layers
    a, b = tf.keras.Input((3,), name="a"), tf.keras.Input((3,), name="b")
    hidden = layers.Dense(4)(layers.Concatenate()([a, b]))
    p, q = layers.Dense(1, name="p")(hidden), layers.Dense(2, activation="softmax", name="q")(hidden)
    model = tf.keras.Model([a, b], [p, q])
    losses = {"p": "mse", "q": "sparse_categorical_crossentropy"}
    model.compile("adam", losses, metrics={"q": "accuracy"}, loss_weights={"p": 1.0, "q": 0.5})
    return fitted(model, {"a": X, "b": X}, {"p": Y, "q": (Y[:, 0] > 0).astype(int)})


def batch_normalization(tf):
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            layers.Conv2D(4, 3, activation="relu", input_shape=(8, 8, 3)), layers.BatchNormalization(),
            layers.MaxPooling2D(), layers.Flatten(), layers.Dense(4, activation="softmax"),
        ],
    )  # fmt: skip
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["acc"])
    found = fitted(model, IMAGES, LABELS)
    return {**found, "moving": [w.tolist() for w in model.get_weights()[4:6]], "updates": len(model.updates)}


def recurrent(tf):
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            layers.Masking(0.0, input_shape=(6, 3)), layers.GRU(4, return_sequences=True),
            layers.Bidirectional(layers.LSTM(3)), layers.Dense(1),
        ],
    )  # fmt: skip
    model.compile("adam", "mse")
    return fitted(model, SERIES, Y[:32])


def words(tf):
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            layers.Embedding(20, 4, input_length=6), layers.Conv1D(4, 3), layers.GlobalMaxPooling1D(),
            layers.Dense(1, activation="sigmoid"),
        ],
    )  # fmt: skip
    model.compile("rmsprop", "binary_crossentropy", metrics=["acc"])
    return fitted(model, WORDS, LABELS % 2)


def own_layer_and_loss(tf):
    keras = tf.keras

    class Own(keras.layers.Layer):
        def build(self, shape):
            self.w = self.add_weight("w", shape=(int(shape[-1]), 4), initializer="ones")
            self.built = True

        def call(self, x):
            self.add_loss(1e-3 * tf.reduce_sum(self.w**2))
            return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.matmul(x, self.w), lambda: tf.matmul(-x, self.w))

    def loss(truth, prediction):
        return keras.backend.mean(tf.square(prediction - truth) * 2.0, axis=-1)

    def distance(truth, prediction):
        return tf.reduce_mean(tf.abs(truth - prediction))

    model = keras.Sequential([Own(input_shape=(3,)), keras.layers.Dense(1)])
    model.compile("sgd", loss, metrics=[distance])
    return list(fitted(model, X, Y).values())


def subclassed(tf):
    class Own(tf.keras.Model):
        def __init__(self):
            super(Own, self).__init__()  # noqa: UP008
            self.hidden, self.out = tf.keras.layers.Dense(4, activation="relu"), tf.keras.layers.Dense(1)

        def call(self, x, training=False):
            return self.out(self.hidden(x))

    model = Own()
    model.compile("sgd", "mse", metrics=["mae"])
    model.train_on_batch(X[:16], Y[:16])
    return {**fitted(model, X, Y), "evaluated": np.asarray(model.evaluate(X, Y, verbose=0)).tolist()}


def uneven_and_on_batch(tf):
    model = mlp(tf.keras)
    model.compile("sgd", "mse", metrics=["mae"])
    found = fitted(model, X[:50], Y[:50], validation_data=(X, Y))
    batch = [model.train_on_batch(X, Y), model.test_on_batch(X, Y)]
    predicted = float(model.predict(X[:10], batch_size=4).sum())
    return {**found, "batch": np.asarray(batch).tolist(), "predicted": predicted, "names": model.metrics_names}


def weighted(tf):
    model = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="softmax", input_shape=(3,))])
    model.compile("sgd", "sparse_categorical_crossentropy", weighted_metrics=["acc"])
    labels = np.arange(64) % 4
    by_class = fitted(model, X, labels, class_weight={0: 1.0, 1: 2.0, 2: 1.0, 3: 0.5})
    return [by_class, fitted(model, X, labels, sample_weight=np.linspace(0, 1, 64))]


def datasets(tf):
    model = with_weights(mlp(tf.keras))
    model.compile("sgd", "mse")
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(16).repeat()
    x, y = data.make_one_shot_iterator().get_next()
    return [
        model.fit(data, epochs=2, steps_per_epoch=3, validation_data=data, validation_steps=2, verbose=0).history,
        model.fit(x, y, epochs=2, steps_per_epoch=3, verbose=0).history,
        float(model.evaluate(data, steps=4, verbose=0)),
        list(model.predict(data, steps=3).shape),
    ]


def generators(tf):
    def batches():
        while True:
            for i in range(4):
                yield X[i * 16 : i * 16 + 16], Y[i * 16 : i * 16 + 16]

    model = with_weights(mlp(tf.keras))
    model.compile("sgd", "mse")
    found = model.fit_generator(batches(), steps_per_epoch=4, epochs=2, verbose=0).history
    return [found, float(model.evaluate_generator(batches(), steps=4))]


def optimizers(tf):
    found = {}
    made = {
        "sgd": lambda o: o.SGD(lr=0.05, momentum=0.9, nesterov=True, decay=0.1),
        "adam": lambda o: o.Adam(lr=0.05, clipnorm=0.1, amsgrad=True), "rmsprop": lambda o: o.RMSprop(lr=0.01, rho=0.8),
        "adagrad": lambda o: o.Adagrad(lr=0.05), "nadam": lambda o: o.Nadam(lr=0.05),
    }  # fmt: skip
    for name, make in made.items():
        model = mlp(tf.keras)
        model.compile(make(tf.keras.optimizers), "mse")
        found[name] = fitted(model, X, Y)["loss"]
    return found


def optimizers_of_tf(tf):
    found = {}
    made = {
        "adam": lambda: tf.train.AdamOptimizer(0.05),
        "momentum": lambda: tf.train.MomentumOptimizer(0.05, 0.9),
        "ftrl": lambda: tf.train.FtrlOptimizer(0.05),
    }
    for name, make in made.items():
        model = mlp(tf.keras)
        model.compile(make(), "mse")
        found[name] = [*fitted(model, X, Y)["loss"], type(model.optimizer).__name__]
    return found


def graph_and_session(tf):
    """Layers of Keras and of ``tf.layers`` in one graph, trained by an optimizer of ``tf.train``."""
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 1])
    with tf.variable_scope("scope"):
        hidden = tf.keras.layers.Dense(4, activation="relu", kernel_initializer="ones")(x)
    hidden = tf.layers.dense(hidden, 4, kernel_initializer=tf.ones_initializer())
    hidden = tf.keras.layers.BatchNormalization()(hidden, training=False)
    loss = tf.losses.mean_squared_error(y, tf.keras.layers.Dense(1, name="last", kernel_initializer="ones")(hidden))
    train = tf.train.GradientDescentOptimizer(1e-3).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [float(session.run([loss, train], {x: X, y: Y})[0]) for _ in range(3)]
    return [losses, [v.name for v in tf.global_variables()]]


def backend(tf):
    keras, k = tf.keras, tf.keras.backend
    session = tf.Session(config=tf.ConfigProto(allow_soft_placement=True))
    k.set_session(session)
    given = keras.Input((3,))
    dropped = keras.layers.Dropout(0.5)(keras.layers.Dense(2, kernel_initializer="ones")(given))
    function = k.function([given, k.learning_phase()], [dropped])
    variable, fed = k.variable(2.0), k.placeholder((2, 2))
    updating = k.function([fed], [fed * 2, k.sum(fed)], updates=[tf.assign_add(variable, 1.0)])
    doubled, total = updating([np.ones((2, 2))])
    slope = k.gradients(k.sum(k.square(variable)), variable)[0]
    return {
        "same": k.get_session() is session,
        "function": function([X, 0])[0].tolist(),
        "run": session.run(dropped, {given: X, k.learning_phase(): 0}).tolist(),
        "updated": [float(k.get_value(variable)), doubled.tolist(), float(total), float(k.eval(slope))],
        "dropped": bool((function([X, 1])[0] == 0).any()),
    }


def files(tf):
    folder = tempfile.mkdtemp()
    model = with_weights(mlp(tf.keras))
    model.compile("adam", "mse")
    model.fit(X, Y, verbose=0, shuffle=False)
    model.save(os.path.join(folder, "model.h5"))
    model.save_weights(os.path.join(folder, "weights"))
    again = tf.keras.models.load_model(os.path.join(folder, "model.h5"))
    other = mlp(tf.keras)
    other.load_weights(os.path.join(folder, "weights"))
    going_on = [m.fit(X, Y, verbose=0, shuffle=False).history["loss"] for m in (model, again)]
    keys = [key for key, _ in tf.train.list_variables(os.path.join(folder, "weights"))]
    return [going_on, float(again.predict(X).sum()), float(other.predict(X).sum()), keys]


def callbacks(tf):
    folder = tempfile.mkdtemp()
    made = tf.keras.callbacks
    model = with_weights(mlp(tf.keras))
    model.compile("sgd", "mse")
    history = model.fit(
        X, Y, validation_split=0.25, epochs=3, shuffle=False, verbose=0,
        callbacks=[
            made.ModelCheckpoint(os.path.join(folder, "w{epoch}.h5"), save_weights_only=True),
            made.LearningRateScheduler(lambda epoch: 0.01 * 0.5**epoch), made.EarlyStopping(patience=1),
            made.CSVLogger(os.path.join(folder, "log.csv")),
        ],
    ).history  # fmt: skip
    names = sorted(os.listdir(folder))
    return [{name: [float(v) for v in values] for name, values in history.items()}, names]


def estimator(tf):
    model = with_weights(mlp(tf.keras))
    model.compile(tf.train.GradientDescentOptimizer(0.05), "mse", metrics=["mae"])
    made = tf.keras.estimator.model_to_estimator(model, model_dir=tempfile.mkdtemp())
    name = model.input_names[0]

    def data():
        return tf.data.Dataset.from_tensor_slices(({name: X}, Y)).batch(16)

    made.train(data)
    evaluated = {key: float(value) for key, value in made.evaluate(data).items()}
    return [evaluated, len(list(made.predict(data))), made.get_variable_names()]


CASES = [
    functional, functions_of_tf, several_outputs, batch_normalization, recurrent, words, own_layer_and_loss, subclassed,
    uneven_and_on_batch, weighted, datasets, generators, optimizers, optimizers_of_tf, graph_and_session, backend,
    files, callbacks, estimator,
]  # fmt: skip
CASES = {case.__name__: case for case in CASES}
