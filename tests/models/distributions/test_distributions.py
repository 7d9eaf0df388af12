"""Probability distributions: values, gradients and names as the original's, and what samples must look like."""

import json
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.golden import distributions_cases as cases
from tests.spread import spread
from towerstrat.graph.eager import mode

KEPT = json.loads((Path(__file__).parents[2] / "golden" / "distributions.json").read_text())
BOUNDS = {"float32": 3e-5, "float64": 1e-9}


def compare(found, wanted, rtol):
    assert sorted(found) == sorted(wanted)
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=rtol, atol=rtol, err_msg=name)


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("case", cases.CASES)
def test_values(case, dtype):
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(cases.values(tf, case, dtype))
    compare(found, KEPT[f"{case} {dtype}"], BOUNDS[dtype])


@pytest.mark.parametrize("case", [case for case in cases.CASES if f"{case} gradients" in KEPT])
def test_gradients_of_log_probabilities(case):
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(cases.gradients(tf, case, "float64"))
    compare(found, KEPT[f"{case} gradients"], 1e-9)


@pytest.mark.parametrize("case", cases.CASES)
def test_names(case):
    with tf.Graph().as_default():
        assert cases.described(tf, case) == KEPT[f"{case} described"]


SAMPLED = {
    "normal": lambda d: d.Normal([0.0, 3.0], 2.0),
    "laplace": lambda d: d.Laplace([0.0, 3.0], 0.5),
    "student_t": lambda d: d.StudentT(8.0, [1.0, 2.0], 0.5),
    "uniform": lambda d: d.Uniform([-1.0, 0.0], 2.0),
    "gamma": lambda d: d.Gamma([0.7, 4.0], 2.0),
    "exponential": lambda d: d.Exponential([0.5, 4.0]),
    "beta": lambda d: d.Beta([0.8, 3.0], 2.0),
    "bernoulli": lambda d: d.Bernoulli(probs=[0.2, 0.9]),
    "dirichlet": lambda d: d.Dirichlet([[0.8, 1.0, 2.0], [5.0, 1.0, 1.0]]),
    "multinomial": lambda d: d.Multinomial([3.0, 6.0], probs=[[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]),
    "dirichlet_multinomial": lambda d: d.DirichletMultinomial(4.0, [[0.8, 1.0, 2.0], [5.0, 1.0, 1.0]]),
}
DRAWS = 20000


def drawn(samples):
    """Means and variances of draws, and how far the means may be from the true ones: six standard errors."""
    samples = np.asarray(samples, np.float64)
    return samples.mean(0), samples.var(0), 6 * samples.std(0) / np.sqrt(DRAWS)


@spread("name", SAMPLED, every=9)
def test_samples_have_the_moments_of_the_distribution(name):
    with tf.Graph().as_default(), tf.Session() as session:
        d = SAMPLED[name](tf.distributions)
        samples, mean, variance = session.run([d.sample(DRAWS, seed=7), d.mean(), d.variance()])
    found_mean, found_variance, bound = drawn(samples)
    np.testing.assert_array_less(np.abs(found_mean - mean), bound)
    np.testing.assert_allclose(found_variance, np.broadcast_to(variance, found_variance.shape), rtol=0.2)


def test_categorical_draws_classes_as_often_as_they_are_probable():
    probs = np.array([[0.1, 0.2, 0.7], [0.5, 0.5, 0.0]])
    with tf.Graph().as_default(), tf.Session() as session:
        samples = session.run(tf.distributions.Categorical(probs=probs).sample(DRAWS, seed=1))
    assert samples.shape == (DRAWS, 2)
    assert samples.dtype == np.int32
    shares = (samples[:, :, None] == np.arange(3)).mean(0)
    np.testing.assert_allclose(shares, probs, atol=6 * 0.5 / np.sqrt(DRAWS))


def test_counts_of_a_multinomial_add_up():
    with tf.Graph().as_default(), tf.Session() as session:
        d = tf.distributions.Multinomial([3.0, 6.0], logits=np.zeros((2, 4), np.float32))
        np.testing.assert_array_equal(session.run(d.sample(50)).sum(-1), np.tile([3.0, 6.0], (50, 1)))


@spread("name", ["normal", "laplace", "student_t", "uniform", "gamma", "exponential", "beta", "dirichlet"], every=4)
def test_samples_that_are_reparameterized_have_gradients(name):
    with tf.Graph().as_default(), tf.Session() as session:
        d = SAMPLED[name](tf.distributions)
        assert d.reparameterization_type == tf.distributions.FULLY_REPARAMETERIZED
        found = [g for g in tf.gradients(d.sample(5, seed=3), d._graph_parents) if g is not None]
        assert found
        assert all(np.isfinite(g).all() for g in session.run(found))


def test_sample_shapes_that_are_fed():
    with tf.Graph().as_default(), tf.Session() as session:
        loc, count = tf.placeholder(tf.float32), tf.placeholder(tf.int32)
        d = tf.distributions.Normal(loc, tf.ones_like(loc))
        found = session.run([d.sample(count), d.batch_shape_tensor()], {loc: np.zeros((2, 3)), count: [4]})
        assert found[0].shape == (4, 2, 3)
        assert found[1].tolist() == [2, 3]


@pytest.fixture
def eagerly():
    with mode.eager_mode():
        yield


def test_eagerly_and_in_functions(eagerly):
    def divergence(loc):
        return tf.distributions.kl_divergence(tf.distributions.Normal(loc, 1.0), tf.distributions.Normal(0.0, 2.0))

    wanted = 1.0 / 8 + 0.5 * (0.25 - 1 - np.log(0.25))
    for found in (divergence(tf.constant(1.0)), tf.function(divergence)(tf.constant(1.0))):
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6)


