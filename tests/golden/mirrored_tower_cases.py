# ruff: noqa: B023, UP031 (a function is called where it is made; zip has no strict in Python 3.6)
"""Cases of MirroredStrategy: Python that differs by tower, names, variables, scopes, devices, seeds, creators."""

import collections

Pair = collections.namedtuple("Pair", ["first", "second"])
NAMED = True
TOWERS = {
    "ids": [1, 2, 4], "lists": [2, 4], "branches": [2, 3], "structures": [1, 2], "collections_in_towers": [1, 3],
    "names_of_operations": [1, 3], "devices": [2, 3], "properties": [1, 2, 4],
}  # fmt: skip


def ids(w):
    def tower():
        k = w.context().tower_id
        w.log.append([k, type(k).__name__, k == 0, k + 1, [10, 20, 30, 40][k], "%d" % k, isinstance(k, int)])
        return k

    return {"returned": w.told(w.towers(tower)), "log": w.log}


def lists(w):
    table = {0: "zero", 1: "one"}

    def tower(x):
        k = w.k()
        w.log.append(table.get(k, "more"))
        y = x * [1.0, 10.0, 100.0, 1000.0][k]
        return y + {0: 0.5}.get(k, 0.25), w.tf.reduce_sum([y] * (k + 1)), [0] * k if w.n == 1 else k

    y, z, _ = w.towers(tower, 3.0)
    return {"y": w.told(y), "z": w.run(z), "log": w.log}


def branches(w):
    tf = w.tf

    def tower(x):
        k = w.k()
        if k == 0:
            x = tf.square(x)
            w.log.append("square")
        other = tf.fill([k + 1], x)
        if k == 1:
            return tf.tanh(x), tf.reduce_sum(other), other, tf.constant(1)
        return x * 2.0, tf.reduce_prod(other), other, tf.constant(k)

    found = w.towers(tower, tf.constant(3.0))
    shapes = [[t.shape.as_list() for t in w.d.unwrap(found[2])]]
    return {"told": w.told(found), "values": w.run(found), "shapes": shapes, "log": w.log}


def types_that_differ(w):
    tf = w.tf

    def tower():
        return tf.constant(1.5) if w.k() == 0 else tf.constant(7), tf.constant("a" if w.k() else "b")

    found = w.towers(tower)
    return {"told": w.told(found), "values": w.run(found)}


def counters(w):
    count = [0]

    def merge_fn(d, x):
        count[0] += 100
        w.log.append("merge %d" % count[0])
        return x

    def tower():
        count[0] += 1
        first = count[0]
        w.log.append("before %d" % w.k())
        w.merge(merge_fn, first)
        count[0] += 1
        w.log.append("after %d" % w.k())
        return first, count[0]

    return {"returned": w.told(w.towers(tower)), "log": w.log, "count": count[0]}


def order_of_calls(w):
    def tower(name):
        for step in range(3):
            w.log.append("%s%d tower %d" % (name, step, w.k()))
            w.merge(lambda d: w.log.append("%s%d merge" % (name, step)))
        w.log.append("%s end %d" % (name, w.k()))

    w.towers(tower, "a")
    w.log.append("between")
    w.towers(tower, "b")
    return w.log


def whose_merge_function(w):
    """Each tower makes its own function; which one is called, and with what."""

    def tower():
        k = w.k()

        def merge_fn(d, x, more=None):
            w.log.append(["called of", k, w.told(x), w.told(more)])
            return k

        return w.merge(merge_fn, k * 10, more=k + 0.5)

    return {"returned": w.told(w.towers(tower)), "log": w.log}


def structures(w):
    tf = w.tf

    def tower():
        k, t = w.k(), tf.constant(1.0)
        return {"a": [t, (t, k)], "pair": Pair(t, {"x": k}), "text": "same", "none": None, "float": 0.5 * k, "b": b""}

    found = w.towers(tower)
    return {
        "told": w.told(found),
        "types": [type(found["a"]).__name__, type(found["a"][1]).__name__, type(found["pair"]).__name__],
        "lengths": w.refused(lambda: [0] * (w.k() + 1)), "keys": w.refused(lambda: {str(w.k()): 1}),
        "list and tuple": w.refused(lambda: [1] if w.k() else (1,)),
        "none and tensor": w.refused(lambda: None if w.k() else tf.constant(1.0)),
        "text": w.refused(lambda: "a%d" % w.k()), "same text": w.refused(lambda: "a"),
        "same number": w.refused(lambda: 7), "equal tensors": w.refused(lambda: tf.constant(2.0)),
        "an operation": w.refused(lambda: tf.no_op(name="nothing")), "empty": w.refused(lambda: []),
        "function": w.refused(lambda: structures),
    }  # fmt: skip


