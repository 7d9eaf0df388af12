# ruff: noqa: E501 (a case is a line)
"""Cases of variables under tf.distribute: synchronization x aggregation x place x operation, attributes and creation."""

AGGREGATIONS = ("NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA")

# ``v`` is a variable of two numbers, ``x`` the value that is written, ``y`` slices of it.
OPERATIONS = {
    "identity": "tf.identity(v)", "arithmetic": "v + 1.", "value": "v.value()", "read_value": "v.read_value()",
    "numpy": "v.numpy()", "index": "v[1]", "assign": "v.assign(x)", "assign_add": "v.assign_add(x)",
    "assign_sub": "v.assign_sub(x)", "assign, not read": "v.assign(x, read_value=False)",
    "assign a list": "v.assign([1., 2.])", "assign wrong shape": "v.assign([1., 2., 3.])",
    "assign wrong type": "v.assign(['a', 'b'])", "assign itself": "v.assign(v)",
    "assign a mirrored variable": "v.assign(m)", "assign an on-read variable": "v.assign(r)",
    "assign a per-replica value": "v.assign(p)", "assign_add a per-replica value": "v.assign_add(p)",
    "assign after assign": "then(v.assign(x), v.assign_add(x))", "scatter_update": "v.scatter_update(y)",
    "scatter_add": "v.scatter_add(y)", "scatter_sub": "v.scatter_sub(y)", "scatter_mul": "v.scatter_mul(y)",
    "scatter_max": "v.scatter_max(y)", "scatter_nd_update": "v.scatter_nd_update([[1]], x[:1])",
    "batch_scatter_update": "v.batch_scatter_update(y)", "item assign": "v[1].assign(x[0])",
    "sparse_read": "v.sparse_read([1])", "gather": "tf.gather(v, [1])", "type": "type(v).__name__",
}  # fmt: skip
# How the expression ``{}`` comes to the place; x there is of fives, or of the replica id + 1.
_FIVE = "tf.constant([5., 5.]), tf.IndexedSlices(tf.constant([5.]), tf.constant([1]))"
_OWN = "tf.fill([2], rid() + 1.), tf.IndexedSlices(tf.reshape(rid() + 1., [1]), tf.constant([1]))"
_MERGE = "s.run(lambda: here().merge_call(lambda st, x, y: {}, args=GIVEN))"
_UPDATE = "s.extended.update(w, lambda v, x, y: {}, args=GIVEN, group=False)"
WHERE = {
    "replica": f"s.run(lambda: (lambda x, y: {{}})({_OWN}))",
    "cross": f"scoped(lambda: (lambda x, y: {{}})({_FIVE}))",
    "outside": f"(lambda x, y: {{}})({_FIVE})",
    "merge": f"(lambda f, g: {_MERGE.replace('GIVEN', '(f, g)')})({_FIVE})",
    "merge, own": _MERGE.replace("GIVEN", f"({_OWN})"),
    "update": f"scoped(lambda: {_UPDATE.replace('GIVEN', f'({_FIVE})')})",
    "update in merge, own": _MERGE.replace("{}", _UPDATE.replace("GIVEN", "(x, y)")).replace("GIVEN", f"({_OWN})"),
}


def _make(v, synchronization, aggregation):
    tf = v["tf"]
    wanted = getattr(tf.VariableSynchronization, synchronization), getattr(tf.VariableAggregation, aggregation)
    return v["var"]([10.0, 20.0], synchronization=wanted[0], aggregation=wanted[1])


def _outcome(v, synchronization, aggregation, text, function):
    """What the operation gives, the variable's copies after it, and its value outside where that is not the first."""
    tf, s, w = v["tf"], v["s"], _make(v, synchronization, aggregation)
    if synchronization == "ON_READ":
        s.run(lambda: w.assign(tf.fill([2], (v["rid"]() + 1.0) * 10.0)))
    others = {"m": v["var"]([7.0, 8.0]), "r": v["on_read"]("SUM", [4.0, 5.0])}
    scope = {**v, **others, "w": w, "v": w, "p": v["per"]([1.0, 2.0], [4.0, 5.0])}

    def go():
        return eval(text, scope)

    given = v["attempt"](lambda: v["function"](lambda: v["then"](go(), None)) if function else go()).told
    copies = v["told"]([copy.read_value() for copy in s.experimental_local_results(w)])
    outside = v["told"](v["attempt"](w.read_value))
    return {"gives": given, "copies": copies, **({} if outside == copies[0] else {"outside": outside})}


