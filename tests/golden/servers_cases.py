"""One-task servers, devices of replicas and synchronized replicas, run by the original and by ours. Python 3.6 too.

A case is a function of the namespace ``tf`` that returns values for JSON; an error is its type, and its text up to the
first full stop where ``SAID`` lists the case.
"""

import threading

import numpy as np

from tests.golden.plain_values import plain

SHAPES = [([10], "float32"), ([2, 3], "float64"), ([], "float32"), ([5], "int64"), ([100], "float32"), ([3], "float16")]


def run(tf, name):
    """What a case gives."""
    tf.reset_default_graph()
    try:
        return plain(CASES[name](tf))
    except Exception as error:
        return [type(error).__name__] + [str(error).split(".")[0]] * (name in SAID)


def ending(function):
    """The type of the error that a call ends with; "ended" for none."""
    try:
        function()
    except Exception as error:
        return type(error).__name__
    return "ended"


# ---- devices -----------------------------------------------------------------------------------------------------


def placed(strategy=None, **kwargs):
    """The devices of variables of several sizes."""

    def case(tf):
        found = dict(kwargs)
        if strategy is not None:
            found["ps_strategy"] = strategy(tf)
        with tf.device(tf.train.replica_device_setter(**found)):
            made = [tf.get_variable("v" + str(i), s, dtype=t) for i, (s, t) in enumerate(SHAPES)]
            made.append(tf.placeholder(tf.float32))
            with tf.device("/gpu:1"):
                made += [tf.constant(1.0), tf.get_variable("gpu", [2])]
            with tf.device("/job:worker/task:7"):
                made += [tf.constant(1.0), tf.get_variable("worker", [2])]
            with tf.device(None):
                made += [tf.constant(1.0), tf.get_variable("none", [2])]
            with tf.colocate_with(made[1].op):
                made += [tf.constant(1.0), tf.Variable(2.0)]
            made.append(made[0] + 1.0)
            slots = tf.train.MomentumOptimizer(0.1, 0.9)
            slots.minimize(tf.reduce_sum(made[0] * tf.reduce_sum(made[4])), tf.train.get_or_create_global_step())
            made += [slots.get_slot(made[0], "momentum"), slots.get_slot(made[4], "momentum")]
            made.append(tf.train.get_global_step())
        return [x.device for x in made]

    return case


def sized(make):
    return lambda tf: tf.contrib.training.byte_size_load_fn(make(tf))


# ---- servers -----------------------------------------------------------------------------------------------------


def served(*args, **kwargs):
    def case(tf):
        definition = tf.train.Server(*args, **kwargs).server_def
        jobs = [[job.name, sorted(job.tasks.items())] for job in definition.cluster.job]
        config = definition.default_session_config.allow_soft_placement
        return [jobs, definition.job_name, definition.task_index, definition.protocol, config]

    return case


def again(tf):
    first = tf.train.Server({"here": ["localhost:0"]}, start=False)
    other = tf.train.Server(first.server_def, job_name="here", task_index=0, config=tf.ConfigProto())
    other.start()
    with tf.Session(other.target) as session:
        return [other.server_def.job_name, session.run(tf.constant(3) + 4)]


