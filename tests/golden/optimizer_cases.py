"""The optimizers that are compared with the original: plain data, read by both sides.

``CASES`` maps a name to (class, arguments). The argument value ``STEP`` stands for the global step.
"""

STEP = "<global step>"
STEPS = 30
KEPT = (1, 7, 30)
ROWS, WIDTH, FEATURES, BATCH = 12, 3, 4, 8
VARIABLES = ("table", "w", "b", "v")

CASES = {
    "gradient_descent": ("GradientDescentOptimizer", {"learning_rate": 0.1}),
    "momentum": ("MomentumOptimizer", {"learning_rate": 0.05, "momentum": 0.9}),
    "nesterov": ("MomentumOptimizer", {"learning_rate": 0.05, "momentum": 0.9, "use_nesterov": True}),
    "adam": ("AdamOptimizer", {"learning_rate": 0.01, "epsilon": 1e-3}),
    "adagrad": ("AdagradOptimizer", {"learning_rate": 0.1}),
    "adadelta": ("AdadeltaOptimizer", {"learning_rate": 1.0, "rho": 0.9, "epsilon": 1e-4}),
    "rmsprop": ("RMSPropOptimizer", {"learning_rate": 0.01}),
    "rmsprop_momentum": ("RMSPropOptimizer", {"learning_rate": 0.01, "decay": 0.8, "momentum": 0.5, "epsilon": 1e-3}),
    "rmsprop_centered": (
        "RMSPropOptimizer", {"learning_rate": 0.01, "momentum": 0.3, "epsilon": 1e-2, "centered": True},
    ),
    "ftrl": ("FtrlOptimizer", {"learning_rate": 0.1}),
    "ftrl_regularized": (
        "FtrlOptimizer",
        {
            "learning_rate": 0.2, "l1_regularization_strength": 0.01, "l2_regularization_strength": 0.02,
            "accum_name": "acc", "linear_name": "lin",
        },
    ),
    "ftrl_power": (
        "FtrlOptimizer",
        {
            "learning_rate": 0.1, "learning_rate_power": -0.3, "initial_accumulator_value": 0.2,
            "l1_regularization_strength": 0.003,
        },
    ),
    "ftrl_shrinkage": (
        "FtrlOptimizer",
        {"learning_rate": 0.1, "l1_regularization_strength": 0.002, "l2_shrinkage_regularization_strength": 0.1},
    ),
    "proximal_gradient_descent": ("ProximalGradientDescentOptimizer", {"learning_rate": 0.1}),
    "proximal_gradient_descent_regularized": (
        "ProximalGradientDescentOptimizer",
        {"learning_rate": 0.1, "l1_regularization_strength": 0.02, "l2_regularization_strength": 0.01},
    ),
    "proximal_adagrad": ("ProximalAdagradOptimizer", {"learning_rate": 0.1}),
    "proximal_adagrad_regularized": (
        "ProximalAdagradOptimizer",
        {"learning_rate": 0.1, "l1_regularization_strength": 0.02, "l2_regularization_strength": 0.01},
    ),
    "adagrad_da": ("AdagradDAOptimizer", {"learning_rate": 0.2, "global_step": STEP}),
    "adagrad_da_regularized": (
        "AdagradDAOptimizer",
        {
            "learning_rate": 0.2, "global_step": STEP, "l1_regularization_strength": 0.002,
            "l2_regularization_strength": 0.01,
        },
    ),
    "adamax": ("AdaMaxOptimizer", {"learning_rate": 0.01}),
    "lazy_adam": ("LazyAdamOptimizer", {"learning_rate": 0.01, "epsilon": 1e-3}),
    "momentum_w": ("MomentumWOptimizer", {"weight_decay": 0.01, "learning_rate": 0.05, "momentum": 0.9}),
    "adam_w": ("AdamWOptimizer", {"weight_decay": 0.01, "learning_rate": 0.01, "epsilon": 1e-3}),
    "nadam": ("NadamOptimizer", {"learning_rate": 0.01, "epsilon": 1e-3}),
    "lars": ("LARSOptimizer", {"learning_rate": 0.05, "eeta": 0.2}),
    "add_sign": ("AddSignOptimizer", {"learning_rate": 0.01}),
    "add_sign_decayed": (
        "AddSignOptimizer", {"learning_rate": 0.02, "alpha": 0.8, "beta": 0.5, "sign_decay_fn": lambda step: 0.5},
    ),
}  # fmt: skip

DENSE_ONLY = ("nadam", "lars", "add_sign", "add_sign_decayed")
"""Their rule for rows fails in the original: the table is read through a matrix product."""

FLOAT32_ONLY = (
    "proximal_gradient_descent", "proximal_gradient_descent_regularized", "proximal_adagrad",
    "proximal_adagrad_regularized",
)  # fmt: skip
"""These give float32 numbers to the original's kernels whatever the variable's type, which fails for float64."""
