"""tf.contrib.optimizer_v2 and the schedules of its time, on the original and on towerstrat.

A case is a function of a ``Side`` that returns values for JSON; an error is its type and text. Runs under Python 3.6
too.
"""

import collections
import os
import tempfile

import numpy as np

Side = collections.namedtuple("Side", "tf schedules two_towers config")
"""``tf``, ``learning_rate_decay_v2``, a function that makes a strategy of two towers, the configuration of sessions."""

STEPS = 6
OPTIMIZERS = {
    "gradient_descent": ("GradientDescentOptimizer", {"learning_rate": 0.05}),
    "momentum": ("MomentumOptimizer", {"learning_rate": 0.03, "momentum": 0.9}),
    "nesterov": ("MomentumOptimizer", {"learning_rate": 0.03, "momentum": 0.8, "use_nesterov": True}),
    "adam": ("AdamOptimizer", {"learning_rate": 0.05, "epsilon": 1e-3}),
    "adagrad": ("AdagradOptimizer", {"learning_rate": 0.2, "initial_accumulator_value": 0.3}),
    "adadelta": ("AdadeltaOptimizer", {"learning_rate": 1.0, "rho": 0.9, "epsilon": 1e-3}),
    "rmsprop": ("RMSPropOptimizer", {"learning_rate": 0.02}),
    "rmsprop_momentum": ("RMSPropOptimizer", {"learning_rate": 0.02, "momentum": 0.5, "decay": 0.8, "epsilon": 1e-2}),
    "rmsprop_centered": ("RMSPropOptimizer", {"learning_rate": 0.02, "centered": True, "epsilon": 0.5}),
    "rmsprop_centered_momentum": (
        "RMSPropOptimizer", {"learning_rate": 0.02, "centered": True, "epsilon": 0.5, "momentum": 0.3}),
}  # fmt: skip


def made(tf, name):
    kind, arguments = OPTIMIZERS[name]
    return getattr(tf.contrib.optimizer_v2, kind)(**arguments)


def rows(dtype="float32"):
    """(ids, inputs) of each step."""
    random = np.random.RandomState(3)
    return [
        (random.randint(0, 4, 4).astype(np.int32), np.round(random.randn(4, 3), 2).astype(dtype)) for _ in range(STEPS)
    ]


def variables(tf, dtype="float32", resource=True):
    table = np.arange(15).reshape(5, 3) / 10.0 - 0.5
    return (
        tf.get_variable("table", initializer=table.astype(dtype), use_resource=resource),
        tf.get_variable("w", initializer=np.array([0.5, -0.25, 1.0], dtype), use_resource=resource),
    )


def loss_of(tf, table, w, ids, x):
    return tf.reduce_mean(tf.square(tf.reduce_sum(tf.gather(table, ids) * x * w, 1) - 1.0))


def state(tf, session, optimizer):
    """Names and values of what the optimizer and the program keep."""
    kept = {v.op.name: v for v in tf.global_variables()}
    found = {"kept": {name: np.asarray(value).tolist() for name, value in session.run(kept).items()}}
    found["own"] = [v.name for v in optimizer.variables()]
    found["slots"] = optimizer.get_slot_names()
    return found


def one_device(name, dtype="float32", resource=True):
    def case(side):
        tf = side.tf
        table, w = variables(tf, dtype, resource)
        ids, x = tf.placeholder(tf.int32, [4]), tf.placeholder(dtype, [4, 3])
        optimizer = made(tf, name)
        step = tf.train.get_or_create_global_step()
        loss = loss_of(tf, table, w, ids, x)
        train = optimizer.minimize(loss, global_step=step)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            losses = [float(session.run([loss, train], {ids: i, x: v})[0]) for i, v in rows(dtype)]
            return [losses, train.name, train in tf.get_collection("train_op"), state(tf, session, optimizer)]

    return case


