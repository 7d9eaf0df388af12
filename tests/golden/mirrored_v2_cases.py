"""Cases of tf.distribute.MirroredStrategy of 2.x whose Python differs by replica, and whole training loops.

What single members do is in the distribute_*_cases. A case is a function of a ``World`` that returns plain facts.
"""

import inspect
import json
import re

import numpy as np

from tests.golden.mirrored_cases import numbers

REPLICAS = {
    "ids": [1, 2, 4], "reductions": [1, 2, 3], "training": [1, 2, 4], "uneven_batches": [2, 3], "variables": [2],
}  # fmt: skip


class World:
    def __init__(self, tf, n, ops=None):
        self.tf, self.n, self.np, self.log = tf, n, np, []
        self.s = tf.distribute.MirroredStrategy(
            [f"CPU:{i}" for i in range(n)], tf.distribute.ReductionToOneDevice() if ops is None else ops
        )

    def context(self):
        return self.tf.distribute.get_replica_context()

    def k(self):
        """The replica's number as Python sees it."""
        return int(self.tf.get_static_value(self.context().replica_id_in_sync_group))

    def merge(self, fn, *args, **kwargs):
        return self.context().merge_call(fn, args, kwargs)

    def variable(self, value=1.0, aggregation="NONE", synchronization="AUTO", **kwargs):
        with self.s.scope():
            return self.tf.Variable(
                value, aggregation=getattr(self.tf.VariableAggregation, aggregation),
                synchronization=getattr(self.tf.VariableSynchronization, synchronization), **kwargs,
            )  # fmt: skip

    def parts(self, value):
        return [numbers(v) for v in self.s.experimental_local_results(value)]

    def both(self, fn, *args):
        """What a replica function returns eagerly and in a function, and the order of its calls."""
        found = {}
        self.log = []
        found["eager"] = self.attempt(lambda: told(self.s.run(fn, args), self.s))
        found["eager log"], self.log = self.log, []
        run = self.tf.function(lambda *a: self.s.run(fn, a), autograph=False)
        found["function"] = self.attempt(lambda: told(run(*args), self.s))
        found["function log"] = self.log
        return found

    def attempt(self, fn):
        return outcome(fn)

    def told(self, value):
        return told(value, self.s)


def told(value, s):
    if value is None or isinstance(value, (bool, int, str, float)):
        return numbers(value)
    if isinstance(value, dict):
        return {str(k): told(v, s) for k, v in sorted(value.items(), key=str)}
    if isinstance(value, (list, tuple)):
        return [told(v, s) for v in value]
    kind = type(value).__name__
    if kind == "PerReplica":
        return {kind: [told(v, s) for v in value.values]}
    if kind == "IndexedSlices":
        return {kind: [told(value.values, s), told(value.indices, s)]}
    if "Variable" in kind:
        return ["variable"] + numbers(s.experimental_local_results(value.read_value()))
    return numbers(value) if hasattr(value, "numpy") else {"object": kind}


def said(error):
    text = re.sub(r"0x[0-9a-f]+", "0x", str(error))
    return re.sub(r'File "[^"]*/([^"/]*)", line \d+', r'File "\1"', text)[:160]


def outcome(make):
    try:
        return json.loads(json.dumps(make()))
    except Exception as error:
        return {"error": type(error).__name__, "message": said(error)}


def collected():
    """The cases by name: the function and the numbers of replicas."""
    helpers = ["collected", "numbers", "outcome", "said", "told"]
    public = [(n, f) for n, f in globals().items() if inspect.isfunction(f) and n[0] != "_" and n not in helpers]
    return {name: (f, REPLICAS.get(name, [2])) for name, f in public}


def ids(w):
    """What the replica's number is, and what Python makes of it."""
    tf = w.tf

    def fn():
        i = w.context().replica_id_in_sync_group
        w.log.append([type(i).__name__ in ("EagerTensor", "SymbolicTensor", "Tensor"), i.dtype.name, w.k()])
        return i, w.k(), [10, 20, 30, 40][w.k()], {0: "zero"}.get(w.k(), "more"), tf.cast(i, tf.float32) * 2.0

    def compared():
        i = w.context().replica_id_in_sync_group
        return bool(i == 0) if tf.executing_eagerly() else tf.where(i == 0, 1.0, 2.0)

    def indexed():
        return [5, 6, 7, 8][w.context().replica_id_in_sync_group]

    return {"ids": w.both(fn), "compared": w.both(compared), "indexed": w.both(indexed)}


