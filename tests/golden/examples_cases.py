"""Programs that parse ``Example`` and ``SequenceExample`` messages, for 1.12 and here."""

import gzip
import zlib


def example(tf, **features):
    """A serialized message; a feature is a list of values, None for one of no kind, or "float", an empty list."""
    message = tf.train.Example()
    fill(message.features, features)
    return message.SerializeToString()


def fill(target, features):
    for name, values in features.items():
        feature = target.feature[name]
        if values == "float":
            feature.float_list.SetInParent()
        elif values is not None:
            add(feature, values)


def add(feature, values):
    kinds = {float: feature.float_list, int: feature.int64_list, bytes: feature.bytes_list}
    kinds[type(values[0])].value.extend(values)


NUMBERS = [0, 1, 127, 128, 300, 2**31, 2**62, -1, -128, -(2**63), 2**63 - 1]


def batch(tf, second, spec, **options):
    return tf.parse_example([example(tf, a=[1, 2], b=[1.5, 2.5]), second], spec(tf), **options)


def single(tf, second, spec, **options):
    names = options.pop("example_names", None)
    return tf.parse_single_example(second, spec(tf), example_names=names and names[1], **options)


BOTH = {
    "fixed": ({"a": [3, -4]}, lambda tf: {"a": tf.FixedLenFeature([2], tf.int64)}),
    "missing": ({"b": [1.0]}, lambda tf: {"a": tf.FixedLenFeature([2], tf.int64)}),
    "unset": ({"a": None}, lambda tf: {"a": tf.FixedLenFeature([2], tf.int64)}),
    "default": ({"a": None}, lambda tf: {"a": tf.FixedLenFeature([2], tf.int64, [7, 8])}),
    "default_scalar": ({"a": None}, lambda tf: {"a": tf.FixedLenFeature([2], tf.int64, 7)}),
    "default_tensor": ({"a": [5, 6]}, lambda tf: {"b": tf.FixedLenFeature([2], tf.float32, tf.constant([7.0, 8.0]))}),
    "empty": ({"b": "float"}, lambda tf: {"b": tf.FixedLenFeature([2], tf.float32, [0.0, 0.0])}),
    "other_type": ({"a": [1.0, 2.0]}, lambda tf: {"a": tf.FixedLenFeature([2], tf.int64)}),
    "other_type_bytes": ({"a": [b"x"]}, lambda tf: {"a": tf.FixedLenFeature([2], tf.int64)}),
    "size": ({"a": [1, 2, 3]}, lambda tf: {"a": tf.FixedLenFeature([2], tf.int64)}),
    "varying": ({"a": [1]}, lambda tf: {"a": tf.VarLenFeature(tf.int64), "b": tf.VarLenFeature(tf.float32)}),
    "varying_other_type": ({"a": [1.0]}, lambda tf: {"a": tf.VarLenFeature(tf.int64)}),
    "sequence": ({"b": [1.0]}, lambda tf: {"b": tf.FixedLenSequenceFeature([], tf.float32, True)}),
    "sequence_size": ({"b": [1.0]}, lambda tf: {"b": tf.FixedLenSequenceFeature([2], tf.float32, True)}),
    "sequence_missing": ({"a": [1]}, lambda tf: {"b": tf.FixedLenSequenceFeature([2], tf.float32, True, 9.0)}),
    "sequence_required": ({"a": [1]}, lambda tf: {"b": tf.FixedLenSequenceFeature([2], tf.float32)}),
    "no_message": (b"garbage", lambda tf: {"b": tf.FixedLenSequenceFeature([2], tf.float32, True)}),
    "int32": ({"a": [1]}, lambda tf: {"a": tf.VarLenFeature(tf.int32)}),
    "int32_fixed": ({"a": [1]}, lambda tf: {"a": tf.FixedLenFeature([], tf.int32)}),
    "no_shape": ({"a": [1]}, lambda tf: {"a": tf.FixedLenFeature(None, tf.int64)}),
    "unknown_shape": ({"a": [1]}, lambda tf: {"a": tf.FixedLenFeature([None], tf.int64)}),
    "nothing": ({"a": [1]}, lambda tf: {}),
    "no_feature": ({"a": [1]}, lambda tf: {"a": 3}),
    "sparse": ({"a": [1, 0], "b": [1.0, 2.0]}, lambda tf: {"s": tf.SparseFeature("a", "b", tf.float32, 4)}),
    "sparse_sorted": (
        {"a": [1, 0], "b": [1.0, 2.0]}, lambda tf: {"s": tf.SparseFeature("a", "b", tf.float32, 4, True)},
    ),
    "sparse_matrix": (
        {"a": [1, 0], "b": [1.0, 2.0]}, lambda tf: {"s": tf.SparseFeature(["a", "a"], "b", tf.float32, [4, 4])},
    ),
    "sparse_shared": (
        {"a": [1, 0], "b": [1.0, 2.0]},
        lambda tf: {"s": tf.SparseFeature("a", "b", tf.float32, 4), "a": tf.VarLenFeature(tf.int64)},
    ),
    "sparse_conflict": (
        {"a": [1, 0], "b": [1.0, 2.0]},
        lambda tf: {"s": tf.SparseFeature("a", "b", tf.float32, 4), "t": tf.SparseFeature("b", "a", tf.int64, 4)},
    ),
    "all_at_once": (
        {"a": [1, 2], "b": [0.5, 1.0], "n": [b"x", b"", b"yz" * 100]},
        lambda tf: {
            "a": tf.FixedLenFeature([2, 1], tf.int64),
            "b": tf.FixedLenFeature([1, 2], tf.float32),
            "n": tf.VarLenFeature(tf.string),
            "m": tf.FixedLenFeature([], tf.string, "none"),
        },
    ),
}  # fmt: skip
"""Name -> (features of the message that follows another one in a batch, or the message; how they are parsed)."""

