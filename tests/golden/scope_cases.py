"""What variable scopes name, share and refuse: programs that the original and ours both run. Runs under Python 3.6 too.

A case is a function of the namespace ``tf`` that returns plain facts: names, numbers, or what an error begins with.
"""


def names(things):
    return [t.name for t in things]


def refused(function, words):
    """The type of the error that ``function`` raises, and how many leading characters of its message are ``words``."""
    try:
        function()
    except Exception as error:
        return [type(error).__name__, words in str(error)]
    return ["nothing", False]


def nested(tf):
    found = [tf.get_variable("v", [2]).name]
    with tf.variable_scope("a") as a:
        found.append(tf.get_variable("v", [2]).name)
        found.append(tf.add(1, 2, name="add").name)
        with tf.variable_scope("b") as b:
            found += [tf.get_variable("v", [2]).name, tf.add(1, 2, name="add").name]
    with tf.variable_scope("a"):
        found += [tf.get_variable("w", [2]).name, tf.add(1, 2, name="add").name]
    with tf.variable_scope(a):
        found += [tf.get_variable("x", [2]).name, tf.add(1, 2, name="add").name]
        found.append(tf.get_variable_scope().original_name_scope)
    with tf.variable_scope("c"), tf.variable_scope(b):
        found += [tf.get_variable("y", [2]).name, tf.add(1, 2, name="add").name]
    with tf.name_scope("n"):
        found += [tf.get_variable("z", [2]).name, tf.Variable(1.0, name="plain").name]
        with tf.variable_scope("d"):
            found += [tf.get_variable("z", [2]).name, tf.add(1, 2, name="add").name]
            found.append(tf.Variable(1.0, name="plain").name)
    return found


def default_names(tf):
    found = []
    for _ in range(3):
        with tf.variable_scope(None, default_name="layer") as scope:
            found += [scope.name, scope.original_name_scope, tf.get_variable("w", [1]).name]
            with tf.variable_scope(None, "inner") as inner:
                found.append(inner.name)
    with tf.variable_scope("layer") as scope:
        found.append(scope.name)
    with tf.variable_scope(None, "layer") as scope:
        found.append(scope.name)
    with tf.variable_scope("outer") as outer:
        for _ in range(2):
            with tf.variable_scope(None, "layer") as scope:
                found += [scope.name, scope.original_name_scope]
    with tf.variable_scope("outer"), tf.variable_scope(None, "layer") as scope:
        found += [scope.name, scope.original_name_scope]
    with tf.variable_scope(outer, auxiliary_name_scope=False) as again:
        found += [again.original_name_scope, tf.add(1, 2, name="add").name]
        with tf.name_scope(again.original_name_scope):
            found.append(tf.add(1, 2, name="add").name)
        with tf.variable_scope(None, "layer") as scope:
            found += [scope.name, scope.original_name_scope]
    scope = tf.variable_scope(None, "entered_twice")
    for _ in range(2):
        with scope as inner:
            found.append(inner.name)
    with tf.variable_scope("plain", auxiliary_name_scope=False) as plain:
        found += [plain.name, plain.original_name_scope, tf.add(1, 2, name="top").name]
    return found


def sharing(tf):
    found = []
    with tf.variable_scope("s"):
        v = tf.get_variable("v", [2])
    with tf.variable_scope("s", reuse=True):
        found.append(tf.get_variable("v", [2]) is v)
        found.append(refused(lambda: tf.get_variable("w", [2]), "does not exist"))
        found.append(refused(lambda: tf.get_variable("v", [3]), "Trying to share variable s/v"))
        found.append(refused(lambda: tf.get_variable("v", [2], tf.int32), "Trying to share variable s/v"))
        with tf.variable_scope("deeper"):
            found.append(refused(lambda: tf.get_variable("v", [2]), "does not exist"))
    with tf.variable_scope("s"):
        found.append(refused(lambda: tf.get_variable("v", [2]), "already exists"))
        tf.get_variable_scope().reuse_variables()
        found.append(tf.get_variable("v") is v)
    with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
        found.append(tf.get_variable("v", [2]) is v)
        w = tf.get_variable("w", [2])
        with tf.variable_scope("t"):
            found.append(tf.get_variable("v", [2]).name)
        with tf.variable_scope("u", reuse=False):
            found.append(tf.get_variable_scope().reuse is tf.AUTO_REUSE)
        with tf.variable_scope("u", reuse=True):
            found.append(tf.get_variable_scope().reuse is True)
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        found.append(tf.get_variable("s/w") is w)
    found.append(refused(lambda: tf.variable_scope(None), "name_or_scope"))
    found.append(refused(lambda: tf.variable_scope("x", reuse=3), "reuse"))
    return found


