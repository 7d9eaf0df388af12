"""``tf.parse_example`` and its kin, against the original and in every mode."""

import importlib.util
import json
import struct
from pathlib import Path

import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.data.common import elements
from tests.spread import spread
from towerstrat.data.pipeline import hoisted_parsing, mapping
from towerstrat.graph.eager.mode import eager_mode

_GOLDEN = Path(__file__).parents[2] / "golden"
_spec = importlib.util.spec_from_file_location("examples_cases", _GOLDEN / "examples_cases.py")
cases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cases)
EXPECTED = json.loads((_GOLDEN / "examples.json").read_text())

# Another wording, of which the words that are listed must be there.
SAYS = {
    "default_scalar_batch": "Cannot reshape a tensor with 1 elements",
    "default_scalar_single": "Cannot reshape a tensor with 1 elements",
    "empty_single": "Key: b.  Number of float values != expected.  Values size: 0 but output shape: [2]",
    "no_message_batch": "Could not parse example input, value: 'garbage'",
    "rank_batch": "Shape must be rank 1 but is rank 0",
    "rank_single": "Shape must be rank 0 but is rank 1",
    "sequence_size_single": "Key: b.  Number of float values is not a multiple of stride length. Saw 1 values",
    "size_single": "Key: a.  Number of int64 values != expected.  Values size: 3 but output shape: [2]",
    "varying_other_type_batch": "Key: a, Index: 1.  Data types don't match. Data type: float but expected type: int64",
    "varying_other_type_single": "Key: a.  Data types don't match. Data type: float but expected type: int64",
    "tf.decode_csv(['1,,a'], [0, [2.5, 3.0], 'z'])": "record_defaults must be scalars, or vectors of at most one entry",
    "tf.decode_csv(['1,2,a'], [[0], ['z']], select_cols=[2, 0])": "select_cols is not strictly increasing",
    "tf.decode_json_example(['{]'])": "Error while parsing JSON",
    "tf.parse_tensor(tf.serialize_tensor([[1.0, 2.0]]), tf.int32)": "parsed tensor (float32) and dtype (int32)",
    "sequence_no_message_batch": "Could not parse example input, value: 'garbage'",
    "sequence_list_missing_batch": "Feature list 'x' is required but could not be found",
    "sequence_list_missing_single": "Feature list 'x' is required but could not be found",
    "sequence_context_missing_batch": "Context feature 'c' is required but could not be found",
    **{
        f"sequence_{name}_{how}": says
        for how in ("batch", "single")
        for name, says in {
            "context_other_type": "Context feature: c.  Data types don't match",
            "context_varying_other_type": "Context feature: c.  Data types don't match",
            "context_size": "Context feature: c.  Number of values != expected.  Values size: 2 but output shape: []",
            "list_size": "Feature list: x, Index: 1.  Number of values != expected.  Values size: 1",
            "list_other_type": "Feature list: x, Index: 1.  Data types don't match",
            "list_varying_other_type": "Feature list: y, Index: 1.  Data types don't match",
            "list_unset": "Feature list: x, Index: 1.  Number of values != expected.  Values size: 0",
        }.items()
    },
}


def in_graph(case):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(case(tf))


def values(result):
    if isinstance(result, dict):
        return {key: values(part) for key, part in result.items()}
    if isinstance(result, list | tuple):
        return [values(part) for part in result]
    if isinstance(result, tf.SparseTensor):
        return tf.SparseTensorValue(result.indices.numpy(), result.values.numpy(), result.dense_shape.numpy())
    return result.numpy()


def eagerly(case):
    with eager_mode():
        return values(case(tf))


def in_function(case):
    with eager_mode():
        return values(tf.function(lambda: case(tf))())


def compare(name, found):
    wanted = EXPECTED[name]
    if "raises" not in wanted:
        assert found == wanted
        return
    assert found["raises"] == wanted["raises"]
    assert SAYS.get(name, wanted["says"]) in found["says"]


def test_every_case_has_an_expectation():
    assert set(EXPECTED) == set(cases.CASES)


@pytest.mark.parametrize("name", sorted(cases.CASES))
def test_case(name):
    compare(name, cases.outcome(tf, lambda: in_graph(cases.CASES[name])))


# An iterator of graphs, and what fails when it runs where it runs at once.
IN_GRAPHS = {
    "in_map", "default_scalar_batch", "default_scalar_single", "rank_batch", "rank_single",
    "tf.decode_csv(['1,,a'], [0, [2.5, 3.0], 'z'])",
    "tf.decode_csv(['1,2,a'], [[0], ['z']], select_cols=[2, 0])",
}  # fmt: skip


@spread("name", sorted(set(cases.CASES) - IN_GRAPHS), every=9)
@pytest.mark.parametrize("way", [eagerly, in_function])
def test_modes(name, way):
    compare(name, cases.outcome(tf, lambda: way(cases.CASES[name])))


# ---- many messages of a map at once ----------------------------------------------------------------------------------

