"""Protocol messages: every field of 1.8 to 1.15, with its number and type, and what programs do with them."""

import copy
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2, text_format

import towerstrat.compat.v1 as tf
from towerstrat.platform import messages

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "messages.json").read_text())
Field = descriptor_pb2.FieldDescriptorProto


def fields_of(descriptor):
    """The fields of a message as the golden file has them."""
    proto = descriptor_pb2.DescriptorProto()
    descriptor.CopyToProto(proto)
    return {
        f.name: [
            f.number,
            f.type_name[1:] or Field.Type.Name(f.type)[5:].lower(),
            "repeated" if f.label == Field.LABEL_REPEATED else "one",
        ]
        for f in proto.field
    }


def test_every_field_of_the_originals_is_there():
    pool = messages.ConfigProto.DESCRIPTOR.file.pool
    for name, entries in GOLDEN.items():
        if all(isinstance(entry, int) for entry in entries.values()):
            assert {v.name: v.number for v in pool.FindEnumTypeByName(name).values} == entries, name
        else:
            assert fields_of(pool.FindMessageTypeByName(name)) == entries, name
    assert sum(len(entries) for entries in GOLDEN.values()) > 700


def test_messages_are_those_that_programs_know():
    config = tf.ConfigProto(device_count={"GPU": 0}, allow_soft_placement=True)
    config.graph_options.rewrite_options.dependency_optimization = 2
    config.gpu_options.per_process_gpu_memory_fraction = 0.5
    config.experimental.collective_group_leader = "/job:worker/task:0"
    assert config.HasField("gpu_options")
    assert not config.HasField("cluster_def")
    assert tf.OptimizerOptions.ON_1 == 1
    assert tf.ConfigProto.FromString(config.SerializeToString()) == config
    assert text_format.Parse(str(config), tf.ConfigProto()) == config
    assert pickle.loads(pickle.dumps(config)) == config == copy.deepcopy(config)
    other = tf.ConfigProto()
    other.CopyFrom(config)
    other.MergeFrom(tf.ConfigProto(device_count={"CPU": 2}))
    assert dict(other.device_count) == {"GPU": 0, "CPU": 2}
    with pytest.raises(ValueError, match='no "unknown" field'):
        tf.ConfigProto(unknown=1)
    with pytest.raises(AttributeError):
        config.unknown = 1
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        messages.Nothing  # noqa: B018


def test_nested_messages_in_the_python_implementation_of_protobuf():
    program = (
        "from towerstrat.platform import messages as m; print(m.TensorShapeProto.Dim(size=3).size, m.Summary.Value)"
    )
    environment = os.environ | {"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"}
    found = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.startswith("3 <class")


def test_bytes_are_those_of_the_original():
    feature = messages.Feature(int64_list=messages.Int64List(value=[3, 300]))
    example = messages.Example(features=messages.Features(feature={"x": feature}))
    assert example.SerializeToString().hex() == "0a0e0a0c0a017812071a050a0303ac02"
    summary = messages.Summary(value=[messages.Summary.Value(tag="loss", simple_value=0.5)])
    event = messages.Event(wall_time=1.5, step=7, summary=summary)
    assert event.SerializeToString().hex() == "09000000000000f83f10072a0d0a0b0a046c6f7373150000003f"
    config = tf.ConfigProto(device_count={"GPU": 0})
    config.graph_options.rewrite_options.dependency_optimization = 2
    assert config.SerializeToString().hex() == "0a070a034750551000520452024002"
