"""Writes checkpoints with the original, 1.12.3 or 2.15: ``python tests/golden/checkpoints_files.py FOLDER``.

The folder gets checkpoints of the second format (plain, sharded, with parts), one of the first, and ``values.json``
with what is in them.
"""

import json
import os
import sys

import numpy as np
import tensorflow

tf = tensorflow.compat.v1 if tensorflow.__version__.startswith("2") else tensorflow
NUMBERS = (
    *("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "bool"),
    *("complex64", "complex128", "bfloat16"),
)
SHAPES = ((), (0,), (3,), (2, 3), (2, 1, 3), (2, 2, 1, 2))


def values():
    """Name -> values, without those in parts."""
    random = np.random.RandomState(0)
    found = {}
    for i, name in enumerate(NUMBERS):
        for shape in (SHAPES[i % 6], SHAPES[(i + 3) % 6]):
            numbers = random.randn(*shape) * 20
            if name.startswith("complex"):
                numbers = numbers + 1j * random.randn(*shape)
            if name.startswith("u"):
                numbers = np.abs(numbers)
            dtype = tf.as_dtype(name)
            found[f"{name}/d{len(shape)}"] = np.asarray(numbers).astype(dtype.as_numpy_dtype)
    found["strings"] = np.array([[b"", b"a"], [b"\x00\xff", b"long" * 100]], object)
    found["\u00fcber/\u540d"] = np.float32([1.5])
    return found


def main(folder):
    os.makedirs(folder, exist_ok=True)
    given = values()
    with tf.Graph().as_default(), tf.Session() as session:
        variables = {}
        for name, value in given.items():
            dtype = tf.string if value.dtype == object else tf.as_dtype(value.dtype)
            variables[name] = tf.placeholder_with_default(tf.constant(value, dtype), value.shape)
        names = sorted(variables)
        parts = np.arange(60, dtype=np.float32).reshape(10, 6)
        for kind in ("plain", "parts"):
            tensors = [variables[n] for n in names]
            slices = [""] * len(names)
            saved = list(names)
            if kind == "parts":
                for start, size in ((0, 4), (4, 3), (7, 3)):
                    saved.append("parts/rows")
                    slices.append(f"10 6 {start},{size}:-")
                    tensors.append(tf.constant(parts[start : start + size]))
                for start, size in ((0, 2), (2, 4)):
                    saved.append("parts/columns")
                    slices.append(f"10 6 -:{start},{size}")
                    tensors.append(tf.constant(parts[:, start : start + size]))
            session.run(_save_v2(folder + "/" + kind, saved, slices, tensors))
        half = len(names) // 2
        pieces = []
        for i, some in enumerate((names[:half], names[half:])):
            piece = f"{folder}/piece-{i}"
            session.run(_save_v2(piece, some, [""] * len(some), [variables[n] for n in some]))
            pieces.append(piece)
        session.run(_merge(pieces, folder + "/sharded"))
        simple = [n for n in names if not n.startswith(("uint16", "bfloat16", "float16", "complex128"))]
        session.run(_save_v1(folder + "/first", simple, [variables[n] for n in simple]))
    kept = {n: v for n, v in given.items() if v.dtype != object}
    with open(folder + "/values.json", "w") as file:
        json.dump({n: [str(v.dtype), v.shape, v.tobytes().hex()] for n, v in kept.items()}, file, sort_keys=True)


if tensorflow.__version__.startswith("2"):

    def _save_v2(prefix, names, slices, tensors):
        return tensorflow.raw_ops.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=slices, tensors=tensors)

    def _merge(pieces, target):
        return tensorflow.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=pieces, destination_prefix=target)

    def _save_v1(path, names, tensors):
        return tensorflow.raw_ops.SaveSlices(
            filename=path, tensor_names=names, shapes_and_slices=[""] * len(names), data=tensors
        )
else:
    from tensorflow.python.ops import gen_io_ops

    def _save_v2(prefix, names, slices, tensors):
        return gen_io_ops.save_v2(prefix, names, slices, tensors)

    def _merge(pieces, target):
        return gen_io_ops.merge_v2_checkpoints(pieces, target)

    def _save_v1(path, names, tensors):
        return gen_io_ops.save_slices(path, names, [""] * len(names), tensors)


if __name__ == "__main__":
    main(sys.argv[1])