def shared(tf):
    """Two sessions of one graph, and one of another, on one server."""
    target = tf.train.Server.create_local_server().target
    graph, other = tf.Graph(), tf.Graph()
    with graph.as_default():
        v = tf.get_variable("v", [2], initializer=tf.ones_initializer(), use_resource=True)
        up, init, drawn = v.assign_add([1.0, 2.0]), tf.global_variables_initializer(), tf.random_uniform([], seed=3)
        named = tf.FIFOQueue(3, tf.int32, shapes=[[]], shared_name="q", name="named")
        own = tf.FIFOQueue(3, tf.int32, shapes=[[]], name="own")
        put, sizes, get = [named.enqueue(5), own.enqueue(6)], [named.size(), own.size()], named.dequeue()
    with other.as_default():
        w = tf.get_variable("v", [2], use_resource=True)
        more = w.assign_add([10.0, 10.0])
        size = tf.FIFOQueue(3, tf.int32, shapes=[[]], shared_name="q").size()
    one, two, three = tf.Session(target, graph=graph), tf.Session(target, graph=graph), tf.Session(target, graph=other)
    found = [ending(lambda: two.run(v))]
    one.run(init)
    found += [two.run(up), one.run(v), three.run(more), one.run(v)]
    one.run(put)
    found += [one.run(sizes), two.run(sizes), three.run(size)]
    first = one.run(drawn)
    found += [first == two.run(drawn), first == one.run(drawn)]
    one.close()
    found += [two.run(v), two.run(get), ending(lambda: one.run(v))]
    ended = []
    thread = threading.Thread(target=lambda: ended.append(ending(lambda: two.run(get))))
    thread.start()
    while not thread.is_alive():
        pass
    two.close()
    thread.join()
    found += [ended[0] in ("CancelledError", "RuntimeError"), three.run([w, size])]
    with tf.Session(graph=graph) as alone:
        found.append(ending(lambda: alone.run(v)))
    tf.Session.reset(target)
    found += [ending(lambda: three.run(w)), ending(lambda: tf.Session(target, graph=other).run(w))]
    return found


def supervised(tf):
    """The program that old guides have, as the only worker of a cluster with a parameter server's task."""
    server = tf.train.Server({"worker": ["localhost:0"]}, job_name="worker", task_index=0)
    with tf.device(tf.train.replica_device_setter(worker_device="/job:worker/task:0", ps_tasks=0)):
        step = tf.train.get_or_create_global_step()
        w = tf.get_variable("w", [2], initializer=tf.zeros_initializer())
        loss = tf.reduce_sum((w - [1.0, 2.0]) ** 2)
        train = tf.train.AdagradOptimizer(0.5).minimize(loss, global_step=step)
    found = []
    supervisor = tf.train.Supervisor(is_chief=True, global_step=step, logdir=None, summary_op=None)
    with supervisor.managed_session(server.target) as session:
        while not supervisor.should_stop() and session.run(step) < 4:
            session.run(train)
            found.append(session.run(loss))
        supervisor.stop()
    with tf.Session(server.target) as later:
        found += [later.run(w), later.run(step)]
    return found


# ---- synchronized replicas ---------------------------------------------------------------------------------------


def replicas(aggregate, total, optimizer, rows=False, tokens=-1, steps=4, average=False):
    """What each run of a replica leaves, where the chief's step follows as soon as it can."""

    def case(tf):
        step = tf.train.get_or_create_global_step()
        w = tf.get_variable("w", [3, 2], initializer=tf.ones_initializer())
        unused = tf.get_variable("unused", [])
        x = tf.placeholder(tf.float32, [])
        read = tf.nn.embedding_lookup(w, [0, 2, 0]) if rows else w
        inner = optimizer(tf)
        averages = tf.train.ExponentialMovingAverage(0.5) if average else None
        opt = tf.train.SyncReplicasOptimizer(inner, aggregate, total, averages, [w] if average else None)
        pairs = opt.compute_gradients(tf.reduce_sum(x * read * read), [w, unused])
        train = opt.apply_gradients(pairs, global_step=step)
        (sync,) = opt.get_chief_queue_runner().enqueue_ops
        tokens_op = opt.get_init_tokens_op(tokens)
        waiting = opt._sync_token_queue.size()
        counts = [accumulator.num_accumulated() for accumulator, _ in opt._accumulator_list]
        slots = [opt.get_slot(w, name) for name in opt.get_slot_names()] + ([averages.average(w)] if average else [])
        found = [opt.get_slot_names(), len(opt.variables()), [v.op.name for v in tf.local_variables()]]
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            found.append(session.run(opt.ready_for_local_init_op))
            session.run(opt.chief_init_op)
            session.run(tokens_op)
            for number in range(3 * steps):
                if session.run(waiting) == 0:
                    found.append("no token")
                    break
                token = session.run(train, {x: 0.1 * (number + 1)})
                collected = session.run(counts)
                while collected and min(session.run(counts)) >= aggregate:
                    session.run(sync)
                found.append([token, collected, session.run(waiting), session.run([step, w] + slots)])
        return found

    return case


