# model_to_estimator on 1, 2, 3 Mirrored towers that get the same batch, so each must equal one tower.
import tempfile

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)


def inp():
    x = np.linspace(-1, 1, 4).astype(np.float32).reshape(4, 1)
    return tf.data.Dataset.from_tensors(({"x": x}, 3 * x + 1)).repeat()


for opt in ("tf", "adam", "keras"):
    for n in (1, 2, 3):
        s = tf.contrib.distribute.MirroredStrategy(devices=[f"/device:CPU:{i}" for i in range(n)]) if n > 1 else None
        i = tf.keras.layers.Input((1,), name="x")
        m = tf.keras.Model(
            i, tf.keras.layers.Dense(1, kernel_initializer=tf.keras.initializers.Constant(0.3), name="d")(i)
        )
        m.compile(
            {
                "tf": lambda: tf.train.GradientDescentOptimizer(0.1),
                "adam": lambda: tf.train.AdamOptimizer(0.1),
                "keras": lambda: tf.keras.optimizers.SGD(0.1),
            }[opt](),
            "mse",
        )
        e = tf.keras.estimator.model_to_estimator(
            m,
            config=tf.estimator.RunConfig(
                model_dir=tempfile.mkdtemp(), train_distribute=s, session_config=tf.ConfigProto(device_count={"CPU": 3})
            ),
        )
        try:
            r = []
            for k in (1, 2):
                e.train(inp, steps=k)
                r.append([round(float(e.get_variable_value(v).ravel()[0]), 5) for v in ("d/kernel", "d/bias")])
            print(opt, n, r, flush=True)
        except Exception as x:
            print(opt, n, type(x).__name__, str(x)[:100].replace("\n", " "))
