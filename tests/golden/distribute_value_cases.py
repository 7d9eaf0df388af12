# ruff: noqa: E501 (a case is a line)
"""Cases of tf.distribute's reductions and gathers, in and out of replica context, of losses and of 1.x optimizers."""

_SLICES = "tf.IndexedSlices(tf.constant([[1., 2.]]), tf.constant([{}]), tf.constant([3, 2]))"
PARTS = {
    "scalars": "per(1., 2., 4.)", "whole scalars": "per(1, 2, 4)", "vectors": "per([1., 2.], [3., 4.], [5., 7.])",
    "whole vectors": "per([1, 2], [3, 4], [5, 7], dtype='int32')",
    "long vectors": "per([1, 2], [3, 4], [5, 7], dtype='int64')",
    "bytes": "per([200, 2], [100, 4], [5, 7], dtype='uint8')", "halves": "per([1, 2], [3, 4], [5, 7], dtype='float16')",
    "doubles": "per([1, 2], [3, 4], [5, 7], dtype='float64')",
    "complex": "per([1, 2], [3, 4], [5, 7], dtype='complex64')", "uneven": "per([1., 2.], [3., 4.], [5.])",
    "whole uneven": "per([1, 2], [3, 4], [5], dtype='int64')", "last empty": "per([1., 2.], [3., 4.], [])",
    "first empty": "per([], [3., 4.], [1.])", "all empty": "per([], [], [])",
    "matrices": "per([[1., 2.]], [[3., 4.]], [[5., 7.]])",
    "uneven matrices": "per([[1., 2.], [3., 4.]], [[5., 6.]], [[7., 8.]])",
    "uneven columns": "per([[1., 2., 3.]], [[4., 5.]], [[6.]])", "unequal ranks": "per(1., [2.], [[3.]])",
    "unequal dtypes": "per(tf.constant([1.]), tf.constant([2]), tf.constant([3.]))",
    "truths": "per([True, False], [True, True], [False, False], dtype='bool')",
    "strings": "per(tf.constant('a'), tf.constant('b'), tf.constant('c'))", "number": "3", "real number": "3.5",
    "zero": "0", "None": "None", "tensor": "tf.constant([1., 2.])", "scalar tensor": "tf.constant(4.)",
    "whole tensor": "tf.constant([1, 2])", "array": "np.array([1., 2.], 'float32')", "list of numbers": "[1., 2.]",
    "list of per-replica values": "[per(1., 2., 4.), per([1.], [2.], [3.])]",
    "dictionary of per-replica values": "{'b': per(1., 2., 4.), 'a': per([1.], [2.], [3.])}",
    "tuple of per-replica values": "(per(1., 2., 4.), per(4., 2., 4.))", "python numbers from run": "s.run(lambda: 3)",
    "one tensor from run": "(lambda t: s.run(lambda: t))(tf.constant(3.))", "mirrored variable": "var([1., 2.])",
    "variable outside": "tf.Variable([1., 2.])", "on-read sum": "on_read('SUM', [1., 2.])",
    "on-read mean": "on_read('MEAN', [1., 2.])",
    "slices": f"per({_SLICES.format(0)}, {_SLICES.format(1)}, {_SLICES.format(1)})",
    "ragged": "per(tf.ragged.constant([[1], [2, 3]]), tf.ragged.constant([[1], [2, 3]]), tf.ragged.constant([[1]]))",
}  # fmt: skip
AXES = ["None", "0", "1", "-1", "(0,)", "[0]", "(0, 1)", "2", "-3", "'x'", "1.5", "tf.constant(0)", "True", "()"]
FEW = ["scalars", "vectors", "uneven", "uneven matrices", "tensor"]


def _twice(text):
    """The outcome eagerly, and in a function where that is another one."""

    def run(v):
        made = eval(text[0], v)
        eager = v["attempt"](lambda: eval(text[1], v, {"x": made}))
        inside = v["attempt"](lambda: v["function"](lambda: eval(text[1], v, {"x": made})))
        return eager if eager.told == inside.told else {"eager": eager, "function": inside}

    return run


def _reductions():
    found = {}
    for name, text in PARTS.items():
        for op in ("SUM", "MEAN"):
            for axis in AXES if name in FEW else AXES[:3]:
                found[f"{op}, {axis}, {name}"] = _twice((text, f"s.reduce({op}, x, axis={axis})"))
    for op in (
        "'SUM'", "'sum'", "'mean'", "'MAX'", "'MIN'", "''", "3", "None", "tf.reduce_sum", "tf.VariableAggregation.SUM",
    ):  # fmt: skip
        for axis in ("None", "0"):
            found[f"op {op}, {axis}"] = _twice((PARTS["uneven"], f"s.reduce({op}, x, axis={axis})"))
    return found


