"""The public names of the 1.x namespace for training: layers, losses, metrics, optimizers. Data, by module."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import Rows

_OPTIMIZERS_V2 = (
    ("adadelta", "AdadeltaOptimizer"),
    ("adagrad", "AdagradOptimizer"),
    ("adam", "AdamOptimizer"),
    ("optimizer_v2", "OptimizerV2"),
    ("gradient_descent", "GradientDescentOptimizer"),
    ("momentum", "MomentumOptimizer"),
    ("rmsprop", "RMSPropOptimizer"),
)

ROWS: Rows = (
    ("training.summaries.metric_objects", {
        "tf.contrib.eager.metrics": """
            Accuracy BinaryAccuracy CategoricalAccuracy Mean Metric SparseAccuracy""",
    }),
    ("training.base.global_step", {
        "tf.contrib.framework tf.train": """
            assert_global_step create_global_step get_global_step get_or_create_global_step""",
        "tf.train": "global_step",
        "tf.contrib.slim": "assert_global_step create_global_step get_global_step get_or_create_global_step",
    }),
    ("models.layers.layer", {
        "tf.layers": "InputSpec Layer",
    }),
    ("models.layers.convolution", {
        "tf.layers": """
            Conv1D Conv2D Conv3D SeparableConv1D SeparableConv2D conv1d conv2d conv3d separable_conv1d
            separable_conv2d""",
    }),
    ("models.layers.dense", {
        "tf.layers": "Dense Dropout Flatten dense dropout flatten",
    }),
    ("models.layers.batch_normalization", {
        "tf.layers": "BatchNormalization batch_normalization",
    }),
    ("models.layers.pooling", {
        "tf.layers": """
            AveragePooling1D AveragePooling2D AveragePooling3D MaxPooling1D MaxPooling2D MaxPooling3D
            average_pooling1d average_pooling2d average_pooling3d max_pooling1d max_pooling2d max_pooling3d""",
    }),
    ("models.layers.transposed_convolution", {
        "tf.layers": "Conv2DTranspose Conv3DTranspose conv2d_transpose conv3d_transpose",
    }),
    ("models.losses", {
        "tf.losses": """
            Reduction absolute_difference add_loss compute_weighted_loss cosine_distance get_losses
            get_regularization_loss get_regularization_losses get_total_loss hinge_loss huber_loss log_loss
            mean_pairwise_squared_error mean_squared_error sigmoid_cross_entropy softmax_cross_entropy
            sparse_softmax_cross_entropy""",
    }),
    ("models.metrics.confusion_counts", {
        "tf.metrics": """
            auc false_negatives false_negatives_at_thresholds false_positives false_positives_at_thresholds
            precision precision_at_thresholds recall recall_at_thresholds sensitivity_at_specificity
            specificity_at_sensitivity true_negatives true_negatives_at_thresholds true_positives
            true_positives_at_thresholds""",
    }),
    ("models.metrics.means", {
        "tf.metrics": """
            accuracy mean mean_absolute_error mean_cosine_distance mean_iou mean_per_class_accuracy
            mean_relative_error mean_squared_error mean_tensor percentage_below root_mean_squared_error""",
    }),
    ("models.metrics.top_k", {
        "tf.metrics": """
            average_precision_at_k precision_at_k precision_at_top_k recall_at_k recall_at_top_k
            sparse_average_precision_at_k sparse_precision_at_k""",
    }),
    ("training.optimizers.exponential_averages", {
        "tf.train": "ExponentialMovingAverage",
    }),
    ("training.optimizers.adadelta", {
        "tf.train": "AdadeltaOptimizer",
    }),
    ("training.optimizers.adagrad", {
        "tf.train": "AdagradDAOptimizer AdagradOptimizer ProximalAdagradOptimizer",
    }),
    ("training.optimizers.adam", {
        "tf.contrib.opt": "AdaMaxOptimizer LazyAdamOptimizer NadamOptimizer",
        "tf.train": "AdamOptimizer",
    }),
    ("training.optimizers.optimizer", {
        "tf.train": "Optimizer",
    }),
    ("training.optimizers.ftrl", {
        "tf.train": "FtrlOptimizer",
    }),
    ("training.optimizers.gradient_descent", {
        "tf.train": "GradientDescentOptimizer ProximalGradientDescentOptimizer",
    }),
    ("training.optimizers.lars", {
        "tf.contrib.opt": "LARSOptimizer",
    }),
    ("training.optimizers.momentum", {
        "tf.train": "MomentumOptimizer",
    }),
    ("training.optimizers.moving_average_optimizer", {
        "tf.contrib.opt": "MovingAverageOptimizer",
    }),
    ("training.optimizers.rmsprop", {
        "tf.train": "RMSPropOptimizer",
    }),
    *((f"training.optimizers.v2.{module}", {"tf.contrib.optimizer_v2": name}) for module, name in _OPTIMIZERS_V2),
    ("training.optimizers.sync_replicas", {
        "tf.train": "SyncReplicasOptimizer",
    }),
    ("training.optimizers.weight_decay", {
        "tf.contrib.opt": """
            AdamWOptimizer DecoupledWeightDecayExtension MomentumWOptimizer extend_with_decoupled_weight_decay""",
    }),
    ("models.regularizers", {
        "tf.contrib.layers tf.contrib.slim": """
            apply_regularization l1_l2_regularizer l1_regularizer l2_regularizer sum_regularizer""",
    }),
    ("training.optimizers.learning_rate_schedules", {
        "tf.train": """
            cosine_decay cosine_decay_restarts exponential_decay inverse_time_decay linear_cosine_decay
            natural_exp_decay noisy_linear_cosine_decay piecewise_constant polynomial_decay""",
    }),
)  # fmt: skip