def _operation(synchronization, aggregation, where, operation):
    """The outcome eagerly; and in a function, apart from what it gives, where that is another one."""
    text = WHERE[where].replace("{}", operation)

    def run(v):
        eager = _outcome(v, synchronization, aggregation, text, False)
        inside = _outcome(v, synchronization, aggregation, text, True)
        if inside["gives"] is None and "error" not in (eager["gives"] or {}):
            inside["gives"] = eager["gives"]
        return v["Told"](eager if inside == eager else {"eager": eager, "function": inside})

    return run


def _matrix(synchronization, places=tuple(WHERE)):
    return {
        f"{aggregation}, {where}, {name}": _operation(synchronization, aggregation, where, operation)
        for aggregation in AGGREGATIONS
        for where in places
        for name, operation in OPERATIONS.items()
    }


_ATTRIBUTES = [
    "name", "shape", "dtype", "trainable", "device", "initializer", "initial_value", "constraint", "graph", "op",
    "values", "aggregation", "synchronization", "is_initialized()", "get_shape()", "numpy()", "create_op",
]  # fmt: skip
_TEXTS = (
    "str(v)", "repr(v)", "type(v).__name__", "bool(v)", "len(v)", "float(v)", "int(v)", "np.asarray(v)", "v == v",
    "v.ref() == v.ref()", "v.distribute_strategy is s", "' '.join(k for k in dir(v) if k[0] != '_')",
)  # fmt: skip


def _attributes(make):
    def run(v):
        scope = {**v, "v": eval(make, v)}
        found = {k: v["attempt"](lambda k=k: str(eval(f"v.{k}", scope))) for k in _ATTRIBUTES}
        return {**found, **{k: v["attempt"](lambda k=k: eval(k, scope)) for k in _TEXTS}}

    return run


KINDS = {
    "mirrored": "var(1., name='a')", "mirrored vector": "var([1., 2.], name='a')",
    "mirrored sum": "var(1., aggregation=tf.VariableAggregation.SUM)", "on-read sum": "on_read('SUM', 2.)",
    "on-read mean": "on_read('MEAN', 2.)", "on-read first": "on_read('ONLY_FIRST_REPLICA', 2.)",
    "on-read none": "on_read('NONE', 2.)", "outside": "tf.Variable(1.)", "whole": "var(1)",
}  # fmt: skip
TOLD = ("mirrored", "mirrored sum", "on-read sum", "on-read mean", "whole", "outside")
_SYNC = "tf.VariableSynchronization"
_AGG = "tf.VariableAggregation"


def _creators(v):
    """Calls of a variable creator, within and around the scope."""
    tf, seen = v["tf"], []

    def creator(where):
        def create(next_creator, **kwargs):
            seen.append([where, sorted(kwargs)])
            made = next_creator(**kwargs)
            seen.append([where, type(made).__name__])
            return made

        return create

    with tf.variable_creator_scope(creator("around")), v["s"].scope(), tf.variable_creator_scope(creator("within")):
        tf.Variable(1.0)
    return seen


def _creators_in_run(v):
    tf, seen, kept = v["tf"], [], []

    def create(next_creator, **kwargs):
        seen.append(type(v["here"]()).__name__)
        return next_creator(**kwargs)

    def local():
        kept.append(tf.Variable(v["rid"]()))
        return kept[-1]

    with tf.variable_creator_scope(create):
        made = v["s"].run(local)
    return [seen, type(made).__name__, made]


def _once(v, function=True):
    """Variables made in the first call of a function that runs on the replicas."""
    tf, s = v["tf"], v["s"]
    kept: dict = {}

    def local():
        if "w" not in kept:
            kept["w"] = tf.Variable(2.0)
        return kept["w"].assign_add(1.0)

    def go():
        return s.run(local)

    run = tf.function(go, autograph=False) if function else go
    first = v["attempt"](run)
    second = v["attempt"](run)
    return [first, second, type(kept.get("w")).__name__]


def _variable_in_function(v):
    tf, kept = v["tf"], []

    @tf.function(autograph=False)
    def make():
        if not kept:
            kept.append(tf.Variable([1.0, 2.0]))
        return kept[0] + 1.0

    with v["s"].scope():
        found = make()
    return [found, type(kept[0]).__name__, kept[0]]


def _always_in_function(v):
    tf = v["tf"]

    @tf.function(autograph=False)
    def make():
        return v["s"].run(lambda: tf.Variable(1.0) + 1.0)

    return make()


def _initial_from_replica(v):
    return v["s"].run(lambda: v["tf"].Variable(v["rid"]() + 5.0))


