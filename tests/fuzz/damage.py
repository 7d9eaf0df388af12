"""Damaged input, by chance: each format is read right, or refused by an error of ``tf.errors``, in bounded memory.

    python -m tests.fuzz.damage [--count 1000] [--seed 0] [--kind jpeg]

Prints for each format how many damaged files were refused and how many were read.
"""

from __future__ import annotations

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TOWERSTRAT_COMPILATION_CACHE", "off")

import argparse
import functools
import importlib.util
import pickle
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import traceback
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.checkpoints.damaged_files import GOLDEN, STATE, bounded_memory
from tests.fuzz.mutations import MUTATIONS
from towerstrat.compat.bundled import pickled_values
from towerstrat.graph.eager import mode

MEMORY = 600 << 20
"""Bytes that the process may take beyond those it has when it begins to read."""


class Format(NamedTuple):
    """A kind of file.

    Attributes:
      write: makes good files in a folder. read: reads them all, as a program does.
      also: errors besides those of ``tf.errors`` that say what is wrong, where the original raises them too.
      ends: whether the library of the format comes to an end with a file; where it does not, the file is left out.
    """

    write: Callable[[Path], None]
    read: Callable[[Path], Any]
    also: tuple[type[Exception], ...] = ()
    ends: Callable[[Path], bool] = lambda folder: True


FORMATS: dict[str, Format] = {}


def _of_bytes(name: str, make: Callable[[], bytes], read: Callable[[bytes], Any]) -> None:
    """Enters a format whose files a program reads itself and gives to an operation."""
    FORMATS[name] = Format(
        lambda folder: _write(folder / name, make()), lambda folder: read((folder / name).read_bytes())
    )


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _values(dataset: Any) -> list[Any]:
    return [*dataset.as_numpy_iterator()]


# ---- images --------------------------------------------------------------------------------------------------------

_PIXELS = np.random.RandomState(0).randint(0, 256, (13, 17, 3)).astype(np.uint8)
_SMOOTH = (np.add.outer(np.arange(40), np.arange(50))[..., None] * [1, 2, 3] % 256).astype(np.uint8)


