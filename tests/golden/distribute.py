"""Writes distribute.json: what tf.distribute of TensorFlow 2.15 does with the cases of the distribute_*_cases modules.

Run it with the Python that has TensorFlow 2.15, with areas to write these alone. Equal outcomes are kept once: a case
has the position of its outcome in the list ``outcomes``.
"""

import json
import os
import sys
import threading
import time

import tensorflow as tf
from distribute_cases import names, outcome
from distribute_input_cases import INPUT
from distribute_run_cases import RUNNING
from distribute_value_cases import VALUES
from distribute_variable_cases import VARIABLES

AREAS = {**INPUT, **VALUES, **RUNNING, **VARIABLES}
WHERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "distribute.json")


def results(kind, cases):
    """Each case's outcome; a case has a fresh strategy, and 30 seconds: at times the original waits for ever."""
    return {name: timely(lambda case=case: outcome(lambda: run(kind, case))) for name, case in cases.items()}


def run(kind, case):
    seen = names(tf, kind)
    return case(seen) if callable(case) else eval(case, seen)


def timely(make):
    found = []
    thread = threading.Thread(target=lambda: found.append(make()), daemon=True)
    thread.start()
    thread.join(30)
    return found[0] if found else {"hangs": True}


def write(texts, cases):
    """One outcome a line, then one area a line."""
    areas = (f"{json.dumps(area)}: {json.dumps(found)}" for area, found in cases.items())
    with open(WHERE, "w") as stream:
        stream.write('{"outcomes": [\n' + ",\n".join(texts) + '\n],\n"cases": {\n' + ",\n".join(areas) + "\n}}\n")


def main(wanted):
    tf.get_logger().setLevel("ERROR")
    tf.config.threading.set_inter_op_parallelism_threads(32)
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 8)
    kept = {"outcomes": [], "cases": {}}
    if wanted and os.path.exists(WHERE):
        with open(WHERE) as stream:
            kept = json.load(stream)
    areas = {area: {case: kept["outcomes"][at] for case, at in cases.items()} for area, cases in kept["cases"].items()}
    for area, (kind, cases) in AREAS.items():
        if not wanted or area in wanted:
            began = time.time()
            areas[area] = results(kind, cases)
            print(f"{area}: {len(areas[area])} cases, {time.time() - began:.0f} s", flush=True)
    texts, cases = {}, {}
    for area in AREAS:
        for case, found in areas.get(area, {}).items():
            text = json.dumps(found, sort_keys=True)
            cases.setdefault(area, {})[case] = texts.setdefault(text, len(texts))
    write(texts, cases)


if __name__ == "__main__":
    main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)