def _random_initial(v):
    w = v["var"](lambda: v["tf"].random.uniform([2]))
    copies = [c.numpy() for c in v["s"].experimental_local_results(w)]
    return all((c == copies[0]).all() for c in copies)


def _calls_of_initial(v):
    calls = []
    v["var"](lambda: v["then"](calls.append(1), 3.0))
    return len(calls)


def _v1(make):
    def run(v):
        made = eval(make, v)
        return [type(made).__name__, made, made.trainable, made.name]

    return run


_V1 = "tf.compat.v1"
CREATION = {
    "creators": _creators,
    "creators in run": _creators_in_run,
    "first call of a function": _once,
    "first call eagerly": lambda v: _once(v, False),
    "in a function in scope": _variable_in_function,
    "each call of a function": _always_in_function,
    "initial value of the replica": _initial_from_replica,
    "random initial value": _random_initial,
    "calls of the initial value": _calls_of_initial,
    "in run": "s.run(lambda: tf.Variable(1.))",
    "in run twice": "s.run(lambda: [tf.Variable(1.).name, tf.Variable(2., name='b').name])",
    "in run, unequal": "s.run(lambda: tf.Variable(1.) if int(rid('int32')) else 2)",
    "in run, unequal shapes": "s.run(lambda: tf.Variable(tf.zeros([int(rid('int32')) + 1])))",
    "in merge_call": "merged(lambda st: tf.Variable(1.))",
    "in update": "scoped(lambda: s.extended.update(var(1.), lambda v: tf.Variable(2.), group=False))",
    "names": "scoped(lambda: [tf.Variable(1.).name, tf.Variable(1.).name, tf.Variable(1., name='b').name])",
    "names of copies": "[c.name for c in s.experimental_local_results(var(1., name='b'))]",
    "names of on-read copies": "[c.name for c in s.experimental_local_results(on_read(name='b'))]",
    "devices of copies": "[c.device[-5:] for c in s.experimental_local_results(var(1.))]",
    "types of copies": "[type(c).__name__ for c in s.experimental_local_results(var(1.))]",
    "trainable of on-read": "[on_read().trainable, on_read('MEAN').trainable, on_read('NONE').trainable]",
    "trainable of on-read asked": "on_read(trainable=True).trainable",
    "trainable of mirrored": "[var(1.).trainable, var(1., trainable=False).trainable]",
    "trainable of v1 on-read asked": f"scoped(lambda: {_V1}.get_variable('a', initializer=1., synchronization={_SYNC}.ON_READ, trainable=True))",
    "wrong synchronization": "var(1., synchronization='ON_READ')",
    "wrong synchronization number": "var(1., synchronization=7)",
    "wrong aggregation": "var(1., aggregation='SUM')",
    "wrong aggregation number": "var(1., aggregation=7)",
    "synchronization NONE": f"var(1., synchronization={_SYNC}.NONE)",
    "synchronization NONE outside": f"tf.Variable(1., synchronization={_SYNC}.NONE)",
    "on-read outside": f"tf.Variable(1., synchronization={_SYNC}.ON_READ, aggregation={_AGG}.SUM).trainable",
    "constraint": "var(1., constraint=lambda x: x).constraint(2.)",
    "caching_device": f"scoped(lambda: {_V1}.Variable(1., caching_device='CPU:0'))",
    "shape": "var([1., 2.], shape=tf.TensorShape([None])).shape",
    "shape, assign": "(lambda w: then(w.assign([1., 2., 3.]), w))(var([1., 2.], shape=tf.TensorShape([None])))",
    "no initial value": "scoped(lambda: tf.Variable(None))",
    "per-replica initial value": "var(per(1., 2., 3.))",
    "mirrored initial value": "var(var(3.))",
    "on-read initial value": "(lambda r: then(s.run(lambda: r.assign(rid() + 1)), [var(r), on_read('SUM', r), on_read('MEAN', r)]))(on_read('SUM', 6.))",
    "v1 variable": _v1(f"scoped(lambda: {_V1}.Variable(1.))"),
    "v1 get_variable": _v1(f"scoped(lambda: {_V1}.get_variable('a', initializer=1.))"),
    "v1 get_variable in run": f"s.run(lambda: {_V1}.get_variable('a', initializer=1.))",
    "v1 partitioner": (
        f"scoped(lambda: {_V1}.get_variable('a', [4], initializer={_V1}.ones_initializer(), "
        f"partitioner={_V1}.fixed_size_partitioner(2)))"
    ),
    "v1 local variable": _v1(f"scoped(lambda: {_V1}.Variable(1., collections=[{_V1}.GraphKeys.LOCAL_VARIABLES]))"),
    "float assigned": "(lambda w: then(w.assign(2), w))(var(1.))",
    "python number added": "(lambda w: then(w.assign_add(2), w))(var(1))",
    "real added to whole": "(lambda w: then(w.assign_add(2.5), w))(var(1))",
    "mean of whole": f"(lambda w: then(s.run(lambda: w.assign_add(rid('int32'))), w))(var(1, aggregation={_AGG}.MEAN))",
    "sum of whole": f"(lambda w: then(s.run(lambda: w.assign_add(rid('int32'))), w))(var(1, aggregation={_AGG}.SUM))",
    "on-read mean of whole": "(lambda w: then(s.run(lambda: w.assign_add(rid('int32'))), w.read_value()))(on_read('MEAN', 1))",
    "on-read sum of whole": "(lambda w: then(s.run(lambda: w.assign_add(rid('int32'))), w.read_value()))(on_read('SUM', 1))",
    "on-read sum assigned a whole": "(lambda w: then(w.assign(7), w, [c.numpy() for c in s.experimental_local_results(w)]))(on_read('SUM', 1))",
    "sum of truths": f"(lambda w: then(s.run(lambda: w.assign(rid() > 0)), w))(var(True, aggregation={_AGG}.SUM))",
    "sum of a python number": f"(lambda w: then(s.run(lambda: w.assign_add(1.)), w))(var(1., aggregation={_AGG}.SUM))",
    "mean of a python number": f"(lambda w: then(s.run(lambda: w.assign_add(1.)), w))(var(1., aggregation={_AGG}.MEAN))",
    "sum of zero": f"(lambda w: then(s.run(lambda: w.assign(0.)), w))(var(1., aggregation={_AGG}.SUM))",
    "sum of a variable": f"(lambda w, o: then(s.run(lambda: w.assign(o)), w))(var(1., aggregation={_AGG}.SUM), var(3.))",
    "assign in a function in scope": "(lambda w: then(scoped(lambda: function(lambda: w.assign(4.))), w))(var(1.))",
    "assign in cond": "(lambda w: then(function(lambda: s.run(lambda: tf.cond(rid() > 0, lambda: w.assign(4.), lambda: w.assign(3.)))), w))(var(1.))",
    "assign in cond, aggregated": f"(lambda w: then(function(lambda: s.run(lambda: tf.cond(rid() > 0, lambda: w.assign(4.), lambda: w.assign(3.)))), w))(var(1., aggregation={_AGG}.SUM))",
    "on-read assign in cond": "(lambda w: then(function(lambda: s.run(lambda: tf.cond(rid() > 0, lambda: w.assign(4.), lambda: w.assign(3.)))), w.read_value()))(on_read('SUM', 1.))",
}


