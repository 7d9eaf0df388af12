"""Runs the nodes that tests/node_forms/recorder.py has written in an original, and compares the values.

    PYTHON scripts/run_nodes.py FOLDER            # PYTHON has TensorFlow 1.12.3, 1.15.5 or 2.15.1

Prints the types of which some case differs or does not run, and the counts. Each case runs in a process of its own,
since an original may end its process. A case of a type that is newer than the original is not counted.
"""

import glob
import json
import os
import sys
from collections import OrderedDict

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2

if tf.__version__.startswith("2"):
    tf = tf.compat.v1
    tf.disable_v2_behavior()
NEWER = ("Op type not registered", "is not available in GraphDef")


def array(listed):
    kind, shape, content = listed
    if kind == "string":
        values = np.empty(len(content), object)
        values[:] = [bytes.fromhex(text) for text in content]
        return values.reshape(shape)
    dtype = tf.bfloat16.as_numpy_dtype if kind == "bfloat16" else np.dtype(kind)
    return np.frombuffer(bytes.fromhex(content), dtype).reshape(shape)


def difference(found, expected, random):
    """What differs, in words; '' where nothing does."""
    found = np.asarray(found)
    if found.shape != expected.shape:
        return f"shape {found.shape} for {expected.shape}"
    if expected.dtype == object or found.dtype.kind in "OS":
        return "" if random or found.ravel().tolist() == expected.ravel().tolist() else "texts"
    if found.dtype != expected.dtype:
        return f"type {found.dtype} for {expected.dtype}"
    if random:
        return ""
    wide = np.complex128
    near = 2e-2 if found.dtype.itemsize == 2 and found.dtype.kind not in "iu" else 2e-5
    if np.allclose(found.astype(wide), expected.astype(wide), rtol=near, atol=near / 10, equal_nan=True):
        return ""
    return f"values, by up to {np.max(np.abs(found.astype(wide) - expected.astype(wide))):.3g}"


def outcome(path, case):
    """'same', or in words what differs or why it does not run."""
    graph_def = graph_pb2.GraphDef()
    with open(path, "rb") as file:
        graph_def.ParseFromString(file.read())
    expected = {name: array(value) for name, value in case["results"].items()}
    try:
        with tf.Graph().as_default():
            tf.import_graph_def(graph_def, name="")
            with tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=1)) as session:
                found = session.run({n: n for n in expected}, {n: array(v) for n, v in case["feeds"].items()})
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return next((line for line in lines if "Graph execution error" not in line), "an error")[:150]
    differences = (difference(found[name], expected[name], case["random"]) for name in sorted(expected))
    return next((text for text in differences if text), "same")


def in_a_child(path, case):
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        os.write(writing, outcome(path, case).encode("utf-8", "replace"))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        text = file.read().decode("utf-8", "replace")
    os.waitpid(child, 0)
    return text or "the original ended its process"


types = OrderedDict()
for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.pb"))):
    with open(path[:-3] + ".json") as file:
        case = json.load(file)
    types.setdefault(case["type"], []).append(in_a_child(path, case))
newer = [type for type, texts in types.items() if all(any(n in text for n in NEWER) for text in texts)]
for type, texts in types.items():
    if type not in newer and set(texts) != {"same"}:
        print(type, "|", "; ".join(f"{texts.count(text)} x {text}" for text in sorted(set(texts))))
equal = sum(set(texts) == {"same"} for texts in types.values())
print("not in {}: {}".format(tf.__version__, " ".join(newer)))
otherwise = len(types) - equal - len(newer)
print(f"{len(types)} types: {equal} equal, {len(newer)} not in this version, {otherwise} otherwise")
