"""Several steps per execution: one begins while the one before is under way, and nobody sees a difference."""

import numpy as np
import pytest

import towerstrat.compat.v2 as tf
from towerstrat.graph.runtime.loops.data_loop_stage import _DataLoopProgram

keras = tf.keras
BATCHES, STEPS, BAD = 16, 4, 9


@pytest.fixture(autouse=True)
def as_2_x(later_behavior):
    yield
    keras.backend.clear_session()


def data(bad=False):
    state = np.random.RandomState(0)
    x, y = state.randn(BATCHES * 2, 3).astype(np.float32), state.randint(0, 4, BATCHES * 2)
    if bad:
        y[2 * BAD] = 4
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(2, drop_remainder=True)


def model(steps=STEPS):
    made = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, kernel_initializer="ones")])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    made.compile(keras.optimizers.SGD(0.1), loss, steps_per_execution=steps)
    return made


class Kept(keras.callbacks.Callback):
    """Keeps what it gets after each execution."""

    def __init__(self, tensors):
        super().__init__()
        self._supports_tf_logs = tensors
        self.logs = []

    def on_train_batch_end(self, batch, logs=None):
        self.logs.append((batch, logs["loss"]))


@pytest.fixture
def seen(monkeypatch):
    """Begins of programs and looks at their checks, in order."""
    found = []
    for name in ("__call__", "error"):
        method = getattr(_DataLoopProgram, name)
        monkeypatch.setattr(
            _DataLoopProgram, name, lambda *args, name=name, method=method: (found.append(name), method(*args))[1]
        )
    return found


BESIDE = ["__call__", "__call__", "error", "__call__", "error", "__call__", "error", "error"]


def test_an_execution_begins_before_the_checks_of_the_one_before_are_looked_at(seen):
    trained = model()
    for each in (trained.fit, trained.evaluate):
        each(data(), verbose=0)  # its first program tells how long a step takes
        seen.clear()
        each(data(), verbose=0)
        assert seen == BESIDE


def test_callbacks_get_the_numbers_of_each_execution():
    one, several, tensors = Kept(False), Kept(False), Kept(True)
    model(steps=1).fit(data(), verbose=0, callbacks=[one])
    model().fit(data(), verbose=0, callbacks=[several])
    model().fit(data(), verbose=0, callbacks=[tensors])
    assert [batch for batch, _ in several.logs] == [3, 7, 11, 15]
    assert all(isinstance(loss, float) for _, loss in several.logs)
    assert [(batch, float(loss)) for batch, loss in tensors.logs] == several.logs
    np.testing.assert_allclose([loss for _, loss in several.logs], [loss for _, loss in one.logs[3::4]], rtol=1e-6)


@pytest.mark.parametrize("callbacks", [[], [Kept(False)]], ids=["none", "one that reads logs"])
def test_fit_raises_what_an_execution_met_with_the_state_of_the_last_good_step(callbacks):
    trained, known = model(), model(steps=1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="in a turn of the loop"):
        trained.fit(data(bad=True), verbose=0, callbacks=callbacks)
    known.fit(data().take(BAD), verbose=0)
    assert int(trained.optimizer.iterations) == BAD
    for ours, other in zip(trained.get_weights(), known.get_weights(), strict=True):
        np.testing.assert_allclose(ours, other, rtol=1e-6)
    assert [batch for each in callbacks for batch, _ in each.logs] == [3, 7][: 2 * len(callbacks)]
    trained.fit(data(), verbose=0)


def test_an_error_of_a_callback_leaves_nothing_to_the_next_fit():
    class Stops(keras.callbacks.Callback):
        _supports_tf_logs = True

        def on_train_batch_end(self, batch, logs=None):
            if batch == 7:
                raise KeyboardInterrupt

    trained = model()
    with pytest.raises(KeyboardInterrupt):
        trained.fit(data(), verbose=0, callbacks=[Stops()])
    assert int(trained.optimizer.iterations) == 8
    trained.fit(data(), verbose=0)
    assert int(trained.optimizer.iterations) == 8 + BATCHES
