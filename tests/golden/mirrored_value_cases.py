# ruff: noqa: B023, UP031 (a function is called where it is made; zip has no strict in Python 3.6)
"""Cases of MirroredStrategy: merge_call, regrouping, reductions, destinations, updates, assignments, gradients."""

import collections

Pair = collections.namedtuple("Pair", ["first", "second"])
TOWERS = {"merge_results": [1, 2], "reductions": [1, 2, 3], "assignments": [1, 2, 3], "tower_local": [1, 2, 3]}


def _kinds(w, d):
    """What merge functions may return, by what it is."""
    tf = w.tf
    one = tf.constant(1.0)
    return {
        "tensor": lambda x: one, "mirrored": lambda x: d.reduce(w.how("SUM"), x, d.worker_devices),
        "per device": lambda x: x, "list": lambda x: [x, one, 3], "tuple": lambda x: (x, 3),
        "pair": lambda x: Pair(x, {"a": x}), "dict": lambda x: {"x": x, "none": None},
        "unwrapped": lambda x: d.unwrap(x), "none": lambda x: None, "number": lambda x: 2.5, "text": lambda x: "text",
        "function": lambda x: _kinds, "operation": lambda x: tf.no_op(name="nothing"),
        "group": lambda x: d.group(x.op if w.n == 1 else [t.op for t in d.unwrap(x)]),
        "on one device": lambda x: d.reduce(w.how("SUM"), x, w.devices[0]),
        "on the second device": lambda x: d.reduce(w.how("SUM"), x, "/device:CPU:1"),
    }  # fmt: skip


def merge_results(w):
    """Results of merge functions, as each tower gets them."""
    found = {}
    for name in _kinds(w, w.d):

        def tower(name=name):
            x = w.tf.constant(float(w.k() + 1), name="x")
            result = w.merge(lambda d, x: _kinds(w, d)[name](x), x)
            w.log.append(w.told(result))
            return result

        w.log = []
        found[name] = [w.refused(tower), w.log]
    return found


def merge_arguments(w):
    """How arguments of all towers are regrouped."""
    tf = w.tf
    same = tf.constant(0.0)
    v = None

    def merge_fn(d, *args, **kwargs):
        w.log.append([w.told(list(args)), w.told(kwargs)])
        return w.told(args[0]) if args else None

    def tower():
        k, t = w.k(), tf.constant(1.0)
        w.merge(merge_fn, k, t, same, "same", "text %d" % k, None, 2.5, [t, k, same], (t,), {"a": t}, Pair(k, t))
        w.merge(merge_fn, x=t, y=[k], same=same)
        w.merge(merge_fn)
        w.merge(merge_fn, v)
        w.merge(merge_fn, tf.IndexedSlices(tf.ones([1, 2]), tf.constant([k])), tf.no_op())
        w.merge(merge_fn, [], {}, k > 0, tower)

    with w.d.scope():
        v = w.variable("v", 1.0)
    w.towers(tower)
    return w.log


def merge_arguments_unequal(w):
    def merge_fn(d, *args, **kwargs):
        return w.told([args, kwargs])

    return {
        "number": w.refused(lambda: w.merge(merge_fn, *[1] * (w.k() + 1))),
        "lengths": w.refused(lambda: w.merge(merge_fn, [1] * (w.k() + 1))),
        "keys": w.refused(lambda: w.merge(merge_fn, **{"k%d" % w.k(): 1})),
        "types": w.refused(lambda: w.merge(merge_fn, [1] if w.k() else (1,))),
        "not a function": w.refused(lambda: w.merge(3)),
        "no argument for the strategy": w.refused(lambda: w.merge(lambda: 1)),
    }


def nested_calls(w):
    """Towers called in a merge function, and merge_calls in these."""
    tf = w.tf

    def inner(x):
        w.log.append(["inner", w.k(), x.name, tf.get_default_graph().get_name_scope()])
        y = tf.add(x, 10.0 * w.k(), name="inner")
        return y, w.merge(lambda d, y: tf.add_n(d.unwrap(y), name="sum"), y)

    def merge_fn(d, x):
        w.log.append("merge")
        return d.call_for_each_tower(inner, x)

    def tower():
        x = tf.constant(float(w.k()), name="x")
        y, s = w.merge(merge_fn, x)
        w.log.append([y.name, s.name])
        return y + s

    found = w.towers(tower)
    return {"told": w.told(found), "values": w.run(found), "log": w.log}