def test_a_divergence_is_found_by_the_nearest_classes():
    class Shifted(tf.distributions.Normal):
        pass

    class Other(tf.distributions.Distribution):
        def __init__(self):
            super().__init__(tf.float32, tf.distributions.NOT_REPARAMETERIZED, False, True, name="Other")

    with tf.Graph().as_default(), tf.Session() as session:
        normal, shifted = tf.distributions.Normal(0.0, 1.0), Shifted(1.0, 1.0)
        assert session.run(tf.distributions.kl_divergence(shifted, normal)) == 0.5
        tf.distributions.RegisterKL(Shifted, tf.distributions.Normal)(lambda a, b, name=None: tf.constant(7.0))
        assert session.run(shifted.kl_divergence(normal)) == 7.0
        assert session.run(normal.kl_divergence(shifted)) == 0.5
        with pytest.raises(NotImplementedError, match="distribution_a type Other and distribution_b type Normal"):
            tf.distributions.kl_divergence(Other(), normal)
    for pair in ((tf.distributions.Normal, tf.distributions.Normal), (Shifted, tf.distributions.Normal)):
        with pytest.raises(ValueError, match="has already been registered to"):
            tf.distributions.RegisterKL(*pair)(lambda a, b, name=None: None)


def test_what_a_class_defines_gives_the_rest():
    class Half(tf.distributions.Distribution):
        """Log probability and variance alone are defined."""

        def __init__(self):
            super().__init__(tf.float32, tf.distributions.NOT_REPARAMETERIZED, False, True)

        def _log_prob(self, x):
            return x

        def _variance(self):
            return tf.constant(4.0)

    with tf.Graph().as_default(), tf.Session() as session:
        d = Half()
        assert session.run([d.prob(0.0), d.stddev()]) == [1.0, 2.0]
        for name in ("mean", "mode", "entropy", "covariance"):
            with pytest.raises(NotImplementedError, match=f"{name} is not implemented: Half"):
                getattr(d, name)()
        with pytest.raises(NotImplementedError, match="cdf is not implemented: Half"):
            d.cdf(1.0)


