"""tf.contrib.framework, tf.contrib.training.HParams and tf.contrib.util on the original and on towerstrat.

A case is a function of the namespace ``tf`` that returns values for JSON; an error is its type, and its text where
``SAID`` lists the case. Runs under Python 3.6 too.
"""

import numpy as np

from tests.golden.plain_values import plain


def hparams(tf, **kwargs):
    return tf.contrib.training.HParams(
        rate=0.5, units=8, name="net", deep=True, sizes=[1, 2], names=["a", "b"], factors=[0.5], flags=[True, False],
        none=None, **kwargs
    )  # fmt: skip


def parsed(text):
    return lambda tf: sorted(hparams(tf).parse(text).values().items())


def setting(name, value):
    def case(tf):
        made = hparams(tf)
        made.set_hparam(name, value)
        return repr(getattr(made, name))

    return case


def values(text, **types):
    return lambda tf: sorted((k, repr(v)) for k, v in tf.contrib.training.parse_values(text, types).items())


def described(tf):
    made = hparams(tf)
    return [
        str(made), repr(made), made.to_json(sort_keys=True), made.to_json(indent=1, sort_keys=True), "units" in made,
        "other" in made, made.get("units", 3), made.get("other", 3), made.get("sizes", [4]),
    ]  # fmt: skip


def changed(tf):
    made = hparams(tf, model_structure="structure")
    made.add_hparam("new", 3)
    made.del_hparam("name")
    made.del_hparam("never")
    made.parse_json('{"new": 4, "sizes": [7]}')
    made.override_from_dict({"rate": 2})
    made.set_model_structure("other")
    return [made.new, made.sizes, made.rate, hasattr(made, "name"), made.get_model_structure()]


def proto(tf):
    made = tf.contrib.training.HParams(a=1, b=0.5, c="x", d=True, e=[1], f=[0.5], g=["y"], h=[False])
    again = tf.contrib.training.HParams.from_proto(made.to_proto())
    return sorted((k, repr(v)) for k, v in again.values().items())


def names(variables):
    return sorted(v.name for v in variables)


def variables(tf):
    """Variables in scopes: what finds and filters which."""
    f = tf.contrib.framework
    with tf.variable_scope("a"):
        w = f.variable("w", [2], device="/cpu:0")
        m = f.model_variable("m", [2], regularizer=lambda v: tf.reduce_sum(v), collections=["mine"])
        with tf.variable_scope("b") as scope:
            f.variable("w", [2], trainable=False, collections=["mine", "mine", tf.GraphKeys.GLOBAL_VARIABLES])
    f.local_variable(0.5, name="local")
    f.global_variable(0.5, name="global")
    f.add_model_variable(w)
    f.add_model_variable(w)
    return [
        names(f.get_variables()), names(f.get_variables("a")), names(f.get_variables(scope)),
        names(f.get_variables("a", "w")), names(f.get_model_variables()), names(f.get_local_variables()),
        names(f.get_trainable_variables()), names(f.get_variables_by_suffix("w")), names(f.get_variables_by_name("w")),
        names(f.get_variables_by_name("w", "a/b")), names(f.get_variables_to_restore()),
        names(f.get_variables_to_restore(["a"], ["a/b"])), names(f.get_variables_to_restore(exclude=["a/m", "global"])),
        f.get_unique_variable("a/w").name, f.get_variable_full_name(m), names(tf.get_collection("mine")),
        names(f.filter_variables(tf.global_variables(), ["w"], ["b/"])),
        names(f.filter_variables(tf.global_variables(), ["w", "g"], reg_search=False)),
        names(f.filter_variables(tf.global_variables(), exclude_patterns=["a"])),
        len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)), str(m.dtype.base_dtype.name),
    ]  # fmt: skip


def getter(tf):
    def custom(name, *args, **kwargs):
        assert kwargs.pop("reuse") is not None or True
        return tf.get_variable(name + "_got", *args, **kwargs)

    return tf.contrib.framework.variable("w", [2], custom_getter=custom).name