def branches(w):
    tf = w.tf

    def fn(x):
        k = w.k()
        if k == 0:
            w.log.append("first")
            return tf.square(x), tf.ones([k + 1])
        return tf.tanh(x) + k, tf.ones([k + 1])

    def graph(x):
        return tf.cond(w.context().replica_id_in_sync_group == 0, lambda: x * 2.0, lambda: x - 1.0)

    return {"python": w.both(fn, tf.constant(3.0)), "graph": w.both(graph, tf.constant(3.0))}


def structures(w):
    tf = w.tf
    shared = tf.constant(1.0)

    def fn():
        k = w.k()
        return {"a": [tf.constant(1.0 + k), (k, "same")], "none": None, "text": f"{k}", "shared": shared}

    def lengths():
        return [0] * (w.k() + 1)

    def keys():
        return {str(w.k()): 1}

    return {"all": w.both(fn), "lengths": w.both(lengths), "keys": w.both(keys)}


def order_of_calls(w):
    def fn():
        for step in range(2):
            w.log.append(f"{step} replica {w.k()}")
            w.merge(lambda s: w.log.append("merge"))
        w.log.append(f"end {w.k()}")
        return w.k()

    return w.both(fn)


def merge_calls(w):
    tf = w.tf

    def reduce(s, x):
        w.log.append(type(x).__name__)
        return s.reduce("SUM", x, axis=None)

    def to(s, x):
        return s.extended.reduce_to("MEAN", x, x)

    def fn():
        x = tf.constant(1.0 + w.k())
        return (
            w.merge(reduce, x), w.merge(to, x), w.merge(lambda s, x: s.experimental_local_results(x), x),
            w.merge(lambda s, x, y: {"x": x, "y": y}, [x], y=w.k()), w.merge(lambda s: None),
            w.merge(lambda s, x: s.run(lambda x: x * (w.k() + 1.0), (x,)), x),
        )  # fmt: skip

    def unequal():
        return w.merge(lambda s: None) if w.k() == 0 else None

    def failing():
        if w.k() == 1:
            raise KeyError("replica 1")
        return w.merge(lambda s: w.log.append("merge"))

    def in_merge():
        def merge_fn(s):
            raise ZeroDivisionError("in merge")

        return w.merge(merge_fn)

    return {
        "all": w.both(fn), "unequal": w.both(unequal), "failing": w.both(failing), "in merge": w.both(in_merge),
        "afterwards": w.both(lambda: w.k()),
    }  # fmt: skip


def merge_calls_in_control_flow(w):
    tf = w.tf

    def total(s, x):
        return s.reduce("SUM", x, axis=None)

    def in_cond():
        return tf.cond(tf.constant(True), lambda: w.merge(total, tf.constant(1.0)), lambda: 0.0)

    def in_while():
        return tf.while_loop(lambda i: i < 2.0, lambda i: [w.merge(total, i + 1.0)], [tf.constant(0.0)])

    def reduce_in_while():
        add = lambda i: [w.context().all_reduce("SUM", i + 1.0)]  # noqa: E731
        return tf.while_loop(lambda i: i < 5.0, add, [tf.constant(0.0)])

    inner = tf.function(lambda x: w.merge(total, x), autograph=False)

    def in_function():
        return inner(tf.constant(1.0 + w.k()))

    return {
        "cond": w.both(in_cond), "while": w.both(in_while), "all_reduce in while": w.both(reduce_in_while),
        "function": w.both(in_function),
    }  # fmt: skip


def names(w):
    """Names of operations and variables that replicas make."""
    tf = w.tf
    found = {}

    @tf.function(autograph=False)
    def f():
        def fn():
            x = tf.constant(1.0, name="x")
            with tf.name_scope("part"):
                y = tf.add(x, 1.0, name="y")
            w.log.append([x.name, y.name])
            return y

        return w.s.run(fn)

    f()
    v = w.variable(1.0, name="v")
    found["components"] = [c.name for c in w.s.experimental_local_results(v)]
    found["name"] = v.name

    def made():
        if not w.kept[w.k()]:
            w.kept[w.k()].append(tf.Variable(2.0 + w.k(), name="in_run"))
        return w.kept[w.k()][0]

    w.kept = [[] for _ in range(w.n)]
    made_in_run = w.s.run(made)
    found["in run"] = [type(made_in_run).__name__, made_in_run.name, w.parts(made_in_run)]
    return {**found, "log": w.log}