def arguments(w):
    tf = w.tf
    per, outside = w.per([1.0, 2.0]), tf.constant(5.0)
    with w.d.scope():
        mirrored = w.d.broadcast(tf.constant(3.0), w.d.worker_devices)

    def tower(*args, **kwargs):
        w.log.append([w.told(list(args)), w.told(kwargs)])
        return args[0] + args[1] + args[3]["x"]

    found = w.towers(tower, per, mirrored, [1, per], {"x": per}, outside, key=per, other="text")
    return {"values": w.run(found), "log": w.log}


def names_of_operations(w):
    tf = w.tf

    def tower(x):
        y = tf.add(x, 1.0, name="y")
        with tf.name_scope("part"):
            z = y * 2.0
            again = tf.add(y, z, name="y")
        w.log.append([y.name, z.name, again.name, tf.get_default_graph().get_name_scope()])
        return again

    first = w.towers(tower, tf.constant(1.0))
    with tf.name_scope("outer"):
        second = w.towers(tower, tf.constant(1.0))
    with w.d.scope(), tf.name_scope("inner"):
        third = w.d.call_for_each_tower(tower, tf.constant(1.0))
    fourth = w.towers(tower, tf.constant(1.0))
    found = [first, second, third, fourth]
    return {"told": w.told(found), "log": w.log, "operations": w.operations(), "values": w.run(found)}


def names_in_merge_calls(w):
    tf = w.tf

    def merge_fn(d, x):
        w.log.append(tf.get_default_graph().get_name_scope())
        return tf.add_n(d.unwrap(x), name="total")

    def tower(x):
        y = tf.add(x, float(w.k()), name="y")
        with tf.name_scope("scope%d" % w.k()):
            total = w.merge(merge_fn, y)
            after = tf.identity(total, name="after")
        w.log.append([total.name, after.name])
        return after, w.merge(merge_fn, after)

    found = w.towers(tower, tf.constant(1.0))
    return {"told": w.told(found), "log": w.log, "values": w.run(found), "operations": w.operations()}


def names_of_variables(w):
    tf = w.tf

    def tower():
        v = w.variable("v", 1.0)
        with tf.variable_scope("scope"):
            u = w.variable("u", 2.0)
        with tf.name_scope("names"):
            z = w.variable("z", 3.0)
        x = tf.Variable(4.0, name="x")
        return v, u, z, x

    found = w.towers(tower)
    components = [w.named(w.d.unwrap(v)) for v in found]
    devices = [[c.device for c in w.d.unwrap(v)] for v in found]
    ops = [v.op.name for v in found]
    return {
        "components": components, "devices": devices, "operations": ops, "collections": w.collections(),
        "containers": [w.d.value_container(w.d.unwrap(v)[1]) is v for v in found],
        "values": w.run([w.d.unwrap(v) for v in found]), "kinds": [type(c).__name__ for c in w.d.unwrap(found[0])],
        "text": str(found[0])[:60],
        "shape and type": [found[0].shape.as_list(), found[0].dtype.name, found[0].get_shape().as_list()],
    }  # fmt: skip


def variables_in_scope(w):
    """Variables that are made in the strategy's scope, outside of towers."""
    tf = w.tf
    with w.d.scope():
        v = w.variable("v", 1.0)
        x = tf.Variable(2.0, name="x")
        plain = tf.Variable([1.0, 2.0], trainable=False, name="plain")
        again = tf.Variable(2.0, name="x")
    outside = tf.get_variable("outside", initializer=5.0)

    def tower():
        w.log.append([type(v).__name__, tf.get_variable_scope().reuse in (True, tf.AUTO_REUSE)])
        return v + x + tf.reduce_sum(plain) + outside

    found = w.towers(tower)
    return {
        "collections": w.collections(), "names": [w.named(w.d.unwrap(y)) for y in [v, x, plain, again, outside]],
        "kinds": [type(y).__name__ for y in [v, x, plain, again, outside]], "values": w.run(found), "log": w.log,
    }  # fmt: skip


