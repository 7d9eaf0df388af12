"""The public names of ``tf.contrib.gan``. Data, by module."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import Rows

_LOSSES = """
    acgan_discriminator_loss acgan_generator_loss combine_adversarial_loss cycle_consistency_loss
    least_squares_discriminator_loss least_squares_generator_loss minimax_discriminator_loss minimax_generator_loss
    modified_discriminator_loss modified_generator_loss wasserstein_discriminator_loss wasserstein_generator_loss
    wasserstein_gradient_penalty"""

ROWS: Rows = (
    ("training.gan.gan_hooks", {
        "tf.contrib.gan": "RunTrainOpsHook get_joint_train_hooks get_sequential_train_hooks",
    }),
    ("training.gan.tensor_losses", {
        "tf.contrib.gan.losses.wargs": _LOSSES,
    }),
    ("training.gan.model_losses", {
        "tf.contrib.gan": "cyclegan_loss gan_loss stargan_loss",
        "tf.contrib.gan.losses": _LOSSES + """
            stargan_discriminator_loss_wrapper stargan_generator_loss_wrapper stargan_gradient_penalty_wrapper""",
    }),
    ("training.gan.gan_models", {
        "tf.contrib.gan": """
            ACGANModel CycleGANLoss CycleGANModel GANLoss GANModel GANTrainOps GANTrainSteps InfoGANModel StarGANModel
            acgan_model cyclegan_model gan_model stargan_model""",
    }),
    ("training.gan.gan_train_ops", {
        "tf.contrib.gan": "gan_train_ops",
    }),
    ("training.optimizers.train_op", {
        "tf.contrib.training": "add_gradients_summaries create_train_op",
    }),
)  # fmt: skip