def merge_in_merge(w):
    """A merge_call where there is no tower."""

    def merge_fn(d):
        return w.context().merge_call(lambda d: 1)

    def update(d, v):
        return d.update(v, lambda x: w.context().merge_call(lambda d: 1))

    with w.d.scope():
        v = w.variable("v", 1.0)
    return {"merge": w.refused(lambda: w.merge(merge_fn)), "update": w.refused(lambda: w.merge(update, v))}


def merge_in_control_flow(w):
    tf = w.tf

    def total(d, x):
        return d.reduce(w.how("SUM"), x, d.worker_devices)

    def in_cond():
        x = tf.constant(1.0 + w.k())
        return tf.cond(tf.constant(True), lambda: w.merge(total, x), lambda: x)

    def in_while():
        x = tf.constant(1.0 + w.k())
        return tf.while_loop(lambda i: i < 3.0, lambda i: w.merge(total, i + x), [tf.constant(0.0)])

    def run(tower):
        return w.attempt(lambda: w.run(w.towers(tower)))

    return {"cond": run(in_cond), "while": run(in_while)}


def control_flow(w):
    tf = w.tf

    def tower():
        k = w.k()
        v = w.variable("v", 2.0)
        x = tf.constant(1.0 + k)
        a = tf.cond(x > 1.5, lambda: x * 10.0, lambda: x - v)
        b = tf.cond(tf.constant(k == 0), lambda: v * 3.0, lambda: tf.tanh(v))
        c = tf.while_loop(lambda i, s: i < k + 2, lambda i, s: [i + 1, s + v * x], [0, 0.0])[1]
        g = tf.gradients(c, [x])[0]
        d = tf.case([(x < 1.5, lambda: x), (x < 2.5, lambda: -x)], default=lambda: x * 0.0)
        e = tf.contrib.eager.defun(lambda y: y * y + k)(x)
        f = tf.map_fn(lambda y: y * (k + 1), tf.constant([1.0, 2.0]))
        return a, b, c, g, d, e, f

    return w.run(w.towers(tower))


def reductions(w):
    tf, d = w.tf, w.d
    per = w.per([float(2**i) for i in range(w.n)])
    whole = w.per(list(range(1, w.n + 1)))
    tensor = tf.constant(3.0)

    @w.attempted
    def reduce(how, value, to):
        with d.scope():
            found = d.reduce(w.how(how), value, to)
        return [w.told(found), w.run(found) if not isinstance(found, (int, float)) else found]

    found = {}
    for how in ["SUM", "MEAN", "ONLY_FIRST_TOWER", "NONE"]:
        found["float " + how] = reduce(how, per, d.worker_devices)
        found["int " + how] = reduce(how, whole, d.worker_devices)
        found["tensor " + how] = reduce(how, tensor, d.worker_devices)
        for number in [0, 0.0, 2.0]:
            found[f"{number} {how}"] = reduce(how, number, d.worker_devices)
    with d.scope():
        mirrored = d.broadcast(tensor, d.worker_devices)
        v = w.variable("v", 1.0)
    for name, to in [
        ("device", w.devices[0]), ("short", "/cpu:0"), ("tuple", tuple(w.devices)), ("list", w.devices[:1]),
        ("variable", v), ("component", d.unwrap(v)[0]), ("per device", per), ("tensor", tensor), ("empty", []),
        ("none", None), ("other device", "/device:CPU:3"),
    ]:  # fmt: skip
        found["to " + name] = reduce("SUM", per, to)
    found["mirrored"] = reduce("SUM", mirrored, d.worker_devices)
    found["variable"] = reduce("SUM", v, d.worker_devices)
    found["python"] = reduce("SUM", w.towers(lambda: float(w.k() + 1)), d.worker_devices)
    found["text"] = reduce("SUM", "text", d.worker_devices)
    found["list"] = reduce("SUM", [per], d.worker_devices)
    found["shapes"] = reduce("SUM", w.towers(lambda: tf.ones([w.k() + 1])), d.worker_devices)
    found["bool"] = reduce("SUM", w.towers(lambda: tf.constant(True)), d.worker_devices)
    found["string"] = reduce("MEAN", w.towers(lambda: tf.constant("a")), d.worker_devices)
    return found


