"""The formats of checkpoints: what the originals wrote is read, what is written reads back, damage is refused."""

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from towerstrat import errors
from towerstrat.checkpoints import dtypes, slices, snappy, sorted_tables, string_codec, varint
from towerstrat.checkpoints.bundle_reader import Bundle, index_path
from towerstrat.checkpoints.bundle_writer import Saved, Whole, write
from towerstrat.checkpoints.v1_reader import FirstFormat
from towerstrat.platform import messages
from towerstrat.platform.files import GFile, ListDirectory

GOLDEN = Path(__file__).parents[1] / "golden" / "checkpoints"
VERSIONS = ["1.12", "2.15"]
PARTS = np.arange(60, dtype=np.float32).reshape(10, 6)
STRINGS = np.array([[b"", b"a"], [b"\x00\xff", b"long" * 100]], object)
OTHERS = {"strings": STRINGS, "über/名": np.float32([1.5])}


def kept(version):
    found = json.loads((GOLDEN / version / "values.json").read_text())
    return {n: np.frombuffer(bytes.fromhex(raw), dtype).reshape(shape) for n, (dtype, shape, raw) in found.items()}


def saved(values):
    return [Saved(name, lambda value=value: value) for name, value in values.items()]


def equal(found, value):
    assert found.dtype == value.dtype
    assert found.shape == value.shape
    np.testing.assert_array_equal(found, value)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["plain", "parts", "sharded"])
def test_what_the_originals_wrote_is_read(version, name):
    bundle = Bundle(str(GOLDEN / version / name))
    values = kept(version) | OTHERS
    for key, value in values.items():
        equal(bundle.read(key), value)
    parts = {"parts/rows", "parts/columns"} if name == "parts" else set()
    assert set(bundle.entries) == set(values) | parts
    for key in parts:
        equal(bundle.read(key), PARTS)


@pytest.mark.parametrize("version", VERSIONS)
def test_strings_are_the_bytes_that_the_originals_wrote(version):
    entry = Bundle(str(GOLDEN / version / "plain")).entries["strings"]
    data = (GOLDEN / version / "plain.data-00000-of-00001").read_bytes()[entry.offset : entry.offset + entry.size]
    assert string_codec.encode(STRINGS) == (data, entry.crc)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_first_format_is_read(version):
    found = FirstFormat([str(GOLDEN / version / "first")])
    values = kept(version) | OTHERS
    assert len(found.entries) > 15
    for name, entry in found.entries.items():
        equal(found.read(name), values[name])
        assert entry.shape == values[name].shape


def test_a_string_alone_in_the_first_format(tmp_path):
    meta, stored = messages.SavedTensorSlices(), messages.SavedTensorSlices()
    array = meta.meta.tensor.add(name="word", type=dtypes.STRING)
    array.shape.SetInParent()
    array.slice.add()
    stored.data.data.string_val.append(b"abc")
    items = [(b"", meta.SerializeToString()), (slices.Slice((), ()).key("word"), stored.SerializeToString())]
    (tmp_path / "first").write_bytes(sorted_tables.encode(items))
    found = FirstFormat([str(tmp_path / "first")]).read("word")
    assert (found.shape, found.item()) == ((), b"abc")


ELEMENTS = st.sampled_from([dtypes.type_of(code) for code in (*range(1, 7), 8, 9, 10, 14, *range(17, 20), 22, 23)])


@settings(max_examples=40, deadline=None)
@given(
    values=st.dictionaries(
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=40),
        ELEMENTS.flatmap(
            lambda dtype: arrays.arrays(
                np.uint8, arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3)
            ).map(lambda a: a.astype(bool) if dtype.kind == "b" else a.astype(dtype))
        ),
        max_size=12,
    )
)
def test_what_is_written_reads_back(tmp_path_factory, values):
    prefix = str(tmp_path_factory.mktemp("folder") / "model")
    write(prefix, saved(values))
    bundle = Bundle(prefix)
    assert list(bundle.entries) == sorted(values, key=str.encode)
    for name, value in values.items():
        equal(bundle.read(name), value)


def test_parts_and_strings_read_back(tmp_path):
    prefix = str(tmp_path / "model")
    parts = [(slice(0, 4), slice(0, 6)), (slice(4, 10), slice(0, 2)), (slice(4, 10), slice(2, 6))]
    items = [
        Saved(
            "whole",
            lambda place=place: PARTS[place],
            Whole(PARTS.shape, slices.Slice(tuple(s.start for s in place), tuple(s.stop - s.start for s in place))),
        )
        for place in parts
    ]
    write(prefix, [*items, *saved({"strings": STRINGS, "texts": np.array(["ä", "b"])})])
    bundle = Bundle(prefix)
    equal(bundle.read("whole"), PARTS)
    equal(bundle.read("strings"), STRINGS)
    assert bundle.read("texts").tolist() == ["ä".encode(), b"b"]