_NO_AXIS = {
    "without axis": "s.reduce('SUM', per(1., 2., 4.))",
    "in run": "s.run(lambda: s.reduce('SUM', rid(), axis=None))",
    "in scope": "scoped(lambda: s.reduce('SUM', per(1., 2., 4.), axis=None))",
    "in merge_call": "merged(lambda st, x: st.reduce('SUM', x, axis=None), tf.constant(2.))",
    "in merge_call, its own": "s.run(lambda: here().merge_call(lambda st, x: st.reduce('SUM', x, axis=None), args=(rid() + 1,)))",
    "in merge_call, axis": "s.run(lambda: here().merge_call(lambda st, x: st.reduce('MEAN', x, axis=0), args=(tf.reshape(rid(), [1]),)))",
    "type": "type(s.reduce('SUM', per(1., 2., 4.), axis=None)).__name__",
    "per-replica of another strategy": "s.reduce('SUM', tf.distribute.MirroredStrategy(['CPU:4', 'CPU:5']).run(lambda: rid()), axis=None)",
    "fewer values": "s.reduce('SUM', tf.distribute.MirroredStrategy(['CPU:0']).run(lambda: rid()), axis=None)",
    "ops": "[o.value for o in tf.distribute.ReduceOp]",
    "ops repr": "repr(SUM)",
    "ops str": "str(MEAN)",
    "op of aggregation": "tf.distribute.ReduceOp.from_variable_aggregation(tf.VariableAggregation.MEAN).name",
    "op of no aggregation": "tf.distribute.ReduceOp.from_variable_aggregation(tf.VariableAggregation.NONE).name",
    "op of a name": "tf.distribute.ReduceOp('SUM').name",
    "op of another name": "tf.distribute.ReduceOp('MAX').name",
    "mean of whole numbers by axis": "s.reduce(MEAN, per([1, 2], [3, 4], [5], dtype='int32'), axis=0)",
}


def _gathers():
    found = {}
    for name, text in PARTS.items():
        for axis in ("0", "1", "-1", "None") if name in FEW else ("0", "1"):
            found[f"{axis}, {name}"] = _twice((text, f"s.gather(x, axis={axis})"))
    for axis in ("2", "-2", "'x'", "(0,)", "1.0", "tf.constant(0)"):
        found[f"{axis}, matrices"] = _twice((PARTS["matrices"], f"s.gather(x, axis={axis})"))
    found["in run"] = "s.run(lambda: s.gather(tf.reshape(rid(), [1]), axis=0))"
    found["in scope"] = "scoped(lambda: s.gather(per([1.], [2.], [3.]), axis=0))"
    found["without axis"] = "s.gather(per([1.], [2.], [3.]))"
    found["in merge_call"] = (
        "s.run(lambda: here().merge_call(lambda st, x: st.gather(x, axis=0), args=(tf.reshape(rid(), [1]),)))"
    )
    found["all ranks alike but other dimensions differ"] = "s.gather(per([[1.]], [[2., 3.]], [[4.]]), axis=0)"
    return found


LOCAL = {
    "scalar": "rid() + 1.",
    "whole scalar": "rid('int32') + 1",
    "vector": "tf.stack([rid(), 1.])",
    "own length": "tf.range(rid('int32') + 1)",
    "own length from 0": "tf.zeros([rid('int32')])",
    "matrix": "tf.ones([1, 2]) * rid()",
    "own rows": "tf.ones([rid('int32') + 1, 2])",
    "halves": "rid('float16')",
    "truth": "rid() > 0",
    "number": "3",
    "real number": "3.5",
    "list": "[rid(), rid() * 2]",
    "dictionary": "{'b': rid(), 'a': [rid() + 5, 1.]}",
    "tuple": "(rid(), (rid() * 2,))",
    "empty list": "[]",
    "None": "None",
    "list with None": "[rid(), None]",
    "string": "tf.constant('a')",
    "slices": "tf.IndexedSlices(tf.ones([1, 2]) * rid(), tf.reshape(rid('int32'), [1]), tf.constant([3, 2]))",
    "slices in a list": "[tf.IndexedSlices(tf.ones([1, 2]), tf.reshape(rid('int32'), [1]), tf.constant([3, 2])), rid()]",
    "a variable outside": "w",
    "a mirrored variable": "v",
    "an on-read variable": "r",
}