def reductions_of_rows(w):
    """IndexedSlices, whose rows are put one after the other."""
    tf, d = w.tf, w.d

    def tower():
        k = w.k()
        return tf.IndexedSlices(tf.fill([2, 2], 1.0 + k), tf.constant([k, 3]), tf.constant([4, 2]))

    def rows(found):
        parts = d.unwrap(found)
        return [type(found).__name__] + w.run([[p.values, p.indices] for p in parts])

    def reduce(how, to):
        with d.scope():
            return rows(d.reduce(w.how(how), w.towers(tower), to))

    def batch():
        value = w.towers(tower)
        with d.scope():
            return [rows(r) for r in d.batch_reduce(w.how("SUM"), [(value, value)])]

    return {
        "sum": w.attempt(reduce, "SUM", d.worker_devices), "mean": w.attempt(reduce, "MEAN", d.worker_devices),
        "one": w.attempt(reduce, "SUM", w.devices[0]), "first": w.attempt(reduce, "ONLY_FIRST_TOWER", d.worker_devices),
        "batch": w.attempt(batch),
    }  # fmt: skip


def batch_reductions(w):
    tf, d = w.tf, w.d
    a, b = w.per([1.0, 2.0]), w.per([[1.0, 5.0], [2.0, 7.0]])
    with d.scope():
        v = w.variable("v", 0.0)

    @w.attempted
    def batch(how, pairs):
        with d.scope():
            found = d.batch_reduce(w.how(how), pairs)
        return [type(found).__name__, w.told(found), w.run(found)]

    return {
        "sum": batch("SUM", [(a, a), (b, w.devices)]), "mean": batch("MEAN", [(a, v), (b, b)]),
        "first": batch("ONLY_FIRST_TOWER", [(a, v), (b, b)]),
        "one": batch("SUM", [(a, w.devices[1]), (b, w.devices[0])]), "none": batch("NONE", [(a, a)]),
        "empty": batch("SUM", []), "tuple": batch("SUM", ((a, a),)),
        "tensor": batch("SUM", [(tf.constant(1.0), w.devices)]), "no destinations": batch("SUM", [(a, None)]),
        "not pairs": batch("SUM", [a, b]),
    }  # fmt: skip


def broadcasts(w):
    tf, d = w.tf, w.d

    @w.attempted
    def of(value, *to):
        with d.scope():
            found = d.broadcast(value, *to)
        return [w.told(found), w.run(found)]

    return {
        "tensor": of(tf.constant(1.0)), "to": of(tf.constant(1.0), w.devices),
        "one": of(tf.constant(1.0), w.devices[1]), "list": of(tf.constant(1.0), w.devices[:1]), "number": of(2.0),
        "array": of([1, 2]), "per device": of(w.per([1.0, 2.0])), "empty": of(tf.constant(1.0), []),
    }  # fmt: skip


def unwraps(w):
    tf, d = w.tf, w.d
    per = w.per([1.0, 2.0])
    with d.scope():
        v, t = w.variable("v", 1.0), w.local("t", 1.0)
        mirrored = d.broadcast(tf.constant(1.0))
        on_second = d.reduce(w.how("SUM"), per, w.devices[1:])
        found = {
            "tensor": w.attempt(lambda: d.unwrap(tf.constant(1.0))), "number": w.attempt(lambda: d.unwrap(3)),
            "list": w.attempt(lambda: d.unwrap([per, 3])), "per": w.attempt(lambda: d.unwrap(per)),
            "mirrored": w.attempt(lambda: d.unwrap(mirrored)), "variable": w.attempt(lambda: d.unwrap(v)),
            "local": w.attempt(lambda: d.unwrap(t)), "second": w.attempt(lambda: d.unwrap(on_second)),
            "none": w.attempt(lambda: d.unwrap(None)),
        }  # fmt: skip
        parts = d.unwrap(v)
        found["containers"] = [d.value_container(p) is v for p in parts] + [d.value_container(v) is v]
        found["others"] = [d.value_container(d.unwrap(t)[1]) is t, d.value_container(3), d.value_container(per) is per]
        found["part"] = d.value_container(d.unwrap(per)[0]) is d.unwrap(per)[0]
    found["in tower"] = w.refused(lambda: [d.value_container(v) is v, d.value_container(tf.constant(1.0)).name])
    found["get"] = [w.attempt(v.get, w.d.worker_devices[1]), w.attempt(v.get, "/device:GPU:7"), w.attempt(v.get)]
    found["get per"] = [w.attempt(per.get, w.d.worker_devices[1]), w.attempt(per.get, "/gpu:7"), w.attempt(per.get)]
    found["devices"] = [sorted(v.devices), sorted(per.devices)]
    found["on device"] = [per.on_device(w.d.worker_devices[1]), per.on_device("/gpu:7")]
    found["primary"] = w.attempt(lambda: w.tf.identity(v).device)
    return found


