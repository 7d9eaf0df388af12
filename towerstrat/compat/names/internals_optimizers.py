"""Modules of the inside about optimizers and schedules. Data, as in ``internals``."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import LazyName, named

_CONTRIB = {
    "adadelta": "AdadeltaOptimizer",
    "adagrad": "AdagradOptimizer",
    "adam": "AdamOptimizer",
    "gradient_descent": "GradientDescentOptimizer",
    "momentum": "MomentumOptimizer",
    "rmsprop": "RMSPropOptimizer",
}

MODULES: dict[str, tuple[str, dict[str, LazyName]]] = {
    **{
        f"contrib.optimizer_v2.{module}": ("", named(f"training.optimizers.v2.{module}", name))
        for module, name in _CONTRIB.items()
    },
    "contrib.optimizer_v2.optimizer_v2": ("", named("training.optimizers.v2.optimizer_v2", "OptimizerV2")),
    "contrib.optimizer_v2.optimizer_v2_symbols": ("tf.contrib.optimizer_v2", {}),
    "python.training.learning_rate_decay": ("tf.train", {}),
    "python.training.learning_rate_decay_v2": (
        "",
        named(
            "training.optimizers.learning_rate_schedules_v2",
            """cosine_decay cosine_decay_restarts exponential_decay inverse_time_decay linear_cosine_decay
            natural_exp_decay noisy_linear_cosine_decay piecewise_constant polynomial_decay""",
        ),
    ),
    "python.training.optimizer": ("", named("training.optimizers.optimizer", "get_filtered_grad_fn")),
}
"""Path below ``tensorflow`` -> (the public modules whose names it offers; names of its own)."""