def distributed(side, strategy, optimizer_fn, loss_fn=loss_of, **options):
    """Steps under a strategy; each tower gets a half of a step's rows, or all of them where there is one."""
    tf = side.tf
    size = 4 // strategy.num_towers

    def dataset():
        ids = np.concatenate([i for i, _ in rows()])
        x = np.concatenate([v for _, v in rows()])
        return tf.data.Dataset.from_tensor_slices((ids, x)).repeat().batch(size, drop_remainder=True)

    with strategy.scope():
        iterator = strategy.distribute_dataset(dataset).make_initializable_iterator()
        table, w = variables(tf)
        # On two devices the original's increments of a step have one name, which its graph refuses.
        step = tf.train.get_or_create_global_step() if strategy.num_towers == 1 else None
        optimizer = optimizer_fn(tf)

        def tower(batch):
            return optimizer.minimize(loss_fn(tf, table, w, *batch), global_step=step, **options)

        train = strategy.group(strategy.call_for_each_tower(tower, iterator.get_next()))
        with tf.Session(config=side.config) as session:
            session.run(iterator.initializer)
            session.run(tf.global_variables_initializer())
            for _ in range(STEPS):
                session.run(train)
            first = {v.op.name for v in tf.global_variables() if "/replica_" not in v.name}
            found = state(tf, session, optimizer)
            found["kept"] = {k: v for k, v in found["kept"].items() if k in first}
            found["own"] = [n for n in found["own"] if "/replica_" not in n]
            slot = optimizer.get_slot(strategy.unwrap(w)[0], (found["slots"] or ["none"])[0])
            return found, slot is not None and slot.name


def on_one(name):
    def case(side):
        strategy = side.tf.contrib.distribute.OneDeviceStrategy("/device:CPU:0")
        return distributed(side, strategy, lambda tf: made(tf, name))

    return case


def on_two(name):
    return lambda side: distributed(side, side.two_towers(), lambda tf: made(tf, name))


def scaled(reduction, scale):
    def loss(tf, table, w, ids, x):
        values = tf.reduce_sum(tf.gather(table, ids) * x * w, 1)
        return tf.losses.mean_squared_error(tf.ones_like(values), values, reduction=reduction)

    def case(side):
        return distributed(
            side, side.two_towers(), lambda tf: made(tf, "momentum"), loss, scale_loss_by_num_towers=scale
        )

    return case


# ---- hyperparameters -------------------------------------------------------------------------------------------------


def called_in_graph(side):
    tf = side.tf
    calls = []
    w = tf.get_variable("w", initializer=[1.0, 2.0], use_resource=True)
    rate = tf.get_variable("rate", initializer=0.5, trainable=False, use_resource=True)

    def learning_rate():
        calls.append("rate")
        return rate * 1.0

    optimizer = tf.contrib.optimizer_v2.MomentumOptimizer(learning_rate, lambda: 0.5)
    train = optimizer.minimize(tf.reduce_sum(w * w), var_list=[w])
    again = optimizer.minimize(tf.reduce_sum(w), var_list=[w])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = []
        for op, value in [(train, 0.5), (again, 0.25), (train, 0.125)]:
            session.run(rate.assign(value))
            session.run(op)
            values.append(session.run(w).tolist())
        return [calls, values, [v.name for v in tf.global_variables()]]


def tensors_in_graph(side):
    tf = side.tf
    w = tf.get_variable("w", initializer=[1.0, 2.0], use_resource=True)
    rate = tf.placeholder_with_default(0.1, [])
    train = tf.contrib.optimizer_v2.AdagradOptimizer(rate).minimize(tf.reduce_sum(w * w))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = []
        for value in (0.1, 0.5):
            session.run(train, {rate: value})
            values.append(session.run(w).tolist())
        return values