def _inside(text):
    """In a replica function: eagerly and in a function."""

    def run(v):
        given = {"w": v["tf"].Variable(2.0), "v": v["var"](3.0), "r": v["on_read"]("SUM", 4.0)}
        scope = {**v, **given}

        def go():
            return v["s"].run(lambda: eval(text, scope))

        eager = v["attempt"](go)
        inside = v["attempt"](lambda: v["function"](go))
        return eager if eager.told == inside.told else {"eager": eager, "function": inside}

    return run


def _collectives():
    found = {}
    for name, text in LOCAL.items():
        for op in ("SUM", "MEAN"):
            found[f"all_reduce {op}, {name}"] = _inside(f"here().all_reduce({op}, {text})")
        for axis in (0, 1, -1):
            found[f"all_gather {axis}, {name}"] = _inside(f"here().all_gather({text}, axis={axis})")
    for op in ("'SUM'", "'mean'", "'MAX'", "'MIN'", "3", "None", "tf.reduce_sum"):
        found[f"all_reduce op {op}"] = _inside(f"here().all_reduce({op}, rid())")
    for axis in ("None", "'x'", "2", "-3", "(0,)"):
        found[f"all_gather axis {axis}"] = _inside(f"here().all_gather(tf.ones([1, 2]), axis={axis})")
    return found


def _gradient(text):
    """The gradient by x of an expression of x and a replica id, in every replica."""

    def run(v):
        tf = v["tf"]

        def local():
            x = tf.constant([1.0, 2.0]) * (v["rid"]() + 1.0)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = eval(text, v, {"x": x})
            return [y, tape.gradient(y, x)]

        eager = v["attempt"](lambda: v["s"].run(local))
        inside = v["attempt"](lambda: v["function"](lambda: v["s"].run(local)))
        return eager if eager.told == inside.told else {"eager": eager, "function": inside}

    return run


def _variable_gradient(text):
    def run(v):
        tf, w = v["tf"], v["var"](2.0)

        def local():
            with tf.GradientTape() as tape:
                y = eval(text, v, {"w": w})
            return [y, tape.gradient(y, w)]

        eager = v["attempt"](lambda: v["s"].run(local))
        inside = v["attempt"](lambda: v["function"](lambda: v["s"].run(local)))
        return eager if eager.told == inside.told else {"eager": eager, "function": inside}

    return run


_IDS = "(rid() + 1.)"
_PART = "tf.convert_to_tensor(per([1., 2.], [3., 4.], []))"
GRADIENTS = {
    "square": _gradient("x * x"),
    "all_reduce SUM": _gradient("here().all_reduce(SUM, x)"),
    "all_reduce SUM of squares": _gradient("here().all_reduce(SUM, x * x)"),
    "own factor after all_reduce SUM": _gradient(f"here().all_reduce(SUM, x * x) * {_IDS}"),
    "square of all_reduce SUM": _gradient("tf.square(here().all_reduce(SUM, x))"),
    "all_reduce MEAN": _gradient("here().all_reduce(MEAN, x)"),
    "own factor after all_reduce MEAN": _gradient(f"here().all_reduce(MEAN, x * x) * {_IDS}"),
    "all_reduce of a structure": _gradient("tf.add_n(here().all_reduce(SUM, [x * x, x]))"),
    "all_gather": _gradient("here().all_gather(x, axis=0)"),
    "own factor after all_gather": _gradient(f"here().all_gather(x, axis=0) * {_IDS}"),
    "all_gather then squares": _gradient("tf.square(here().all_gather(x, axis=0))"),
    "all_gather of own length": _gradient("here().all_gather(x[:rid('int32') + 1], axis=0)"),
    "merge_call reduce": _gradient("here().merge_call(lambda st, y: st.reduce(SUM, y, axis=None), args=(x * x,))"),
    "merge_call reduce_to": _gradient(
        "here().merge_call(lambda st, y: st.extended.reduce_to(SUM, y, y), args=(x * x,))"
    ),
    "by a variable": _variable_gradient(f"w * w * {_IDS}"),
    "by a variable, all_reduce": _variable_gradient(f"here().all_reduce(SUM, w * w * {_IDS})"),
    "by a variable, an empty part, sum": _variable_gradient(f"tf.reduce_sum(w * {_PART})"),
    "by a variable, an empty part, mean": _variable_gradient(f"tf.reduce_mean(w * {_PART})"),
    "by a variable, an empty part, average loss": _variable_gradient(f"tf.nn.compute_average_loss(w * {_PART})"),
    "by a variable, an empty part, global batch": _variable_gradient(
        f"tf.nn.compute_average_loss(w * {_PART}, global_batch_size=4)"
    ),
    "by a variable not used": _variable_gradient("rid() + 1."),
}

