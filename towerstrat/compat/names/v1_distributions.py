"""The public names of ``tf.distributions``: which object each one is."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import Rows

ROWS: Rows = (
    (
        "models.distributions.distribution",
        {"tf.distributions": "Distribution FULLY_REPARAMETERIZED NOT_REPARAMETERIZED ReparameterizationType"},
    ),
    ("models.distributions.discrete", {"tf.distributions": "Bernoulli Categorical"}),
    ("models.distributions.kl_divergence", {"tf.distributions": "RegisterKL kl_divergence"}),
    ("models.distributions.bounded", {"tf.distributions": "Beta Uniform"}),
    ("models.distributions.positive_support", {"tf.distributions": "Exponential Gamma"}),
    ("models.distributions.real_line", {"tf.distributions": "Laplace Normal StudentT"}),
    ("models.distributions.multivariate", {"tf.distributions": "Dirichlet DirichletMultinomial Multinomial"}),
)
