"""Checkpoints go from the originals here and back, over every type and shape, and must stay equal byte for byte.

    python scripts/checkpoint_round_trips.py $(scripts/oracle) $(scripts/oracle --later)

Each argument is a Python that has an original. Each writes a folder that is read here, and reads one written here:
arrays of every type with 0 to 4 dimensions, parts of arrays, 200 variables, several shards, the first format, and from
here shards as several processes write them, with each array cut that may be.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np

PLAIN = (
    *("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "bool"),
    *("complex64", "complex128", "bfloat16", "string"),
)
LATER = ("uint32", "uint64", "qint8", "quint8", "qint16", "quint16", "qint32", "float8_e5m2", "float8_e4m3fn")
"""Types that not every original saves: each has a checkpoint of its own."""
FIRST = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool", "complex64", "string")
"""Types that the original writes in the first format."""
SHAPES = ((), (0,), (3,), (2, 3), (4, 1, 2), (2, 2, 1, 3))


def stored(name, shape):
    """The bits of an array of a type, the same on all sides: integers, or bytes as objects."""
    random = np.random.RandomState([sum(map(ord, name)), *shape])
    count = int(np.prod(shape))
    if name == "string":
        found = np.empty(count, object)
        found[:] = [random.bytes(random.randint(300)) for _ in range(count)]
        return found.reshape(shape)
    if name == "bool":
        return random.randint(2, size=shape).astype(np.uint8)
    if name.startswith("float8"):
        return random.randint(100, size=shape).astype(np.uint8)
    if name == "bfloat16":
        return random.randint(0x7000, size=shape).astype(np.uint16)
    if name.startswith(("float", "complex")):
        real = random.randn(*shape) * 100
        values = real + 1j * random.randn(*shape) if name.startswith("complex") else real
        return np.ascontiguousarray(np.asarray(values).astype(name))
    return np.frombuffer(random.bytes(count * 8), np.int64).astype(name.lstrip("q")).reshape(shape)


def arrays(types):
    """Name -> (type, bits)."""
    return {"{}/d{}".format(t, "_".join(map(str, s))): (t, stored(t, s)) for t in types for s in SHAPES}


def many():
    return {f"layer_{i}/weights": ("float32", stored("float32", (i % 5 + 1, i))) for i in range(200)}


WHOLE = np.arange(120, dtype=np.float32).reshape(10, 12)
PARTS = {
    "rows": [(0, 4, 0, 12), (4, 3, 0, 12), (7, 3, 0, 12)],
    "columns": [(0, 10, 0, 5), (0, 10, 5, 7)],
    "grid": [(0, 5, 0, 6), (0, 5, 6, 6), (5, 5, 0, 6), (5, 5, 6, 6)],
}


def raw(array):
    """What is compared: the bytes of the elements and the shape."""
    if isinstance(array, bytes):
        return (), [array]
    array = np.asarray(array)
    if array.dtype == object:
        return array.shape, [bytes(each) for each in array.reshape(-1)]
    return array.shape, np.ascontiguousarray(array).tobytes()


# ---- under an original -----------------------------------------------------------------------------------------------


def of_original():
    """``tensorflow`` with 1.x's names, and its operations save, merge, save in the first format, restore."""
    import tensorflow

    if not tensorflow.__version__.startswith("2"):
        from tensorflow.python.ops import gen_io_ops as ops

        def save_first(path, names, slices, tensors):
            return ops.save_slices(path, names, slices, tensors)

        return tensorflow, ops.save_v2, ops.merge_v2_checkpoints, save_first, ops.restore_v2
    ops = tensorflow.raw_ops

    def save(prefix, names, slices, tensors):
        return ops.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=slices, tensors=tensors)

    def merge(pieces, prefix):
        return ops.MergeV2Checkpoints(checkpoint_prefixes=pieces, destination_prefix=prefix)

    def save_first(path, names, slices, tensors):
        return ops.SaveSlices(filename=path, tensor_names=names, shapes_and_slices=slices, data=tensors)

    def restore(prefix, names, slices, dtypes):
        return ops.RestoreV2(prefix=prefix, tensor_names=names, shape_and_slices=slices, dtypes=dtypes)

    return tensorflow.compat.v1, save, merge, save_first, restore


