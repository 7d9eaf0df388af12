"""Writes messages.json: the fields of the originals' protocol messages, with numbers and types, and their enumerations.

Reads the generated modules of unpacked wheels, without importing them; what any of them has is in the file:
``scripts/golden messages -- 1.8.0/ 1.12.3/ 1.15.0/``.
"""

import ast
import sys
from pathlib import Path

from goldens import make
from google.protobuf import descriptor_pb2

RUNS = ["own"]
NEEDS = "protobuf, and folders of unpacked wheels"
ROOTS = """CheckpointState CondContextDef ConfigProto BundleEntryProto BundleHeaderProto DeviceAttributes Event Example
    GraphDef HistogramProto MetaGraphDef NameAttrList OpList QueueRunnerDef RunMetadata RunOptions SaverDef SavedModel
    SavedTensorSlices SequenceExample ServerDef SessionLog SummaryMetadata TrackableObjectGraph VariableDef
    WhileContextDef"""
Field = descriptor_pb2.FieldDescriptorProto


def files(folder):
    """The files that the modules below a folder describe."""
    for path in sorted(Path(folder).rglob("*_pb2.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.keyword) and node.arg == "serialized_pb":
                text = node.value.args[0].value if isinstance(node.value, ast.Call) else node.value.value
                yield descriptor_pb2.FileDescriptorProto.FromString(
                    text.encode("latin1") if isinstance(text, str) else text
                )


def described(folder):
    """Full name to message, and full name to enumeration."""
    messages, enums = {}, {}

    def enter(scope, message):
        name = f"{scope}.{message.name}"
        messages[name] = message
        enums.update({f"{name}.{enum.name}": enum for enum in message.enum_type})
        for nested in message.nested_type:
            enter(name, nested)

    for file in files(folder):
        enums.update({f".{file.package}.{enum.name}": enum for enum in file.enum_type})
        for message in file.message_type:
            enter(f".{file.package}", message)
    return messages, enums


def collect(found, messages, enums):
    """Adds what the roots need to ``found``."""
    waiting = [f".tensorflow.{name}" for name in ROOTS.split()]
    seen = set()
    while waiting:
        name = waiting.pop()
        if name in seen or name.startswith(".google"):
            continue
        seen.add(name)
        entries = found.setdefault(name[1:], {})
        if name in enums:
            entries.update({value.name: value.number for value in enums[name].value})
        elif name in messages:
            for field in messages[name].field:
                kind = field.type_name[1:] or Field.Type.Name(field.type)[5:].lower()
                entries[field.name] = [field.number, kind, "repeated" if field.label == 3 else "one"]
                waiting.append(field.type_name or name)


golden: dict = {}
for folder in sys.argv[1:]:
    collect(golden, *described(folder))
make("messages", {name: entries for name, entries in golden.items() if entries})
