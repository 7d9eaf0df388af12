"""Learning-rate schedules that are compared with the original: plain data, read by both sides.

``CASES`` maps a name to (function, keyword arguments); the step is given as ``global_step`` (or ``x``).
"""

STEPS = [0, 1, 2, 3, 7, 10, 11, 19, 20, 23, 29, 30, 31, 50, 69, 71, 100, 1000]

CASES = {
    "exponential": ("exponential_decay", {"learning_rate": 0.1, "decay_steps": 10, "decay_rate": 0.9}),
    "exponential_staircase": (
        "exponential_decay", {"learning_rate": 0.1, "decay_steps": 10, "decay_rate": 0.9, "staircase": True},
    ),
    "natural": ("natural_exp_decay", {"learning_rate": 0.1, "decay_steps": 10, "decay_rate": 0.5}),
    "natural_staircase": (
        "natural_exp_decay", {"learning_rate": 0.1, "decay_steps": 10, "decay_rate": 0.5, "staircase": True},
    ),
    "inverse": ("inverse_time_decay", {"learning_rate": 0.1, "decay_steps": 10, "decay_rate": 0.5}),
    "inverse_staircase": (
        "inverse_time_decay", {"learning_rate": 0.1, "decay_steps": 10, "decay_rate": 0.5, "staircase": True},
    ),
    "polynomial": ("polynomial_decay", {"learning_rate": 0.1, "decay_steps": 30}),
    "polynomial_power": (
        "polynomial_decay", {"learning_rate": 0.1, "decay_steps": 30, "end_learning_rate": 0.01, "power": 0.5},
    ),
    "polynomial_cycle": (
        "polynomial_decay",
        {"learning_rate": 0.1, "decay_steps": 10, "end_learning_rate": 0.01, "power": 2.0, "cycle": True},
    ),
    "piecewise": ("piecewise_constant", {"boundaries": [2, 10, 30], "values": [1.0, 0.5, 0.1, 0.01]}),
    "cosine": ("cosine_decay", {"learning_rate": 0.1, "decay_steps": 30}),
    "cosine_alpha": ("cosine_decay", {"learning_rate": 0.1, "decay_steps": 30, "alpha": 0.2}),
    "restarts": ("cosine_decay_restarts", {"learning_rate": 0.1, "first_decay_steps": 10}),
    "restarts_scaled": (
        "cosine_decay_restarts",
        {"learning_rate": 0.1, "first_decay_steps": 6, "t_mul": 1.5, "m_mul": 0.8, "alpha": 0.1},
    ),
    "restarts_equal": (
        "cosine_decay_restarts", {"learning_rate": 0.1, "first_decay_steps": 6, "t_mul": 1.0, "m_mul": 0.8},
    ),
    "linear_cosine": ("linear_cosine_decay", {"learning_rate": 0.1, "decay_steps": 30}),
    "linear_cosine_periods": (
        "linear_cosine_decay",
        {"learning_rate": 0.1, "decay_steps": 30, "num_periods": 2.0, "alpha": 0.1, "beta": 0.01},
    ),
}  # fmt: skip
