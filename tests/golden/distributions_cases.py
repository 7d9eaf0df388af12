"""Distributions and what they compute, for both sides: each case is a distribution, events of it, and another one."""

import numpy as np

COMMON = ["entropy", "mean", "mode", "variance", "stddev"]
OF_VALUES = ["log_prob", "prob", "log_cdf", "cdf", "log_survival_function", "survival_function"]
LOW = np.array([-30.0, -12.0, -3.0, -0.5, 0.0, 0.7, 4.0, 9.0])
POSITIVE = np.array([[0.01], [0.5], [1.0], [2.5], [30.0]])
INSIDE = np.array([0.01, 0.4, 0.99])
COUNTS = np.array([[2.0, 1.0, 1.0], [0.0, 4.0, 0.0]])

CASES = {
    "normal": (
        lambda d, k: d.Normal(k([[0.0], [1.5]]), k([0.5, 1.0, 2.0, 4.0, 1.0, 1.0, 1.0, 3.0])), LOW,
        lambda d, k: d.Normal(k(0.5), k(2.0)), [*COMMON], [*OF_VALUES],
    ),
    "laplace": (
        lambda d, k: d.Laplace(k([[0.0], [1.5]]), k([0.5, 1.0, 2.0, 4.0, 1.0, 1.0, 1.0, 3.0])), LOW,
        None, [*COMMON], [*OF_VALUES],
    ),
    "student_t": (
        lambda d, k: d.StudentT(k([0.5, 1.5, 2.0, 3.0, 10.0, 1.0, 4.0, 5.0]), k(1.0), k(2.0)), LOW,
        # Not stddev: the original's square root of infinity is NaN in float32.
        None, ["entropy", "mean", "mode", "variance"], ["log_prob", "prob", "cdf", "survival_function"],
    ),
    "uniform": (
        lambda d, k: d.Uniform(k([-1.0, 0.0]), k([2.0, 0.7])), np.array([[-2.0], [-1.0], [0.0], [0.5], [0.7], [3.0]]),
        None, ["entropy", "mean", "variance", "stddev"], ["prob", "cdf", "survival_function"],
    ),
    "gamma": (
        lambda d, k: d.Gamma(k([0.5, 1.0, 3.0]), k([2.0, 1.0, 0.5])), POSITIVE,
        lambda d, k: d.Gamma(k([1.5, 0.7, 3.0]), k(2.0)), [*COMMON], ["log_prob", "prob", "cdf", "log_cdf"],
    ),
    "exponential": (
        lambda d, k: d.Exponential(k([0.5, 1.0, 3.0])), POSITIVE,
        lambda d, k: d.Exponential(k(2.0)), ["entropy", "mean", "variance", "stddev"],
        ["log_prob", "prob", "cdf", "log_survival_function"],
    ),
    "beta": (
        lambda d, k: d.Beta(k([0.5, 2.0, 3.0]), k([2.0, 1.5, 0.5])), INSIDE,
        lambda d, k: d.Beta(k([1.5, 1.0, 3.0]), k(2.0)), [*COMMON], ["log_prob", "prob", "cdf", "log_cdf"],
    ),
    "bernoulli": (
        lambda d, k: d.Bernoulli(logits=k([-3.0, 0.0, 2.0])), np.array([[0.0], [1.0]]),
        lambda d, k: d.Bernoulli(probs=k([0.2, 0.9, 0.5])), [*COMMON], ["log_prob", "prob"],
    ),
    "categorical": (
        lambda d, k: d.Categorical(logits=k([[-3.0, 0.0, 2.0], [1.0, 1.0, 1.0]])), np.array([[0, 1], [2, 0]], np.int32),
        lambda d, k: d.Categorical(probs=k([0.2, 0.3, 0.5])), ["entropy", "mode"], ["log_prob", "prob", "cdf"],
    ),
    "dirichlet": (
        lambda d, k: d.Dirichlet(k([[0.5, 1.0, 2.0], [3.0, 2.0, 1.5]])), np.array([0.2, 0.3, 0.5]),
        lambda d, k: d.Dirichlet(k([1.0, 1.0, 2.0])), [*COMMON, "covariance"], ["log_prob", "prob"],
    ),
    "multinomial": (
        lambda d, k: d.Multinomial(k(4.0), probs=k([0.2, 0.3, 0.5])), COUNTS,
        None, ["mean", "variance", "stddev", "covariance"], ["log_prob", "prob"],
    ),
    "dirichlet_multinomial": (
        lambda d, k: d.DirichletMultinomial(k(4.0), k([0.5, 1.0, 2.0])), COUNTS,
        None, ["mean", "variance", "stddev", "covariance"], ["log_prob", "prob"],
    ),
}  # fmt: skip
FLOAT32_ONLY = {"student_t": ["variance"]}
"""What the original computes for this element type alone."""


def values(tf, case, dtype):
    """What a case computes: label -> tensor."""
    make, events, other, statistics, of_values = CASES[case]

    def k(value):
        return tf.constant(value, dtype)

    d = make(tf.distributions, k)
    x = tf.constant(events) if events.dtype == np.int32 else k(events)
    skipped = FLOAT32_ONLY.get(case, []) if dtype != "float32" else []
    found = {name: getattr(d, name)() for name in statistics if name not in skipped}
    found.update((name, getattr(d, name)(x)) for name in of_values)
    found["batch_shape"], found["event_shape"] = d.batch_shape_tensor(), d.event_shape_tensor()
    found["sample_shape"] = tf.shape(d.sample([2, 3], seed=1))
    if other is not None:
        second = other(tf.distributions, k)
        found["kl"], found["cross_entropy"] = tf.distributions.kl_divergence(d, second), d.cross_entropy(second)
    return found


def gradients(tf, case, dtype):
    """Gradients of the sum of the log probabilities by the distribution's floating parameters."""
    make, events, *_ = CASES[case]
    parameters = []

    def k(value):
        parameters.append(tf.constant(value, dtype))
        return parameters[-1]

    d = make(tf.distributions, k)
    x = tf.constant(events) if events.dtype == np.int32 else tf.constant(events, dtype)
    total = tf.reduce_sum(d.log_prob(x))
    found = {str(i): g for i, g in enumerate(tf.gradients(total, parameters)) if g is not None}
    if CASES[case][4][0] == "log_prob" and events.dtype != np.int32 and case not in ("multinomial", "bernoulli"):
        found["x"] = tf.gradients(total, [x])[0]
    return found


def described(tf, case):
    """How a distribution shows itself, and the names of some of its operations."""
    d = CASES[case][0](tf.distributions, tf.constant)
    return [str(d), repr(d), d.name, d.mean().name if case != "categorical" else d.mode().name, sorted(d.parameters)]
