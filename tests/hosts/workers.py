"""A program of workers that have a graph each, and meet where optimizers apply gradients: one process of two.

Each case trains on this process's part of the batches, and again, in a session that is connected to nothing, on whole
batches: what it prints are both results, as JSON. The last case is one that fails.
"""

import json
import sys

import numpy as np

import towerstrat.compat.v1 as tf
from towerstrat.errors import UnsupportedError
from towerstrat.hosts.process_index import PROCESSES

COUNT, INDEX = PROCESSES.count, PROCESSES.index
ROWS = 8
CLUSTER = tf.train.ClusterSpec({"ps": ["localhost:1"], "worker": [f"localhost:{2222 + i}" for i in range(COUNT)]})


def refusals():
    """What servers of other clusters, or of another task, say."""
    three = {"worker": ["localhost:1", "localhost:2", "localhost:3"]}
    said = []
    for cluster, task in ((three, INDEX), (CLUSTER, 1 - INDEX)):
        try:
            tf.train.Server(cluster, "worker", task)
        except UnsupportedError as error:
            said.append(str(error))
    return said


class Model:
    """A model with gradients of all rows and of some, trained by momentum."""

    def __init__(self, synchronized=False):
        self.x, self.y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 1])
        self.ids = tf.placeholder(tf.int32, [None])
        # What is initialized differs by process, and becomes the first one's.
        start = tf.constant_initializer(0.5 + INDEX)
        w = tf.get_variable("w", [3, 1], initializer=start)
        table = tf.get_variable("table", [5, 1], initializer=tf.zeros_initializer())
        self.step = tf.train.get_or_create_global_step()
        rows = tf.nn.embedding_lookup(table, self.ids)
        self.loss = tf.reduce_mean((tf.matmul(self.x, w) + rows - self.y) ** 2)
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        if synchronized:
            optimizer = tf.train.SyncReplicasOptimizer(optimizer, COUNT, COUNT)
        self.optimizer = optimizer
        self.train = optimizer.minimize(self.loss, self.step)
        self.values = [w, table, self.step]
        self.initial = tf.group(tf.global_variables_initializer(), tf.local_variables_initializer())
        with tf.control_dependencies([self.initial]):
            self.as_first = w.assign(tf.fill([3, 1], 0.5))

    def feeds(self, number, whole=False):
        """A step's batch, or this process's part of it."""
        draws = np.random.RandomState(number)
        x = draws.randn(ROWS, 3).astype(np.float32)
        part = slice(None) if whole else slice(INDEX * ROWS // COUNT, (INDEX + 1) * ROWS // COUNT)
        feeds = {self.x: x, self.y: x.sum(1, keepdims=True), self.ids: draws.randint(0, 5, ROWS)}
        return {tensor: value[part] for tensor, value in feeds.items()}

    def alone(self, steps):
        """The values after steps on whole batches, from where the first process begins."""
        with tf.Session() as session:
            session.run(self.as_first)
            for number in range(steps):
                session.run(self.train, self.feeds(number, whole=True))
            return [value.tolist() for value in session.run(self.values)]


def raw(server):
    """Sessions that the program makes itself."""
    model = Model()
    with tf.Session(server.target) as session:
        if INDEX == 0:
            session.run(tf.global_variables_initializer())
        while len(session.run(tf.report_uninitialized_variables())):
            pass
        for number in range(3):
            session.run(model.train, model.feeds(number))
        found = [value.tolist() for value in session.run(model.values)]
    return found, model.alone(3)


def monitored(server, synchronized=False):
    """A monitored session, whose hooks stop it."""
    model = Model(synchronized)
    hooks = [tf.train.StopAtStepHook(num_steps=3)]
    if synchronized:
        hooks.append(model.optimizer.make_session_run_hook(INDEX == 0))
    found, number = None, 0
    with tf.train.MonitoredTrainingSession(server.target, INDEX == 0, hooks=hooks) as session:
        while not session.should_stop():
            session.run(model.train, model.feeds(number))
            number += 1
            found = [
                value.tolist()
                for value in session.run_step_fn(lambda step_context: step_context.session.run(model.values))
            ]
    return found, model.alone(3)


def supervised(server):
    """A session of a ``Supervisor``."""
    model = Model()
    supervisor = tf.train.Supervisor(is_chief=INDEX == 0, global_step=model.step)
    with supervisor.managed_session(server.target) as session:
        for number in range(3):
            session.run(model.train, model.feeds(number))
        found = [value.tolist() for value in session.run(model.values)]
    return found, model.alone(3)


def data(server, fails):
    """How many steps a pass of data takes that is longer in the second process, or fails there, and how it ends."""
    x = tf.data.Dataset.range(2 + INDEX).make_one_shot_iterator().get_next()
    if fails and INDEX == 1:
        x = tf.check_numerics(tf.log(tf.cast(x, tf.float32)), "a bad row")
    w = tf.get_variable("v", [], initializer=tf.zeros_initializer())
    train = tf.train.GradientDescentOptimizer(0.5).minimize((w - tf.to_float(x)) ** 2)
    with tf.Session(server.target) as session:
        session.run(tf.global_variables_initializer())
        steps = 0
        try:
            while True:
                session.run(train)
                steps += 1
        except tf.errors.OpError as error:
            return steps, type(error).__name__, error.message


def passes(server, inside):
    """How many steps each of three passes takes over data that is longer in the second process.

    Args:
      inside: whether an element is taken, and gradients of it are applied, in a branch.
    """
    iterator = tf.data.Dataset.range(2 + INDEX).make_initializable_iterator()
    w = tf.get_variable("v", [], initializer=tf.zeros_initializer())

    def apply():
        return tf.train.GradientDescentOptimizer(0.5).minimize((w - tf.to_float(iterator.get_next())) ** 2)

    train = tf.cond(tf.placeholder_with_default(True, []), apply, tf.no_op) if inside else apply()
    found = []
    with tf.Session(server.target) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(iterator.initializer)
            found.append(0)
            try:
                while True:
                    session.run(train)
                    found[-1] += 1
            except tf.errors.OutOfRangeError:
                pass
    return found


def conditional(server, loop):
    """A variable after runs that apply gradients in a branch or loop, in all processes or in one; what that says."""
    wanted = tf.placeholder(tf.int32, [])
    w = tf.get_variable("v", [], initializer=tf.zeros_initializer())

    def apply(*_):
        train = tf.train.GradientDescentOptimizer(0.5).minimize((w - (1.0 + INDEX)) ** 2)
        with tf.control_dependencies([train]):
            return tf.constant(1)

    if loop:
        chosen = tf.while_loop(lambda i: i < wanted, lambda i: i + apply(), [0])
    else:
        chosen = tf.cond(wanted > 0, apply, lambda: tf.constant(0))
    found = []
    with tf.Session(server.target) as session:
        session.run(tf.global_variables_initializer())
        for number in (1, 0, 2 * INDEX, 1):
            try:
                session.run(chosen, {wanted: number})
            except tf.errors.FailedPreconditionError as error:
                found.append(error.message)
            found.append(float(session.run(w)))
    return found


def in_a_graph(case, *arguments):
    with tf.Graph().as_default(), tf.device(tf.train.replica_device_setter(cluster=CLUSTER)):
        return case(*arguments)


def main(long):
    found = {"refusals": refusals()}
    server = tf.train.Server(CLUSTER, "worker", INDEX)
    found["raw"] = in_a_graph(raw, server)
    if long:
        found["monitored"] = in_a_graph(monitored, server)
        found["synchronized"] = in_a_graph(monitored, server, True)
        found["supervised"] = in_a_graph(supervised, server)
    found["ends"] = in_a_graph(data, server, False)
    found["passes"] = [in_a_graph(passes, server, inside) for inside in (False, True)]
    found["branch"] = in_a_graph(conditional, server, False)
    found["loop"] = in_a_graph(conditional, server, True)
    found["fails"] = in_a_graph(data, server, True)
    found["afterwards"] = in_a_graph(data, server, False)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:] == ["long"])