def groups(w):
    tf, d = w.tf, w.d
    per = w.towers(lambda: tf.constant(1.0))
    ops = w.towers(lambda: tf.no_op(name="op"))

    @w.attempted
    def group(value, name=None):
        with d.scope():
            found = d.group(value, name)
        return [w.told(found), w.run(found), sorted(op.name for op in found.control_inputs)]

    return {
        "tensors": group(per, "grouped"), "operations": group(ops), "named": group(ops, "mine"),
        "one": group(tf.no_op(name="alone")), "one named": group(tf.no_op(name="alone"), "mine"),
        "list": group([tf.no_op(name="alone")]), "none": group(None),
    }  # fmt: skip


def updates(w):
    tf, d = w.tf, w.d
    with d.scope():
        v = w.variable("v", 1.0)
        mirrored = d.broadcast(tf.constant(3.0))
    per = w.per([1.0, 2.0])

    def fn(x, *args, **kwargs):
        own = tf.constant(0.0, name="own")
        w.log.append([type(x).__name__, x.name, w.told(list(args)), w.told(kwargs), own.name, own.device])
        return x.assign_add(args[0] if args else 1.0)

    @w.attempted
    def update(*args, **kwargs):
        w.log = []
        with d.scope():
            found = d.update(*args, **kwargs)
        values = w.run(found)
        return [w.told(found), values, w.copies(v), w.log]

    return {
        "plain": update(v, fn), "number": update(v, fn, 2.0), "mirrored": update(v, fn, mirrored),
        "per device": update(v, fn, per), "keyword": update(v, fn, 2.0, more=mirrored),
        "ungrouped": update(v, fn, 2.0, grouped=False), "returns nothing": update(v, lambda x: None),
        "returns nothing ungrouped": update(v, lambda x: None, grouped=False),
        "returns a list": update(v, lambda x: [tf.identity(x) * 1.0], grouped=False),
        "returns lists": update(v, lambda x: [tf.constant(3.0), x.assign_add(1.0)]),
        "returns numbers": update(v, lambda x: 3), "a component": update(d.unwrap(v)[0], fn),
        "a tensor": update(tf.constant(1.0), fn), "a list": update([v], fn),
    }  # fmt: skip


def updates_of_names(w):
    """The device of an update, its name scope and what it returns in a merge function."""
    tf = w.tf

    def merge_fn(d, x):
        return d.update(v, lambda y, s: y.assign_add(s, name="more"), d.reduce(w.how("SUM"), x, v))

    def tower():
        with tf.name_scope("part"):
            found = w.merge(merge_fn, tf.constant(1.0))
        w.log.append(w.told(found))
        return found

    with w.d.scope():
        v = w.variable("v", 1.0)
    found = w.towers(tower)
    return {"told": w.told(found), "log": w.log, "run": w.run(found), "after": w.copies(v), "ops": w.operations()}


def updates_of_non_slots(w):
    tf, d = w.tf, w.d
    with d.scope():
        v = w.variable("v", 1.0)
        mirrored = d.broadcast(tf.constant(3.0))
    per = w.per([1.0, 2.0])

    def fn(*args, **kwargs):
        own = tf.constant(0.0, name="own")
        w.log.append([w.told(list(args)), w.told(kwargs), own.name, own.device])
        return own + 1.0

    @w.attempted
    def update(*args, **kwargs):
        w.log = []
        with d.scope():
            found = d.update_non_slot(*args, **kwargs)
        return [w.told(found), w.run(found), w.log]

    devices = d.worker_devices
    return {
        "plain": update(devices, fn), "arguments": update(devices, fn, mirrored, 2, x=mirrored),
        "per device": update(devices, fn, per), "ungrouped": update(devices, fn, grouped=False),
        "one": update(devices[:1], fn, grouped=False), "text": update(devices[0], fn, grouped=False),
        "variable": update(v, fn, grouped=False), "nothing": update(devices, lambda: None),
    }  # fmt: skip


