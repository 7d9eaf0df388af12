"""Datasets of files."""

import gzip
import struct
import zlib

import pytest

import towerstrat.compat.v1 as tf
from tests.data.common import elements
from towerstrat.data.api.dataset_v1 import DatasetV1 as Dataset
from towerstrat.data.readers.text_and_record_datasets import FixedLengthRecordDatasetV1 as FixedLengthRecordDataset
from towerstrat.data.readers.text_and_record_datasets import TextLineDatasetV1 as TextLineDataset
from towerstrat.data.readers.text_and_record_datasets import TFRecordDatasetV1 as TFRecordDataset
from towerstrat.platform.checksums import masked_crc

RECORDS = [b"abc", b"", b"x" * 300]

# The beginning of a file that the original's TFRecordWriter wrote: the records b"abc" and b"".
WRITTEN_BY_THE_ORIGINAL = bytes.fromhex("0300000000000000b099490e6162636e57f121000000000000000029039807d8ea82a2")


def framed(records):
    parts = []
    for record in records:
        length = struct.pack("<Q", len(record))
        parts += [length, struct.pack("<I", masked_crc(length)), record, struct.pack("<I", masked_crc(record))]
    return b"".join(parts)


@pytest.fixture
def file(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content)
        return str(path)

    return write


def test_records_of_the_original(file):
    assert framed(RECORDS[:2]) == WRITTEN_BY_THE_ORIGINAL
    assert elements(TFRecordDataset(file("a", WRITTEN_BY_THE_ORIGINAL))) == RECORDS[:2]


@pytest.mark.parametrize(
    ("kind", "pack"), [(None, lambda x: x), ("", lambda x: x), ("GZIP", gzip.compress), ("ZLIB", zlib.compress)]
)
def test_compressed_records(file, kind, pack):
    path = file("a", pack(framed(RECORDS)))
    assert elements(TFRecordDataset([path, path], compression_type=kind)) == RECORDS * 2


def test_records_of_several_files_in_turn(file):
    paths = [file("a", framed([b"1", b"2", b"3"])), file("b", framed([b"4"]))]
    assert elements(TFRecordDataset(paths, num_parallel_reads=2)) == [b"1", b"4", b"2", b"3"]
    names = Dataset.from_tensor_slices(paths)
    assert elements(names.interleave(TFRecordDataset, 2)) == [b"1", b"4", b"2", b"3"]
    assert elements(names.flat_map(TFRecordDataset)) == elements(TFRecordDataset(names)) == [b"1", b"2", b"3", b"4"]


@pytest.mark.parametrize(
    ("damage", "before"),
    [
        (lambda x: b"\x07" + x[1:], 0),
        (lambda x: x[:13] + b"B" + x[14:], 0),
        (lambda x: x[:-10], 2),
        (lambda x: x[:-1], 2),
        (lambda x: x + b"1234", 3),
    ],
)
def test_damaged_records(file, damage, before):
    dataset = TFRecordDataset(file("a", damage(framed(RECORDS))))
    assert elements(dataset.take(before)) == RECORDS[:before]
    with pytest.raises(tf.errors.DataLossError, match="record at"):
        elements(dataset)


def test_lines(file):
    paths = [file("a", b"one\r\ntwo\n\nthree"), file("b", b"four\n")]
    dataset = TextLineDataset(paths)
    assert (dataset.output_types, dataset.output_shapes.as_list()) == (tf.string, [])
    assert elements(dataset) == [b"one", b"two", b"", b"three", b"four"]
    assert elements(TextLineDataset(tf.constant(paths[1]))) == [b"four"]
    with pytest.raises(tf.errors.NotFoundError, match="nowhere"):
        elements(TextLineDataset(["nowhere"]))
    with pytest.raises(TypeError, match="strings"):
        TextLineDataset([1])


def test_records_of_one_length(file):
    path = file("a", b"HHabcdefF")
    assert elements(FixedLengthRecordDataset(path, 3, header_bytes=2, footer_bytes=1)) == [b"abc", b"def"]
    assert elements(FixedLengthRecordDataset(path, 9)) == [b"HHabcdefF"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="multiple of 4"):
        elements(FixedLengthRecordDataset(path, 4))


def test_names_of_files(file, tmp_path):
    paths = [file(n, b"").encode() for n in ("a.x", "b.x", "c.y")]
    assert elements(Dataset.list_files(f"{tmp_path}/*.x", shuffle=False)) == paths[:2]
    assert elements(Dataset.list_files([f"{tmp_path}/c.*", f"{tmp_path}/a.*"], False)) == [paths[0], paths[2]]
    shuffled = Dataset.list_files(f"{tmp_path}/*", seed=2)
    assert sorted(elements(shuffled)) == paths
    assert elements(shuffled.repeat(3)) != paths * 3
    with pytest.raises(tf.errors.InvalidArgumentError, match="No files matched"):
        elements(Dataset.list_files(f"{tmp_path}/*.z"))
