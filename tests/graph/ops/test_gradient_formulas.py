"""Gradient formulas against both originals: at special points, from fed outputs, of gradients; None where they are."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.golden.gradient_formulas_cases import (
    FED,
    INPUTS,
    PLAIN,
    SEEDED,
    SEEDS,
    derived,
    fed_value,
    floating,
    used,
)
from tests.spread import spread
from towerstrat.graph.eager.mode import eager_mode

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "gradient_formulas.json").read_text())
JOBS = [(case, case, None, False) for case in PLAIN]
JOBS += [(f"{case} from {word}", case, SEEDS[word], False) for case in SEEDED for word in SEEDS]
JOBS += [(f"{case} fed", case, None, True) for case in FED]
JOBS = [job for job in JOBS if any(job[0] in GOLDEN[version] for version in GOLDEN)]
EVERY = 16
"""Together in a program: each so-manieth case."""


def unpacked(entry):
    return np.frombuffer(base64.b64decode(entry["data"]), np.dtype(entry["dtype"])).reshape(entry["shape"])


def agrees(found, entry):
    if found is None or entry is None:
        return found is None and entry is None
    wanted = unpacked(entry)
    same = found.shape == wanted.shape and found.dtype == wanted.dtype
    return same and np.allclose(found, wanted, rtol=1e-4, atol=1e-5, equal_nan=True)


BETTER = (
    "tf.reduce_prod(x", "tf.reduce_prod(zeros", "tf.reduce_prod(odd) from zero", "tf.cumprod(x", "tf.norm(x * 0.)",
    "tf.nn.softmax_cross_entropy_with_logits_v2", "tf.nn.relu6(odd) from infinite",
    "tf.unsorted_segment_prod", "tf.nn.relu(odd) from infinite", "tf.nn.crelu(odd) from infinite",
)  # fmt: skip
"""Where the originals give a NaN, or lose a second derivative, and ours is the derivative."""
BETTER_TWICE = ("tf.erf(odd)", "tf.erfc(odd)")
"""Whose second derivative at infinity is NaN in the originals, and 0 by newer versions of JAX."""


def compared(results):
    wrong = []
    for name, found in results.items():
        if name.startswith(BETTER):
            continue
        answers = [GOLDEN[v][name] for v in GOLDEN if name in GOLDEN[v]]
        for i, value in enumerate(found[: min(len(a) for a in answers)]):
            if i and name.startswith(BETTER_TWICE):
                continue
            if not any(agrees(value, answer[i]) for answer in answers):
                shown = [None if a[i] is None else unpacked(a[i]).tolist() for a in answers]
                wrong.append(f"{name} [{i}]: {None if value is None else value.tolist()}, originals {shown}")
    return wrong


def plainly(first):
    """The cases of a group that have no feeds, and their golden gradients of first order."""
    return [(name, case, seed) for name, case, seed, fed in JOBS[first::EVERY] if not fed and "random" not in case]


def slopes(tape, y, xs, seed):
    return tape.gradient(y, xs, None if seed is None else tf.ones_like(y) * seed)


@spread("first", range(EVERY), every=EVERY)
def test_under_a_tape(first):
    results = {}
    with eager_mode():
        for name, case, seed in plainly(first):
            inputs = {n: tf.constant(INPUTS[n]) for n in used(case)}
            xs = [inputs[n] for n in floating(case)]
            with tf.GradientTape() as tape:
                tape.watch(xs)
                y = eval(case, {"tf": tf, "np": np}, inputs)
            results[name] = [None if g is None else tf.convert_to_tensor(g).numpy() for g in slopes(tape, y, xs, seed)]
    wrong = compared(results)
    assert not wrong, "\n".join(wrong)


@spread("first", range(EVERY), every=EVERY)
def test_in_a_function(first):
    jobs = plainly(first)
    known = {}

    @tf.contrib.eager.defun
    def gradients(*arrays):
        inputs = dict(zip(INPUTS, arrays, strict=True))
        found = {}
        for name, case, seed in jobs:
            xs = [inputs[n] for n in floating(case)]
            y = eval(case, {"tf": tf, "np": np}, inputs)
            start = None if seed is None else tf.ones_like(y) * seed
            found[name] = tf.gradients(y, xs, start)
            known[name] = [g is not None for g in found[name]]
        return [g for gs in found.values() for g in gs if g is not None]

    with eager_mode():
        values = iter([tf.convert_to_tensor(g).numpy() for g in gradients(*(tf.constant(v) for v in INPUTS.values()))])
    wrong = compared({name: [next(values) if there else None for there in given] for name, given in known.items()})
    assert not wrong, "\n".join(wrong)


@spread("first", [13, *range(13), *range(14, EVERY)], every=EVERY)
def test_in_a_graph(first):
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = {n: tf.placeholder(v.dtype, v.shape) for n, v in INPUTS.items()}
        feeds = {inputs[n]: v for n, v in INPUTS.items()}
        made = {}
        for name, case, seed, fed in JOBS[first::EVERY]:
            y = eval(case, {"tf": tf, "np": np}, inputs)
            made[name] = derived(tf, y, [inputs[n] for n in floating(case)], seed)
            if fed:
                feeds[y] = fed_value(session.run(y, feeds).shape)
        tensors = [t for found in made.values() for t in found if t is not None]
        values = iter(session.run(tensors, feeds))
        results = {n: [None if t is None else next(values) for t in found] for n, found in made.items()}
    wrong = compared(results)
    assert not wrong, "\n".join(wrong)


def test_complex_values_where_a_run_goes_operation_by_operation():
    """``unique`` has a shape that depends on values, so that nothing in its run is compiled together."""
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [2])
        several = [
            tf.real(tf.exp(tf.complex(x, y))),
            tf.abs(tf.fft(tf.complex(y, x))),
            tf.imag(tf.spectral.rfft(x * y)),
        ]
        weights = tf.constant([1.0, 3.0])
        gradients = [tf.gradients(z * weights[: z.shape[0]], [x, y]) for z in several]
        feeds = {x: [1.0, 2.0], y: [0.5, 1.0]}
        wanted = session.run(gradients, feeds)
        found, _ = session.run([gradients, tf.unique(x).y], feeds)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
    slope = np.exp([1.0, 2.0]) * [1.0, 3.0]
    np.testing.assert_allclose(wanted[0], [slope * np.cos([0.5, 1.0]), -slope * np.sin([0.5, 1.0])], rtol=1e-5)


@pytest.mark.parametrize(
    ("value", "function", "second"),
    [
        (0.0, lambda x: tf.nn.relu(x) * x, 0.0),
        (-2.0, lambda x: tf.pow(tf.constant(-2.0), x), 0.0),
        ([[1.0, 0.0], [0.0, 1.0]], lambda x: tf.self_adjoint_eig(x)[0], [[2.0, 0.0], [0.0, 2.0]]),
    ],
    ids=["relu at its corner", "exponent of a negative base", "equal eigenvalues"],
)
def test_gradients_of_gradients_in_a_branch(value, function, second):
    """At points where the derivative that JAX takes is another, or no number (of the third 1.12 knows none either)."""
    x = tf.constant(value)
    y = tf.cond(tf.placeholder_with_default(True, ()), lambda: function(x), lambda: 2.0 * function(x))
    slope = tf.gradients(y * y + y, x)[0]
    with tf.Session() as sess:
        np.testing.assert_allclose(sess.run(tf.gradients(slope, x)[0]), second)