def initial_values_that_differ(w):
    """The first tower's initial value is every component's."""
    tf = w.tf

    def tower():
        v = w.variable("v", 1.0 + w.k())
        x = tf.Variable(lambda: 10.0 + w.k(), name="x") if w.n else None
        r = tf.get_variable("r", [2], initializer=tf.random_uniform_initializer())
        return v, x, r

    v, x, r = w.towers(tower)
    copies = w.run(w.d.unwrap(r))
    return {"v": w.copies(v), "x": w.copies(x), "equal": all(c == copies[0] for c in copies)}


def reuse(w):
    tf = w.tf

    def tower():
        first = tf.get_variable("v", [])
        w.log.append([tf.get_variable_scope().reuse is True, tf.get_variable_scope().name])
        with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
            a = tf.get_variable("a", [])
        with tf.variable_scope("s", reuse=True):
            b = tf.get_variable("a", [])
        return first, a, a is b

    found = w.towers(tower)

    def missing():
        return tf.get_variable("v%d" % w.k(), [])

    def twice():
        return tf.get_variable("w", []), tf.get_variable("w", [])

    def second_only():
        return tf.get_variable("only", []) if w.k() else None

    return {
        "told": w.told(found), "again": w.refused(tower), "by tower": w.refused(missing), "twice": w.refused(twice),
        "in the second tower": w.refused(second_only), "log": w.log, "collections": w.collections(),
    }  # fmt: skip


def reuse_of_two_calls(w):
    tf = w.tf

    def tower():
        with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
            return tf.get_variable("a", [], initializer=tf.zeros_initializer())

    first, second = w.towers(tower), w.towers(tower)
    with w.d.scope(), tf.variable_scope("s", reuse=True):
        third = tf.get_variable("a", [])
    with w.d.scope(), tf.variable_scope("around"):
        fourth = w.d.call_for_each_tower(lambda: tf.get_variable("b", []))
    return [first is second, first is third, w.told(fourth), w.collections()]


def variables_by_order(w):
    """Variables of tf.Variable are matched by the order in which towers make them."""
    tf = w.tf

    def tower():
        if w.k() == 0:
            return tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b")
        return tf.Variable(10.0, name="b"), tf.Variable(20.0, name="a")

    def more():
        made = [tf.Variable(float(i), name="m%d" % i) for i in range(1 + w.k())]
        return made[0]

    def fewer():
        made = [tf.Variable(float(i), name="f%d" % i) for i in range(2 - w.k())]
        return made[0]

    return {
        "crossed": w.refused(tower), "more": w.refused(more), "fewer": w.refused(fewer), "collections": w.collections(),
    }  # fmt: skip


def collections_in_towers(w):
    tf = w.tf

    def tower():
        v = w.variable("v", 1.0)
        u = tf.get_variable("u", initializer=1.0, collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False)
        m = tf.get_variable("m", initializer=1.0, collections=["mine", tf.GraphKeys.GLOBAL_VARIABLES])
        t = w.local("t", 1.0)
        w.log.append([w.named(tf.global_variables()), w.named(tf.trainable_variables()), w.named(tf.local_variables())])
        tf.add_to_collection("things", tf.constant(w.k(), name="thing"))
        w.log.append(len(tf.get_collection("things")))
        return v, u, m, t

    w.towers(tower)
    return {
        "log": w.log, "collections": w.collections(),
        "mine": [[type(v).__name__, v.name] for v in tf.get_collection("mine")],
        "things": w.named(tf.get_collection("things")), "initializer": w.run(tf.report_uninitialized_variables()),
    }  # fmt: skip


def layers(w):
    tf = w.tf

    def tower(x):
        x = tf.layers.dense(x, 2, kernel_initializer=tf.ones_initializer())
        x = tf.layers.dense(x, 2, kernel_initializer=tf.ones_initializer(), name="mine")
        x = tf.layers.dense(x, 2, kernel_initializer=tf.ones_initializer())
        w.log.append(x.name)
        return tf.reduce_sum(x) + w.k()

    first = w.towers(tower, tf.ones([1, 2]))
    names = w.named(tf.trainable_variables())
    return {
        "values": w.run(first), "variables": names, "log": w.log,
        "again": w.refused(lambda: tf.layers.dense(tf.ones([1, 2]), 2)), "collections": w.collections(),
        "operations": w.operations(["MatMul", "BiasAdd"]),
    }  # fmt: skip