CASES = {
    "named_missing_batch": lambda tf: batch(
        tf, example(tf, b=[1.0]), lambda tf: {"a": tf.FixedLenFeature([2], tf.int64)}, example_names=["x", "nm"]
    ),
    "named_single": lambda tf: single(
        tf, example(tf, a=[1]), lambda tf: {"a": tf.VarLenFeature(tf.int64)}, example_names=["x", "nm"]
    ),
    "rank_batch": lambda tf: tf.parse_example(example(tf, a=[1]), {"a": tf.FixedLenFeature([], tf.int64)}),
    "rank_single": lambda tf: tf.parse_single_example([example(tf, a=[1])], {"a": tf.FixedLenFeature([], tf.int64)}),
    "no_batch": lambda tf: tf.parse_example(
        tf.zeros([0], tf.string),
        {
            "a": tf.FixedLenFeature([2], tf.int64),
            "b": tf.VarLenFeature(tf.float32),
            "c": tf.FixedLenSequenceFeature([], tf.float32, True),
        },
    ),
    "numbers": lambda tf: tf.parse_example(
        [example(tf, a=NUMBERS[i:]) for i in range(len(NUMBERS))], {"a": tf.VarLenFeature(tf.int64)}
    ),
    "padded_bytes": lambda tf: tf.parse_example(
        [example(tf, n=[b"a"] * i) for i in (1, 3, 2)],
        {"n": tf.FixedLenSequenceFeature([], tf.string, True, "pad")},
    ),
    "some_missing": lambda tf: tf.parse_example(
        [example(tf, n=[b"a"]), example(tf), example(tf, n=[b"c"])], {"n": tf.FixedLenFeature([], tf.string, "no")}
    ),
    "in_map": lambda tf: (
        tf.data.Dataset.from_tensor_slices([example(tf, a=[i], b=[i / 2.0] * 2) for i in range(5)])
        .map(
            lambda x: tf.parse_single_example(
                x, {"a": tf.FixedLenFeature([], tf.int64), "b": tf.FixedLenFeature([2], tf.float32)}
            )
        )
        .batch(5)
        .make_one_shot_iterator()
        .get_next()
    ),
}
for _name, (_message, _spec) in BOTH.items():
    for _kind, _parse in (("batch", batch), ("single", single)):
        CASES[f"{_name}_{_kind}"] = lambda tf, parse=_parse, m=_message, s=_spec: parse(
            tf, m if isinstance(m, bytes) else example(tf, **m), s
        )


def sequences(tf, context, lists):
    """A serialized message with lists of steps; a step is what a feature of ``example`` is."""
    message = tf.train.SequenceExample()
    fill(message.context, context)
    for name, steps in lists.items():
        target = message.feature_lists.feature_list[name]
        for values in steps:
            feature = target.feature.add()
            if values == "float":
                feature.float_list.SetInParent()
            elif values is not None:
                add(feature, values)
    return message.SerializeToString()