def inherited(tf):
    found = []

    def getter(getter, *args, **kwargs):
        calls.append("outer")
        return getter(*args, **kwargs)

    def inner_getter(getter, name, *args, **kwargs):
        calls.append("inner")
        return getter(name, *args, **kwargs)

    calls = []
    regularizer = lambda v: tf.reduce_sum(v, name="total")  # noqa: E731
    with tf.variable_scope(
        "i", initializer=tf.constant_initializer(3.0), regularizer=regularizer, dtype=tf.float64, custom_getter=getter
    ):
        v = tf.get_variable("v", [2])
        found += [v.dtype.base_dtype.name, calls[:]]
        with tf.variable_scope("j", custom_getter=inner_getter, regularizer=tf.no_regularizer) as j:
            w = tf.get_variable("w", [2])
            found += [w.dtype.base_dtype.name, calls[:], j.name]
        u = tf.get_variable("u", initializer=tf.constant([1.0, 2.0]), trainable=False)
    found.append(names(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)))
    found += [names(tf.trainable_variables()), names(tf.global_variables("i/j")), names(j.trainable_variables())]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found += [x.tolist() for x in session.run([v, w, u])]
    return found


def parts(tf):
    found = []
    with tf.variable_scope("p", partitioner=tf.fixed_size_partitioner(3)):
        v = tf.get_variable("v", [7, 2], initializer=tf.ones_initializer())
        scalar = tf.get_variable("s", [], initializer=tf.zeros_initializer())
        table = tf.get_variable("t", initializer=tf.reshape(tf.range(8.0), [4, 2]))
    found += [v.name, names(v), [p.shape.as_list() for p in v], scalar.name, v.shape.as_list(), len(v)]
    found.append(tf.convert_to_tensor(v).name)
    with tf.variable_scope("p", reuse=True):
        found.append(tf.get_variable("v", [7, 2]) is v)
        found.append(refused(lambda: tf.get_variable("v", [6, 2]), "Trying to reuse partitioned variable"))
    two = tf.get_variable("two", [2, 8], partitioner=tf.fixed_size_partitioner(4, axis=1))
    found += [names(two), [p._get_save_slice_info().spec for p in two]]
    for partitioner in (
        tf.min_max_variable_partitioner(max_partitions=5, min_slice_size=64),
        tf.variable_axis_size_partitioner(max_shard_bytes=48),
        tf.variable_axis_size_partitioner(max_shard_bytes=48, max_shards=2, axis=1),
        tf.fixed_size_partitioner(100),
    ):
        found.append(partitioner(shape=tf.TensorShape([10, 6]), dtype=tf.float32))
    found.append(refused(lambda: tf.get_variable("many", [4, 4], partitioner=lambda **k: [2, 2]), "slice"))
    made = tf.create_partitioned_variables([4, 2], [2, 1], tf.zeros_initializer(), name="made")
    found.append(names(made))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found.append(session.run(tf.convert_to_tensor(table)).tolist())
    return found


def local_and_synchronized(tf):
    found = []
    local = tf.get_local_variable("l", [2])
    found += [local.name, names(tf.local_variables()), names(tf.trainable_variables())]
    read = tf.VariableSynchronization.ON_READ
    v = tf.get_variable("v", [2], synchronization=read, aggregation=tf.VariableAggregation.SUM)
    found.append(names(tf.trainable_variables()))
    found.append(
        refused(
            lambda: tf.get_variable("w", [2], synchronization=read, trainable=True), "only for non-trainable variables"
        )
    )
    seen = []

    def creator(next_creator, **kwargs):
        seen.append(sorted(k for k, value in kwargs.items() if value is not None))
        seen.append([callable(kwargs["initial_value"]), kwargs["name"], kwargs["trainable"]])
        return next_creator(**kwargs)

    with tf.variable_creator_scope(creator):
        tf.get_variable("c", [2])
        tf.get_variable("k", initializer=1.0, trainable=False)
    return found + [v.name, seen]


