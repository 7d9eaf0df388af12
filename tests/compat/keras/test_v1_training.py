"""What models of 1.x took: iterators, slices of batches, ``keras_to_tpu_model``, batches of one tower."""

import jax
import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.golden.keras_graph_cases import X, Y

pytestmark = [pytest.mark.filterwarnings("ignore::UserWarning")]
RESOLVER = tf.contrib.cluster_resolver.TPUClusterResolver("")


@pytest.fixture(autouse=True)
def cleared():
    tf.keras.backend.clear_session()
    yield
    tf.keras.backend.clear_session()


def model():
    start = tf.keras.initializers.Constant(0.1)
    layers = tf.keras.layers
    hidden = layers.Dense(8, activation="relu", input_shape=(3,), kernel_initializer=start)
    made = tf.keras.Sequential([hidden, layers.Dense(1, kernel_initializer=start)])
    made.compile(tf.train.GradientDescentOptimizer(0.05), "mse", metrics=["mae"])
    return made


def dataset(*parts):
    return tf.data.Dataset.from_tensor_slices(parts).batch(8, drop_remainder=True).repeat()


def close(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_iterators_give_what_their_datasets_give():
    one, other = model(), model()
    iterator = dataset(X, Y).make_one_shot_iterator()
    held_back = dataset(X, Y).make_one_shot_iterator()
    ours = one.fit(iterator, epochs=2, steps_per_epoch=4, verbose=0, validation_data=held_back, validation_steps=4)
    theirs = other.fit(dataset(X, Y), epochs=2, steps_per_epoch=4, verbose=0)
    close(ours.history["loss"], theirs.history["loss"])
    assert "val_loss" in ours.history
    close(one.predict(dataset(X, Y).make_one_shot_iterator(), steps=2), other.predict(X[:16]))
    weighted = dataset(X, Y, np.zeros(len(X), np.float32)).make_one_shot_iterator()
    assert one.train_on_batch(weighted)[0] == 0


def test_what_iterators_do_not_go_with():
    iterator = dataset(X, Y).make_one_shot_iterator()
    with pytest.raises(ValueError, match="takes targets and weights from the iterator"):
        model().fit(iterator, Y, steps_per_epoch=1)
    with pytest.raises(ValueError, match="steps_per_epoch"):
        model().fit(iterator)
    with pytest.raises(ValueError, match=r"\(inputs, targets, weights\)"):
        model().fit(dataset(X, Y, Y, Y).make_one_shot_iterator(), steps_per_epoch=1)


def test_slices_of_a_batch():
    """Eleven rows are slices of three and of eight; the variables are those of the model."""
    one, other = model(), model()
    split = tf.keras.utils.multi_gpu_model(other, gpus=3)
    split.compile(tf.train.GradientDescentOptimizer(0.05), "mse")
    ours = split.fit(X[:11], Y[:11], batch_size=11, epochs=3, verbose=0).history["loss"]
    close(ours, one.fit(X[:11], Y[:11], batch_size=11, epochs=3, verbose=0).history["loss"])
    close(split.predict(X[:11]), other.predict(X[:11]))
    assert split.weights[0] is other.weights[0]
    assert split.output_names == other.output_names


@pytest.mark.parametrize(("gpus", "said"), [(1, "at least two"), ([0, 99], "there is no 99")])
def test_slices_that_cannot_be(gpus, said):
    with pytest.raises(ValueError, match=said):
        tf.keras.utils.multi_gpu_model(model(), gpus)


@pytest.mark.parametrize("single", [pytest.param(False, marks=pytest.mark.long), True])
def test_a_copy_on_towers_trains_as_the_model_does(single, tmp_path):
    alone = model()
    copy = tf.contrib.tpu.keras_to_tpu_model(alone, tf.contrib.tpu.TPUDistributionStrategy(RESOLVER, single))
    fitting = {"epochs": 2, "batch_size": 16, "shuffle": False, "verbose": 0}
    ours, theirs = copy.fit(X, Y, **fitting).history, alone.fit(X, Y, **fitting).history
    close(ours["mean_absolute_error"], theirs["mean_absolute_error"])
    close(copy.predict(X, batch_size=16), alone.predict(X))
    close(copy.sync_to_cpu().predict(X), alone.predict(X))
    close(copy.evaluate(X, Y, batch_size=16, verbose=0), alone.evaluate(X, Y, verbose=0))
    copy.save_weights(str(tmp_path / "weights.h5"))
    again = tf.contrib.tpu.keras_to_tpu_model(model(), tf.contrib.tpu.TPUDistributionStrategy(RESOLVER, single))
    again.load_weights(str(tmp_path / "weights.h5"))
    close(again.get_weights(), alone.get_weights())


def test_functions_that_return_datasets_train_a_copy_on_towers():
    copy = tf.contrib.tpu.keras_to_tpu_model(model(), tf.contrib.tpu.TPUDistributionStrategy(RESOLVER, True))
    found = copy.fit(lambda: dataset(X, Y), epochs=1, steps_per_epoch=2, verbose=0).history["loss"]
    close(found, model().fit(X[:16], Y[:16], batch_size=8, shuffle=False, verbose=0).history["loss"])


def test_copies_that_cannot_be():
    with pytest.raises(TypeError, match="must have type"):
        tf.contrib.tpu.keras_to_tpu_model(model(), tf.contrib.distribute.TPUStrategy(RESOLVER))
    changing = tf.keras.Sequential([tf.keras.layers.LSTM(2, input_shape=(None, 3))])
    with pytest.raises(ValueError, match="variable shape in a non-batch dimension"):
        tf.contrib.tpu.keras_to_tpu_model(changing)
    copy = tf.contrib.tpu.keras_to_tpu_model(model(), tf.contrib.tpu.TPUDistributionStrategy(RESOLVER, True))
    with pytest.raises(ValueError, match="weighted_metrics not supported"):
        copy.compile("sgd", "mse", weighted_metrics=["mae"])


@pytest.mark.long
def test_predictions_of_all_batches():
    """Five batches on the towers of this process: those at the end do not suffice for all of them."""
    rows, targets = np.concatenate([X, X])[:40], np.concatenate([Y, Y])[:40]
    trained = model()
    wanted = trained.predict(rows)
    strategy = tf.contrib.distribute.TPUStrategy(RESOLVER, steps_per_run=1)
    trained.compile(tf.train.GradientDescentOptimizer(0.05), "mse", distribute=strategy)
    assert len(jax.devices()) > 1
    close(trained.predict(rows, batch_size=8), wanted)
    data = tf.data.Dataset.from_tensor_slices((rows, targets)).batch(8)
    close(trained.predict(data, steps=1), wanted)