def sequence_batch(tf, second, context, lists):
    lists_of_first = {"x": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "y": [[1], [2, 3]], "n": [[b"a"], [b"b"]]}
    first = sequences(tf, {"c": [1]}, lists_of_first)
    return tf.io.parse_sequence_example([first, second], context, lists)


def sequence_single(tf, message, context, lists):
    return tf.parse_single_sequence_example(message, context, lists)


def _nothing(tf):
    return {}


def _context(tf):
    return {"c": tf.FixedLenFeature([], tf.int64)}


def _pairs(tf):
    return {"x": tf.FixedLenSequenceFeature([2], tf.float32)}


def _varying(tf):
    return {"y": tf.VarLenFeature(tf.int64)}


SEQUENCES = {
    "all": (
        ({"c": [5]}, {"x": [[9.0, 8.0]], "y": [[7]], "n": [[b"z"]]}), _context,
        lambda tf: {
            "x": tf.FixedLenSequenceFeature([2], tf.float32),
            "y": tf.VarLenFeature(tf.int64),
            "n": tf.FixedLenSequenceFeature([], tf.string),
        },
    ),
    "context_missing": (({}, {"x": [[9.0, 8.0]]}), _context, _pairs),
    "context_default": (({}, {"x": [[9.0, 8.0]]}), lambda tf: {"c": tf.FixedLenFeature([], tf.int64, 3)}, _pairs),
    "context_varying_missing": (({}, {"x": [[9.0, 8.0]]}), lambda tf: {"c": tf.VarLenFeature(tf.int64)}, _nothing),
    "context_other_type": (({"c": [1.0]}, {}), _context, _nothing),
    "context_varying_other_type": (({"c": [1.0]}, {}), lambda tf: {"c": tf.VarLenFeature(tf.int64)}, _nothing),
    "context_size": (({"c": [1, 2]}, {}), _context, _nothing),
    "list_missing": (({}, {}), _nothing, _pairs),
    "list_may_be_missing": (({}, {}), _nothing, lambda tf: {"x": tf.FixedLenSequenceFeature([2], tf.float32, True)}),
    "list_varying_missing": (({}, {}), _nothing, _varying),
    "list_size": (({}, {"x": [[1.0, 2.0], [3.0]]}), _nothing, _pairs),
    "list_other_type": (({}, {"x": [[1.0, 2.0], [3]]}), _nothing, _pairs),
    "list_varying_other_type": (({}, {"y": [[1], [3.0]]}), _nothing, _varying),
    "list_unset": (({}, {"x": [[1.0, 2.0], None]}), _nothing, _pairs),
    "list_varying_unset": (({}, {"y": [[1], None, [2]]}), _nothing, _varying),
    "list_default": (({}, {}), _nothing, lambda tf: {"x": tf.FixedLenSequenceFeature([2], tf.float32, False, 3.0)}),
    "no_message": (b"garbage", _nothing, _varying),
    "nothing": (({}, {}), _nothing, _nothing),
}  # fmt: skip
"""Name -> (context and lists of the message, or the message; how both are parsed)."""
for _name, (_message, _features, _lists) in SEQUENCES.items():
    for _kind, _parse in (("single", sequence_single), ("batch", sequence_batch)):
        CASES[f"sequence_{_name}_{_kind}"] = lambda tf, parse=_parse, m=_message, c=_features, s=_lists: parse(
            tf, m if isinstance(m, bytes) else sequences(tf, *m), c(tf), s(tf)
        )


# ---- csv, tensors, compressed bytes ----------------------------------------------------------------------------------