_LOSS = "tf.nn.compute_average_loss"
_SCALE = "tf.nn.scale_regularization_loss"
LOSSES = {
    "vector": f"{_LOSS}([2., 4.])",
    "global batch": f"{_LOSS}([2., 4.], global_batch_size=4)",
    "tensor global batch": f"{_LOSS}([2., 4.], global_batch_size=tf.constant(4))",
    "real global batch": f"{_LOSS}([2., 4.], global_batch_size=4.0)",
    "real tensor global batch": f"{_LOSS}([2., 4.], global_batch_size=tf.constant(4.))",
    "vector global batch": f"{_LOSS}([2., 4.], global_batch_size=tf.constant([4]))",
    "global batch 0": f"{_LOSS}([2., 4.], global_batch_size=0)",
    "negative global batch": f"{_LOSS}([2., 4.], global_batch_size=-1)",
    "string global batch": f"{_LOSS}([2., 4.], global_batch_size='a')",
    "weights": f"{_LOSS}([2., 4.], sample_weight=[1., 0.5])",
    "weights and global batch": f"{_LOSS}([2., 4.], sample_weight=[1., 0.5], global_batch_size=8)",
    "scalar weight": f"{_LOSS}([2., 4.], sample_weight=0.5)",
    "weights of unequal length": f"{_LOSS}([2., 4., 6.], sample_weight=[1., 0.5])",
    "column weights": f"{_LOSS}([2., 4.], sample_weight=[[1.], [0.5]])",
    "matrix weights": f"{_LOSS}([[2., 4.], [1., 3.]], sample_weight=[1., 0.5])",
    "matrix column weights": f"{_LOSS}([[2., 4.], [1., 3.]], sample_weight=[[1.], [0.5]])",
    "zero weights": f"{_LOSS}([2., 4.], sample_weight=[0., 0.])",
    "whole weights": f"{_LOSS}([2., 4.], sample_weight=[1, 0])",
    "matrix": f"{_LOSS}([[2., 4., 3.], [1., 3., 5.]])",
    "matrix, global batch": f"{_LOSS}([[2., 4., 3.], [1., 3., 5.]], global_batch_size=2)",
    "scalar": f"{_LOSS}(3.)",
    "scalar, global batch": f"{_LOSS}(3., global_batch_size=4)",
    "empty": f"{_LOSS}(tf.zeros([0]))",
    "empty, global batch": f"{_LOSS}(tf.zeros([0]), global_batch_size=4)",
    "empty, weights": f"{_LOSS}(tf.zeros([0]), sample_weight=tf.zeros([0]), global_batch_size=4)",
    "whole": f"{_LOSS}(tf.constant([2, 4]))",
    "halves": f"{_LOSS}(tf.constant([2, 4], 'float16'))",
    "doubles": f"{_LOSS}(tf.constant([2, 4], 'float64'), sample_weight=[1., 2.])",
    "array": f"{_LOSS}(np.array([2., 4.]))",
    "own": f"{_LOSS}(tf.stack([rid(), rid() + 1.]), global_batch_size=4)",
    "own empty": f"{_LOSS}(tf.zeros([rid('int32')]))",
    "own empty, global batch": f"{_LOSS}(tf.ones([rid('int32')]), global_batch_size=3)",
    "regularization": f"{_SCALE}(6.)",
    "regularization vector": f"{_SCALE}([6., 3.])",
    "regularization tensor": f"{_SCALE}(tf.constant(6., tf.float64))",
    "regularization whole": f"{_SCALE}(tf.constant(6))",
    "regularization empty": f"{_SCALE}([])",
    "regularization matrix": f"{_SCALE}([[6., 3.], [1., 2.]])",
}