def constant(tf, name, bits):
    if name == "string":
        return tf.constant(bits, tf.string)
    if name == "bool":
        return tf.constant(bits.astype(bool))
    if name.startswith("q") or name in ("bfloat16", "float8_e5m2", "float8_e4m3fn"):
        return tf.bitcast(tf.constant(bits), tf.as_dtype(name))
    return tf.constant(bits)


def original_writes(folder):
    tf, save, merge, save_first, _ = of_original()

    def run(make):
        with tf.Graph().as_default(), tf.Session() as session:
            session.run(make())

    def saves(operation, path, found):
        names = sorted(found)
        operands = [constant(tf, *found[name]) for name in names]
        return operation(path, names, [""] * len(names), operands)

    for name, found in sets().items():
        try:
            run(lambda name=name, found=found: saves(save, folder + "/" + name, found))
        except Exception as error:
            print("  does not save", name, "-", type(error).__name__)
    run(lambda: saves(save_first, folder + "/first", arrays(FIRST)))
    pieces = [folder + f"/piece-{i}" for i in range(3)]
    found = arrays(PLAIN)
    for i, piece in enumerate(pieces):
        run(lambda i=i, piece=piece: saves(save, piece, {n: found[n] for n in sorted(found)[i::3]}))
    run(lambda: merge(pieces, folder + "/sharded"))
    names, specs, tensors = [], [], []
    for name, places in PARTS.items():
        for a, m, b, n in places:
            names.append(name)
            specs.append(f"10 12 {a},{m}:{b},{n}")
            tensors.append(WHOLE[a : a + m, b : b + n])
    run(lambda: save(folder + "/parts", names, specs, [tf.constant(t) for t in tensors]))


def original_checks(folder):
    tf, _, _, _, restore = of_original()
    equal = 0
    for name, found in sets().items():
        names = sorted(found)
        try:
            with tf.Graph().as_default(), tf.Session() as session:
                dtypes = [tf.as_dtype(found[n][0]) for n in names]
                got = session.run(restore(folder + "/" + name, names, [""] * len(names), dtypes))
        except Exception as error:
            print("  does not restore", name, "-", type(error).__name__)
            continue
        for each, value in zip(names, got):  # noqa: B905
            assert raw(value) == raw(found[each][1]), (name, each)
            equal += 1
    with tf.Graph().as_default(), tf.Session() as session:
        for name, places in PARTS.items():
            specs = [""] + [f"10 12 {a},{m}:{b},{n}" for a, m, b, n in places] + ["10 12 2,5:3,6"]
            got = session.run(restore(folder + "/parts", [name] * len(specs), specs, [tf.float32] * len(specs)))
            wanted = [WHOLE] + [WHOLE[a : a + m, b : b + n] for a, m, b, n in places] + [WHOLE[2:7, 3:9]]
            for value, part in zip(got, wanted):  # noqa: B905
                assert raw(value) == raw(part), name
                equal += 1
    reader = tf.train.load_checkpoint(folder + "/shares")
    names = sorted(arrays(PLAIN))
    assert sorted(reader.get_variable_to_shape_map()) == names
    with tf.Graph().as_default(), tf.Session() as session:
        dtypes = [tf.as_dtype(arrays(PLAIN)[n][0]) for n in names]
        got = session.run(restore(folder + "/shares", names, [""] * len(names), dtypes))
    for name, value in zip(names, got):  # noqa: B905
        assert raw(value) == raw(reader.get_tensor(name)) == raw(arrays(PLAIN)[name][1]), name
        equal += 1
    print(f"  reads ours: {equal} arrays equal")