def reductions(w):
    tf = w.tf
    found = {}
    for axis in [None, 0, 1, (0, 1), -1, 2]:
        for op in ["SUM", "MEAN"]:

            def make(op=op, axis=axis):
                per = w.s.run(lambda: tf.ones([w.k() + 1 if axis == 0 else 2, 2]) * (w.k() + 1.0))
                return w.told(w.s.reduce(op, per, axis=axis))

            found[f"{op} {axis}"] = w.attempt(make)
    for op in ["MAX", None, 3]:
        found[f"{op}"] = w.attempt(lambda op=op: w.told(w.s.reduce(op, tf.constant(1.0), axis=None)))
    for name, value in [("number", 2.0), ("tensor", tf.constant(2.0)), ("zero", 0)]:
        found[name] = w.attempt(lambda value=value: w.told(w.s.reduce("SUM", value, axis=None)))
    found["gather"] = w.attempt(lambda: w.told(w.s.gather(w.s.run(lambda: tf.fill([w.k() + 1, 1], w.k())), axis=0)))
    return found


def all_reduces(w):
    tf = w.tf

    def fn():
        x = tf.constant([1.0 + w.k(), 2.0])
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = w.context().all_reduce("SUM", x * x)
            z = w.context().all_reduce("MEAN", {"a": x, "b": [x * 2.0]})
            loss = tf.reduce_sum(y * x) * (w.k() + 1.0)
        return y, z, tape.gradient(loss, x), tape.gradient(z["a"], x)

    def gathered():
        x = tf.constant([[1.0 + w.k()]])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = w.context().all_gather(x * x, axis=0)
            loss = tf.reduce_sum(y) * (w.k() + 1.0)
        return y, tape.gradient(loss, x)

    def rows():
        return w.context().all_reduce(
            "SUM", tf.IndexedSlices(tf.ones([1, 2]), tf.constant([w.k()]), tf.constant([2, 2]))
        )

    return {"reduce": w.both(fn), "gather": w.both(gathered), "rows": w.both(rows)}


def variables(w):
    """Every synchronization and aggregation, assigned in replicas and outside."""
    tf = w.tf
    found = {}
    for synchronization in ["AUTO", "ON_WRITE", "ON_READ", "NONE"]:
        for aggregation in ["NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA"]:

            def make(synchronization=synchronization, aggregation=aggregation):
                v = w.variable(1.0, aggregation, synchronization)

                def fn():
                    v.assign_add(tf.constant(2.0 + w.k()))
                    return v.read_value() * 10.0

                eager = w.told(w.s.run(fn))
                after = [w.parts(v), numbers(v.read_value())]
                inside = w.told(tf.function(lambda: w.s.run(fn), autograph=False)())
                more = [w.parts(v), numbers(v.read_value())]
                outside = w.attempt(lambda: numbers(v.assign(8.0)))
                return [type(v).__name__, v.trainable, eager, after, inside, more, outside, w.parts(v)]

            found[f"{synchronization} {aggregation}"] = w.attempt(make)
    v, numbers_of = w.variable(1.0, "SUM"), w.variable(1.0, "MEAN")
    found["numbers"] = w.attempt(lambda: w.told(w.s.run(lambda: v.assign_add(2.0 + w.k()))))
    found["a number"] = w.attempt(lambda: w.told(w.s.run(lambda: numbers_of.assign_add(2.0))))
    return found


