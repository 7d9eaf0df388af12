"""Optimizers, one file per family; the base class and its hooks are in ``base``."""

from towerstrat.training.optimizers.adadelta import AdadeltaOptimizer
from towerstrat.training.optimizers.adagrad import AdagradDAOptimizer, AdagradOptimizer, ProximalAdagradOptimizer
from towerstrat.training.optimizers.adam import AdaMaxOptimizer, AdamOptimizer, LazyAdamOptimizer, NadamOptimizer
from towerstrat.training.optimizers.add_sign import AddSignOptimizer
from towerstrat.training.optimizers.cross_shard import CrossShardOptimizer
from towerstrat.training.optimizers.ftrl import FtrlOptimizer
from towerstrat.training.optimizers.gradient_descent import GradientDescentOptimizer, ProximalGradientDescentOptimizer
from towerstrat.training.optimizers.lars import LARSOptimizer
from towerstrat.training.optimizers.momentum import MomentumOptimizer
from towerstrat.training.optimizers.moving_average_optimizer import MovingAverageOptimizer
from towerstrat.training.optimizers.optimizer import Optimizer, get_filtered_grad_fn
from towerstrat.training.optimizers.rmsprop import RMSPropOptimizer
from towerstrat.training.optimizers.weight_decay import (
    AdamWOptimizer,
    DecoupledWeightDecayExtension,
    MomentumWOptimizer,
    extend_with_decoupled_weight_decay,
)

__all__ = [
    "AdaMaxOptimizer",
    "AdadeltaOptimizer",
    "AdagradDAOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "AdamWOptimizer",
    "AddSignOptimizer",
    "CrossShardOptimizer",
    "DecoupledWeightDecayExtension",
    "FtrlOptimizer",
    "GradientDescentOptimizer",
    "LARSOptimizer",
    "LazyAdamOptimizer",
    "MomentumOptimizer",
    "MomentumWOptimizer",
    "MovingAverageOptimizer",
    "NadamOptimizer",
    "Optimizer",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
    "RMSPropOptimizer",
    "extend_with_decoupled_weight_decay",
    "get_filtered_grad_fn",
]