def initializing(tf):
    found = []
    found.append(refused(lambda: tf.get_variable("a"), ""))
    found.append(refused(lambda: tf.get_variable("b", [None, 2]), ""))
    found.append(
        refused(lambda: tf.get_variable("c", [2], initializer=tf.constant([1.0, 2.0])), "do not specify shape")
    )
    found.append(refused(lambda: tf.get_variable("d", dtype=tf.int32, initializer=tf.constant(1.0)), "don't match"))
    e = tf.get_variable("e", initializer=lambda: tf.constant([1, 2]), dtype=tf.int32)
    f = tf.get_variable("f", [2], tf.int64)
    g = tf.get_variable("g", [2], initializer=tf.ones_initializer)
    h = tf.get_variable("h", initializer=[[1.0, 2.0]])
    i = tf.get_variable("i", [3], tf.bool)
    found += [v.name for v in (e, f, g, h, i)] + [v.dtype.base_dtype.name for v in (e, f, g, h, i)]
    found += [
        op.name for op in tf.get_default_graph().get_operations() if op.name.startswith("h/") and "init" in op.name
    ]
    uninitialized = tf.report_uninitialized_variables()
    with tf.Session() as session:
        found.append(sorted(name.decode() for name in session.run(uninitialized)))
        session.run(tf.variables_initializer([e, f]))
        found.append(sorted(name.decode() for name in session.run(uninitialized)))
        found.append(bool(session.run(tf.is_variable_initialized(e))))
        found.append(refused(lambda: session.run(tf.assert_variables_initialized()), "uninitialized"))
        session.run(tf.global_variables_initializer())
        found.append(session.run(tf.assert_variables_initialized()).tolist())
        found.append(int(session.run(tf.assert_variables_initialized([e]))))
        found += [x.tolist() for x in session.run([e, f, g, h, i])]
    found += [tf.global_variables_initializer().name, tf.local_variables_initializer().name]
    return found


def changing(tf):
    v = tf.get_variable("v", [4, 2], initializer=tf.ones_initializer())
    n = tf.get_variable("n", [], tf.int32, initializer=tf.zeros_initializer())
    found = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for op in (
            lambda: tf.assign(v, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]),
            lambda: tf.assign_add(v, tf.ones([4, 2])), lambda: tf.assign_sub(v, tf.ones([4, 2]), name="less"),
            lambda: tf.scatter_update(v, [0, 2], [[0.5, 0.5], [0.25, 0.25]]),
            lambda: tf.scatter_add(v, [1, 1], tf.ones([2, 2])), lambda: tf.scatter_sub(v, 3, [1.0, 2.0]),
            lambda: tf.scatter_mul(v, [0, 1], 2 * tf.ones([2, 2])),
            lambda: tf.scatter_div(v, [[1], [2]], 4 * tf.ones([2, 1, 2])),
            lambda: tf.scatter_min(v, [3], [[0.0, 100.0]]), lambda: tf.scatter_max(v, [3], [[0.5, 0.0]]),
            lambda: tf.scatter_nd_update(v, [[0, 1], [2, 0]], [9.0, 8.0]),
            lambda: tf.scatter_nd_add(v, [[0], [0]], tf.ones([2, 2])),
            lambda: tf.scatter_nd_sub(v, [[3]], [[1.0, 1.0]]),
        ):  # fmt: skip
            found.append(session.run(op()).tolist())
        count = tf.count_up_to(n, 2)
        found += [int(session.run(count)), int(session.run(count)), refused(lambda: session.run(count), "")]
        found += [int(session.run(n)), tf.assign(n, 3).name, refused(lambda: tf.assign(v, [1.0]), "")]
    return found


