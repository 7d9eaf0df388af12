"""Damaged input of every format is read, or refused by an error of ``tf.errors``."""

import sys

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.fuzz import damage
from towerstrat.graph.eager import mode

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of Keras, about HDF5


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded as Linux does it")
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.long] * (kind == "model.h5")) for kind in damage.FORMATS]
)
def test_damaged_input_is_read_or_refused(kind, tmp_path):
    assert 0 <= damage.run(kind, 20, 0, tmp_path) <= 20


def test_an_error_that_is_none_of_ours_is_found(tmp_path, monkeypatch):
    def read(folder):
        if (folder / "file").read_bytes() != b"good" * 20:
            raise KeyError(-1)

    form = damage.Format(lambda folder: (folder / "file").write_bytes(b"good" * 20), read)
    monkeypatch.setitem(damage.FORMATS, "new", form)
    with pytest.raises(KeyError) as caught:
        damage.run("new", 20, 0, tmp_path)
    assert caught.value.__notes__ == ["new, number 0 of seed 0: file, flipped"]


HUGE = {
    "jpeg": lambda data: data.replace(b"\x00\x28\x00\x32", b"\xff\xff\xff\xff"),  # 40 by 50 pixels
    "gif": lambda data: data.replace(b"\x04\0\x04\0", b"\xff\xff\xff\xff"),
    "png": lambda data: data[:16] + b"\x7f\xff\xff\xff" * 2 + data[24:],
    "png16": lambda data: data[:16] + b"\x7f\xff\xff\xff" * 2 + data[24:],
}


@pytest.mark.parametrize("kind", HUGE)
def test_an_image_that_says_to_be_huge_is_refused(kind, tmp_path):
    with mode.eager_mode():
        damage.FORMATS[kind].write(tmp_path)
        contents = (tmp_path / kind).read_bytes()
        huge = HUGE[kind](contents)
        assert huge != contents
        with damage.bounded_memory(damage.MEMORY), pytest.raises(tf.errors.OpError):
            tf.image.decode_image(huge)


@pytest.mark.parametrize("name", ["weights.h5", "model.h5", "model.keras"])
def test_a_model_that_is_cut_short_is_named(name, tmp_path):
    with mode.eager_mode():
        damage.FORMATS[name].write(tmp_path)
        path = tmp_path / name
        path.write_bytes(path.read_bytes()[:-500])
        model = tf2.keras.Sequential([tf2.keras.layers.Dense(2, input_shape=(3,), name="dense")])
        load = model.load_weights if name.startswith("weights") else tf2.keras.models.load_model
        with pytest.raises(tf.errors.DataLossError, match=name) as caught:
            load(str(path))
        assert isinstance(caught.value, OSError)
        with pytest.raises(OSError, match="nowhere") as missing:
            load(str(tmp_path / "nowhere.h5"))
        assert not isinstance(missing.value, tf.errors.DataLossError)


def test_weights_that_do_not_fit_are_kerass_word(tmp_path):
    """The file is whole: only the model is another."""
    with mode.eager_mode():
        damage.FORMATS["weights.h5"].write(tmp_path)
        other = tf2.keras.Sequential([tf2.keras.layers.Dense(7, input_shape=(3,), name="dense")])
        with pytest.raises(ValueError, match="shape"):
            other.load_weights(str(tmp_path / "weights.h5"))
        assert np.isfinite(other.get_weights()[0]).all()
