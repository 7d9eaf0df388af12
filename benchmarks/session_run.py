"""What ``Session.run`` costs by the number of feeds and fetches, beside a bare jitted call and the original.

    python -m benchmarks.session_run [--original PYTHON36]

Microseconds of CPU time of a call, least of the samples: ``n`` scalar feeds added up, ``n`` fetches of one feed, flat
and nested three deep, on warm caches. The jitted call gets the same numpy arrays and its results are made numpy arrays.
"""

import argparse
import json
import os
import subprocess
import time

import numpy as np

NUMBERS = (1, 4, 16, 64)


def best(calls, samples=25):
    """The least CPU time of a call of each function, in microseconds; they are measured in turns."""
    least = [float("inf")] * len(calls)
    for call in calls:
        for _ in range(30):
            call()
    for _ in range(samples):
        for i, call in enumerate(calls):
            start = time.process_time()
            for _ in range(100):
                call()
            least[i] = min(least[i], (time.process_time() - start) * 1e4)
    return least


def nested(items):
    """The items as dictionaries of lists of pairs."""
    pairs = [tuple(items[i : i + 2]) for i in range(0, len(items), 2)]
    return {"first": pairs[::2], "rest": {"second": pairs[1::2]}}


def session_calls(tf):
    """Name -> a call of Session.run, on either side."""
    calls = {}
    session = tf.Session()
    x, value = tf.placeholder(tf.float32, [8]), np.ones(8, np.float32)
    feeds = [tf.placeholder(tf.float32, []) for _ in range(max(NUMBERS))]
    outputs = [x * float(i) for i in range(max(NUMBERS))]
    one = np.float32(1)
    for n in NUMBERS:
        total, fed = tf.add_n(feeds[:n]), dict.fromkeys(feeds[:n], one)
        calls[f"{n} feeds"] = lambda total=total, fed=fed: session.run(total, fed)
    for n in NUMBERS:
        calls[f"{n} fetches"] = lambda n=n: session.run(outputs[:n], {x: value})
    for n in NUMBERS[1:]:
        structure = nested(outputs[:n])
        calls[f"{n} nested fetches"] = lambda structure=structure: session.run(structure, {x: value})
    y = x + 1.0
    calls["one feed, one fetch"] = lambda: session.run(y, {x: value})
    return calls


def jitted_calls():
    """Name -> the same as jitted functions."""
    import jax

    value, one = np.ones(8, np.float32), np.float32(1)
    calls = {}
    for n in NUMBERS:
        add = jax.jit(lambda *values: sum(values))
        calls[f"{n} feeds"] = lambda add=add, n=n: np.asarray(add(*[one] * n))
    for n in NUMBERS:
        scaled = jax.jit(lambda v, n=n: [v * float(i) for i in range(n)])
        calls[f"{n} fetches"] = lambda scaled=scaled: [np.asarray(r) for r in scaled(value)]
    plus = jax.jit(lambda v: v + 1.0)
    calls["one feed, one fetch"] = lambda: np.asarray(plus(value))
    return calls


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--original", help="a Python with TensorFlow 1.12")
    parser.add_argument("--json", action="store_true", help="the original's part, for the other side")
    args = parser.parse_args()
    if args.json:
        import tensorflow

        calls = session_calls(tensorflow)
        times = best(list(calls.values()))
        print(json.dumps({name: times[i] for i, name in enumerate(calls)}))
        return
    import towerstrat.compat.v1 as tf

    original = {}
    if args.original:
        command = [args.original, os.path.abspath(__file__), "--json"]
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        done = subprocess.run(command, stdout=subprocess.PIPE, env=environment, check=True)
        original = json.loads(done.stdout.decode().splitlines()[-1])
    ours, jitted = session_calls(tf), jitted_calls()
    for name, call in ours.items():
        found, *other = best([call, *([jitted[name]] if name in jitted else [])])
        bare = f"{other[0]:.0f} | {found - other[0]:+.0f}" if other else "|"
        theirs = f"{original[name]:.0f}" if original else ""
        print(f"| {name} | {found:.0f} | {bare} | {theirs} |", flush=True)


if __name__ == "__main__":
    main()