def hooked(tf, master="", total=1, tokens=0):
    """Training by the hook, where each run waits for its own step."""
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", [2], initializer=tf.zeros_initializer())
    opt = tf.train.SyncReplicasOptimizer(tf.train.AdamOptimizer(0.1), 1, total)
    train = opt.minimize(tf.reduce_sum((w - [1.0, 2.0]) ** 2), global_step=step)
    hooks = [opt.make_session_run_hook(True, num_tokens=tokens)]
    found = []
    with tf.train.MonitoredTrainingSession(master=master, hooks=hooks, stop_grace_period_secs=1) as session:
        for _ in range(5):
            found.append(session.run(train))
            found.append(session.run([step, w]))
    return found


def hooked_on_a_server(tf):
    return hooked(tf, tf.train.Server.create_local_server().target)


def stale(tf):
    """A gradient of an earlier step is dropped, and one of the step is not."""
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
    x = tf.placeholder(tf.float32, [])
    opt = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 1, 1)
    train = opt.minimize(w * x, global_step=step)
    (sync,) = opt.get_chief_queue_runner().enqueue_ops
    found = []
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer(), step.assign(7)])
        session.run([opt.chief_init_op])
        session.run(opt.get_init_tokens_op(4))
        count = opt._accumulator_list[0][0].num_accumulated()
        for number in range(4):
            token = session.run(train, {x: number + 1.0})
            counted = session.run(count)
            if counted:
                session.run(sync)
            found.append([token, counted, session.run([step, w, tf.local_variables()[0]])])
    return found


def accumulated(tf):
    """Gradients of rows, with rows that are there twice and in any order."""
    random, found = np.random.RandomState(0), []
    rows, values = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None, 1])
    made = [tf.SparseConditionalAccumulator(tf.float32, shape=(), reduction_type=kind) for kind in ("MEAN", "SUM")]
    operations = [(each.apply_grad(rows, values, [6, 1]), each.take_grad(1)) for each in made]
    for case in range(24):
        apply, take = operations[case % 2]
        with tf.Session() as session:
            for _ in range(1 + case % 4):
                indices = random.randint(0, 6, random.randint(0, 5))
                indices = indices if case % 3 else np.unique(indices)
                session.run(apply, {rows: indices, values: np.arange(len(indices)).reshape(-1, 1) + 1.0})
            found.append(list(session.run(take)))
    return found


def misused(what):
    def case(tf):
        w = tf.get_variable("w", [2])
        opt = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 3, 1)
        step = tf.train.get_or_create_global_step()
        if what == "no step":
            return opt.minimize(tf.reduce_sum(w))
        if what == "no pairs":
            return opt.apply_gradients([], step)
        if what == "runner":
            return opt.get_chief_queue_runner()
        if what == "tokens":
            return opt.get_init_tokens_op()
        if what == "hook":
            return opt.make_session_run_hook(True).begin()
        opt.minimize(tf.reduce_sum(w), global_step=step)
        return opt.get_init_tokens_op(1)

    return case


OPTIMIZERS = {
    "descent": lambda tf: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9),
    "adam": lambda tf: tf.train.AdamOptimizer(0.1),
}


def greedy(tasks, load=None):
    return lambda tf: tf.contrib.training.GreedyLoadBalancingStrategy(
        tasks, load or tf.contrib.training.byte_size_load_fn
    )


def hashed(tasks, **kwargs):
    return lambda tf: tf.contrib.training.RandomStrategy(tasks, **kwargs)