def layer_objects(w):
    tf = w.tf
    with w.d.scope():
        outside = tf.layers.Dense(1, kernel_initializer=tf.ones_initializer())

    def tower(x):
        inside = tf.layers.Dense(1, kernel_initializer=tf.ones_initializer())
        y = inside(x) + outside(x)
        w.log.append([inside.name, outside.name, w.named(inside.variables)])
        return y

    found = w.towers(tower, tf.ones([1, 2]))
    return {
        "values": w.run(found), "log": w.log, "collections": w.collections(),
        "variables": [type(v).__name__ for v in outside.variables],
    }  # fmt: skip


def keras_layers(w):
    tf = w.tf

    def tower(x):
        y = tf.keras.layers.Dense(1, kernel_initializer="ones")(x)
        z = tf.keras.layers.Dense(1, kernel_initializer="ones", name="mine")(x)
        return y + z

    found = w.towers(tower, tf.ones([1, 2]))
    return {"values": w.run(found), "collections": w.collections()}


def devices(w):
    tf = w.tf

    def merge_fn(d, x):
        w.log.append(["merge", tf.constant(0).device])
        return tf.add_n(d.unwrap(x), name="sum").device

    def tower():
        k = w.k()
        v = w.variable("v", 1.0)
        with tf.device("/device:CPU:0"):
            fixed = tf.constant(1.0)
        with tf.device(None):
            none = tf.constant(1.0)
        x = tf.constant(float(k))
        w.log.append([k, w.context().device, x.device, fixed.device, none.device, (x + v).device, v.device])
        return w.merge(merge_fn, x)

    return {
        "returned": w.told(w.towers(tower)),
        "log": w.log,
        "variables": [c.device for v in tf.global_variables() for c in w.d.unwrap(v)],
    }


def seeds(w):
    """Which random values are equal, in towers and in operations."""
    tf = w.tf
    tf.set_random_seed(3)

    def tower():
        with_seed = tf.random_uniform([], seed=5)
        without = tf.random_uniform([])
        w.log.append(w.told(tf.get_seed(None)))
        return with_seed, without

    a, b = w.towers(tower)
    one, two = w.run([a, b]), w.run([a, b])
    return {
        "op seed equal": one[0][0] == one[0][1], "graph seed equal": one[1][0] == one[1][1],
        "next run differs": one[0] != two[0], "log": w.log,
    }  # fmt: skip


def seeds_of_variables(w):
    tf = w.tf
    tf.set_random_seed(3)

    def tower():
        return [tf.get_variable("v%d" % i, [2], initializer=tf.random_normal_initializer(seed=i)) for i in range(2)]

    found = w.towers(tower)
    copies = [w.copies(v) for v in found]
    return [[c[0] == c[1] for c in copies], copies[0][0] != copies[1][0]]


def dropout(w):
    tf = w.tf

    def tower():
        return tf.reduce_sum(tf.nn.dropout(tf.ones([64]), 0.5, seed=1))

    one = w.run(w.towers(tower))
    return one[0] == one[1]


def creators(w):
    tf = w.tf

    def creator(label):
        def create(next_creator, **kwargs):
            at = w.context()
            at = None if at is None else at.tower_id
            w.log.append([label, kwargs.get("name"), at, sorted(kwargs)])
            v = next_creator(**kwargs)
            w.log.append([label, "made", type(v).__name__, v.name])
            return v

        return create

    def tower():
        with tf.variable_creator_scope(creator("in tower")):
            return tf.get_variable("v", initializer=1.0)

    with tf.variable_creator_scope(creator("outside")), w.d.scope(), tf.variable_creator_scope(creator("inside")):
        found = w.d.call_for_each_tower(tower)
    return {"told": w.told(found), "log": w.log}


def creators_that_change(w):
    tf = w.tf

    def creator(next_creator, **kwargs):
        kwargs["name"] = "other"
        kwargs["trainable"] = False
        return next_creator(**kwargs)

    with w.d.scope(), tf.variable_creator_scope(creator):
        v = w.d.call_for_each_tower(lambda: tf.Variable(1.0, name="x"))
    return [w.told(v), w.named(w.d.unwrap(v)), w.collections()]