def called_eagerly(side):
    tf = side.tf
    calls = []
    w, momentum = tf.Variable([1.0, 2.0], name="w"), tf.Variable(0.5, name="momentum")

    def learning_rate():
        calls.append(1)
        return 0.1 * len(calls)

    optimizer = tf.contrib.optimizer_v2.MomentumOptimizer(learning_rate, momentum)
    values = []
    for i in range(4):
        result = optimizer.minimize(lambda: tf.reduce_sum(w * w), var_list=[w])
        momentum.assign(0.25 * i)
        values.append(w.numpy().tolist())
    return [values, len(calls), result is None, [v.numpy().tolist() for v in optimizer.variables()]]


def schedules(side):
    tf = side.tf
    step = tf.placeholder(tf.int64, [])
    made = {
        "exponential": side.schedules.exponential_decay(0.5, step, 4, 0.7),
        "staircase": side.schedules.exponential_decay(0.5, step, 4, 0.7, staircase=True),
        "natural": side.schedules.natural_exp_decay(0.5, step, 4, 0.7),
        "inverse": side.schedules.inverse_time_decay(0.5, step, 4, 0.7, staircase=True),
        "polynomial": side.schedules.polynomial_decay(0.5, step, 6, 0.1, power=2.0),
        "cycle": side.schedules.polynomial_decay(0.5, step, 6, 0.1, power=1.0, cycle=True),
        "piecewise": side.schedules.piecewise_constant(step, [3, 7], [1.0, 0.5, 0.25]),
        "cosine": side.schedules.cosine_decay(0.5, step, 9, alpha=0.1),
        "restarts": side.schedules.cosine_decay_restarts(0.5, step, 3, t_mul=1.5, m_mul=0.8),
        "equal_restarts": side.schedules.cosine_decay_restarts(0.5, step, 3, t_mul=1.0),
        "linear_cosine": side.schedules.linear_cosine_decay(0.5, step, 9),
    }
    rates = {name: rate() for name, rate in sorted(made.items())}
    with tf.Session() as session:
        return [
            {name: float(value) for name, value in session.run(rates, {step: s}).items()} for s in (0, 1, 3, 5, 8, 12)
        ]


def noisy(side):
    """Without variance the noise is none."""
    rate = side.schedules.noisy_linear_cosine_decay(0.5, 4, 9, initial_variance=0.0)
    with side.tf.Session() as session:
        return [callable(rate), float(session.run(rate()))]


