"""Keras before 2.4 as ``import keras``, beside the package that serves ``tf.keras``."""

import os
import textwrap

import pytest

FILES = {
    "__init__.py": "from . import backend\nfrom .models import Sequential\n__version__ = '2.3.1'",
    "backend.py": """
        import tensorflow as tf
        from tensorflow.python.keras import backend as tf_keras_backend
        tf_keras_backend.set_floatx("float32")
        get_session = tf_keras_backend.get_session
        def variable(value): return tf_keras_backend.variable(value, dtype=tf_keras_backend.floatx())
        """,
    "models.py": """
        import tensorflow as tf
        from . import backend as K
        class Sequential:
            def __init__(self): self.variable = K.variable([1.0, 2.0])
            def sum(self): return K.get_session().run(tf.reduce_sum(self.variable))
            def knows(self, tensor): return tensor in [self.variable, None]
        """,
}
"""A package that reaches ``tf.keras`` as 2.3.1 does."""
PROGRAM = """
import pickle, sys, numpy
import keras
import tensorflow as tf
from keras.models import Sequential
print(keras.__version__, Sequential().sum(), Sequential().knows(tf.constant([1.0, 2.0])))
theirs = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
print(theirs.__class__.__module__, theirs.predict(numpy.zeros([1, 2]), verbose=0), "keras.layers" in sys.modules)
print(pickle.loads(pickle.dumps(type(theirs))) is tf.keras.Sequential is not Sequential)
"""


@pytest.mark.parametrize(
    "first",
    ["import keras", pytest.param("import tensorflow as tf; tf.keras.layers.Dense(1)", marks=pytest.mark.long)],
)
def test_it_is_made_of_tf_keras(program, tmp_path, first):
    (tmp_path / "keras").mkdir()
    for name, text in FILES.items():
        (tmp_path / "keras" / name).write_text(textwrap.dedent(text))
    code, output, error = program(first + PROGRAM, options=["--api", "1"])
    assert code == 0, error
    assert output.splitlines() == [
        "2.3.1 3.0 False", "keras.src.engine.sequential [[0.]] False", "True",
    ]  # fmt: skip
    assert "import keras is the package" not in error


MNIST = """
import numpy as np, keras
from keras.layers import Conv2D, Dense, Dropout, Flatten, MaxPooling2D
from keras.models import Sequential, load_model
assert keras.__version__ == "2.3.1"
labels = np.arange(128) % 4
x = np.random.RandomState(0).rand(128, 8, 8, 1) * 0.3
for row, label in zip(x, labels):
    row[2 * label : 2 * label + 2] += 0.7
y = keras.utils.to_categorical(labels, 4)
model = Sequential([Conv2D(4, (3, 3), activation="relu", input_shape=(8, 8, 1)), MaxPooling2D(), Flatten(),
                    Dropout(0.1), Dense(4, activation="softmax")])
model.compile(keras.optimizers.Adam(lr=0.01), "categorical_crossentropy", metrics=["accuracy"])
history = model.fit(x, y, batch_size=16, epochs=12, verbose=0).history
assert history["loss"][-1] < 0.5 * history["loss"][0] and history["accuracy"][-1] > 0.9, history
model.save("model.h5")
np.testing.assert_allclose(load_model("model.h5").predict(x), model.predict(x), rtol=1e-5)
"""


@pytest.mark.long
def test_pictures_are_told_apart_by_the_package_itself(program, tmp_path, monkeypatch):
    """Needs TOWERSTRAT_TEST_KERAS_231, a folder with keras 2.3.1, keras-applications, keras-preprocessing, pyyaml."""
    folder = os.environ.get("TOWERSTRAT_TEST_KERAS_231")
    if not folder:
        pytest.skip("TOWERSTRAT_TEST_KERAS_231 names no folder with keras 2.3.1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")]))
    code, _, error = program(MNIST, options=["--api", "1"])
    assert code == 0, error