RECORDS = [cases.example(tf, a=[i], b=[i / 2.0, -i], raw=[bytes([i, 1, 2, 3])]) for i in range(40)]
UNEVEN = [*RECORDS[:9], cases.example(tf, a=[9], b=[0.0, 1.0], raw=[b"longer"]), *RECORDS[10:]]
DAMAGED = [*RECORDS[:9], b"damaged", *RECORDS[10:]]
SPEC = {
    "a": tf.FixedLenFeature([], tf.int64),
    "b": tf.FixedLenFeature([2], tf.float32, [0.0, 0.0]),
    "raw": tf.FixedLenFeature([], tf.string),
}


def parsed(record):
    return tf.parse_single_example(record, SPEC)


def model(record):
    found = parsed(record)
    pixels = tf.cast(tf.decode_raw(found["raw"], tf.uint8), tf.float32) / 256.0
    return {"x": pixels, "y": tf.cast(found["a"], tf.int32) + 1}, found["raw"], tf.constant([1, 2])


def noisy(record):
    return parsed(record)["b"] + tf.random_uniform([2], seed=3)


PIPELINES = {
    "parsed": lambda d: d.map(parsed).batch(8),
    "some ahead": lambda d: d.map(parsed, num_parallel_calls=4).batch(7),
    "shuffled": lambda d: d.map(parsed).shuffle(10, seed=1).batch(8),
    "with operations": lambda d: d.map(model).batch(8),
    "drawing": lambda d: d.map(noisy).batch(8),
    "two maps": lambda d: d.map(parsed).map(lambda found: found["b"] * 2.0).repeat(2).batch(8),
    "one by one": lambda d: d.map(model),
}


TABLE = [
    (name, records, enough)
    for enough, names in ((2048, PIPELINES), (1, ["with operations", "drawing"]))
    for name in names
    for records in (RECORDS, UNEVEN, DAMAGED)
]


@spread(("name", "records", "enough"), TABLE, every=4)
def test_a_map_of_many_messages_is_that_of_each(name, records, enough, monkeypatch):
    monkeypatch.setattr(mapping, "MANY_ROWS", enough)

    def outcome():
        tf.set_random_seed(5)
        pipeline = PIPELINES[name](tf.data.Dataset.from_tensor_slices(records))
        return cases.outcome(tf, lambda: elements(pipeline))

    with tf.Graph().as_default():
        together = outcome()
    monkeypatch.setattr(hoisted_parsing, "FORMS", {})
    with tf.Graph().as_default():
        assert outcome() == together


@pytest.mark.parametrize("batch", [1, 2])
def test_sparse_elements_eagerly_and_in_functions(batch):
    messages = [cases.example(tf, a=[i, i + 1][: i % 3] or None) for i in range(4)]
    spec = {"a": tf.VarLenFeature(tf.int64)}

    def total(dataset):
        found = tf.constant(0, tf.int64)
        for element in dataset:
            found += tf.reduce_sum(element["a"].values)
        return found

    with eager_mode():
        dataset = tf2.data.Dataset.from_tensor_slices(messages).map(lambda x: tf.parse_single_example(x, spec))
        dataset = dataset.batch(batch)
        assert dataset.element_spec == {"a": tf2.SparseTensorSpec([None, None], tf.int64)}
        wanted = [cases.plain(values(tf.parse_example(messages[i : i + batch], spec))) for i in range(0, 4, batch)]
        assert [cases.plain(values(element)) for element in dataset] == wanted
        assert int(total(dataset)) == int(tf.function(total)(dataset)) == 1 + 2 + 3


def test_later_names_take_their_arguments_in_another_order():
    message = cases.example(tf, a=[3])
    spec = {"a": tf2.io.FixedLenFeature([], tf.int64)}
    with eager_mode():
        assert tf2.io.parse_example(message, spec)["a"].numpy() == 3
        assert tf2.io.parse_example([message], spec, ["name"], "op")["a"].numpy().tolist() == [3]
        assert tf2.io.parse_single_example(message, spec, "name")["a"].numpy() == 3
        assert [t.numpy().tolist() for t in tf2.io.decode_csv(["1;NA"], [[0], [5]], ";", True, "NA")] == [[1], [5]]
        with pytest.raises(tf.errors.InvalidArgumentError, match="Name: name, Feature: a"):
            tf2.io.parse_example([b""], spec, ["name"])


def test_floats_that_are_not_packed():
    """Writers of other languages give each number a tag of its own; one message has both forms."""
    numbers = [1.5, -2.25, 3.0]
    loose = b"".join(b"\x0d" + struct.pack("<f", number) for number in numbers)

    def message(floats):
        feature = b"\x12" + bytes([len(floats)]) + floats
        entry = b"\x0a\x01x\x12" + bytes([len(feature)]) + feature
        features = b"\x0a" + bytes([len(entry)]) + entry
        return b"\x0a" + bytes([len(features)]) + features

    packed = b"\x0a\x0c" + struct.pack("<3f", 7.0, 8.0, 9.0)
    with eager_mode():
        found = tf2.io.parse_example([message(loose), message(packed)], {"x": tf2.io.FixedLenFeature([3], tf2.float32)})
        assert found["x"].numpy().tolist() == [numbers, [7.0, 8.0, 9.0]]