def scheduled(side):
    tf = side.tf
    w = tf.get_variable("w", initializer=[1.0], use_resource=True)
    step = tf.train.get_or_create_global_step()
    rate = side.schedules.exponential_decay(1.0, step, 1, 0.5)
    train = tf.contrib.optimizer_v2.GradientDescentOptimizer(rate).minimize(tf.reduce_sum(w), global_step=step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [[session.run(train), session.run(w).tolist()] for _ in range(3)]


def scheduled_eagerly(side):
    tf = side.tf
    w, step = tf.Variable([1.0]), tf.train.get_or_create_global_step()
    rate = side.schedules.exponential_decay(1.0, step, 1, 0.5)
    optimizer = tf.contrib.optimizer_v2.GradientDescentOptimizer(rate)
    values = []
    for _ in range(3):
        optimizer.minimize(lambda: tf.reduce_sum(w), global_step=step)
        values.append(w.numpy().tolist())
    return values + [int(step.numpy())]


# ---- subclasses ------------------------------------------------------------------------------------------------------


def logged(tf, log):
    """An optimizer that keeps a log of its hooks, a slot of each kind and a count of steps."""

    class Logged(tf.contrib.optimizer_v2.OptimizerV2):
        def __init__(self, rate):
            super().__init__(False, "Logged")
            self._set_hyper("rate", rate)
            self._set_hyper("scale", lambda: 2.0)

        def _create_vars(self, var_list, state):
            log.append(["create", [v.name for v in var_list]])
            state.create_non_slot(initial_value=0.0, name="steps_done")
            for v in var_list:
                state.zeros_slot(v, "zeros")
                state.create_slot(v, tf.ones([2]), "pair", "Pair")
                state.create_slot_with_initializer(
                    v, tf.constant_initializer(0.5), tf.TensorShape([]), tf.float32, "scalar"
                )

        def _prepare(self, state):
            log.append(["prepare", state.get_hyper("rate").dtype.name, state.get_slot_names()])

        def _apply_dense(self, grad, var, state):
            log.append(["dense", var.op.name, state.get_hyper("rate", var.dtype.base_dtype).dtype.name])
            zeros = state.get_slot(var, "zeros")
            with tf.control_dependencies([zeros.assign_add(grad)]):
                return var.assign_sub(
                    state.get_hyper("rate", var.dtype.base_dtype)
                    * state.get_hyper("scale", var.dtype.base_dtype)
                    * grad
                )

        _resource_apply_dense = _apply_dense

        def _apply_sparse(self, grad, var, state):
            log.append(["sparse", var.op.name])
            return var.scatter_sub(tf.IndexedSlices(grad.values, grad.indices))

        def _resource_apply_sparse(self, grad, var, indices, state):
            log.append(["sparse", var.op.name])
            return tf.scatter_sub(var, indices, grad)

        def _finish(self, state):
            log.append(["finish", state.get_slot(None, "never") is None])
            return state.get_non_slot("steps_done").assign_add(state.get_hyper("scale"))

    return Logged(0.1)


def hooks(resource):
    def case(side):
        tf = side.tf
        log = []
        table, w = variables(tf, resource=resource)
        optimizer = logged(tf, log)
        before = [optimizer.variables(), optimizer.get_slot_names(), optimizer.get_slot(w, "zeros")]
        loss = loss_of(tf, table, w, *rows()[0])
        first = optimizer.minimize(loss, name="first")
        second = optimizer.minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for op in (first, second, first):
                session.run(op)
            return [log, before, first.name, second.name, state(tf, session, optimizer), optimizer.get_name()]

    return case


def hooks_on_two(side):
    log = []
    found = distributed(side, side.two_towers(), lambda tf: logged(tf, log))
    return [found, [entry for entry in log if entry[0] not in ("dense", "sparse")][:3]]


def without_finish(side):
    tf = side.tf

    class Descent(tf.contrib.optimizer_v2.OptimizerV2):
        def __init__(self):
            super().__init__(False, "Descent")
            self._set_hyper("rate", 0.5)

        def _resource_apply_dense(self, grad, handle, state):
            return handle.assign_sub(state.get_hyper("rate") * grad)

    w = tf.get_variable("w", initializer=[4.0], use_resource=True)
    train = Descent().minimize(tf.reduce_sum(w * w / 2))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        return [train.name, session.run(w).tolist()]


# ---- arguments -------------------------------------------------------------------------------------------------------


def stopped(side):
    tf = side.tf
    w = tf.get_variable("w", initializer=[1.0, 2.0], use_resource=True)
    squared = w * w
    optimizer = tf.contrib.optimizer_v2.GradientDescentOptimizer(0.1)
    ((gradient, _),) = optimizer.compute_gradients(
        squared + w, stop_gradients=[squared], grad_loss=tf.constant([3.0, 4.0])
    )
    ((whole, _),) = optimizer.compute_gradients(squared + w, scale_loss_by_num_towers=True)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [v.tolist() for v in session.run([gradient, whole])]


def of_function(side):
    tf = side.tf
    w = tf.get_variable("w", initializer=[1.0, 2.0], use_resource=True)
    tf.get_variable("unused", initializer=1.0, use_resource=True)
    optimizer = tf.contrib.optimizer_v2.AdamOptimizer(0.1)
    pairs = optimizer.compute_gradients(lambda: tf.reduce_sum(w * w))
    train = optimizer.minimize(lambda: tf.reduce_sum(w * w))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        return [[v.name for _, v in pairs], session.run(w).tolist()]


def two_graphs(side):
    tf = side.tf
    optimizer = tf.contrib.optimizer_v2.AdamOptimizer(0.1)
    found = []
    for start in (1.0, 2.0):
        with tf.Graph().as_default():
            w = tf.get_variable("w", initializer=[start], use_resource=True)
            train = optimizer.minimize(tf.reduce_sum(w * w))
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                session.run(train)
                found.append([session.run(w).tolist(), [v.name for v in optimizer.variables()]])
            found.append(optimizer.get_slot(w, "m").name)
    return found + [len(optimizer.variables()), optimizer.get_slot_names()]


# ---- checkpoints -----------------------------------------------------------------------------------------------------


def keys(path, tf):
    return sorted(name for name, _ in tf.train.list_variables(path) if not name.startswith("_CHECKPOINTABLE"))


def saved_in_graph(name):
    def case(side):
        tf = side.tf
        table, w = variables(tf)
        optimizer = made(tf, name)
        train = optimizer.minimize(loss_of(tf, table, w, *rows()[0]))
        folder = tempfile.mkdtemp()
        checkpoint = tf.train.Checkpoint(optimizer=optimizer, w=w, table=table)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(train)
            path = checkpoint.save(os.path.join(folder, "objects"), session=session)
            then = session.run(w).tolist()
            session.run(train)
            later = session.run(w).tolist()
            checkpoint.restore(path).assert_consumed().run_restore_ops(session)
            again = session.run(w).tolist()
            session.run(train)
            saver = tf.train.Saver().save(session, os.path.join(folder, "names"))
            return [keys(path, tf), keys(saver, tf), then == again, later == session.run(w).tolist()]

    return case


def saved_eagerly(name):
    def case(side):
        tf = side.tf
        w = tf.contrib.eager.Variable([1.0, 2.0], name="w")
        optimizer = made(tf, name)
        loss = lambda: tf.reduce_sum(w * w)  # noqa: E731
        checkpoint = tf.train.Checkpoint(optimizer=optimizer, w=w)
        for _ in range(2):
            optimizer.minimize(loss)
        path = checkpoint.save(os.path.join(tempfile.mkdtemp(), "objects"))
        optimizer.minimize(loss)
        later = w.numpy().tolist()
        # New objects: slots are made with the values that wait for them.
        fresh = tf.contrib.eager.Variable([0.0, 0.0], name="w")
        other = made(tf, name)
        status = tf.train.Checkpoint(optimizer=other, w=fresh).restore(path)
        slots = other.get_slot_names()
        other.minimize(lambda: tf.reduce_sum(fresh * fresh))
        status.assert_consumed()
        return [keys(path, tf), later, fresh.numpy().tolist(), later == fresh.numpy().tolist(), slots]

    return case


# ---- errors ----------------------------------------------------------------------------------------------------------


def variable(tf, value=1.0, **options):
    return tf.get_variable("w", initializer=value, use_resource=True, **options)


def old_hook(side):
    class Old(side.tf.contrib.optimizer_v2.OptimizerV2):
        def _create_slots(self, var_list):
            pass

    Old(False, "Old")


def no_path(side):
    variable(side.tf)
    made(side.tf, "adam").minimize(side.tf.constant(1.0))


def no_hyperparameter(side):
    class Lost(side.tf.contrib.optimizer_v2.OptimizerV2):
        def _resource_apply_dense(self, grad, handle, state):
            return handle.assign_sub(state.get_hyper("rate") * grad)

    Lost(False, "Lost").minimize(variable(side.tf) * 2.0)


def of_adam(method, *arguments):
    """Calls a method with functions of ``tf`` for arguments."""
    return lambda side: getattr(made(side.tf, "adam"), method)(*(argument(side.tf) for argument in arguments))


def unsupported(method, *arguments):
    return lambda side: getattr(made(side.tf, "adam"), method)(*arguments)


def no_step(name, *arguments):
    return lambda side: getattr(side.schedules, name)(0.1, None, *arguments)


ERRORS = {
    "no_name": lambda side: side.tf.contrib.optimizer_v2.OptimizerV2(False, ""),
    "old_hook": old_hook,
    "no_pairs": unsupported("apply_gradients", []),
    "no_gradients": of_adam("apply_gradients", lambda tf: [(None, variable(tf))]),
    "no_path": no_path,
    "no_variables": of_adam("minimize", lambda tf: tf.constant(1.0)),
    "a_tensor": lambda side: made(side.tf, "momentum").apply_gradients(
        [(side.tf.constant(1.0), side.tf.constant(2.0))]
    ),
    "integers": of_adam("minimize", lambda tf: variable(tf, 1) * 2),
    "no_rule": lambda side: side.tf.contrib.optimizer_v2.OptimizerV2(False, "None").minimize(variable(side.tf) * 2.0),
    "bad_gate": lambda side: made(side.tf, "adam").minimize(variable(side.tf) * 2.0, gate_gradients=7),
    "bad_accumulator": lambda side: side.tf.contrib.optimizer_v2.AdagradOptimizer(0.1, initial_accumulator_value=0.0),
    "constrained_rows": of_adam(
        "minimize", lambda tf: tf.reduce_sum(tf.gather(variable(tf, [[1.0], [2.0]], constraint=tf.identity), [0]))
    ),
    "a_dependency": of_adam("_track_checkpointable", variable, lambda tf: "w"),
    "no_hyperparameter": no_hyperparameter,
    "slot_dict": unsupported("_slot_dict", "m"),
    "get_or_make_slot": unsupported("_get_or_make_slot", None, None, "m", "m"),
    "create_non_slot": unsupported("_create_non_slot_variable", 0.0, "n", None),
    "get_non_slot": unsupported("_get_non_slot_variable", "n"),
    "non_slots": unsupported("_non_slot_variables"),
    "exponential": no_step("exponential_decay", 1, 0.5),
    "polynomial": no_step("polynomial_decay", 1),
    "cosine": no_step("cosine_decay", 1),
    "pieces": lambda side: side.schedules.piecewise_constant(1, [1, 2], [0.1]),
}
EAGER = {
    "called_eagerly": called_eagerly, "scheduled_eagerly": scheduled_eagerly,
    "error_tensor_eagerly": of_adam("minimize", lambda tf: tf.constant(1.0)),
    "error_tensor_variable_eagerly": of_adam("apply_gradients", lambda tf: [(tf.constant(1.0), tf.constant(2.0))]),
    **{"saved_eagerly_" + name: saved_eagerly(name) for name in ("adam", "momentum", "gradient_descent")},
}  # fmt: skip
"""Cases that run with eager execution enabled."""

CASES = {
    **{"one_device_" + name: one_device(name) for name in OPTIMIZERS},
    **{"float64_" + name: one_device(name, "float64") for name in ("gradient_descent", "adam", "rmsprop_centered")},
    **{"ref_" + name: one_device(name, resource=False) for name in ("gradient_descent", "adam", "adagrad")},
    **{"on_one_" + name: on_one(name) for name in ("momentum", "adam", "rmsprop")},
    **{"on_two_" + name: on_two(name) for name in OPTIMIZERS},
    **{
        f"scaled_{reduction}_{scale}".lower(): scaled(reduction, scale)
        for reduction in ("weighted_sum", "weighted_mean") for scale in (None, True, False)
    },
    **{
        case.__name__: case for case in (
            called_in_graph, tensors_in_graph, schedules, noisy, scheduled, hooks_on_two, without_finish, stopped,
            of_function, two_graphs,
        )
    },
    "hooks": hooks(True), "hooks_of_refs": hooks(False),
    **{"saved_in_graph_" + name: saved_in_graph(name) for name in ("adam", "rmsprop", "gradient_descent")},
    **{"error_" + name: case for name, case in ERRORS.items()}, **EAGER,
}  # fmt: skip


def run(side, name):
    """What a case gives, in a graph of its own unless it runs eagerly."""
    try:
        if name in EAGER:
            return CASES[name](side)
        with side.tf.Graph().as_default():
            return CASES[name](side)
    except Exception as error:
        if not name.startswith("error_"):
            raise
        return [type(error).__name__, str((error.args or [""])[0])]