def assigned(tf):
    f = tf.contrib.framework
    one, two = tf.get_variable("one", [2]), tf.get_variable("one_more", [1, 2])
    assign, feed = f.assign_from_values({"one": np.float32([1, 2])})
    function = f.assign_from_values_fn({"one_more": np.float32([3, 4])})
    with tf.Session() as sess:
        sess.run(assign, feed)
        function(sess)
        return [sess.run(one).tolist(), sess.run(two).tolist(), sorted(t.name for t in feed)]


def devices(tf):
    choose = tf.contrib.framework.VariableDeviceChooser
    with_tasks = choose(2, device_type="GPU", replica=1)
    return [choose()(None), choose(device_type="GPU", device_index=2)(None)] + [with_tasks(None) for _ in range(3)]


def shaped(shape, static, value, given=None):
    def case(tf):
        x = tf.placeholder_with_default(np.float32(value), static)
        wanted = shape if given is None else tf.placeholder_with_default(np.array(shape, given), [len(shape)])
        y = tf.contrib.framework.with_shape(wanted, x)
        with tf.Session() as sess:
            return [y.shape.as_list() if y.shape.ndims is not None else None, np.asarray(sess.run(y)).tolist()]

    return case


def same_shape(tf):
    like = tf.placeholder_with_default(np.zeros([2, 3], np.float32), [None, 3])
    y = tf.contrib.framework.with_same_shape(like, tf.constant(np.ones([2, 3], np.float32), name="x"))
    with tf.Session() as sess:
        return sess.run(y).tolist()


def squeezed(first, second):
    def case(tf):
        one, two = tf.contrib.framework.remove_squeezable_dimensions(tf.zeros(first), tf.zeros(second))
        return [one.shape.as_list(), two.shape.as_list()]

    return case


def sums(tf):
    f = tf.contrib.framework
    found = [f.reduce_sum_n([tf.constant([1.0, 2.0], name="a")]), f.reduce_sum_n([tf.ones([2, 2]), tf.ones([3])])]
    with tf.Session() as sess:
        return [float(v) for v in sess.run(found)]


def smart(tf):
    f = tf.contrib.framework
    unknown = tf.placeholder_with_default(True, [])
    found = [
        f.smart_cond(True, lambda: "yes", lambda: "no"), f.smart_cond(tf.constant(False), lambda: "yes", lambda: "no"),
        f.smart_cond(0, lambda: "yes", lambda: "no"), f.smart_constant_value(unknown),
        f.smart_case([(True, lambda: "one"), (unknown, lambda: "two")]),
        f.smart_case([(False, lambda: "one")], default=lambda: "other"),
    ]  # fmt: skip
    late = f.smart_cond(unknown, lambda: tf.constant(1), lambda: tf.constant(2))
    with tf.Session() as sess:
        return found + [int(sess.run(late))]


def insides(tf):
    f = tf.contrib.framework
    with tf.name_scope("one"), tf.name_scope("two"):
        scope = f.get_name_scope()
    a = tf.placeholder(tf.float32, [2], name="fed")
    sparse = tf.SparseTensorValue(np.zeros([1, 1], np.int64), np.ones(1, np.float32), np.array([3], np.int64))
    return [
        scope, [t.name for t in f.get_placeholders(tf.get_default_graph())],
        f.get_graph_from_inputs([a]) is tf.get_default_graph(),
        type(f.convert_to_tensor_or_sparse_tensor(sparse)).__name__,
        f.convert_to_tensor_or_sparse_tensor(sparse.values).dtype.name, f.assert_scalar_int(tf.constant(3)).dtype.name,
    ]  # fmt: skip


def nested(tf):
    nest = tf.contrib.framework.nest
    tree = {"b": [1, (2, 3)], "a": 4}
    return [
        list(nest.yield_flat_paths(tree)),
        nest.flatten_with_joined_string_paths(tree),
        nest.map_structure_with_paths(lambda path, x, y: [path, x + y], tree, tree),
        nest.map_structure_up_to({"b": 0, "a": 0}, lambda x: str(x), tree),
        sorted(nest.flatten_dict_items({(1, (2, 3)): (4, (5, 6)), 7: 8}).items()),
        nest.get_traverse_shallow_structure(lambda s: not isinstance(s, tuple), tree),
        nest.get_traverse_shallow_structure(lambda s: [True, False] if isinstance(s, list) else True, tree),
    ]