CLUSTER = {"ps": ["a:1", "b:1"], "worker": ["c:1", "d:1", "e:1"]}
CASES = {
    "device": placed(ps_tasks=2),
    "device no tasks": placed(),
    "device one task": placed(ps_tasks=1, worker_device="/job:worker/task:3"),
    "device cluster": placed(cluster=CLUSTER, worker_device="/job:worker/task:1/gpu:0"),
    "device cluster, no such job": placed(cluster={"worker": ["c:1"]}),
    "device cluster, job": placed(cluster={"params": ["c:1", "d:1"]}, ps_device="/job:params/cpu:0"),
    "device cluster, nothing": placed(cluster=3),
    "device none for variables": placed(ps_tasks=2, ps_device="", worker_device="/job:local/task:0"),
    "device none for others": placed(ps_tasks=2, worker_device=None),
    "device not merged": placed(ps_tasks=2, merge_devices=False),
    "device operations": placed(ps_tasks=3, ps_ops=["Placeholder", "VariableV2"]),
    "device no operations": placed(ps_tasks=3, ps_ops=[]),
    "device greedy": placed(greedy(3), ps_tasks=3),
    "device greedy by number": placed(greedy(2, lambda op: 1), ps_tasks=2),
    "device hashed": placed(hashed(3), ps_tasks=3),
    "device hashed, seed": placed(hashed(3, seed=5), ps_tasks=3),
    "device no function": placed(lambda tf: 3, ps_tasks=2),
    "size": sized(lambda tf: tf.get_variable("v", [3, 4], tf.float64).op),
    "size of a tensor": sized(lambda tf: tf.zeros([7]).op),
    "size of nothing": sized(lambda tf: tf.no_op()),
    "size unknown": sized(lambda tf: tf.placeholder(tf.float32, [None]).op),
    "server": served({"local": ["localhost:0"]}),
    "server worker": served({"worker": ["localhost:0"], "ps": ["b:1", "c:1"]}, job_name="worker", task_index=0),
    "server sparse": served({"worker": {3: "localhost:0"}}),
    "server no job": served({"worker": ["localhost:0"], "ps": ["b:1"]}),
    "server no index": served({"worker": ["localhost:0"], "ps": ["b:1", "c:1"]}, job_name="ps"),
    "server other job": served({"worker": ["localhost:0"]}, job_name="ps"),
    "server other index": served({"worker": ["localhost:0"]}, task_index=2),
    "server protocol": served({"worker": ["localhost:0"]}, protocol="carrier pigeon"),
    "server address": served({"worker": ["localhost"]}),
    "server nothing": served(3),
    "server again": again,
    "server shared": shared,
    "server supervised": supervised,
    "replicas hooked": hooked,
    "replicas hooked on a server": hooked_on_a_server,
    "replicas stale": stale,
    "accumulated rows": accumulated,
    "replicas 1 1 averaged": replicas(1, 1, OPTIMIZERS["descent"], average=True),
    "replicas 2 2 averaged rows": replicas(2, 2, OPTIMIZERS["momentum"], rows=True, average=True),
    "replicas 1 1 no tokens": replicas(1, 1, OPTIMIZERS["adam"], tokens=0),
    "replicas 3 1 tokens": replicas(3, 1, OPTIMIZERS["descent"], tokens=5),
}  # fmt: skip
CASES.update(
    (f"replicas {a} {t} {o}" + (" rows" if rows else ""), replicas(a, t, OPTIMIZERS[o], rows))
    for a, t in ((1, 1), (2, 2), (2, 3), (3, 1), (2, 1)) for o in OPTIMIZERS for rows in (False, True)
)  # fmt: skip
CASES.update(("replicas " + what, misused(what)) for what in ("no step", "no pairs", "runner", "tokens", "hook", "few"))
SAID = [name for name in CASES if name.startswith("replicas ") and not name.startswith("replicas hook")] + [
    "device no function", "server other index", "server no job"
]  # fmt: skip