def name_scopes(tf):
    found = []
    with tf.name_scope("a") as a:
        found += [a, tf.constant(1, name="c").name]
        with tf.name_scope("b") as b:
            found.append(b)
        with tf.name_scope("b") as b:
            found.append(b)
        with tf.name_scope(None) as top:
            found += [top, tf.constant(1, name="c").name]
        with tf.name_scope(a):
            found.append(tf.constant(1, name="c").name)
    with tf.name_scope(None, "default", [tf.constant(1)]) as c:
        found.append(c)
    with tf.name_scope("given", "default") as c:
        found.append(c)
    with tf.op_scope([tf.constant(1)], None, "op") as c:
        found.append(c)
    found.append(refused(lambda: tf.name_scope(None, None, [1]).__enter__(), "At least one of name"))
    scope = tf.name_scope("again")
    for _ in range(2):
        with scope as c:
            found += [c, scope.name]
    with tf.Graph().as_default():
        other = tf.constant(1)

    def mixed():
        with tf.name_scope("x", values=[tf.constant(1), other]):
            pass

    found.append(refused(mixed, "must be from the same graph"))
    with tf.name_scope("x", values=[other]):
        found.append(tf.constant(1, name="there").graph is other.graph)
    with tf.control_dependencies([tf.constant(1, name="before")]):
        with tf.init_scope():
            found.append(len(tf.constant(1, name="free").op.control_inputs))
        found.append([o.name for o in tf.constant(1, name="bound").op.control_inputs])
    found += implied_controls(tf)
    with tf.device("/gpu:1"):
        found.append(tf.constant(1).device)
    tf.add_to_collection("k", 1)
    tf.add_to_collections(["k", "l"], 2)
    tf.get_collection_ref("k").append(3)
    found += [tf.get_collection("k"), tf.get_collection("l"), tf.get_collection("m")]
    return found


def implied_controls(tf):
    """The names of control inputs of operations whose inputs imply some of those of the scopes around."""
    found = []

    def note(tensor):
        found.append([o.name for o in tensor.op.control_inputs])
        return tensor

    one, two, three = (tf.constant(0, name=name) for name in ("c0", "c1", "c2"))
    with tf.control_dependencies([one, two]):
        note(tf.identity(one))
        inner = note(tf.constant(1))
        note(tf.add(inner, three))
        with tf.control_dependencies([three]):
            note(inner + one)
            deep = note(tf.add(three, one))
        note(deep + three)
        with tf.control_dependencies(None):
            free = note(tf.identity(inner))
        note(free + free)
        with tf.control_dependencies([free]):
            branch = tf.cond(tf.placeholder(tf.bool), lambda: inner + 1, lambda: tf.constant(1))
        note(branch + deep)
    note(branch + deep)
    return found


def global_step(tf):
    found = [tf.train.get_global_step() is None]
    with tf.name_scope("n"), tf.variable_scope("v"):
        step = tf.train.create_global_step()
    found += [step.name, step.dtype.base_dtype.name, names(tf.get_collection("global_step"))]
    found += [
        tf.train.get_global_step() is step,
        tf.train.get_or_create_global_step() is step,
        step in tf.trainable_variables(),
    ]
    found.append(refused(tf.train.create_global_step, "already exists"))
    found.append(refused(lambda: tf.train.assert_global_step(tf.constant(1.0)), "integer"))
    found.append(refused(lambda: tf.train.assert_global_step(tf.constant([1])), "scalar"))
    with tf.Session() as session:
        session.run(step.initializer)
        session.run(tf.assign_add(step, 5))
        found.append(tf.train.global_step(session, step))
    return found


def regularizers(tf):
    layers = tf.contrib.layers
    found = []
    v = tf.get_variable("v", initializer=[1.0, -2.0])
    made = [layers.l1_regularizer(0.5)(v), layers.l2_regularizer(0.5)(v), layers.l1_l2_regularizer(0.1, 0.2)(v)]
    made.append(layers.sum_regularizer([layers.l1_regularizer(1.0), None, layers.l2_regularizer(1.0)])(v))
    made.append(layers.apply_regularization(layers.l2_regularizer(2.0), [v, v]))
    found += names(made) + names(tf.losses.get_regularization_losses())
    found += [layers.l2_regularizer(0.0)(v), refused(lambda: layers.l2_regularizer(1), "integer")]
    found += [refused(lambda: layers.l1_regularizer(-1.0), "less than 0"), layers.sum_regularizer([None])]
    with tf.Session() as session:
        session.run(v.initializer)
        found += [round(float(x), 5) for x in session.run(made + [tf.losses.get_regularization_loss()])]
    return found


def regularized_branch(tf):
    def branch():
        with tf.variable_scope("net", regularizer=tf.contrib.layers.l2_regularizer(1.0), reuse=tf.AUTO_REUSE):
            return tf.get_variable("w", initializer=[2.0, 1.0]) + 0.0

    on = tf.placeholder_with_default(True, [])
    y = tf.cond(on, branch, lambda: 2.0 * branch())
    total = tf.reduce_sum(y) + tf.losses.get_regularization_loss()
    gradient = tf.gradients(total, tf.trainable_variables())[0]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run([total, gradient], {on: x})[1].tolist() for x in (True, False)]