@pytest.fixture(params=["local", "memory"])
def place(request, tmp_path):
    """The path of a folder."""
    if request.param == "memory":
        pytest.importorskip("fsspec")
        return f"memory://{tmp_path.name}"
    return str(tmp_path)


def content(place):
    return {name: GFile(f"{place}/{name}", "rb").read() for name in ListDirectory(place)}


def test_overwriting_leaves_one_checkpoint(place):
    prefix = f"{place}/model"
    for number in range(3):
        write(prefix, saved({"x": np.float32(number)}))
        assert Bundle(prefix).read("x") == number
        assert len(content(place)) == 2


def test_a_write_that_fails_changes_nothing(place):
    prefix = f"{place}/model"
    write(prefix, saved({"x": np.float32(1)}))
    before = content(place)

    def fails():
        raise RuntimeError("no value")

    with pytest.raises(RuntimeError, match="no value"):
        write(prefix, [*saved({"x": np.float32(2)}), Saved("y", fails)])
    with pytest.raises(ValueError, match="saved twice"):
        write(prefix, saved({"x": np.float32(2)}) * 2)
    assert content(place) == before


def test_what_is_missing_is_named(tmp_path):
    prefix = str(tmp_path / "model")
    with pytest.raises(errors.NotFoundError, match=r"model\.index"):
        Bundle(prefix)
    write(prefix, saved({"x": np.float32(1)}))
    with pytest.raises(errors.NotFoundError, match="Key y not found in checkpoint"):
        Bundle(prefix).read("y")
    (tmp_path / "model.data-00000-of-00001").unlink()
    with pytest.raises(errors.DataLossError, match=r"data-00000-of-00001, which is not there"):
        Bundle(prefix)


def test_damage_is_refused_by_file_name_and_offset(tmp_path):
    prefix = str(tmp_path / "model")
    write(prefix, saved({"a": np.float32([1, 2]), "b": np.float32([3, 4])}))
    data = tmp_path / "model.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:12] + b"!" + data.read_bytes()[13:])
    bundle = Bundle(prefix)
    equal(bundle.read("a"), np.float32([1, 2]))
    with pytest.raises(errors.DataLossError, match=r"data-00000-of-00001, array b at offset 8: wrong checksum"):
        bundle.read("b")
    assert Bundle(prefix, verify=False).read("b").shape == (2,)


def test_an_index_of_many_blocks(tmp_path):
    items = [(f"{i:06d}".encode(), b"v" * (i % 700)) for i in range(3000)]
    path = tmp_path / "table"
    path.write_bytes(sorted_tables.encode(items))

    class Whole:
        def __init__(self, data):
            self.data = memoryview(data)

        def __len__(self):
            return len(self.data)

        def read(self, start, size):
            return self.data[start : start + size]

    table = sorted_tables.Table(Whole(path.read_bytes()))
    assert list(table.items()) == items
    assert table.get(b"001234") == items[1234][1]
    assert table.get(b"00123") is None
    assert table.get(b"9") is None


@given(st.integers(0, 2**64 - 1))
def test_numbers_of_any_length(number):
    encoded = varint.write_varint(number)
    assert varint.read_varint(encoded, 0) == (number, len(encoded))
    with pytest.raises(ValueError, match="in the middle"):
        varint.read_varint(encoded[:-1], 0)


def test_snappy_repeats():
    # "abcd" as it is, then 8 bytes from 4 back, then "!" as it is.
    block = bytes([13, 3 << 2]) + b"abcd" + bytes([(8 - 4) << 2 | 1, 4]) + bytes([0]) + b"!"
    assert snappy.decompress(block) == b"abcdabcdabcd!"
    for damaged in (block[:-1], block + b"\0x", bytes([13, 1, 9]), b"\xff\xff\xff\x7f"):
        with pytest.raises(ValueError):
            snappy.decompress(damaged)


def test_elements():
    assert dtypes.type_of(14) == ml_dtypes.bfloat16
    assert dtypes.code_of(np.dtype("S3")) == dtypes.STRING
    with pytest.raises(ValueError, match="values of variant cannot be read"):
        dtypes.type_of(21)
    with pytest.raises(ValueError, match="datetime64"):
        dtypes.code_of(np.dtype("M8[s]"))
    assert index_path("a/b") == "a/b.index"
