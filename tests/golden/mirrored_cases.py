"""What cases of MirroredStrategy see, and how an outcome is told as JSON. Runs under Python 3.6 too.

A case is a function of a ``World`` that returns plain facts, by what they are about. Cases are in the modules
mirrored_*_cases; ``collected`` finds them. Read by the script that runs the original and by the tests.
"""

import inspect
import re
import threading

import numpy as np


class World:
    """A strategy over ``n`` virtual devices, and a session that initializes variables before they are used.

    Where not ``named``, tensors are told by type and shape. Without ``prefetch_on_device`` the original deals elements
    of a data set in their order; with it, which tower gets which is a matter of luck.
    """

    def __init__(self, tf, n, folder=None, named=True, where="CPU"):
        self.tf, self.n, self.np, self.folder, self.naming = tf, n, np, folder, named
        self.devices = [f"/device:{where}:{i}" for i in range(n)]
        self.d = tf.contrib.distribute.MirroredStrategy(devices=self.devices, prefetch_on_device=False)
        self.config = tf.ConfigProto(device_count={"CPU": max(n, 4)})
        self.log, self.sess, self.initialized = [], None, set()

    def context(self):
        return self.tf.contrib.distribute.get_tower_context()

    def k(self):
        return self.context().tower_id

    def merge(self, fn, *args, **kwargs):
        return self.context().merge_call(fn, *args, **kwargs)

    def how(self, name):
        return getattr(self.tf.VariableAggregation, name)

    def variable(self, name="v", value=0.0, aggregation="NONE", **kwargs):
        return self.tf.get_variable(name, initializer=value, aggregation=self.how(aggregation), **kwargs)

    def local(self, name="t", value=0.0, aggregation="SUM", **kwargs):
        on_read = self.tf.VariableSynchronization.ON_READ
        return self.variable(name, value, aggregation, synchronization=on_read, trainable=False, **kwargs)

    def towers(self, fn, *args, **kwargs):
        with self.d.scope():
            return self.d.call_for_each_tower(fn, *args, **kwargs)

    def per(self, values):
        """A per-device value of tensors of these values."""
        return self.towers(lambda: self.tf.constant(values[self.k()]))

    def session(self):
        if self.sess is None:
            self.sess = self.tf.Session(config=self.config)
        there = self.tf.global_variables() + self.tf.local_variables()
        new = [v for v in there if v.name not in self.initialized]
        self.sess.run([v.initializer for v in new])
        self.initialized.update(v.name for v in new)
        return self.sess

    def run(self, things, feed=None):
        """What a structure's tensors are, as the session finds them; values of devices in the order of towers."""
        if self.tf.executing_eagerly():
            return numbers(self.flat(things))
        return numbers(self.session().run(self.flat(things), feed))

    def flat(self, things):
        if isinstance(things, dict):
            return {key: self.flat(v) for key, v in things.items()}
        if isinstance(things, (list, tuple)):
            return [self.flat(v) for v in things]
        parts = self.d.unwrap(things)
        return parts if len(parts) > 1 or parts[0] is not things else things

    def copies(self, variable):
        return self.run(list(self.d.unwrap(variable)))

    def named(self, things):
        return [thing.name for thing in things]

    def operations(self, kinds=None):
        """Names of the graph's operations, without those that variables make of themselves."""
        own = re.compile("Initializer|/Assign|/Read|IsInitialized|VarIsInit|_Switch|/read")
        of = self.tf.get_default_graph().get_operations()
        return [op.name for op in of if not own.search(op.name) and (kinds is None or op.type in kinds)]

    def collections(self):
        """What the collections of variables have, with kinds."""
        keys = ["GLOBAL_VARIABLES", "TRAINABLE_VARIABLES", "LOCAL_VARIABLES", "MODEL_VARIABLES"]
        found = {}
        for key in keys:
            of = self.tf.get_collection(getattr(self.tf.GraphKeys, key))
            found[key] = [[type(v).__name__, v.name] for v in of]
        return found

    def told(self, value):
        return told(value, self.d, self.naming)

    def attempt(self, fn, *args):
        """What a part of a case comes to."""
        return outcome(lambda: told(fn(*args), self.d, self.naming))

    def attempted(self, fn):
        """A function of which each call is a part of a case that is attempted."""
        return lambda *args, **kwargs: self.attempt(lambda: fn(*args, **kwargs))

    def refused(self, fn, *args):
        return self.attempt(lambda: self.towers(fn, *args))


def numbers(value):
    """Values as lists of numbers of six digits."""
    if isinstance(value, dict):
        return {str(k): numbers(v) for k, v in sorted(value.items(), key=str)}
    if isinstance(value, (list, tuple)):
        return [numbers(v) for v in value]
    if hasattr(value, "numpy") and not isinstance(value, np.ndarray):
        return numbers(value.numpy())
    if isinstance(value, (np.ndarray, np.generic)):
        return numbers(value.tolist())
    if isinstance(value, float):
        return float(f"{value:.6g}") if np.isfinite(value) else str(value)
    return value.decode() if isinstance(value, bytes) else value


def told(value, d, named=True):
    """A value as JSON: kinds of distributed values with their parts, tensors by name."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (float, bytes, np.ndarray, np.generic)):
        return numbers(value)
    if isinstance(value, dict):
        return {str(k): told(v, d, named) for k, v in sorted(value.items(), key=str)}
    if type(value) in (list, tuple):
        return [told(v, d, named) for v in value]
    if isinstance(value, tuple):
        return {type(value).__name__: [told(v, d, named) for v in value]}
    kind = type(value).__name__
    if kind in ("PerDevice", "Mirrored"):
        return {kind: [told(v, d, named) for v in d.unwrap(value)]}
    if kind == "IndexedSlices":
        return {kind: [told(value.values, d, named), told(value.indices, d, named)]}
    if hasattr(value, "op") and hasattr(value, "dtype"):
        if "Variable" in kind and kind != "_UnreadVariable":
            return "Variable " + value.name
        return "Tensor " + (value.name if named else f"{value.dtype.name} {value.shape}")
    if hasattr(value, "type") and hasattr(value, "outputs"):
        return "Operation" + (" " + value.name if named else "")
    return {"object": kind}


def said(error):
    """An error's first words, without what differs by run."""
    text = re.sub(r"0x[0-9a-f]+", "0x", str(error))
    text = re.sub(r'File "[^"]*/([^"/]*)", line \d+', r'File "\1"', text)
    return text[:160]


def outcome(make):
    try:
        return make()
    except Exception as error:
        return {"error": type(error).__name__, "message": said(error)}


def collected(module):
    """The cases of a module, by name: the function and the numbers of towers."""
    more = getattr(module, "TOWERS", {})
    public = [(name, f) for name, f in vars(module).items() if inspect.isfunction(f) and name[0] != "_"]
    return {name: (f, more.get(name, [2])) for name, f in public if f.__module__ == module.__name__}


def facts(tf, case, n, folder, named=True, timeout=None):
    """What a case comes to in a graph of its own; with a timeout, a case that waits for ever hangs."""
    found = []

    def run():
        if tf.executing_eagerly():
            found.append(outcome(lambda: case(World(tf, n, folder, named))))
            return
        with tf.Graph().as_default():
            found.append(outcome(lambda: case(World(tf, n, folder, named))))

    if timeout is None or tf.executing_eagerly():
        run()
    else:
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(timeout)
    return found[0] if found else {"hangs": True}