def training(w):
    """A loop of one's own, with optimizers of Keras and of 1.x, and gradients that are looked at."""
    tf, np = w.tf, w.np
    x = np.sin(np.arange(24, dtype=np.float32)).reshape([12, 2])
    y = np.cos(np.arange(12, dtype=np.float32)).reshape([12, 1])

    def run(make, apply):
        def trained():
            with w.s.scope():
                kernel = tf.Variable([[0.5], [-0.5]], name="kernel")
                bias = tf.Variable([0.0], name="bias")
                optimizer = make()

            def step(inputs, labels):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean((inputs @ kernel + bias - labels) ** 2)
                found = tape.gradient(loss, [kernel, bias])
                apply(optimizer, list(zip(found, [kernel, bias], strict=True)))
                return loss

            data = tf.data.Dataset.from_tensor_slices((x, y)).batch(4)
            losses = []
            together = tf.function(lambda *a: w.s.run(step, a), autograph=False)
            for inputs, labels in w.s.experimental_distribute_dataset(data):
                losses.append(w.told(together(inputs, labels)))
            return [losses, w.parts(kernel), w.parts(bias)]

        return w.attempt(trained)

    v1 = tf.compat.v1.train
    keras = lambda optimizer, pairs: optimizer.apply_gradients(pairs)  # noqa: E731
    return {
        "sgd": run(lambda: v1.GradientDescentOptimizer(0.1), keras),
        "momentum": run(lambda: v1.MomentumOptimizer(0.1, 0.9), keras),
        "adam": run(lambda: v1.AdamOptimizer(0.1), keras),
        "keras sgd": run(lambda: tf.keras.optimizers.SGD(0.1, momentum=0.9), keras),
        "keras adam": run(lambda: tf.keras.optimizers.Adam(0.1), keras),
        "keras legacy": run(lambda: tf.keras.optimizers.legacy.Adam(0.1), keras),
        "by hand": run(lambda: None, lambda _, pairs: [v.assign_sub(0.1 * g) for g, v in pairs]),
        "reduced by hand": run(
            lambda: None,
            lambda _, pairs: [v.assign_sub(0.1 * w.context().all_reduce("MEAN", g)) for g, v in pairs],
        ),
    }


def uneven_batches(w):
    tf = w.tf
    found = {}
    for total, batch in [(7, 4), (5, 4), (6, 4), (2, 4)]:
        data = tf.data.Dataset.range(total).map(lambda x: tf.cast(x, tf.float32)).batch(batch)
        steps = []
        for part in w.s.experimental_distribute_dataset(data):
            steps.append(
                [
                    w.parts(part), numbers(w.s.reduce("SUM", w.s.run(lambda x: x * (w.k() + 1.0), (part,)), axis=0)),
                    numbers(w.s.reduce("MEAN", part, axis=0)), numbers(w.s.gather(part, axis=0)),
                ],
            )  # fmt: skip
        found[f"{total} by {batch}"] = steps
    return found


def datasets_from_functions(w):
    tf = w.tf

    def make(context):
        w.log.append([context.num_input_pipelines, context.input_pipeline_id, context.num_replicas_in_sync])
        w.log.append(context.get_per_replica_batch_size(4))
        return tf.data.Dataset.range(5).batch(2)

    data = w.s.distribute_datasets_from_function(make)
    found = [w.parts(x) for x in data]
    iterator = iter(data)
    first = w.parts(next(iterator))
    optional = iterator.get_next_as_optional()
    return {"steps": found, "log": w.log, "first": first, "optional": bool(optional.has_value())}


def values_from_functions(w):
    tf = w.tf

    def make(context):
        return tf.constant(10.0 * context.replica_id_in_sync_group)

    value = w.s.experimental_distribute_values_from_function(make)
    return {"told": w.told(value), "run": w.both(lambda x: x + 1.0, value)}


def random_numbers(w):
    """Which random numbers replicas share."""
    tf = w.tf
    found = {}

    def same(fn):
        parts = w.parts(w.s.run(fn))
        return parts[0] == parts[1]

    tf.random.set_seed(1)
    found["uniform"] = same(lambda: tf.random.uniform([]))
    found["seed"] = same(lambda: tf.random.uniform([], seed=1))
    found["stateless"] = same(lambda: tf.random.stateless_uniform([], [1, 2]))
    with w.s.scope():
        generator = tf.random.Generator.from_seed(1)
    found["generator"] = same(lambda: generator.uniform([]))
    return found


def metrics(w):
    tf = w.tf
    with w.s.scope():
        mean = tf.keras.metrics.Mean()

    def fn():
        mean.update_state([1.0, 2.0, 3.0][: w.k() + 1])

    w.s.run(fn)
    eager = numbers(mean.result())
    tf.function(lambda: w.s.run(fn), autograph=False)()
    return [
        eager, numbers(mean.result()), [type(v).__name__ for v in mean.variables], [w.parts(v) for v in mean.variables],
    ]  # fmt: skip