def maps(w):
    tf, d = w.tf, w.d

    def mapped():
        with d.scope():
            found = d.map([1, 2, 3], lambda x, y: tf.constant(float(x)) + y, 10.0)
            return [type(found).__name__, w.attempt(lambda: d.reduce(w.how("SUM"), found, w.devices))]

    return w.attempt(mapped)


def assignments(w):
    """Assignments to mirrored variables in towers and outside, by aggregation and by what is assigned."""
    tf, d = w.tf, w.d
    found = {}
    for how in ["NONE", "SUM", "MEAN", "ONLY_FIRST_TOWER"]:
        with d.scope():
            v = w.variable("v_" + how.lower(), 1.0, how)
        for method in ["assign", "assign_add", "assign_sub"]:
            for name, value in [
                ("tensor", lambda: tf.constant(2.0 + w.k())), ("number", lambda: 4.0), ("numbers", lambda: 4.0 + w.k()),
                ("zero", lambda: 0.0),
            ]:  # fmt: skip

                def tower(method=method, value=value, v=v):
                    return getattr(v, method)(value())

                def make(tower=tower, v=v):
                    result = w.towers(tower)
                    w.session().run([c.initializer for c in d.unwrap(v)])
                    return [w.told(result), w.run(result), w.copies(v)]

                if name == "tensor" or method == "assign_add":
                    found[f"{how} {method} {name}"] = w.attempt(make)

        def outside(v=v, value=None):
            with d.scope():
                result = v.assign_add(value)
            w.session().run([c.initializer for c in d.unwrap(v)])
            return [w.told(result), w.run(result), w.copies(v)]

        found[how + " outside number"] = w.attempt(lambda: outside(value=3.0))
        found[how + " outside tensor"] = w.attempt(lambda: outside(value=tf.constant(3.0)))
        per = w.per([1.0, 2.0, 3.0])
        found[how + " outside per device"] = w.attempt(lambda: outside(value=per))
        with d.scope():
            mirrored = d.broadcast(tf.constant(5.0))
        found[how + " outside mirrored"] = w.attempt(lambda: outside(value=mirrored))
    return found


def assignments_by_functions(w):
    """tf.assign and its kin, scatter updates, and operators."""
    tf, d = w.tf, w.d
    with d.scope():
        v = w.variable("v", [1.0, 2.0], "SUM")

    @w.attempted
    def run(tower):
        result = w.towers(tower)
        w.session().run([c.initializer for c in d.unwrap(v)])
        return [w.told(result), w.run(result), w.copies(v)]

    def rows():
        return tf.scatter_add(v, [0], [1.0])

    def sliced():
        return tf.scatter_update(v, [1], [7.0 + w.k()])

    return {
        "tf.assign": run(lambda: tf.assign(v, tf.constant([1.0, 1.0]))),
        "tf.assign_add": run(lambda: tf.assign_add(v, tf.constant([1.0, 1.0]))), "scatter_add": run(rows),
        "scatter_update": run(sliced),
        "method": run(lambda: v.scatter_sub(tf.IndexedSlices(tf.constant([1.0]), tf.constant([0])))),
        "add": run(lambda: v + 1.0), "index": run(lambda: v[0] * v[1]), "read": run(lambda: v.read_value()),
        "value": run(lambda: v.value()), "initialized": run(lambda: v.initialized_value()),
        "gather": run(lambda: tf.gather(v, [1])), "load": w.attempt(lambda: v.load([5.0, 6.0], w.session())),
        "eval": w.attempt(lambda: v.eval(w.session())), "initializer": w.attempt(lambda: v.initializer),
        "outside scope": w.attempt(lambda: w.run(v + 1.0)), "count_up_to": run(lambda: v.count_up_to(3)),
        "same component": w.refused(lambda: [v.handle.name, v.op.name, v.name, v.device]),
        "constraint": w.refused(lambda: v.constraint), "trainable": w.attempt(lambda: v.trainable),
    }  # fmt: skip


def order_of_assignments(w):
    """Two assignments in one run with dependencies between them."""
    tf = w.tf

    def tower():
        v = w.variable("v", 1.0, "SUM")
        before = tf.identity(v)
        with tf.control_dependencies([before]):
            a = v.assign_add(before * 2.0)
        with tf.control_dependencies([a]):
            after = v.read_value()
        b = v.assign_add(after * 10.0)
        return before, a, after, b

    found = w.towers(tower)
    values = w.run(found)
    return {"values": values, "last": w.copies(tf.global_variables()[0])}