def sets():
    """Name of a checkpoint -> what it has."""
    return {"plain": arrays(PLAIN), "many": many(), **{name: arrays([name]) for name in LATER}}


# ---- here ------------------------------------------------------------------------------------------------------------


def ours_write(folder):
    from towerstrat.checkpoints import dtypes as elements
    from towerstrat.checkpoints.bundle_writer import Saved, Whole, write
    from towerstrat.checkpoints.shard_layout import Form, cut, divided
    from towerstrat.checkpoints.slices import Slice

    def code(name):
        return next(n for n in range(1, 30) if elements.name_of(n) == name)

    def saved(found):
        return [
            Saved(each, lambda bits=bits, kind=kind: typed(bits, elements.type_of(code(kind))), code=code(kind))
            for each, (kind, bits) in found.items()
        ]

    for name, found in sets().items():
        write(f"{folder}/{name}", saved(found))
    whole = saved(arrays(PLAIN))
    shares = [[], [], []]
    for number, one in enumerate(whole):
        value = one.load()
        form = Form(value.shape, value.dtype.itemsize, one.code, not value.dtype.hasobject)
        for process, share in enumerate(divided([form], 3)):
            shares[(number + process) % 3] += [cut(one, form.shape, piece) for piece in share]
    write(f"{folder}/shares", shares[0], None, _InTurns(f"{folder}/shares", shares[1:]))
    write(
        f"{folder}/parts",
        [
            Saved(name, lambda p=(a, m, b, n): WHOLE[p[0] : p[0] + p[1], p[2] : p[2] + p[3]], Whole(WHOLE.shape, place))
            for name, places in PARTS.items()
            for a, m, b, n in places
            for place in [Slice((a, b), (m, n))]
        ],
    )


class _InTurns:
    """The other processes of a checkpoint, one after another."""

    def __init__(self, prefix, shares):
        self.prefix, self.shares, self.count = prefix, shares, len(shares)

    def begin(self, shards):
        """They write when they are waited for."""

    def written(self, shards):
        from towerstrat.checkpoints.bundle_writer import write_shard

        return [(s, write_shard(self.prefix, i, shards, s).entries) for i, s in enumerate(self.shares, 1)]


def typed(bits, dtype):
    return bits if dtype.hasobject else bits.view(dtype)


def ours_check(folder):
    from towerstrat.checkpoints.checkpoint_file import opened

    equal = 0
    expected = sets() | {"sharded": arrays(PLAIN), "first": arrays(FIRST)}
    expected["parts"] = dict.fromkeys(PARTS, ("float32", WHOLE))
    for name, found in expected.items():
        if not os.path.exists(f"{folder}/{name}.index") and name in LATER:
            continue
        checkpoint = opened(f"{folder}/{name}")
        assert set(checkpoint.entries) == set(found), name
        for each, (_, bits) in found.items():
            assert raw(checkpoint.read(each)) == raw(bits), (name, each)
            equal += 1
    print(f"  writes for us: {equal} arrays equal", flush=True)


def main(pythons):
    for python in pythons:
        version = "import tensorflow as tf; print(tf.__version__)"
        found = subprocess.run([python, "-c", version], check=True, capture_output=True, text=True).stdout
        print(f"TensorFlow {found.strip()}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
            environment["TF_CPP_MIN_LOG_LEVEL"] = "3"
            os.makedirs(f"{folder}/theirs")
            ours_write(f"{folder}/ours")
            for action, place in (("--write", "theirs"), ("--check", "ours")):
                command = [python, "-W", "ignore", __file__, action, f"{folder}/{place}"]
                done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
                print(done.stdout, end="", flush=True)
                if done.returncode:
                    sys.exit(done.stderr)
            ours_check(f"{folder}/theirs")


if __name__ == "__main__":
    {"--write": lambda: original_writes(sys.argv[2]), "--check": lambda: original_checks(sys.argv[2])}.get(
        sys.argv[1], lambda: main(sys.argv[1:])
    )()