def placed(**kwargs):
    """The devices of variables, of a sum, and of operations with devices of their own."""

    def case(tf):
        with tf.device(tf.train.replica_device_setter(**kwargs)):
            one = tf.Variable(1.0, name="a", use_resource=True)
            found = [one, tf.get_variable("b", [2], use_resource=True), one + 1.0]
            for name in ("/job:worker/task:3", "/cpu:0", "/job:ps/task:7"):
                with tf.device(name):
                    found += [tf.constant(1.0), tf.get_variable("v" + str(len(found)), [2], use_resource=True)]
        return [x.device for x in found]

    return case


def constants(tf):
    util = tf.contrib.util
    x = tf.placeholder(tf.float32, [None, 3])
    some = tf.stack([tf.placeholder(tf.int32, []), tf.constant(2)])
    found = [
        util.constant_value(tf.constant([1, 2])), util.constant_value(tf.shape(x)),
        util.constant_value(some), util.constant_value(some, partial=True), util.constant_value(tf.fill([2], 3)),
        util.constant_value(x),
    ]  # fmt: skip
    return [None if v is None else np.asarray(v).tolist() for v in found]


def protos(tf):
    found = []
    for value, kwargs in (
        ([1, 2], {}), (0.5, {}), (np.float64([1, 2]), {}), ("text", {}), ([[b"a", b"b"]], {}), (True, {}),
        (3, {"shape": [2, 2]}), ([1.5, 2.5], {"dtype": tf.float16}), ([1 + 2j], {"dtype": tf.complex64}), ([2**40], {}),
        ([], {}), ([3, 4], {"dtype": tf.uint8}),
    ):  # fmt: skip
        made = tf.make_tensor_proto(value, **kwargs)
        array = tf.make_ndarray(made)
        found.append([made.dtype, [d.size for d in made.tensor_shape.dim], str(array.dtype), repr(array.tolist())])
    return found


def raw(tf):
    found = [
        tf.decode_raw(tf.constant([b"\x01\x00\x02\x00", b"\x03\x00\x04\x00"]), tf.int16),
        tf.decode_raw(tf.constant(b"\x01\x00\x02\x00"), tf.int16, little_endian=False),
        tf.decode_raw(tf.constant(np.float32([1.5, -2]).tobytes()), tf.float32),
        tf.cast(tf.decode_raw(tf.constant([[b"\xff\x01"]]), tf.uint8), tf.float32) / 255.0,
        tf.decode_raw(tf.constant([b"", b""]), tf.int64),
    ]
    with tf.Session() as sess:
        return [v.tolist() for v in sess.run(found)] + [str(found[0].shape.as_list())]


def raw_error(value, kind):
    def case(tf):
        fed = tf.placeholder(tf.string, [None])
        with tf.Session() as sess:
            return sess.run(tf.decode_raw(fed, getattr(tf, kind)), {fed: value}).tolist()

    return case