def tower_local(w):
    tf, d = w.tf, w.d
    found = {}
    for how in ["SUM", "MEAN", "NONE", "ONLY_FIRST_TOWER"]:
        with d.scope():
            t = w.attempt(lambda how=how: w.local("t_" + how.lower(), 1.0, how))
        if isinstance(t, dict):
            found[how] = t
            continue
        with d.scope():
            t = w.local("u_" + how.lower(), 1.0, how)

        def tower(t=t):
            return t.assign_add(tf.constant(2.0 + w.k()))

        def read(t=t):
            with d.scope():
                return w.run(d.read_var(t))

        def outside(t=t):
            with d.scope():
                return w.run(t.assign(3.0))

        result = w.towers(tower)
        found[how] = [
            w.told(result), w.run(result), w.copies(t), w.attempt(read),
            w.attempt(lambda t=t: w.run(w.towers(lambda: t * 10.0))), w.attempt(lambda t=t: w.run(t + 0.0)),
            w.attempt(outside), w.attempt(lambda t=t: t.name), type(t).__name__, w.attempt(lambda t=t: t.trainable),
        ]  # fmt: skip
    found["collections"] = w.collections()
    with d.scope():
        v = w.variable("v", 1.0)
        found["read_var"] = [w.attempt(lambda: w.run(d.read_var(v))), w.attempt(lambda: d.read_var(tf.constant(1.0)))]
    return found


def tower_local_scope(w):
    """The scopes of 1.8 to 1.12 that make variables tower-local."""
    tf, d = w.tf, w.d

    def tower():
        with d.tower_local_var_scope(w.how("SUM")):
            t = tf.get_variable("t", initializer=1.0)
        w.log.append([type(t).__name__, t.name])
        return t.assign_add(1.0 + w.k())

    def tower2():
        return tf.get_variable("x", initializer=1.0, synchronization=tf.VariableSynchronization.NONE)

    def invalid(**how):
        return lambda: w.variable("y", 1.0, **how)

    def of_text():
        return tf.get_variable("z", initializer=1.0, synchronization="Invalid")

    def of_text_aggregation():
        return tf.get_variable("z2", initializer=1.0, aggregation="invalid")

    found = w.attempt(lambda: w.run(w.towers(tower)))
    return {
        "scope": found, "log": w.log, "none": w.refused(tower2),
        "trainable on read": w.refused(
            lambda: tf.get_variable(
                "w", initializer=1.0, trainable=True, synchronization=tf.VariableSynchronization.ON_READ,
            ),
        ),
        "invalid": w.refused(of_text), "invalid aggregation": w.refused(of_text_aggregation),
        "in scope": w.attempt(lambda: _in_scope(w, of_text)),
        "aggregation in scope": w.attempt(lambda: _in_scope(w, of_text_aggregation)),
        "default": w.attempt(lambda: _default_local(w)),
    }  # fmt: skip


def _in_scope(w, fn):
    with w.d.scope():
        return fn()


def _default_local(w):
    tf = w.tf

    def tower():
        t = tf.get_variable("d", initializer=1.0, synchronization=tf.VariableSynchronization.ON_READ)
        return t.assign_add(1.0 + w.k())

    return w.run(w.towers(tower))


def gradients(w):
    """Each tower differentiates its own copy, through what was merged too."""
    tf = w.tf
    outside = tf.constant(2.0)

    def first(d, y):
        return d.unwrap(d.reduce(w.how("MEAN"), y, w.devices[0]))[0]

    def total(d, x):
        return d.reduce(w.how("SUM"), x, d.worker_devices)

    def tower(x):
        k = w.k()
        v = w.variable("v", 3.0)
        y = v * v * x
        merged = w.merge(total, y)
        plain = w.merge(lambda d, y: tf.add_n(d.unwrap(y)), y)
        mean = w.merge(first, y)
        return {
            "own": tf.gradients(y, [v])[0], "merged": tf.gradients(merged, [v])[0],
            "merged by value": tf.gradients(merged, [y])[0], "plain": tf.gradients(plain, [v])[0],
            "plain by value": tf.gradients(plain, [y])[0], "mean": tf.gradients(mean, [v])[0],
            "twice": tf.gradients(w.merge(total, merged * y), [y, v]), "by argument": tf.gradients(y * (k + 1), [x]),
            "by what is outside": tf.gradients(plain * outside, [outside]),
            "of all": tf.gradients([merged, y], [v], grad_ys=[tf.constant(2.0), None])[0],
            "second": tf.gradients(tf.gradients(y, [v])[0], [v])[0], "none": tf.gradients(outside, [v])[0],
        }  # fmt: skip

    found = w.towers(tower, w.per([1.0, 2.0]))
    kept = {key: v for key, v in found.items() if v is not None}
    return {"values": w.run(kept), "told": w.told(found)}


