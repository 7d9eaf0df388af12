"""The public names of ``tf.distributions``: which object each one is."""

from __future__ import annotations

from types import ModuleType

from towerstrat.training.distributions import base, discrete, divergence, interval, positive, real, vectors

ROWS: tuple[tuple[ModuleType, dict[str, str]], ...] = (
    (base, {"tf.distributions": "Distribution FULLY_REPARAMETERIZED NOT_REPARAMETERIZED ReparameterizationType"}),
    (discrete, {"tf.distributions": "Bernoulli Categorical"}),
    (divergence, {"tf.distributions": "RegisterKL kl_divergence"}),
    (interval, {"tf.distributions": "Beta Uniform"}),
    (positive, {"tf.distributions": "Exponential Gamma"}),
    (real, {"tf.distributions": "Laplace Normal StudentT"}),
    (vectors, {"tf.distributions": "Dirichlet DirichletMultinomial Multinomial"}),
)