COLUMNS = [[0], [1.5], ["d"]]
CSV = [
    ["1,2,a"], ["1,2,"], [",,"], ["1,2"], ["1,2,3,4"], ['1,2,"a,b"'], ['1,2,"a""b"'], ['1,2,"ab'], ['1,2,a"b'],
    ['1,2,"a"b'], ["1\n,2,a"], ["\n1,2,a"], [""], ["x,2,a"], ["1,x,a"], [" 1 , 2 ,a"], ["1_0,2,a"], ["1,1_0,a"],
    ["3000000000,1,a"], ["-2147483648,1,a"], ["1,inf,nan"], ['"1","2","3"'], ["1,2,a", "4,,"], ["1,0x10,a"],
    ["+1,+2,a"], ["1,2,a\n"], ['1,2,"a\nb"'], ["1,2,a\r\n"], ['1,2,""'], ['"",2,a'], ["1,1e400,a"], ["1.5,1,a"],
    ["1,.5,a"], ["1,5.,a"], ["1,1e-50,a"], ["1,-0,a"], ["1,0.1,a", "2,123456789.123,b"],
]  # fmt: skip
"""Records of an integer, a number and a text, well formed and not."""
EXPRESSIONS = [
    "tf.decode_csv('1,2,a', COLUMNS)", "tf.decode_csv([['1,2,a'], ['3,4,b']], COLUMNS)",
    "tf.decode_csv(['1,2,'], [[0], [1.0], tf.constant([], tf.string)])",
    "tf.decode_csv(['1,2,3', ',2,3'], [tf.constant([], tf.int32), [1.0], [0.0]])",
    "tf.decode_csv(['NA,2,NA'], COLUMNS, na_value='NA')", "tf.decode_csv(['1,2,a'], [[0], ['z']], select_cols=[0, 2])",
    "tf.decode_csv(['1,2,a'], [[0], ['z']], select_cols=[2, 0])", "tf.decode_csv(['1,2,a'], [[0]], select_cols=[0, 2])",
    "tf.decode_csv(['1,2,a'], [[0]], select_cols=[5])", "tf.decode_csv(['1;2;a'], COLUMNS, field_delim=';')",
    "tf.decode_csv(['1;2;a'], COLUMNS, field_delim=';;')",
    "tf.decode_csv(['1,2,\"a\"'], COLUMNS, use_quote_delim=False)", "tf.decode_csv(['1,,a'], [0, 2.5, 'z'])",
    "tf.decode_csv(['1,,a'], [0, [2.5, 3.0], 'z'])", "tf.decode_csv(['1'], [[True]])",
    "tf.decode_csv(['3000000000'], [tf.constant([0], tf.int64)])",
    "tf.decode_csv(['0.1'], [tf.constant([0], tf.float64)])", "tf.decode_csv(tf.zeros([0], tf.string), COLUMNS)",
    "tf.serialize_tensor([[1.0, 2.0]])", "tf.serialize_tensor(['a', 'bc'])",
    "tf.serialize_tensor(tf.constant([[1, 2]], tf.int64))", "tf.serialize_tensor(True)",
    "tf.parse_tensor(tf.serialize_tensor([[1.0, 2.0]]), tf.float32)",
    "tf.parse_tensor(tf.serialize_tensor(['a', 'bc']), tf.string)",
    "tf.parse_tensor(tf.serialize_tensor([[1.0, 2.0]]), tf.int32)", "tf.parse_tensor(b'garbage', tf.int32)",
    "tf.parse_tensor([b'garbage'], tf.int32)", "tf.decode_compressed([zlib.compress(b'abc')], 'ZLIB')",
    "tf.decode_compressed([gzip.compress(b'abc')], 'GZIP')", "tf.decode_compressed([b'abc'])",
    "tf.decode_compressed([b'abc'], 'ZLIB')", "tf.decode_compressed([b'abc'], 'X')",
    "tf.parse_example(tf.decode_json_example([JSON]), {'a': tf.FixedLenFeature([2], tf.int64)})",
    "tf.decode_json_example(['{]'])",
]  # fmt: skip
JSON = '{"features": {"feature": {"a": {"int64List": {"value": ["3", 4]}}}}}'
CASES.update(("csv " + repr(records), lambda tf, r=records: tf.decode_csv(r, COLUMNS)) for records in CSV)
CASES.update((text, lambda tf, t=text: eval(t, dict(globals(), tf=tf, gzip=gzip, zlib=zlib))) for text in EXPRESSIONS)


def outcome(tf, evaluate):
    """What a case gives: values with their types, or the type of its error and the first line of the message."""
    try:
        return plain(evaluate())
    except (TypeError, ValueError, tf.errors.OpError) as error:
        return {"raises": type(error).__name__, "says": str(getattr(error, "message", error)).split("\n")[0]}


def plain(value):
    """A value as JSON holds it."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if hasattr(value, "dense_shape"):
        return {"sparse": [plain(part) for part in (value.indices, value.values, value.dense_shape)]}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, bytes):
        return {"string": value.decode("latin-1")}
    if value.dtype == object:
        return {"string": [text.decode("latin-1") for text in value.reshape(-1)], "shape": list(value.shape)}
    return {value.dtype.name: value.tolist()}
