"""The public names of the 1.x namespace for training: layers, losses, metrics, optimizers. Data, by module."""

from __future__ import annotations

from types import ModuleType

from towerstrat.training import global_step as training_global_step
from towerstrat.training import losses as training_losses
from towerstrat.training import moving_averages as training_moving_averages
from towerstrat.training import regularizers as training_regularizers
from towerstrat.training import schedules as training_schedules
from towerstrat.training.layers import base as layers_base
from towerstrat.training.layers import convolutional as layers_convolutional
from towerstrat.training.layers import core as layers_core
from towerstrat.training.layers import normalization as layers_normalization
from towerstrat.training.layers import pooling as layers_pooling
from towerstrat.training.layers import transposed as layers_transposed
from towerstrat.training.metrics import counts as metrics_counts
from towerstrat.training.metrics import means as metrics_means
from towerstrat.training.metrics import stateful as metrics_stateful
from towerstrat.training.metrics import top_k as metrics_top_k
from towerstrat.training.optimizers import adadelta as optimizers_adadelta
from towerstrat.training.optimizers import adagrad as optimizers_adagrad
from towerstrat.training.optimizers import adam as optimizers_adam
from towerstrat.training.optimizers import base as optimizers_base
from towerstrat.training.optimizers import cross_shard as optimizers_cross_shard
from towerstrat.training.optimizers import ftrl as optimizers_ftrl
from towerstrat.training.optimizers import gradient_descent as optimizers_gradient_descent
from towerstrat.training.optimizers import lars as optimizers_lars
from towerstrat.training.optimizers import momentum as optimizers_momentum
from towerstrat.training.optimizers import moving_average as optimizers_moving_average
from towerstrat.training.optimizers import rmsprop as optimizers_rmsprop
from towerstrat.training.optimizers import weight_decay as optimizers_weight_decay

ROWS: tuple[tuple[ModuleType, dict[str, str]], ...] = (
    (metrics_stateful, {
        "tf.contrib.eager.metrics": """
            Accuracy BinaryAccuracy CategoricalAccuracy Mean Metric SparseAccuracy""",
    }),
    (training_global_step, {
        "tf.contrib.framework tf.train": """
            assert_global_step create_global_step get_global_step get_or_create_global_step""",
        "tf.train": "global_step",
        "tf.contrib.slim": "assert_global_step create_global_step get_global_step get_or_create_global_step",
    }),
    (layers_base, {
        "tf.layers": "InputSpec Layer",
    }),
    (layers_convolutional, {
        "tf.layers": """
            Conv1D Conv2D Conv3D SeparableConv1D SeparableConv2D conv1d conv2d conv3d separable_conv1d
            separable_conv2d""",
    }),
    (layers_core, {
        "tf.layers": "Dense Dropout Flatten dense dropout flatten",
    }),
    (layers_normalization, {
        "tf.layers": "BatchNormalization batch_normalization",
    }),
    (layers_pooling, {
        "tf.layers": """
            AveragePooling1D AveragePooling2D AveragePooling3D MaxPooling1D MaxPooling2D MaxPooling3D
            average_pooling1d average_pooling2d average_pooling3d max_pooling1d max_pooling2d max_pooling3d""",
    }),
    (layers_transposed, {
        "tf.layers": "Conv2DTranspose Conv3DTranspose conv2d_transpose conv3d_transpose",
    }),
    (training_losses, {
        "tf.losses": """
            Reduction absolute_difference add_loss compute_weighted_loss cosine_distance get_losses
            get_regularization_loss get_regularization_losses get_total_loss hinge_loss huber_loss log_loss
            mean_pairwise_squared_error mean_squared_error sigmoid_cross_entropy softmax_cross_entropy
            sparse_softmax_cross_entropy""",
    }),
    (metrics_counts, {
        "tf.metrics": """
            auc false_negatives false_negatives_at_thresholds false_positives false_positives_at_thresholds
            precision precision_at_thresholds recall recall_at_thresholds sensitivity_at_specificity
            specificity_at_sensitivity true_negatives true_negatives_at_thresholds true_positives
            true_positives_at_thresholds""",
    }),
    (metrics_means, {
        "tf.metrics": """
            accuracy mean mean_absolute_error mean_cosine_distance mean_iou mean_per_class_accuracy
            mean_relative_error mean_squared_error mean_tensor percentage_below root_mean_squared_error""",
    }),
    (metrics_top_k, {
        "tf.metrics": """
            average_precision_at_k precision_at_k precision_at_top_k recall_at_k recall_at_top_k
            sparse_average_precision_at_k sparse_precision_at_k""",
    }),
    (training_moving_averages, {
        "tf.train": "ExponentialMovingAverage",
    }),
    (optimizers_adadelta, {
        "tf.train": "AdadeltaOptimizer",
    }),
    (optimizers_adagrad, {
        "tf.train": "AdagradDAOptimizer AdagradOptimizer ProximalAdagradOptimizer",
    }),
    (optimizers_adam, {
        "tf.contrib.opt": "AdaMaxOptimizer LazyAdamOptimizer NadamOptimizer",
        "tf.train": "AdamOptimizer",
    }),
    (optimizers_base, {
        "tf.train": "Optimizer",
    }),
    (optimizers_cross_shard, {
        "tf.contrib.tpu": "CrossShardOptimizer cross_replica_sum",
    }),
    (optimizers_ftrl, {
        "tf.train": "FtrlOptimizer",
    }),
    (optimizers_gradient_descent, {
        "tf.train": "GradientDescentOptimizer ProximalGradientDescentOptimizer",
    }),
    (optimizers_lars, {
        "tf.contrib.opt": "LARSOptimizer",
    }),
    (optimizers_momentum, {
        "tf.train": "MomentumOptimizer",
    }),
    (optimizers_moving_average, {
        "tf.contrib.opt": "MovingAverageOptimizer",
    }),
    (optimizers_rmsprop, {
        "tf.train": "RMSPropOptimizer",
    }),
    (optimizers_weight_decay, {
        "tf.contrib.opt": """
            AdamWOptimizer DecoupledWeightDecayExtension MomentumWOptimizer extend_with_decoupled_weight_decay""",
    }),
    (training_regularizers, {
        "tf.contrib.layers tf.contrib.slim": """
            apply_regularization l1_l2_regularizer l1_regularizer l2_regularizer sum_regularizer""",
    }),
    (training_schedules, {
        "tf.train": """
            cosine_decay cosine_decay_restarts exponential_decay inverse_time_decay linear_cosine_decay
            natural_exp_decay noisy_linear_cosine_decay piecewise_constant polynomial_decay""",
    }),
)  # fmt: skip