def _gif() -> bytes:
    """Two frames of 4 by 4 pixels and two colours, the second of which is drawn over the first."""
    screen = struct.pack("<HHBBB", 4, 4, 0x80, 0, 0) + bytes([0, 0, 0, 255, 255, 255])
    # Codes of 3 bits: clear, then each pixel by itself with a clear code before the codes get longer, then the end.
    codes = [code for _ in range(8) for code in (4, 1, 0)] + [5]
    bits = sum(code << 3 * place for place, code in enumerate(codes))
    data = bits.to_bytes((3 * len(codes) + 7) // 8, "little")
    frame = b"," + struct.pack("<HHHHB", 0, 0, 4, 4, 0) + b"\x02" + bytes([len(data)]) + data + b"\0"
    return (
        b"GIF89a" + screen + b"!\xf9\x04\x00\x0a\x00\x00\x00" + frame + b"!\xf9\x04\x04\x0a\x00\x00\x00" + frame + b";"
    )


def _bmp() -> bytes:
    rows = b"".join(row.tobytes().ljust(52, b"\0") for row in _PIXELS[::-1])
    return (
        b"BM"
        + struct.pack("<iiiiiihhiiiiii", 54 + len(rows), 0, 54, 40, 17, 13, 1, 24, 0, len(rows), 0, 0, 0, 0)
        + rows
    )


def _jpeg() -> bytes:
    return bytes(tf.image.encode_jpeg(_SMOOTH).numpy())


def _png(dtype: Any = np.uint8) -> bytes:
    return bytes(tf.image.encode_png(_PIXELS.astype(dtype)).numpy())


def _image(contents: bytes) -> None:
    """Decodes by every operation that takes image files. Raises where all refuse it."""
    refusals = []
    for decode in _DECODERS:
        try:
            np.asarray(decode(contents))
        except tf.errors.OpError as error:
            refusals.append(error)
    if len(refusals) == len(_DECODERS):
        raise refusals[0]


_DECODERS: list[Callable[[bytes], Any]] = [
    tf.image.decode_image, tf.image.decode_png, tf.image.decode_gif, tf.image.decode_jpeg, tf.image.decode_bmp,
    lambda c: tf.image.decode_jpeg(c, try_recover_truncated=True, ratio=2), tf.image.extract_jpeg_shape,
    lambda c: tf.image.decode_image(c, dtype=tf.float32, channels=3),
    lambda c: tf.image.decode_and_crop_jpeg(c, [1, 1, 3, 3], channels=1),
]  # fmt: skip


_of_bytes("jpeg", _jpeg, _image)
_of_bytes("png", _png, _image)
_of_bytes("png16", lambda: _png(np.uint16), _image)
_of_bytes("gif", _gif, _image)
_of_bytes("bmp", _bmp, _image)


# ---- records -------------------------------------------------------------------------------------------------------


def _example() -> bytes:
    example = tf.train.Example()
    example.features.feature["text"].bytes_list.value.extend([b"one", "zwölf".encode()])
    example.features.feature["numbers"].int64_list.value.extend([1, -2, 300])
    example.features.feature["floats"].float_list.value.extend([1.5, 2.5])
    return bytes(example.SerializeToString())


def _parse_example(data: bytes) -> None:
    features = {
        "text": tf.VarLenFeature(tf.string), "numbers": tf.FixedLenFeature([3], tf.int64),
        "floats": tf.FixedLenSequenceFeature([], tf.float32, allow_missing=True),
    }  # fmt: skip
    tf.parse_single_example(data, {**features, "floats": tf.VarLenFeature(tf.float32)})
    tf.parse_example([_example(), data], features)
    _values(tf2.data.Dataset.from_tensors(data).map(lambda d: tf.parse_single_example(d, features)["floats"]))


def _sequence() -> bytes:
    example = tf.train.SequenceExample()
    example.context.feature["length"].int64_list.value.append(2)
    for word in (b"a", b"bc"):
        example.feature_lists.feature_list["words"].feature.add().bytes_list.value.append(word)
    return bytes(example.SerializeToString())


def _parse_sequence(data: bytes) -> None:
    tf.parse_single_sequence_example(
        data, {"length": tf.FixedLenFeature([], tf.int64)}, {"words": tf.FixedLenSequenceFeature([], tf.string)}
    )


def _records(kind: str) -> Format:
    def write(folder: Path) -> None:
        with tf.python_io.TFRecordWriter(str(folder / "records"), kind) as writer:
            for record in (_example(), b"", b"x" * 300, _example()):
                writer.write(record)

    def read(folder: Path) -> None:
        path = str(folder / "records")
        _values(tf2.data.TFRecordDataset([path], compression_type=kind))
        list(tf.python_io.tf_record_iterator(path, kind))

    return Format(write, read)


FORMATS |= {f"records{kind.lower()}": _records(kind) for kind in ("", "GZIP", "ZLIB")}
_of_bytes("example", _example, _parse_example)
_of_bytes("sequence example", _sequence, _parse_sequence)
_of_bytes(
    "example as JSON",
    lambda: (
        b'{"features": {"feature": {"a": {"int64List": {"value": ["1"]}}, "b": {"bytesList": {"value": ["YQ=="]}}}}}'
    ),
    lambda data: tf.decode_json_example([data]),
)
_of_bytes("tensor", lambda: bytes(tf.serialize_tensor(np.ones((2, 3), np.float32)).numpy()),
          lambda data: tf.parse_tensor(data, tf.float32))  # fmt: skip
_of_bytes("strings as a tensor", lambda: bytes(tf.serialize_tensor(np.array([b"a", b"bc"], object)).numpy()),
          lambda data: tf.parse_tensor(data, tf.string))  # fmt: skip
_of_bytes("compressed", lambda: zlib.compress(b"abc" * 100), lambda data: tf.io.decode_compressed([data], "ZLIB"))
_of_bytes("base64", lambda: b"YWJjZGVmZw", tf.decode_base64)
_of_bytes("raw", lambda: bytes(range(24)), lambda data: tf.decode_raw(data, tf.float32))


def _csv(folder: Path) -> None:
    path = folder / "table.csv"
    path.write_bytes(b'id,name,weight\n1,"a, ""b""",1.5\n2,c,-3e4\n3,x,7\n')


def _read_csv(folder: Path) -> None:
    path = str(folder / "table.csv")
    defaults = [[0], [""], [0.0]]
    for line in (folder / "table.csv").read_bytes().split(b"\n"):
        try:
            tf.decode_csv([line], defaults)
        except tf.errors.InvalidArgumentError:
            continue
    _values(tf2.data.experimental.CsvDataset(path, [tf.int32, tf.string, tf.float32], header=True))


FORMATS["csv"] = Format(_csv, _read_csv)


def _events(folder: Path) -> None:
    with tf2.summary.create_file_writer(str(folder)).as_default():
        for step in range(3):
            tf2.summary.scalar("loss", 1.0 / (step + 1), step)


def _read_events(folder: Path) -> None:
    for path in folder.iterdir():
        list(tf.train.summary_iterator(str(path)))


FORMATS["events"] = Format(_events, _read_events)


# ---- checkpoints ---------------------------------------------------------------------------------------------------


def _checkpoint(*names: str) -> Format:
    def write(folder: Path) -> None:
        for name in names:
            shutil.copy(GOLDEN / "1.12" / name, folder)

    def read(folder: Path) -> None:
        reader = tf.train.NewCheckpointReader(str(folder / names[0].removesuffix(".index")))
        for name in reader.get_variable_to_shape_map():
            reader.get_tensor(name)

    return Format(write, read)


FORMATS["bundle"] = _checkpoint("parts.index", "parts.data-00000-of-00001")
FORMATS["sorted table"] = _checkpoint("first")
FORMATS["checkpoint of objects"] = Format(
    _checkpoint("objects-1.index", "objects-1.data-00000-of-00001").write,
    lambda folder: tf2.train.Checkpoint(v=tf.Variable(1.0)).read(str(folder / "objects-1")),
)


def _state(folder: Path) -> None:
    (folder / "checkpoint").write_text(STATE)


def _read_state(folder: Path) -> None:
    tf.train.get_checkpoint_state(str(folder))
    tf.train.latest_checkpoint(str(folder))
    tf2.train.CheckpointManager(tf2.train.Checkpoint(v=tf.Variable(1.0)), str(folder), 3)


FORMATS["state file"] = Format(_state, _read_state)


# ---- models, data sets, tables -------------------------------------------------------------------------------------


def _pickled() -> bytes:
    return pickle.dumps({b"data": np.arange(6, dtype=np.uint8), b"labels": [1, 2, 300], "x": [None, (1.5, True)]}, 2)


_of_bytes("pickled data", _pickled, lambda data: pickled_values.read(data, "file"))


def _archive(folder: Path) -> None:
    rows = np.empty(2, object)
    rows[:] = [[1], [2, 3]]
    np.savez(folder / "data.npz", x=rows, y=np.arange(2))


FORMATS["npz"] = Format(
    _archive, lambda folder: pickled_values.read_arrays((folder / "data.npz").read_bytes(), "data.npz")
)


def _database(folder: Path) -> None:
    connection = sqlite3.connect(folder / "data.db")
    connection.execute("CREATE TABLE t (a INTEGER, b TEXT)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", [(1, "x"), (2, None)])
    connection.commit()
    connection.close()


FORMATS["sqlite"] = Format(
    _database,
    lambda folder: _values(
        tf2.data.experimental.SqlDataset("sqlite", str(folder / "data.db"), "SELECT a, b FROM t", (tf.int32, tf.string))
    ),
)


def _elements(folder: Path) -> None:
    tf2.data.Dataset.from_tensor_slices({"a": [1, 2], "b": [[b"x", b"y"], [b"z", b""]]}).save(str(folder / "saved"))


FORMATS["elements"] = Format(_elements, lambda folder: _values(tf2.data.Dataset.load(str(folder / "saved"))))


def _vocabulary(folder: Path) -> None:
    (folder / "words.txt").write_bytes("eins\nzwölf\ndrei\n".encode())


def _look_up(folder: Path) -> None:
    path = str(folder / "words.txt")
    tf2.lookup.StaticVocabularyTable(
        tf2.lookup.TextFileInitializer(
            path, tf.string, tf2.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf2.lookup.TextFileIndex.LINE_NUMBER
        ),
        1,
    ).lookup(tf.constant(["eins"]))


FORMATS["vocabulary"] = Format(_vocabulary, _look_up)


@functools.cache
def _model() -> Any:
    return tf2.keras.Sequential([tf2.keras.layers.Dense(2, input_shape=(3,), name="dense")])


def _keras(name: str) -> Format:
    whole = name.startswith("model")

    def write(folder: Path) -> None:
        (_model().save if whole else _model().save_weights)(str(folder / name))

    def read(folder: Path) -> None:
        (tf2.keras.models.load_model if whole else _model().load_weights)(str(folder / name))

    # A file without checksums may say something else of a model, and be whole: Keras says what is wrong with that.
    return Format(write, read, also=(ValueError, TypeError), ends=_hdf5_ends)


_VISIT = """
import sys, h5py
def look(name, found):
    dict(found.attrs)
    if isinstance(found, h5py.Dataset):
        found[()]
with h5py.File(sys.argv[1]) as file:
    dict(file.attrs)
    file.visititems(look)
"""


def _hdf5_ends(folder: Path) -> bool:
    """Whether the HDF5 library itself comes to an end: over some damaged heaps it loops, over others it crashes."""
    for path in folder.glob("*.h5"):
        try:
            done = subprocess.run([sys.executable, "-c", _VISIT, str(path)], capture_output=True, timeout=5)
        except subprocess.TimeoutExpired:
            return False
        if done.returncode < 0:
            return False
    return True


if importlib.util.find_spec("h5py") is not None:
    FORMATS |= {name: _keras(name) for name in ("weights.h5", "model.h5", "model.keras")}


# ---- running -------------------------------------------------------------------------------------------------------


def run(kind: str, count: int, seed: int, where: Path) -> int:
    """How many of ``count`` damaged files of a format are refused. Raises what is neither of ``tf.errors`` nor said."""
    form = FORMATS[kind]
    good = where / "good"
    good.mkdir()
    refused = 0
    with mode.eager_mode():
        form.write(good)
        form.read(good)
        damaged = where / "damaged"
        shutil.copytree(good, damaged)
        form.read(damaged)
        shutil.rmtree(damaged)
        for number in range(count):
            random = np.random.RandomState([seed, number])
            shutil.copytree(good, damaged)
            files = sorted(path for path in damaged.rglob("*") if path.is_file())
            path = files[random.randint(len(files))]
            data = bytearray(path.read_bytes())
            mutation = MUTATIONS[number % len(MUTATIONS)]
            if data:
                mutation(random, data)
            path.write_bytes(data)
            try:
                with bounded_memory(MEMORY):
                    if form.ends(damaged):
                        form.read(damaged)
            except (tf.errors.OpError, *form.also):
                refused += 1
            except BaseException as error:
                error.add_note(f"{kind}, number {number} of seed {seed}: {path.name}, {mutation.__name__}")
                raise
            finally:
                shutil.rmtree(damaged)
    shutil.rmtree(good)
    return refused


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="damaged files of each format")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=sorted(FORMATS), help="only this format")
    arguments = parser.parse_args()
    tf.logging.set_verbosity(tf.logging.FATAL)
    failed = 0
    for kind in [arguments.kind] if arguments.kind else FORMATS:
        with tempfile.TemporaryDirectory() as where:
            try:
                refused = run(kind, arguments.count, arguments.seed, Path(where))
            except Exception as error:
                failed += 1
                print(f"---- {kind}", *traceback.format_exception(error)[-4:], sep="\n", flush=True)
            else:
                print(f"{kind:24} {arguments.count:5} damaged, {refused:5} refused", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
