"""Writes distribute.json: what tf.distribute of 2.15 does with the cases of the distribute_*_cases modules."""

import tensorflow as tf
from distribute_cases import names, outcome
from distribute_input_cases import INPUT
from distribute_run_cases import RUNNING
from distribute_value_cases import VALUES
from distribute_variable_cases import VARIABLES
from goldens import make, timely

RUNS = ["2.15"]
AREAS = {**INPUT, **VALUES, **RUNNING, **VARIABLES}


def run(kind, case):
    seen = names(tf, kind)
    return case(seen) if callable(case) else eval(case, seen)


def timed(kind, case):
    """A case's outcome, with a fresh strategy, after at most 30 seconds: at times the original waits for ever."""
    return timely(lambda: outcome(lambda: run(kind, case)), 30)


tf.get_logger().setLevel("ERROR")
tf.config.threading.set_inter_op_parallelism_threads(32)
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 8)
areas = {
    area: {name: lambda k=kind, c=case: timed(k, c) for name, case in cases.items()}
    for area, (kind, cases) in AREAS.items()
}
make("distribute", areas)
