"""Saves and restores variables of 1 GB and prints the seconds; runs on the original too.

    PYTHON benchmarks/checkpoint_program.py FOLDER [megabytes] [repetitions] [--no-sync]

Prints a line of JSON: the seconds of each save and restore on the clock and of processors, and the bytes that the
process took more than before while it saved. With --no-sync nothing waits for the disk (the original never does).
"""

import json
import os
import shutil
import sys
import time

import tensorflow

tf = tensorflow.compat.v1 if tensorflow.__version__.startswith("2") else tensorflow
VARIABLES = 16


def memory(field):
    """Bytes that /proc/self/status says."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))


def timed(into, function, *arguments, **named):
    """What a function returns; its seconds, and those of processors, go ``into`` a list."""
    start, worked = time.time(), os.times()
    result = function(*arguments, **named)
    now = os.times()
    into.append((time.time() - start, now[0] + now[1] - worked[0] - worked[1]))
    return result


def main(folder, megabytes="1024", repetitions="3"):
    tf.disable_v2_behavior() if tensorflow.__version__.startswith("2") else None
    size = int(megabytes) * (1 << 20) // 4 // VARIABLES
    for i in range(VARIABLES):
        tf.get_variable(f"v{i}", initializer=tf.random_uniform([size], seed=i))
    saver, found = tf.train.Saver(), {"save": [], "restore": [], "bytes": []}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(int(repetitions)):
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")  # the peak begins anew
            before = memory("VmHWM")
            path = timed(found["save"], saver.save, session, folder + "/model", write_meta_graph=False)
            found["bytes"].append(memory("VmHWM") - before)
            timed(found["restore"], saver.restore, session, path)
    shutil.rmtree(folder)
    print(json.dumps(found))


if __name__ == "__main__":
    if "--no-sync" in sys.argv:
        os.fsync = lambda file: None
    main(*[argument for argument in sys.argv[1:] if argument != "--no-sync"])
