"""How cases of tf.distribute are made and told: the names that a case sees, and its outcome as JSON.

A case is an expression over ``tf``, ``np``, ``s`` (the strategy), ``n`` (its replicas) and the helpers of ``names``, or
a function of these names. Read by the script that runs the original and by the tests.
"""

import re

import numpy as np

RINGS: dict = {}


def strategy(tf, kind):
    """``"m3"`` is a mirrored strategy over three devices, ``"one"`` one device, ``"default"`` the default strategy.

    Reductions go over one device. With ``"r3"`` they go over a ring of collectives, which a program can have once only
    (a second one takes the numbers of the first), and which is of no use after its first error.
    """
    if kind == "default":
        return tf.distribute.get_strategy()
    if kind == "one":
        return tf.distribute.OneDeviceStrategy("/cpu:0")
    if kind == "v1":
        return tf.compat.v1.distribute.MirroredStrategy(["CPU:0", "CPU:1"], tf.distribute.ReductionToOneDevice())
    devices = [f"CPU:{i}" for i in range(int(kind[1:]))]
    if kind[0] == "r":
        return RINGS.get(kind) or RINGS.setdefault(kind, tf.distribute.MirroredStrategy(devices))
    return tf.distribute.MirroredStrategy(devices, tf.distribute.ReductionToOneDevice())


def names(tf, kind):
    """What a case sees."""
    d = tf.distribute
    s = strategy(tf, kind)

    def here():
        return d.get_replica_context()

    def rid(dtype="float32"):
        return tf.cast(here().replica_id_in_sync_group, dtype)

    def per(*values, dtype=None):
        """A per-replica value of one given value for each replica."""
        if isinstance(values[0], (list, float, int)):
            values = [tf.constant(v, dtype or (None if isinstance(v, int) else "float32")) for v in values]
        if kind == "v1":
            return s.run(lambda: values[int(here().replica_id_in_sync_group)])
        return s.experimental_distribute_values_from_function(lambda c: values[c.replica_id_in_sync_group])

    def var(value=0.0, **kwargs):
        with s.scope():
            return tf.Variable(value, **kwargs)

    def on_read(aggregation="SUM", value=0.0, **kwargs):
        wanted = getattr(tf.VariableAggregation, aggregation)
        return var(value, synchronization=tf.VariableSynchronization.ON_READ, aggregation=wanted, **kwargs)

    def scoped(f):
        with s.scope():
            return f()

    def merged(f, *args, **kwargs):
        return s.run(lambda: here().merge_call(f, args=args, kwargs=kwargs or None))

    def function(f):
        return tf.function(f, autograph=False)()

    def then(*values):
        return values[-1]

    def attempt(f):
        """The outcome of a part of a case."""
        return Told(outcome(f))

    def contexts():
        """Where the code stands: the four questions about it."""
        context = d.get_replica_context()
        return {
            "has_strategy": d.has_strategy(),
            "strategy": "s" if d.get_strategy() is s else type(d.get_strategy()).__name__,
            "cross": d.in_cross_replica_context(),
            "context": None if context is None else type(context).__name__,
        }

    told_contexts: list = []

    def distributed(make):
        return s.experimental_distribute_dataset(make)

    def steps(data, most=8):
        """What each replica gets at each step."""
        found = []
        for element in data:
            found.append(s.experimental_local_results(element))
            if len(found) == most:
                break
        return found

    SUM, MEAN = d.ReduceOp.SUM, d.ReduceOp.MEAN
    values = tf.data.Dataset.range
    n = s.num_replicas_in_sync
    return {**locals(), "np": np, "names": names, "told": told, "Told": Told}


class Told:
    """An outcome that is JSON already."""

    def __init__(self, told):
        self.told = told


def said(text):
    """An error's text without what differs by run: addresses, paths, line numbers, counters."""
    text = re.sub(r"0x[0-9a-f]+", "0x", str(text))
    text = re.sub(r'File "[^"]*/([^"/]*)", line \d+', r'File "\1"', text)
    text = re.sub(r"\s*\[Op:[^\]]*\]|\{\{(function_)?node [^}]*\}\}|__wrapped__| name: $", "", text)
    text = re.sub(r"^in user code:\s+(File .*\n(.*\n)?\s*)*\w+: ", "", text)
    text = re.sub(r"^Graph execution error:.*\(0\) \w+: +([^\n]*).*", r"\1", text, flags=re.S)
    text = re.sub(
        r"Graph execution error:\s+|Detected at node (\S+) defined at.*?\n(?=\S)", "", text, flags=re.S
    ).strip()
    text = re.sub(r"\s+\[\[[^\n]*", "", text)
    return text if len(text) <= 200 else text[:200] + "..."


def failed(error):
    return {"error": type(error).__name__, "message": said(error)}


def outcome(make):
    try:
        return told(make())
    except Exception as error:
        return failed(error)


def told(value):
    """A value as JSON: tensors with their dtype, per-replica values by their type's name, other objects by type."""
    if isinstance(value, Told):
        return value.told
    if isinstance(value, float):
        return rounded(np.float64(value))
    if isinstance(value, str):
        return re.sub(r"0x[0-9a-f]+", "0x", value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dict):
        return {"dict": {str(k): told(v) for k, v in value.items()}}
    if isinstance(value, tuple):
        return {"tuple": [told(v) for v in value]}
    if isinstance(value, list):
        return [told(v) for v in value]
    kind = type(value).__name__
    if kind in ("PerReplica", "Mirrored", "DistributedValues"):
        return {kind: [told(v) for v in value.values]}
    if kind == "RaggedTensor":
        return {"ragged": value.to_list() if hasattr(value.flat_values, "numpy") else str(value.shape)}
    if kind == "IndexedSlices":
        return {kind: [told(value.values), told(value.indices)]}
    if isinstance(value, (np.ndarray, np.generic)):
        return {"numpy": value.dtype.name, "value": rounded(value)}
    if hasattr(value, "numpy"):
        return tensor(value, kind)
    if kind == "DType":
        return value.name
    if kind == "TensorShape":
        return str(value)
    if hasattr(value, "op") and hasattr(value, "dtype"):
        return {"symbolic": f"{value.dtype.name} {value.shape}"}
    return {"object": kind}


def tensor(value, kind):
    copies = None
    if "Variable" in kind or kind == "Component":
        copies = getattr(value, "values", None)
        if copies is not None:
            return {"variable": [told(copy.read_value()) for copy in copies]}
        kind = "variable"
    try:
        array = value.numpy()
    except Exception as error:
        if hasattr(value, "dtype"):
            return {"symbolic": f"{value.dtype.name} {value.shape}"}
        return failed(error)
    if isinstance(array, bytes):
        return {"string": array.decode()}
    if not isinstance(array, (np.ndarray, np.generic)):
        return array
    if array.dtype.kind == "O":
        return {"string": [v.decode() if isinstance(v, bytes) else str(v) for v in array.ravel()]}
    return {"variable" if kind == "variable" else value.dtype.name: rounded(array)}


def rounded(array):
    """An array as a list, of numbers of six digits; what is no number is a string."""
    if array.size == 0 and array.ndim > 1:
        return f"empty {list(array.shape)}"
    if array.dtype.kind == "c":
        return str(array.tolist())
    if array.dtype.kind == "O":
        return [str(v) for v in array.ravel()]
    if array.dtype.kind != "f":
        return array.tolist()
    numbers = [float(f"{v:.6g}") if np.isfinite(v) else str(v) for v in array.ravel()]
    return np.array(numbers, object).reshape(array.shape).tolist()
