"""Writes towerstrat/graph/ir/definitions.txt: inputs, outputs and attributes of every operation type of 1.12.

Run it with the Python that has TensorFlow 1.12.3, from the folder of the project: ``python scripts/original_ops.py``.
"""

import json
import os

from tensorflow.core.framework import op_def_pb2, types_pb2
from tensorflow.python import pywrap_tensorflow

OUT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "towerstrat/graph/ir/definitions.txt")


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


definitions = op_def_pb2.OpList()
definitions.ParseFromString(pywrap_tensorflow.TF_GetBuffer(pywrap_tensorflow.TF_GetAllOpList()))
with open(OUT, "w") as file:
    for op in sorted(definitions.op, key=lambda op: op.name):
        parts = [[argument(a) for a in op.input_arg], [argument(a) for a in op.output_arg]]
        parts.append([attribute(a) for a in op.attr])
        file.write(" | ".join([op.name] + [" ".join(p) for p in parts]).rstrip() + "\n")
