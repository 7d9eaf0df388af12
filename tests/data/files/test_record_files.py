"""Files of records, lines and csv, against the original: read, damaged, and written."""

import importlib.util
import json
import os
from pathlib import Path

import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.spread import spread
from towerstrat.errors import UnsupportedError
from towerstrat.graph.eager.mode import eager_mode

_GOLDEN = Path(__file__).parents[2] / "golden"
_spec = importlib.util.spec_from_file_location("records_cases", _GOLDEN / "records_cases.py")
cases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cases)
EXPECTED = json.loads((_GOLDEN / "records.json").read_text())
KINDS = ("", "GZIP", "ZLIB")


def test_every_case_has_an_expectation():
    assert set(EXPECTED) == {*cases.CASES, "files"}


@spread("name", sorted(cases.CASES), every=2)
def test_case(name, tmp_path):
    with tf.Graph().as_default():
        found = cases.outcome(tf, cases.CASES[name], str(tmp_path))
    found = json.loads(json.dumps(found))
    if name.startswith("records_other_"):
        found, wanted = ([part.split(":")[0] for part in value] for value in (found, EXPECTED[name]))
        assert found == wanted == ["DataLossError"]
    else:
        assert found == EXPECTED[name]


def test_functions_of_2x(tmp_path):
    """They give the batches of those of 1.x."""
    of, given = tf2.data.experimental, {"num_epochs": 1, "shuffle": False}
    messages, spec = cases.examples(tf)
    paths = [cases.written(str(tmp_path), name, text) for name, text in (("a", cases.TABLE), ("b", cases.OTHER))]
    records = cases.recorded(tf, str(tmp_path), "records", records=messages)
    with eager_mode():
        batches = tf2.data.Dataset.from_tensor_slices(messages).batch(2)
        found = {
            "csv": of.make_csv_dataset(paths, 2, **given),
            "features": of.make_batched_features_dataset(records, 2, spec, **given),
            "features_parsed": batches.apply(of.parse_example_dataset(spec)),
        }
        for name, dataset in found.items():
            assert cases.plain(list(dataset.as_numpy_iterator()), str(tmp_path)) == EXPECTED[name]


@pytest.mark.parametrize("kind", KINDS)
def test_files_of_the_original(kind, tmp_path):
    path = cases.written(str(tmp_path), "records", bytes.fromhex(EXPECTED["files"][kind]))
    assert list(tf.python_io.tf_record_iterator(path, cases.options(tf, kind))) == cases.RECORDS
    assert list(tf.python_io.tf_record_iterator(path, kind)) == cases.RECORDS


@pytest.mark.parametrize("kind", KINDS)
def test_files_written_here(kind, tmp_path):
    """``tests/golden/records.py FOLDER`` reads such files with the original; set RECORDS_FOLDER to keep them."""
    folder = os.environ.get("RECORDS_FOLDER", str(tmp_path))
    path = cases.recorded(tf, folder, f"records{kind}", cases.options(tf, kind))
    assert list(tf.python_io.tf_record_iterator(path, kind)) == cases.RECORDS
    if not kind:
        assert Path(path).read_bytes().hex() == EXPECTED["files"][kind]


def test_options_of_a_writer(tmp_path):
    smallest = tf.python_io.TFRecordOptions("ZLIB", compression_level=9, mem_level=9, window_bits=15)
    none = tf.python_io.TFRecordOptions("ZLIB", compression_level=0)
    many = [b"abc" * 100] * 50
    sizes = [os.path.getsize(cases.recorded(tf, str(tmp_path), "f", o, many)) for o in (smallest, none)]
    assert sizes[0] < 1000 < sizes[1]
    with pytest.raises(ValueError, match="compression_type"):
        tf.python_io.TFRecordWriter(str(tmp_path / "x"), "BZIP")


@pytest.mark.parametrize("kind", KINDS)
def test_a_writer_flushes_and_ends_once(kind, tmp_path):
    path = str(tmp_path / "records")
    writer = tf.python_io.TFRecordWriter(path, kind)
    writer.write(b"one")
    writer.write("two")
    writer.flush()
    assert list(tf.python_io.tf_record_iterator(path, kind)) == [b"one", b"two"]
    writer.close()
    writer.close()
    with pytest.raises(tf.errors.FailedPreconditionError):
        writer.write(b"three")
    with pytest.raises(tf.errors.NotFoundError):
        tf.python_io.TFRecordWriter(str(tmp_path / "nowhere" / "x"))


def test_a_reader_begins_anew(tmp_path):
    queue = tf.train.string_input_producer([cases.recorded(tf, str(tmp_path), "a")], shuffle=False)
    reader = tf.TFRecordReader()
    value = reader.read(queue).value
    reset = reader.reset()
    with tf.Session() as session:
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        assert [session.run(value) for _ in range(2)] == cases.RECORDS[:2]
        session.run(reset)
        assert session.run([value, reader.num_records_produced()]) == [b"abc", 1]
        coordinator.request_stop()
        coordinator.join(threads)
    with pytest.raises(UnsupportedError, match="serialize_state"):
        reader.serialize_state()
