"""Side files of checkpoints: what is written reads back, damage is refused, and each belongs to one checkpoint."""

import hashlib
import os
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from towerstrat import errors
from towerstrat.checkpoints import checkpoint_state, side_files
from towerstrat.checkpoints.bundle_reader import Bundle, header_of
from towerstrat.checkpoints.bundle_writer import Saved, write
from towerstrat.checkpoints.state_codec import decoded, encoded
from towerstrat.platform import messages

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text("aß😀\0"), st.binary(),
    arrays.arrays(st.sampled_from(["f4", "i8", "u1", "c8", "?"]), arrays.array_shapes(min_dims=0, min_side=0)),
)  # fmt: skip
states = st.recursive(scalars, lambda s: st.one_of(st.lists(s), st.dictionaries(st.integers() | st.text("ab"), s)))


def same(one, other):
    if isinstance(one, np.ndarray):
        assert isinstance(other, np.ndarray)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_array_equal(one, other)
    elif isinstance(one, list | dict):
        assert type(one) is type(other)
        assert len(one) == len(other)
        for key in range(len(one)) if isinstance(one, list) else one:
            same(one[key], other[key])
    else:
        assert type(one) is type(other)
        assert one == other or one != one


@given(states)
def test_what_is_written_reads_back(state):
    same(state, decoded(encoded(state)))


def test_all_kinds_of_arrays():
    state = {
        "half": np.array([1.5, -2], ml_dtypes.bfloat16),
        "strings": np.array([[b"", b"\xff"], [b"a", b"long" * 99]], object),
        "number": np.uint32(7),
        "generator": np.random.PCG64(1).state,
    }
    found = decoded(encoded(state))
    assert found["generator"] == state["generator"]
    assert (found["number"].dtype, found["number"].item()) == (np.uint32, 7)
    same({k: state[k] for k in ("half", "strings")}, {k: found[k] for k in ("half", "strings")})


@pytest.mark.parametrize("value", [object(), np.array([object()]), {1, 2}, np.zeros(1, "M8[s]")])
def test_what_is_no_state_is_refused(value):
    with pytest.raises(TypeError):
        encoded([1, value])


@given(st.data())
def test_damage_is_refused(data):
    good = encoded({"a": np.arange(5), "b": [b"text", 1.5]})
    cut = data.draw(st.integers(0, len(good) - 1))
    bad = data.draw(st.sampled_from([good[:cut], good[:cut] + bytes([good[cut] ^ 1]) + good[cut + 1 :], good + b"\0"]))
    with pytest.raises(ValueError):
        decoded(bad)


def test_a_checkpoint_has_its_own_side_file_or_none(tmp_path):
    prefix = str(tmp_path / "model")

    def saved(value, beside):
        write(prefix, [Saved("w", lambda: np.float32(value))], None if beside is None else encoded(beside))

    assert side_files.read(prefix) is None
    saved(1, {"step": 1})
    assert side_files.read(prefix) == {"step": 1}
    saved(2, {"step": 2})
    assert side_files.read(prefix) == {"step": 2}
    (path,) = side_files.side_files(prefix)
    with pytest.raises(ValueError, match="twice"):
        write(prefix, [Saved("w", lambda: np.float32(3))] * 2, encoded({"step": 3}))
    assert side_files.side_files(prefix) == [path]
    assert side_files.read(prefix) == {"step": 2}
    whole = bytearray((tmp_path / path).read_bytes())
    whole[40] ^= 1
    (tmp_path / path).write_bytes(whole)
    with pytest.raises(errors.DataLossError, match=f"{path}: wrong checksum"):
        side_files.read(prefix)
    os.remove(path)
    with pytest.raises(errors.DataLossError, match="gone"):
        side_files.read(prefix)
    saved(4, None)
    assert side_files.side_files(prefix) == []
    assert side_files.read(prefix) is None
    saved(5, {"step": 5})
    checkpoint_state.remove(prefix)
    assert list(tmp_path.iterdir()) == []


def test_the_key_is_a_field_of_the_header_that_others_read_past(tmp_path):
    prefix, beside = str(tmp_path / "model"), encoded({"step": 1})
    write(prefix, [Saved("w", lambda: np.float32(1))], beside)
    header = messages.BundleHeaderProto.FromString(header_of(prefix))
    assert header.num_shards == 1
    header.DiscardUnknownFields()
    field = b"\x8a\x9d\x1a\x20"  # 53713, of 32 bytes
    assert header_of(prefix) == header.SerializeToString() + field + hashlib.sha256(beside).digest()
    assert [*Bundle(prefix).entries] == ["w"]
    side_files.forget(prefix)
    assert header_of(prefix) == header.SerializeToString()
    assert Bundle(prefix).read("w") == 1
    assert side_files.read(prefix) is None
    assert len(list(tmp_path.iterdir())) == 2


def test_a_side_file_of_before_there_were_keys_is_read(tmp_path):
    prefix, state = str(tmp_path / "model"), encoded({"step": 1})
    write(prefix, [Saved("w", lambda: np.float32(1))])
    index = (tmp_path / "model.index").read_bytes()
    Path(side_files.side_file(prefix, index)).write_bytes(state)
    assert side_files.is_there(prefix)
    assert side_files.read(prefix) == {"step": 1}


def test_a_state_has_a_time_for_each_checkpoint(tmp_path):
    with pytest.raises(ValueError, match="Expected a time for each of 2 checkpoints, got 3"):
        checkpoint_state.new_state(str(tmp_path), "b", ["a", "b"], [1.0, 2.0, 3.0])