def _restored(make, after):
    """A variable's copies after saving, another write, and restoring."""

    def run(v):
        import tempfile

        tf, s = v["tf"], v["s"]
        w = eval(make, v)
        s.run(lambda: w.assign(v["rid"]() + 1.0))
        with tempfile.TemporaryDirectory() as folder:
            path = tf.train.Checkpoint(w=w).save(f"{folder}/c")
            saved = tf.train.load_variable(path, "w/.ATTRIBUTES/VARIABLE_VALUE")
            s.run(lambda: w.assign(v["rid"]() + 9.0))
            other = eval(after, v)
            tf.train.Checkpoint(w=other).restore(path)
        return {"saved": saved, "copies": [c.read_value() for c in s.experimental_local_results(other)]}

    return run


for _first in list(KINDS)[2:8]:
    for _then in list(KINDS)[2:8]:
        CREATION[f"saved {_first}, restored {_then}"] = _restored(KINDS[_first], KINDS[_then])

# ON_WRITE is what AUTO is.
VARIABLES = {
    "variables, AUTO, m2": ("m2", _matrix("AUTO")),
    "variables, ON_READ, m2": ("m2", _matrix("ON_READ")),
    "variables, AUTO, one": ("one", _matrix("AUTO", ("replica", "cross"))),
    "variables, ON_READ, one": ("one", _matrix("ON_READ", ("replica", "cross"))),
    **{f"attributes, {kind}": (kind, {name: _attributes(KINDS[name]) for name in TOLD}) for kind in ("m2", "one")},
    **{f"creation, {kind}": (kind, CREATION) for kind in ("m2", "one", "default")},
}
