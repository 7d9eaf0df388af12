"""The public names of ``tf.distributions``: which object each one is."""

from __future__ import annotations

from towerstrat.compat.names.named import Rows

ROWS: Rows = (
    (
        "training.distributions.base",
        {"tf.distributions": "Distribution FULLY_REPARAMETERIZED NOT_REPARAMETERIZED ReparameterizationType"},
    ),
    ("training.distributions.discrete", {"tf.distributions": "Bernoulli Categorical"}),
    ("training.distributions.divergence", {"tf.distributions": "RegisterKL kl_divergence"}),
    ("training.distributions.interval", {"tf.distributions": "Beta Uniform"}),
    ("training.distributions.positive", {"tf.distributions": "Exponential Gamma"}),
    ("training.distributions.real", {"tf.distributions": "Laplace Normal StudentT"}),
    ("training.distributions.vectors", {"tf.distributions": "Dirichlet DirichletMultinomial Multinomial"}),
)