CASES = {
    "parse": parsed("rate=2,units=3, name=other,deep=false,sizes=[4,5,6],names=[x, y],factors=[1.5],flags=[0,1]"),
    "parse_true": parsed("deep=1"),
    "parse_empty": parsed(""),
    "parse_unknown": parsed("missing=1"),
    "parse_twice": parsed("units=1,units=2"),
    "parse_malformed": parsed("units"),
    "parse_wrong": parsed("units=x"),
    "parse_wrong_list": parsed("sizes=[1,x]"),
    "parse_wrong_bool": parsed("deep=maybe"),
    "parse_list_for_one": parsed("units=[1]"),
    "parse_one_for_list": parsed("sizes=1"),
    "parse_index": parsed("sizes[1]=3"),
    "values": values("a=1,b=[1.5,2],c[0]=x,c[2]=y,d.e=5", a=int, b=float, c=str, **{"d.e": int}),
    "values_index_twice": values("a[1]=1,a[1]=2", a=int),
    "values_both": values("a=1,a[1]=2", a=int),
    "values_list_in_index": values("a[1]=[2]", a=int),
    "set_int": setting("units", 3),
    "set_int_from_float": setting("units", 3.5),
    "set_int_from_bool": setting("units", True),
    "set_float_from_int": setting("rate", 3),
    "set_float_from_text": setting("rate", "3"),
    "set_bool_from_int": setting("deep", 1),
    "set_text_from_int": setting("name", 1),
    "set_none": setting("none", "anything"),
    "set_list": setting("sizes", [3]),
    "set_list_from_one": setting("sizes", 3),
    "set_one_from_list": setting("units", [3]),
    "reserved": lambda tf: tf.contrib.training.HParams(parse=1),
    "empty": lambda tf: tf.contrib.training.HParams(a=[]),
    "get_wrong": lambda tf: hparams(tf).get("units", "x"),
    "get_wrong_list": lambda tf: hparams(tf).get("sizes", 3),
    "described": described,
    "changed": changed,
    "proto": proto,
    "variables": variables,
    "getter": getter,
    "not_found": lambda tf: tf.contrib.framework.get_unique_variable("none"),
    "not_unique": lambda tf: [tf.get_variable("x/y", [1]), tf.contrib.framework.get_unique_variable("x")],
    "no_list": lambda tf: tf.contrib.framework.get_variables_to_restore(include="a"),
    "assigned": assigned,
    "assigned_none": lambda tf: tf.contrib.framework.assign_from_values({"none": np.zeros(2)}),
    "devices": devices,
    "placed_none": placed(),
    "placed": placed(ps_tasks=2),
    "placed_worker": placed(ps_tasks=2, worker_device="/job:worker/task:1/gpu:0"),
    "placed_cluster": placed(cluster={"ps": ["a:1", "b:1", "c:1"], "worker": ["x:1"]}),
    "placed_no_job": placed(cluster={"worker": ["x:1"]}),
    "placed_first": placed(ps_tasks=2, merge_devices=False),
    "placed_by": placed(ps_tasks=3, ps_strategy=lambda op: 2, ps_device="/job:params"),
    "placed_types": placed(ps_tasks=2, ps_ops=["VarHandleOp"]),
    "placed_no_function": placed(ps_tasks=2, ps_strategy=3),
    "with_shape": shaped([2, 3], [None, 3], np.ones([2, 3])),
    "with_shape_known": shaped([2, 3], [2, 3], np.ones([2, 3])),
    "with_shape_other": shaped([3, 3], [2, 3], np.ones([2, 3])),
    "with_shape_late": shaped([3, 3], [None, 3], np.ones([2, 3])),
    "with_shape_scalar": shaped([], [1], [5.0]),
    "with_shape_scalar_unknown": shaped([], None, [5.0]),
    "with_shape_tensor": shaped([2, 3], [2, 3], np.ones([2, 3]), np.int32),
    "with_shape_tensor_other": shaped([3, 3], [2, 3], np.ones([2, 3]), np.int32),
    "with_shape_tensor_rank": shaped([2], [2, 3], np.ones([2, 3]), np.int32),
    "with_shape_float": shaped([2.0, 3.0], [2, 3], np.ones([2, 3])),
    "with_same_shape": same_shape,
    "squeezed_one": squeezed([3, 1], [3]),
    "squeezed_two": squeezed([3], [3, 1]),
    "squeezed_none": squeezed([3, 2, 1], [3]),
    "sums": sums,
    "no_sums": lambda tf: tf.contrib.framework.reduce_sum_n([]),
    "smart": smart,
    "smart_wrong": lambda tf: tf.contrib.framework.smart_cond("yes", lambda: 1, lambda: 2),
    "smart_no_function": lambda tf: tf.contrib.framework.smart_cond(True, 1, lambda: 2),
    "insides": insides,
    "scalar_float": lambda tf: tf.contrib.framework.assert_scalar_int(tf.constant(1.0)),
    "nested": nested,
    "constants": constants,
    "protos": protos,
    "raw": raw,
    "raw_lengths": raw_error([b"abcd", b"ab"], "int16"),
    "raw_size": raw_error([b"abc"], "int16"),
}  # fmt: skip
SAID = [name for name in CASES if name.startswith(("parse", "values", "set", "reserved", "empty", "get", "not", "raw"))]


def run(tf, name):
    with tf.Graph().as_default():
        try:
            return plain(CASES[name](tf))
        except Exception as error:  # the originals' and ours
            text = getattr(error, "message", None) or str(error)
            return [type(error).__name__, text.splitlines()[0] if name in SAID else ""]