def custom_getters(w):
    tf = w.tf

    def getter(getter, name, *args, **kwargs):
        w.log.append(["getter", name, w.k()])
        return getter(name, *args, **kwargs) * 2.0

    def tower():
        with tf.variable_scope("s", custom_getter=getter):
            return tf.get_variable("v", initializer=1.0 + w.k())

    found = w.towers(tower)
    return {"told": w.told(found), "values": w.run(found), "log": w.log}


def partitioned(w):
    tf = w.tf

    def tower():
        with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(2)):
            return tf.identity(tf.get_variable("v", [4], initializer=tf.ones_initializer()))

    found = w.attempt(lambda: w.run(w.towers(tower)))
    return {"values": found, "collections": w.collections()}


def caught(w):
    """What towers raise: in which order, and what else was called."""
    tf = w.tf

    def raising(who, when):
        def tower():
            w.log.append("start %d" % w.k())
            if w.k() == who and when == "before":
                raise KeyError("tower %d" % who)
            try:
                w.merge(lambda d: w.log.append("merge"))
            except BaseException as error:
                w.log.append(f"freed {type(error).__name__}")
                raise
            if w.k() == who and when == "after":
                raise KeyError("tower %d" % who)
            w.log.append("end %d" % w.k())

        return tower

    def in_merge():
        def merge_fn(d):
            raise ZeroDivisionError("in merge")

        try:
            w.merge(merge_fn)
        finally:
            w.log.append("finally %d" % w.k())

    found = {}
    for who in range(2):
        for when in ["before", "after"]:
            w.log = []
            found["%s %d" % (when, who)] = [w.refused(raising(who, when)), _freed_last(w.log)]
    w.log = []
    found["in merge"] = [w.refused(in_merge), _freed_last(w.log)]
    found["afterwards"] = w.run(w.towers(lambda: tf.constant(1.0) + w.k()))
    found["contexts"] = [tf.contrib.distribute.has_distribution_strategy(), w.context() is not None]
    return found


def _freed_last(log):
    """A log with the towers that were freed at its end: they are freed at once."""
    freed = [line for line in log if line.startswith(("freed", "finally"))]
    return [line for line in log if line not in freed] + sorted(freed)


def unequal_merge_calls(w):
    def tower(times):
        for _ in range(times[w.k()]):
            w.merge(lambda d: w.log.append("merge"))
        w.log.append("end %d" % w.k())

    found = {}
    for times in [(1, 0), (0, 1), (2, 1), (1, 3)]:
        w.log = []
        found[str(times)] = [w.refused(tower, times), w.log]
    return found


def properties(w):
    d = w.d
    with d.scope():
        v = w.variable("v", 1.0)
        found = {
            "worker_devices": d.worker_devices, "parameter_devices": d.parameter_devices,
            "non_slot_devices": d.non_slot_devices([v]), "worker_device_index": w.told(d.worker_device_index),
            "another list": d.worker_devices is not d.worker_devices,
        }  # fmt: skip
    for name in ["num_towers", "is_single_tower", "between_graph", "should_init", "should_checkpoint"]:
        found[name] = w.attempt(lambda name=name: getattr(d, name))
    found["should_save_summary"] = w.attempt(lambda: d.should_save_summary)
    return found


def constructors(w):
    tf = w.tf
    mirrored = tf.contrib.distribute.MirroredStrategy

    def of(*args, **kwargs):
        return w.attempt(lambda: mirrored(*args, **kwargs).worker_devices)

    return {
        "none": of([]), "one": of(["/cpu:0"]), "text": of("/cpu:0"), "short": of(["/cpu:0", "/cpu:1"]),
        "upper": of(["CPU:0", "/device:CPU:1"]), "repeated": of(["/cpu:0", "/cpu:0"]),
        "both": of(devices=["/cpu:0"], num_gpus=1), "both numbers": of(num_gpus=1, num_gpus_per_worker=1),
        "no arguments": of(), "no gpus": of(num_gpus=0), "positional": of(["/cpu:0", "/cpu:1"], None),
        "job": of(["/job:localhost/replica:0/task:0/device:CPU:0", "/job:localhost/replica:0/task:0/device:CPU:1"]),
        "operations": of(devices=["/cpu:0"], cross_tower_ops=tf.contrib.distribute.AllReduceCrossTowerOps()),
        "cluster": of(devices=["/cpu:0"], prefetch_on_device=False, auto_shard_dataset=True),
    }  # fmt: skip