def template_shared(tf):
    def net(x, size=2, by=1.0):
        w = tf.get_variable("w", [size], initializer=tf.ones_initializer())
        return tf.multiply(x, by * tf.reduce_sum(w), name="y")

    found = []
    for now in (False, True):
        one = tf.make_template("net", net, create_scope_now_=now)
        found += [one.name, one.func is net, one.variable_scope is None, one.variable_scope_name, names(one.variables)]
        two = tf.make_template("net", net, create_scope_now_=now, size=3)
        with tf.variable_scope("outer"), tf.name_scope("inner"):
            found += [one(1.0).name, two(1.0).name]
        found += [one(1.0).name, one(2.0, by=3.0).name, two(2.0).name]
        for made in (one, two):
            found += [made.variable_scope_name, made.variable_scope.name, made.var_scope is made.variable_scope]
            found += [names(made.variables), names(made.weights), names(made.trainable_weights)]
        y = one(2.0) + two(1.0)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            found.append(float(session.run(y)))
            found.append([session.run(g).tolist() for g in tf.gradients(y, one.variables + two.variables)])
    return found


def template_scopes(tf):
    def net(name):
        return tf.get_variable(name, [1]).name

    found = []
    one = tf.make_template("net", net, unique_name_="mine")
    found += [one("a"), one("a")]
    again = tf.make_template("net", net, unique_name_="mine")
    found.append(refused(lambda: again("a"), "already exists"))
    with tf.variable_scope("mine", reuse=True):
        pass
    with tf.variable_scope("outer") as outer:
        two = tf.make_template("net", net)
        found += [two("a"), tf.make_template("net", net)("a")]
    with tf.variable_scope(outer, reuse=True):
        found += [tf.make_template("net", net)("a"), two("a")]
    now = tf.make_template("early", net, True)
    found.append(now.variable_scope_name)
    with tf.variable_scope("elsewhere"):
        found += [now("a"), tf.make_template("early", net)("a")]
    found.append(now("a"))
    return found


def template_getter(tf):
    def getter(getter, name, *args, **kwargs):
        return getter(name + "_got", *args, **kwargs)

    def net():
        return [tf.get_variable("v", []).name, tf.get_variable("w", [], trainable=False).name]

    found = []
    for now in (False, True):
        made = tf.make_template("net", net, create_scope_now_=now, custom_getter_=getter)
        found += [made(), made(), names(made.trainable_variables), names(made.non_trainable_variables)]
    return found


def template_nested(tf):
    def inner(x):
        v = tf.get_variable("v", [], initializer=tf.ones_initializer())
        c = tf.get_local_variable("c", [], initializer=tf.zeros_initializer())
        return x * v + c

    def outer(x):
        one = tf.make_template("inner", inner)
        two = tf.make_template("inner", inner)
        return one(x) + one(x) + two(tf.layers.dense(x, 1, name="fc"))

    made = tf.make_template("outer", outer)
    found = [made(tf.ones([1, 1])).shape.as_list(), made(tf.ones([1, 1])).shape.as_list()]
    found += [names(made.global_variables), names(made.local_variables), names(made.variables)]
    found += [names(made.trainable_variables), names(made.non_trainable_weights)]
    return found


def template_refused(tf):
    def net():
        return tf.Variable(1.0, name="plain").name

    def counted():
        return tf.Variable(1.0, trainable=False, name="plain").name

    trained, counts = tf.make_template("net", net), tf.make_template("net", counted)
    found = [trained(), refused(trained, "Trainable variable created when calling a template after the first time")]
    found += [counts(), counts()]
    found.append(refused(lambda: tf.make_template(None, net), "name cannot be None."))
    broken = tf.make_template("net", lambda: tf.get_variable("v", [2]) + tf.get_variable("v", [3]))
    found += [refused(broken, "already exists"), refused(broken, "v")]
    return found


CASES = [
    nested, default_names, sharing, inherited, parts, local_and_synchronized, initializing, changing, name_scopes,
    global_step, regularizers, regularized_branch, template_shared, template_scopes, template_getter, template_nested,
    template_refused,
]  # fmt: skip