def batch_normalization(w):
    tf = w.tf
    with w.s.scope():
        layer = tf.keras.layers.BatchNormalization(momentum=0.5)

    def fn():
        x = tf.reshape(tf.range(4.0), [2, 2]) * (w.k() + 1.0)
        return tf.reduce_sum(layer(x, training=True) ** 2)

    losses = w.told(w.s.run(fn))
    return [losses, [[v.name, w.parts(v), numbers(v.read_value())] for v in layer.variables]]


def refused(w):
    """What MirroredStrategy does not have, and misuse."""
    tf = w.tf
    s = w.s
    v = w.variable(1.0, "MEAN")
    other = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

    def mixed():
        with s.scope(), other.scope():
            return 1

    return {
        "logical device": w.attempt(lambda: s.experimental_assign_to_logical_device(tf.constant(1.0), 0)),
        "split": w.attempt(lambda: s.experimental_split_to_logical_devices(tf.constant([1.0]), [1])),
        "mixed": w.attempt(mixed),
        "args": w.attempt(lambda: s.run(lambda x: x, 3)),
        "not a function": w.attempt(lambda: s.run(3)),
        "merge_call in scope": w.attempt(lambda: w.context().merge_call(lambda s: 1)),
        "reduce in run": w.attempt(lambda: s.run(lambda: s.reduce("SUM", 1.0, axis=None))),
        "made in function": w.attempt(lambda: tf.function(lambda: s.run(lambda: tf.Variable(1.0)))().name),
        "variable of another": w.attempt(lambda: w.told(other.run(lambda: v + 1.0))),
        "devices": w.attempt(lambda: tf.distribute.MirroredStrategy([]).num_replicas_in_sync),
        "unknown device": w.attempt(lambda: tf.distribute.MirroredStrategy(["CPU:0", "CPU:77"]).num_replicas_in_sync),
        "repeated": w.attempt(lambda: tf.distribute.MirroredStrategy(["CPU:0", "CPU:0"]).num_replicas_in_sync),
        "text": w.attempt(lambda: tf.distribute.MirroredStrategy("CPU:0").num_replicas_in_sync),
        "operations": w.attempt(lambda: tf.distribute.MirroredStrategy(["CPU:0"], cross_device_ops=3)),
        "seed": w.attempt(lambda: s.run(lambda: float(v.assign(tf.constant([1.0, 2.0]))))),
    }


def properties(w):
    tf, e = w.tf, w.s.extended
    return {
        "replicas": w.s.num_replicas_in_sync, "worker devices": list(e.worker_devices),
        "parameter devices": list(e.parameter_devices),
        "between graph": w.attempt(lambda: e.experimental_between_graph),
        "checkpoint": w.attempt(lambda: e.should_checkpoint), "summary": w.attempt(lambda: e.should_save_summary),
        "init": w.attempt(lambda: e.experimental_should_init), "resolver": w.attempt(lambda: w.s.cluster_resolver),
        "non slot": w.attempt(lambda: list(e.non_slot_devices([]))),
        "static": tf.get_static_value(tf.constant(w.n)).item(),
        "context": w.told(w.s.run(lambda: [w.context().num_replicas_in_sync, list(w.context().devices)])),
        "strategy": w.told(w.s.run(lambda: w.context().strategy is w.s)),
    }  # fmt: skip


def saving(w):
    """Checkpoints of objects, restored on another number of replicas."""
    import tempfile

    tf = w.tf
    v, r = w.variable(1.0), w.variable(2.0, "SUM", "ON_READ")
    w.s.run(lambda: r.assign_add(1.0 + w.k()))
    with tempfile.TemporaryDirectory() as folder:
        path = tf.train.Checkpoint(v=v, r=r).save(folder + "/c")
        one = World(tf, 1)
        a, b = one.variable(0.0), one.variable(0.0, "SUM", "ON_READ")
        tf.train.Checkpoint(v=a, r=b).restore(path)
        v.assign(9.0)
        tf.train.Checkpoint(v=v, r=r).restore(path)
        return [numbers(a.read_value()), numbers(b.read_value()), w.parts(v), w.parts(r)]
