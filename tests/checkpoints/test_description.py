"""Checkpoints as text and as other files."""

import ml_dtypes
import numpy as np
import pytest

from towerstrat import errors
from towerstrat.checkpoints.bundle_reader import Bundle
from towerstrat.checkpoints.bundle_writer import Saved, write
from towerstrat.checkpoints.description import differences, listed, shown
from towerstrat.checkpoints.format_conversion import convert, renamed

VALUES = {
    "dense/bias": np.float32([3.0, 4.0]),
    "dense/kernel": np.zeros((2, 3), ml_dtypes.bfloat16),
    "step": np.int64(7),
    "words": np.array([b"a", b"bcd"], object),
}


def bundle(folder, name, values):
    write(str(folder / name), [Saved(key, lambda value=value: value) for key, value in values.items()])
    return Bundle(str(folder / name))


def test_a_list_has_types_shapes_bytes_and_norms(tmp_path):
    assert list(listed(bundle(tmp_path, "a", VALUES), norms=True)) == [
        "dense/bias    float32   [2]     8 B   norm 5",
        "dense/kernel  bfloat16  [2, 3]  12 B  norm 0",
        "step          int64     []      8 B   norm 7",
        "words         string    [2]     10 B  -",
        "11 arrays, 11 elements, 38 bytes".replace("11 arrays", "4 arrays"),
    ]


def test_one_array_is_shown(tmp_path):
    found = bundle(tmp_path, "a", VALUES)
    assert list(shown(found, "dense/bias")) == ["dense/bias: float32 [2]", "[3. 4.]"]
    with pytest.raises(errors.NotFoundError, match="Key nowhere"):
        list(shown(found, "nowhere"))


def test_differences_are_named(tmp_path):
    first = bundle(tmp_path, "a", VALUES | {"nan": np.float32([np.nan, 1.0])})
    other = {**VALUES, "nan": np.float32([np.nan, 1.0]), "dense/bias": np.float32([3.0, 4.5]), "step": np.int32(7)}
    del other["words"]
    second = bundle(tmp_path, "b", other | {"new": np.float32(1)})
    assert list(differences(first, first)) == []
    assert list(differences(first, second)) == [
        "~ dense/bias  1 of 2 elements differ, by at most 0.5",
        "+ new  only in the second",
        "~ step  int64 [] against int32 []",
        "- words  only in the first",
    ]


def test_conversions(tmp_path):
    found = bundle(tmp_path, "a", VALUES)
    names = renamed(list(found.entries), [("^dense/", "layer/")])
    assert names["layer/bias"] == "dense/bias"
    convert(found, str(tmp_path / "b"), names)
    again = Bundle(str(tmp_path / "b"))
    assert [again.read(new).tolist() for new in names] == [VALUES[old].tolist() for old in names.values()]
    assert again.entries["layer/kernel"].code == found.entries["dense/kernel"].code
    convert(found, str(tmp_path / "c.npz"), names)
    arrays = np.load(tmp_path / "c.npz")
    assert {name: arrays[name].tolist() for name in arrays} == {new: VALUES[old].tolist() for new, old in names.items()}
    with pytest.raises(ValueError, match="would both be called x"):
        renamed(["a", "b"], [(".", "x")])


def test_safetensors(tmp_path):
    numpy = pytest.importorskip("safetensors.numpy")
    found = bundle(tmp_path, "a", VALUES)
    path = str(tmp_path / "c.safetensors")
    convert(found, path, {"bias": "dense/bias", "step": "step"})
    assert {k: v.tolist() for k, v in numpy.load_file(path).items()} == {"bias": [3.0, 4.0], "step": 7}
    with pytest.raises(errors.UnsupportedError, match="no elements of string"):
        convert(found, path, {"words": "words"})
