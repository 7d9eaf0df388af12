"""Records of many files, in turns."""

import pytest

import towerstrat.compat.v1 as tf
from towerstrat.data.readers.streaming_datasets import StreamingFilesDataset
from towerstrat.platform.records import framed


def taken(dataset, count=None):
    element = dataset.make_one_shot_iterator().get_next()
    found = []
    with tf.Session() as session:
        while count is None or len(found) < count:
            try:
                found.append(session.run(element))
            except tf.errors.OutOfRangeError:
                break
    return found


def test_lines_of_files(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text("".join(f"{name}{i}\n" for i in range(3)))
    names = tf.data.Dataset.from_tensor_slices([str(tmp_path / "b.txt"), str(tmp_path / "a.txt")])
    kept = taken(StreamingFilesDataset(names, "textline", num_epochs=2, filename_shuffle_buffer_size=0))
    assert kept == [b"b0", b"a0", b"b1", b"a1", b"b2", b"a2"] * 2
    one = StreamingFilesDataset(names, "text", num_epochs=1, filename_shuffle_buffer_size=False, num_parallel_reads=1)
    assert taken(one) == [b"b0", b"b1", b"b2", b"a0", b"a1", b"a2"]
    pattern = str(tmp_path / "*.txt")
    forever = taken(StreamingFilesDataset(pattern, "textline", batch_transfer_size=2, sloppy=False), 15)
    assert sorted(forever[:6]) == sorted(kept[:6]) == sorted(forever[6:12])
    (tmp_path / "c.tfrecord").write_bytes(framed(b"one") + framed(b""))
    assert taken(StreamingFilesDataset(str(tmp_path / "*.tfrecord"), num_epochs=1)) == [b"one", b""]
    lengths = StreamingFilesDataset(names, lambda name: tf.data.Dataset.from_tensors(tf.size(name)), num_epochs=3)
    assert taken(lengths) == [1] * 6


def test_what_cannot_be():
    for arguments, message in (
        ((3,), "files was not a string or a dataset: 3"),
        (("*", "csv"), "Unexpected filetype: csv"),
        (("*", 7), "filetype should be a string or a callable"),
    ):
        with pytest.raises(ValueError, match=message):
            StreamingFilesDataset(*arguments)
