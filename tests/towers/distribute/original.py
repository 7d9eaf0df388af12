"""The cases of the original's tf.distribute on ours: names for them, and the comparison of outcomes."""

import math
import threading

import jax

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf2
from tests.golden import distribute_cases, goldens
from towerstrat.graph.eager import mode
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.towers.distribute.per_replica_values import from_parts


class _Devices:
    """Virtual devices in the place of a resolver."""

    def __init__(self, names):
        self.found = [jax.devices()[int(name.rpartition(":")[2])] for name in names]

    def devices(self):
        return self.found


class MirroredStrategy(tf2.distribute.TPUStrategy):
    """A TPUStrategy that traces plain functions too, over the CPU devices named."""

    run = tf2.distribute.Strategy.run

    def __init__(self, devices, cross_device_ops=None):
        super().__init__(_Devices(devices))
        self.extended._executes = lambda: False


class TracedStrategy(MirroredStrategy):
    """A TPUStrategy as it is; plain functions are made functions that are traced."""

    def run(self, fn, args=(), kwargs=None, options=None):
        if callable(fn) and get_default_graph().executing_eagerly:
            fn = tf2.function(fn, autograph=False)
        return tf2.distribute.TPUStrategy.run(self, fn, args, kwargs, options)


class MirroredStrategyV1(tf1.distribute.experimental.TPUStrategy):
    """Likewise, with the members of 1.x."""

    run = tf1.distribute.Strategy.run

    def __init__(self, devices, cross_device_ops=None):
        super().__init__(_Devices(devices))
        self.extended._executes = lambda: False


class _With:
    """A namespace with some names changed."""

    def __init__(self, namespace, **changed):
        self.__dict__.update(changed)
        self._namespace = namespace

    def __getattr__(self, name):
        return getattr(self._namespace, name)


_V1 = _With(tf1, distribute=_With(tf1.distribute, MirroredStrategy=MirroredStrategyV1))
TF = _With(
    tf2,
    distribute=_With(tf2.distribute, MirroredStrategy=MirroredStrategy, ReductionToOneDevice=lambda: None),
    compat=_With(tf2.compat, v1=_V1),
)


TRACED = _With(TF, distribute=_With(TF.distribute, MirroredStrategy=TracedStrategy))


def names(tf, kind):
    """What a case sees."""
    seen = distribute_cases.names(tf, kind)
    if kind == "v1":
        towers = seen["s"].extended._engine
        seen["per"] = lambda *values: from_parts(values[: seen["n"]], towers.worker_devices, towers.axis)
    return {**seen, "names": names}


def found(kind, case, tf=TF):
    """What ours does with a case, in a thread of its own: scopes that it enters stay there."""
    outcomes = []

    def run():
        seen = names(tf, kind)
        return case(seen) if callable(case) else eval(case, seen)

    def note():
        with mode.eager_mode():
            outcomes.append(distribute_cases.outcome(run))

    thread = threading.Thread(target=note)
    thread.start()
    thread.join()
    return outcomes[0]


_KEPT = goldens.facts("distribute")


def wanted(area, case):
    """What the original does with it."""
    return _KEPT[area][case]


def same(found, wanted):
    """Whether outcomes agree: errors by their types, real numbers to some digits."""
    if isinstance(wanted, dict) and "error" in wanted:
        return isinstance(found, dict) and found.get("error") == wanted["error"]
    if isinstance(wanted, dict):
        return (
            isinstance(found, dict) and found.keys() == wanted.keys() and all(same(found[k], wanted[k]) for k in wanted)
        )
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(same, found, wanted))
    if isinstance(wanted, float) and isinstance(found, float | int) and not isinstance(found, bool):
        return math.isclose(found, wanted, rel_tol=1e-5, abs_tol=1e-6)
    return type(found) is type(wanted) and found == wanted