def _losses():
    found = {}
    for name, text in LOSSES.items():
        found[f"in run: {name}"] = _inside(text)
        if "rid()" not in text and "own" not in name:
            found[f"in scope: {name}"] = f"scoped(lambda: {text})"
            found[f"outside: {name}"] = text
    found["in merge_call"] = f"merged(lambda st, x: {_LOSS}(x), tf.constant([1., 2.]))"
    found["mean of unknown batch"] = _inside(f"{_LOSS}(tf.zeros([rid('int32') + 1]) + 1.)")
    return found


_TRAIN = "tf.compat.v1.train"
OPTIMIZERS = {
    "gradient descent": f"{_TRAIN}.GradientDescentOptimizer(0.1)", "momentum": f"{_TRAIN}.MomentumOptimizer(0.1, 0.9)",
    "adam": f"{_TRAIN}.AdamOptimizer(0.1)", "adagrad": f"{_TRAIN}.AdagradOptimizer(0.1)",
    "rmsprop": f"{_TRAIN}.RMSPropOptimizer(0.1)",
}  # fmt: skip


def _optimizer(text, where, function):
    """Three steps, in a function: the copies of the variable, and what apply_gradients gives."""

    def run(v):
        tf, s = v["tf"], v["s"]
        w, unused = v["var"]([1.0, 2.0]), v["var"](5.0)
        with s.scope():
            optimizer = eval(text, v)

        def local():
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(w * w) * (v["rid"]() + 1.0)
            found = tape.gradient(loss, [w, unused])
            if where == "replica":
                return optimizer.apply_gradients(zip(found, [w, unused], strict=True))
            return found

        def step():
            found = s.run(local)
            if where == "cross":
                with s.scope():
                    return optimizer.apply_gradients(zip(found, [w, unused], strict=True))
            if where == "outside":
                return optimizer.apply_gradients(zip(found, [w, unused], strict=True))
            return found

        go = tf.function(lambda: v["then"](step(), None), autograph=False) if function else step
        returned = [v["attempt"](lambda: v["then"](go(), None)) for _ in range(3)]
        slots = sorted(optimizer.get_slot_names())
        return {"returned": returned, "w": w, "slots": {name: optimizer.get_slot(w, name) for name in slots}}

    return run


def _accumulated(v):
    """An optimizer's step inside a conditional of the replica, that is the same on every replica."""
    tf, s, w = v["tf"], v["s"], v["var"](1.0)
    optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.1)

    def local(i):
        tf.cond(tf.equal(i, 1), lambda: v["then"](optimizer.apply_gradients([(w * 1.0, w)]), 1.0), lambda: 0.0)

    run = tf.function(lambda i: s.run(local, args=(i,)), autograph=False)
    return [v["attempt"](lambda: run(tf.constant(1))), w]


def _minimize(v):
    tf, s, w = v["tf"], v["s"], v["var"](1.0)
    optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.1)
    return [s.run(lambda: v["then"](optimizer.minimize(lambda: w * w * (v["rid"]() + 1.0)), None)), w]


_RING = ("vectors", "uneven", "last empty", "matrices", "uneven matrices", "halves", "whole uneven")
VALUES = {
    "reduce, m3": ("m3", {**_reductions(), **_NO_AXIS}),
    "reduce, one": ("one", _reductions()),
    "reduce, default": ("default", _reductions()),
    "gather, m3": ("m3", _gathers()),
    "gather, one": ("one", _gathers()),
    "gather, default": ("default", _gathers()),
    **{f"collectives, {kind}": (kind, _collectives()) for kind in ("m3", "one", "default")},
    **{f"gradients, {kind}": (kind, GRADIENTS) for kind in ("m3", "r3", "one")},
    "gather, r3": ("r3", {name: _twice((PARTS[name], "s.gather(x, axis=0)")) for name in _RING}),
    "collectives, r3": (
        "r3",
        {
            f"all_reduce {op}, {name}": _inside(f"here().all_reduce({op}, {LOCAL[name]})")
            for name in ("scalar", "whole scalar", "vector", "halves", "list", "tuple", "slices", "slices in a list")
            for op in ("SUM", "MEAN")
        },
    ),
    **{f"losses, {kind}": (kind, _losses()) for kind in ("m2", "default")},
    "optimizers, m2": (
        "m2",
        {
            **{
                f"{name}, {where}, {'function' if function else 'eager'}": _optimizer(text, where, function)
                for name, text in OPTIMIZERS.items()
                for where in ("replica", "cross", "outside")
                for function in (False, True)
            },
            "minimize": _minimize,
            "in a conditional": _accumulated,
        },
    ),
}