INVALID = {
    "normal": lambda d: d.Normal(0.0, tf.constant([1.0, -1.0]), validate_args=True).mean(),
    "uniform": lambda d: d.Uniform(tf.constant(2.0), 1.0, validate_args=True).mean(),
    "gamma": lambda d: d.Gamma(tf.constant(0.0), 1.0, validate_args=True).mean(),
    "gamma value": lambda d: d.Gamma(1.0, 1.0, validate_args=True).prob(tf.constant(-1.0)),
    "beta": lambda d: d.Beta(tf.constant(0.0), 1.0, validate_args=True).mean(),
    "beta value": lambda d: d.Beta(1.0, 1.0, validate_args=True).prob(tf.constant(1.5)),
    "probs": lambda d: d.Categorical(probs=tf.constant([0.5, 0.6]), validate_args=True).entropy(),
    "dirichlet value": lambda d: d.Dirichlet([1.0, 1.0], validate_args=True).prob(tf.constant([0.5, 0.6])),
    "counts": lambda d: d.Multinomial(4.0, [1.0, 1.0], validate_args=True).prob(tf.constant([1.0, 2.0])),
    "bernoulli value": lambda d: d.Bernoulli(0.0, validate_args=True).prob(tf.constant(2)),
    "undefined mode": lambda d: d.Gamma(tf.constant(0.5), 1.0, allow_nan_stats=False).mode(),
    "undefined mean": lambda d: d.StudentT(tf.constant(0.5), 1.0, 1.0, allow_nan_stats=False).mean(),
    "undefined beta mode": lambda d: d.Beta(tf.constant(0.5), 2.0, allow_nan_stats=False).mode(),
}


@pytest.mark.parametrize("name", INVALID)
def test_arguments_are_validated_when_that_is_asked_for(name):
    with tf.Graph().as_default(), tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(INVALID[name](tf.distributions))


def test_one_form_of_a_parameter():
    with tf.Graph().as_default():
        for arguments in ({}, {"logits": [0.0], "probs": [0.5]}):
            with pytest.raises(ValueError, match="Must pass probs or logits, but not both"):
                tf.distributions.Bernoulli(**arguments)


def test_copies_and_shapes_of_parameters():
    with tf.Graph().as_default():
        d = tf.distributions.Normal(0.0, [1.0, 2.0])
        assert d.copy(loc=3.0).parameters["loc"] == 3.0
        assert d.copy().batch_shape.as_list() == [2]
        shapes = tf.distributions.Normal.param_static_shapes([3, 4])
        assert {name: shape.as_list() for name, shape in shapes.items()} == {"loc": [3, 4], "scale": [3, 4]}


def test_the_corner_of_laplace():
    """The original's gradient, where the two pieces of the distribution function meet, is that of the upper one."""
    x = tf.constant([-1.0, 0.0, 1.0])
    value = tf.distributions.Laplace(0.0, 1.0).log_cdf(x)
    with tf.Session() as session:
        found = session.run([value, tf.gradients(value, x)[0]])
    np.testing.assert_allclose(found[0], [-1.6931472, -0.6931472, -0.20326707], rtol=1e-6)
    np.testing.assert_allclose(found[1], [1.0, 0.0, 0.22539967], rtol=1e-6)


NUMBERS = {
    "normal": (lambda d: d.Normal([0.0, 3.0], 2.0), lambda: tf.random_normal([5, 2], seed=7) * 2.0 + [0.0, 3.0]),
    "uniform": (lambda d: d.Uniform([-1.0, 0.0], 2.0),
                lambda: tf.random_uniform([5, 2], seed=7) * [3.0, 2.0] + [-1.0, 0.0]),
    "gamma": (lambda d: d.Gamma([0.7, 4.0], 2.0), lambda: tf.random_gamma([5], [0.7, 4.0], seed=7) / 2.0),
    "categorical": (lambda d: d.Categorical(probs=[[0.1, 0.2, 0.7], [0.5, 0.5, 0.0]]),
                    lambda: tf.transpose(tf.multinomial(tf.log([[0.1, 0.2, 0.7], [0.5, 0.5, 0.0]]), 5, seed=7))),
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
def test_samples_are_made_of_the_numbers_of_their_seed(name):
    make, wanted = NUMBERS[name]
    with tf.Session() as session:
        found, drawn_by_hand = session.run([make(tf.distributions).sample(5, seed=7), wanted()])
    np.testing.assert_allclose(found, drawn_by_hand, rtol=1e-6)


def test_quantiles_of_a_normal_distribution():
    quantiles = tf.distributions.Normal([1.0, 0.0], [2.0, 1.0]).quantile([0.5, 0.975])
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(quantiles), [1.0, 1.959964], rtol=1e-6)
