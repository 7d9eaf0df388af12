"""The optimizers of ``tf.contrib.optimizer_v2``, one file each; the base class and its hooks are in ``base``."""

from towerstrat.training.optimizers.v2.adadelta import AdadeltaOptimizer
from towerstrat.training.optimizers.v2.adagrad import AdagradOptimizer
from towerstrat.training.optimizers.v2.adam import AdamOptimizer
from towerstrat.training.optimizers.v2.gradient_descent import GradientDescentOptimizer
from towerstrat.training.optimizers.v2.momentum import MomentumOptimizer
from towerstrat.training.optimizers.v2.optimizer_v2 import OptimizerV2
from towerstrat.training.optimizers.v2.rmsprop import RMSPropOptimizer

__all__ = [
    "AdadeltaOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "GradientDescentOptimizer",
    "MomentumOptimizer",
    "OptimizerV2",
    "RMSPropOptimizer",
]
