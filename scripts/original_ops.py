"""Writes inputs, outputs and attributes of the original's operation types, for ``graph/ir/original_op_defs.py``.

    python scripts/original_ops.py          from the folder of the project

With the Python that has TensorFlow 1.12.3 it writes ``graph/ir/definitions.txt``: all types of 1.12; with that of
2.15.1 ``graph/ir/definitions_later.txt``: the types that 1.12 does not have.
"""

import json
import os

import tensorflow as tf
from tensorflow.core.framework import op_def_pb2, types_pb2

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "towerstrat/graph/ir")
FIRST, LATER = (os.path.join(FOLDER, name) for name in ("definitions.txt", "definitions_later.txt"))


def type_name(number):
    name = types_pb2.DataType.Name(number)[3:].lower()
    return {"float": "float32", "double": "float64", "half": "float16"}.get(name, name)


def argument(arg):
    kind = "*" + arg.type_list_attr if arg.type_list_attr else arg.type_attr or type_name(arg.type)
    number = arg.number_attr + "*" if arg.number_attr else ""
    return f"{arg.name}:{number}{'&' if arg.is_ref else ''}{kind}"


FIELDS = {"int": "i", "float": "f", "string": "s", "bool": "b", "type": "type", "shape": "shape"}


def plain(value, kind):
    if kind.startswith("list("):
        return [one(v, kind[5:-1]) for v in getattr(value.list, FIELDS[kind[5:-1]])]
    return one(getattr(value, FIELDS[kind]), kind)


def one(value, kind):
    if kind == "type":
        return type_name(value)
    if kind == "shape":
        return None if value.unknown_rank else [d.size for d in value.dim]
    if kind == "float":
        return float(f"{value:.7g}")
    return value.decode() if kind == "string" else value


def attribute(attr):
    text = f"{attr.name}:{attr.type}"
    if attr.HasField("default_value") and "tensor" not in attr.type and "func" not in attr.type:
        text += "=" + json.dumps(plain(attr.default_value, attr.type), separators=(",", ":")).replace(" ", "\\u0020")
    return text


def buffer():
    if tf.__version__.startswith("1."):
        from tensorflow.python import pywrap_tensorflow

        return pywrap_tensorflow.TF_GetBuffer(pywrap_tensorflow.TF_GetAllOpList())
    from tensorflow.python.client import pywrap_tf_session

    return pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList())


def types_in(path):
    with open(path) as file:
        return {line.split(" |")[0] for line in file}


definitions = op_def_pb2.OpList()
definitions.ParseFromString(buffer())
is_first = tf.__version__.startswith("1.12.")
before = set() if is_first else types_in(FIRST)
with open(FIRST if is_first else LATER, "w") as file:
    for op in sorted(definitions.op, key=lambda op: op.name):
        if op.name in before:
            continue
        parts = [[argument(a) for a in op.input_arg], [argument(a) for a in op.output_arg]]
        parts.append([attribute(a) for a in op.attr])
        file.write(" | ".join([op.name] + [" ".join(p) for p in parts]).rstrip() + "\n")