def contexts(w):
    tf = w.tf
    c = tf.contrib.distribute

    def where(label):
        tower = c.get_tower_context()
        cross = c.get_cross_tower_context()
        w.log.append(
            [
                label, c.has_distribution_strategy(), c.get_distribution_strategy() is w.d,
                None if tower is None else tower.tower_id, None if cross is None else cross is w.d,
            ],
        )  # fmt: skip

    def merge_fn(d):
        where("merge")
        d.update(v, lambda x: where("update"))
        with d.scope():
            where("scope in merge")

    def tower():
        where("tower")
        w.log.append([w.context().is_single_tower, w.context().num_towers, w.context().distribution_strategy is w.d])
        w.merge(merge_fn)
        where("tower again")

    where("outside")
    with w.d.scope():
        v = w.variable("v", 1.0)
        where("scope")
        w.d.call_for_each_tower(tower)
        where("scope again")
    where("outside again")
    return w.log


def misuse(w):
    tf = w.tf
    d, c = w.d, tf.contrib.distribute
    other = c.MirroredStrategy(devices=w.devices)
    with d.scope():
        v = w.variable("v", 1.0)

    def in_scope(fn):
        with d.scope():
            return w.attempt(fn)

    def mixed():
        with other.scope():
            return 1

    def again():
        with d.scope():
            return 1

    return {
        "each in tower": w.refused(lambda: d.call_for_each_tower(lambda: 1)),
        "reduce in tower": w.refused(lambda: d.reduce(w.how("SUM"), 1.0, w.devices)),
        "update in tower": w.refused(lambda: d.update(v, lambda x: x)),
        "unwrap in tower": w.refused(lambda: d.unwrap(v)),
        "broadcast in tower": w.refused(lambda: d.broadcast(tf.constant(1.0))), "scope in tower": w.refused(again),
        "mixed": in_scope(mixed), "again": in_scope(again), "mixed in tower": w.refused(mixed),
        "each without scope": w.attempt(lambda: d.call_for_each_tower(lambda: w.k())),
        "reduce without scope": w.attempt(lambda: d.reduce(w.how("SUM"), w.per([1.0, 2.0]), w.devices)),
        "merge_call outside": w.attempt(lambda: w.context().merge_call(lambda d: "made")),
        "tower context in scope": in_scope(w.context),
        "kept context": w.refused(lambda: w.context()) and in_scope(lambda: None), "not a function": w.refused(3),
        "too many arguments": w.refused(lambda: 1, 2), "variable of another": _variable_of_another(w, other),
    }  # fmt: skip


def _variable_of_another(w, other):
    with other.scope():
        v = w.variable("other", 1.0)
    return [w.refused(lambda: w.tf.identity(v)), w.attempt(lambda: w.towers(lambda: v.assign_add(1.0)))]


def control_dependencies(w):
    """Dependencies that are open outside of towers, in towers and around a merge_call."""
    tf = w.tf

    def tower():
        first = tf.constant(1.0, name="first")
        with tf.control_dependencies([first]):
            second = tf.constant(2.0, name="second")
            merged = w.merge(lambda d: tf.constant(3.0, name="merged"))
        return [second, merged, tf.identity(merged, name="after")]

    def inputs(found):
        return [[op.name for op in t.op.control_inputs] for part in found for t in w.d.unwrap(part)]

    plain = inputs(w.towers(tower))
    with tf.control_dependencies([tf.no_op(name="outside")]):
        return {"plain": plain, "around": inputs(w.towers(tower))}


def graph_state(w):
    """What is open outside of towers, and what they see of it."""
    tf = w.tf

    def tower():
        g = tf.get_default_graph()
        w.log.append([g is outside, g.get_name_scope(), tf.get_variable_scope().name, tf.constant(0.0).device])
        with g.gradient_override_map({"Tanh": "Identity"}), tf.variable_scope("inner"):
            w.log.append([tf.get_variable_scope().name, tf.get_variable("v", []).name])
        w.merge(lambda d: w.log.append([tf.get_variable_scope().name, g.get_name_scope()]))

    outside = tf.get_default_graph()
    with w.d.scope(), tf.variable_scope("around"), tf.name_scope("names"), tf.device("/device:CPU:1"):
        w.d.call_for_each_tower(tower)
        w.log.append([tf.get_variable_scope().name, outside.get_name_scope(), tf.constant(0.0).device])
    return w.log
