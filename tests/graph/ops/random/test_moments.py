"""Draws have the mean and the variance of their distributions.

Both are within five of their standard errors: the bounds come from the moments that are expected. Means are far from 0
and deviations small, so that draws that are off by a hundredth are seen. The seeds are fixed.
"""

import numpy as np
import pytest

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.tensor_conversion import placeholder
from towerstrat.graph.ir.types import int32
from towerstrat.graph.ops.gradients.gradients import gradients
from towerstrat.graph.ops.random import stateful, stateless
from towerstrat.graph.runtime.sessions.session import Session

N = 40_000
SEED = [7, -3]
CUT = 0.7737413
"""The variance of a normal number within two standard deviations."""
CLASSES = np.log(np.float32([[0.2, 0.3, 0.5]]))

UNIFORM = (1.5, 1 / 12, 1.8)
"""Mean, variance and kurtosis between 1 and 2."""
NORMAL = (2.0, 0.25, 3.0)
INTEGERS = (0.0, 2.0, 1.7)
TRUNCATED = (1.0, 0.25 * CUT, 2.4)
OF_CLASSES = (1.3, 0.61, 2.2)
GAMMA = (2.0, 0.25, 3.375)
POISSON = (9.0, 9.0, 3 + 1 / 9)
BINOMIAL = (10.0, 9.0, 3.1)


DRAWS = {
    "RandomUniform": (lambda: stateful.random_uniform([N], 1.0, 2.0, seed=1), UNIFORM),
    "RandomUniformInt": (lambda: stateful.random_uniform([N], -2, 3, int32, seed=1), INTEGERS),
    "RandomStandardNormal": (lambda: stateful.random_normal([N], 2.0, 0.5, seed=1), NORMAL),
    "TruncatedNormal": (lambda: stateful.truncated_normal([N], 1.0, 0.5, seed=1), TRUNCATED),
    "RandomGamma": (lambda: stateful.random_gamma([N], 16.0, 8.0, seed=1), GAMMA),
    "RandomPoissonV2": (lambda: stateful.random_poisson(9.0, [N], seed=1), POISSON),
    "Multinomial": (lambda: stateful.multinomial(CLASSES, N, seed=1), OF_CLASSES),
    "StatelessRandomUniform": (lambda: stateless.stateless_uniform([N], SEED, 1.0, 2.0), UNIFORM),
    "StatelessRandomUniformInt": (lambda: stateless.stateless_uniform([N], SEED, -2, 3, "int32"), INTEGERS),
    "StatelessRandomNormal": (lambda: stateless.stateless_normal([N], SEED, 2.0, 0.5), NORMAL),
    "StatelessTruncatedNormal": (lambda: stateless.stateless_truncated_normal([N], SEED, 1.0, 0.5), TRUNCATED),
    "StatelessParameterizedTruncatedNormal": (
        lambda: stateless.stateless_parameterized_truncated_normal([N], SEED, 1.0, 0.5, 0.0, 2.0), TRUNCATED),
    "StatelessMultinomial": (lambda: stateless.stateless_categorical(CLASSES, N, SEED), OF_CLASSES),
    "StatelessRandomGammaV2": (lambda: stateless.stateless_gamma([N], SEED, 16.0, 8.0), GAMMA),
    "StatelessRandomPoisson": (lambda: stateless.stateless_poisson([N], SEED, 9.0), POISSON),
    "StatelessRandomBinomial": (lambda: stateless.stateless_binomial([N], SEED, 100.0, 0.1), BINOMIAL),
}  # fmt: skip
"""By type: what draws, and mean, variance and kurtosis of the distribution."""


@pytest.mark.parametrize("type", DRAWS)
def test_means_and_variances(type):
    make, (mean, variance, kurtosis) = DRAWS[type]
    found = Session().run(make()).astype(np.float64)
    assert type in {op.type for op in get_default_graph().get_operations()}
    assert abs(found.mean() - mean) < 5 * (variance / N) ** 0.5
    assert abs(found.var() - variance) < 5 * variance * ((kurtosis - 1) / N) ** 0.5


@pytest.mark.parametrize("type", ["RandomGamma", "StatelessRandomGammaV2"])
def test_slopes_of_gamma_numbers(type):
    """The mean of the numbers' derivatives by the shape is that of the mean, which is 1; they deviate by 1/8."""
    alpha, count = placeholder("float32", []), N // 4
    if type == "RandomGamma":
        made = stateful.random_gamma([count], alpha, seed=1)
    else:
        made = stateless.stateless_gamma([count], SEED, alpha)
    assert type in {op.type for op in get_default_graph().get_operations()}
    found = Session().run(gradients(made, alpha)[0], {alpha: 16.0}) / count
    assert abs(found - 1) < 5 / 8 / count**0.5