def gradients_of_shared_arguments(w):
    """A tensor that all towers are given: what is merged depends on it in every tower."""
    tf = w.tf

    def tower(x):
        y = x * x * (w.k() + 1)
        merged = w.merge(lambda d, y: d.reduce(w.how("SUM"), y, d.worker_devices), y)
        return tf.gradients(y, [x])[0], tf.gradients(merged, [x])[0]

    shared = tf.constant(3.0)
    with w.d.scope():
        mirrored = w.d.broadcast(shared)
    inner = w.towers(tower, shared)
    other = w.towers(tower, mirrored)
    return {"tensor": w.run(inner), "mirrored": w.run(other)}


def gradients_outside(w):
    """Gradients in cross-tower context."""
    tf, d = w.tf, w.d
    with d.scope():
        v = w.variable("v", 3.0)
    y = w.towers(lambda: v * v * (1.0 + w.k()))
    total = tf.add_n(d.unwrap(y))

    @w.attempted
    def by(things):
        with d.scope():
            return w.run(tf.gradients(total, things))

    return {"variable": by([v]), "components": by(d.unwrap(v)), "values": by(d.unwrap(y)), "container": by([y])}


def stop_gradient_and_functions(w):
    tf = w.tf

    @tf.custom_gradient
    def scaled(x):
        k = w.k()
        return x * 1.0, lambda g: g * (10.0 + k)

    def tower():
        x = tf.constant(2.0 + w.k())
        return tf.gradients(scaled(x) * x, [x])[0], tf.gradients(tf.stop_gradient(x) * x, [x])[0]

    return w.run(w.towers(tower))


def python_functions(w):
    tf, np = w.tf, w.np

    def tower():
        k = w.k()
        return tf.py_func(lambda x: np.float32(x + k), [tf.constant(1.0)], tf.float32)

    return w.run(w.towers(tower))


def feeds(w):
    """Placeholders in towers and outside."""
    tf = w.tf
    outside = tf.placeholder(tf.float32, [])
    kept = []

    def tower():
        inside = tf.placeholder(tf.float32, [], name="inside")
        kept.append(inside)
        return inside * 10.0 + outside

    found = w.towers(tower)
    return [w.run(found, {outside: 1.0, kept[0]: 2.0, kept[1]: 3.0}), w.named(kept)]


def fetching(w):
    """Distributed values that are given to a session as they are."""
    tf = w.tf
    per = w.per([1.0, 2.0])
    with w.d.scope():
        v = w.variable("v", 4.0)
        mirrored = w.d.broadcast(tf.constant(3.0))

    def fetch(value):
        return w.attempt(lambda: w.session().run(value))

    return {
        "variable": fetch(v), "mirrored": fetch(mirrored), "per device": fetch(per),
        "assign": fetch(_in_scope(w, lambda: v.assign_add(1.0))),
        "assign outside": w.attempt(lambda: v.assign_add(1.0)), "after": w.copies(v),
        "convert": w.attempt(lambda: tf.convert_to_tensor(mirrored)),
        "convert per device": w.attempt(lambda: tf.convert_to_tensor(per)), "add": w.attempt(lambda: per + 1.0),
        "add mirrored": w.attempt(lambda: tf.add(mirrored, 1.0)),
        "in another tower": w.refused(lambda: w.run(tf.identity(per))), "shape": w.attempt(lambda: per.shape.as_list()),
        "dtype": w.attempt(lambda: per.dtype.name),
    }  # fmt: skip


def unread_assignments(w):
    """An assignment of which nothing is fetched is not run; the towers' parts are separate."""
    tf = w.tf

    def tower():
        t = w.local("t", 0.0)
        with tf.control_dependencies([t.assign_add(1.0 + w.k())]):
            return tf.identity(t.read_value())

    found = w.towers(tower)
    with w.d.scope():
        parts = w.d.unwrap(found)
    w.session().run(parts[1])
    with w.d.scope():
        return [w.copies(w.tf.global_variables()[0])]
