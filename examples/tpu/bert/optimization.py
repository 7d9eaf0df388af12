"""Adam with weight decay that its averages do not see, as BERT was trained with it."""

import re

import tensorflow as tf


def create_optimizer(loss, init_lr, num_train_steps, num_warmup_steps, use_tpu):
    """The operation that trains for a step: the rate rises for the first steps and falls to zero at the last one."""
    global_step = tf.train.get_or_create_global_step()
    rate = tf.constant(value=init_lr, shape=[], dtype=tf.float32)
    rate = tf.train.polynomial_decay(rate, global_step, num_train_steps, end_learning_rate=0.0, power=1.0, cycle=False)
    if num_warmup_steps:
        step = tf.cast(global_step, tf.int32)
        warmup_steps = tf.constant(num_warmup_steps, dtype=tf.int32)
        done = tf.cast(step, tf.float32) / tf.cast(warmup_steps, tf.float32)
        rising = tf.cast(step < warmup_steps, tf.float32)
        rate = (1.0 - rising) * rate + rising * init_lr * done
    optimizer = AdamWeightDecayOptimizer(
        learning_rate=rate,
        weight_decay_rate=0.01,
        epsilon=1e-6,
        exclude_from_weight_decay=["LayerNorm", "layer_norm", "bias"],
    )
    if use_tpu:
        optimizer = tf.contrib.tpu.CrossShardOptimizer(optimizer)
    tvars = tf.trainable_variables()
    grads, _ = tf.clip_by_global_norm(tf.gradients(loss, tvars), clip_norm=1.0)
    train_op = optimizer.apply_gradients(zip(grads, tvars), global_step=global_step)  # noqa: B905
    # The optimizer does not count steps itself; the rate has been read when the step is counted.
    with tf.control_dependencies([train_op]):
        return tf.group(global_step.assign(global_step + 1))


class AdamWeightDecayOptimizer(tf.train.Optimizer):
    """Adam whose decay of weights is not part of the gradient (Loshchilov and Hutter, https://arxiv.org/abs/1711.05101).

    Its averages are variables of its own, "NAME/adam_m" and "NAME/adam_v", and are not corrected for their zeros.
    """

    def __init__(
        self, learning_rate, weight_decay_rate=0.0, beta_1=0.9, beta_2=0.999, epsilon=1e-6,
        exclude_from_weight_decay=None, name="AdamWeightDecayOptimizer",
    ):  # fmt: skip
        super().__init__(False, name)
        self.learning_rate = learning_rate
        self.weight_decay_rate = weight_decay_rate
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.exclude_from_weight_decay = exclude_from_weight_decay or []

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        assignments = []
        for grad, param in grads_and_vars:
            if grad is None or param is None:
                continue
            param_name = re.match("^(.*):\\d+$", param.name).group(1)
            m, v = (
                tf.get_variable(
                    name=param_name + suffix,
                    shape=param.shape.as_list(),
                    dtype=tf.float32,
                    trainable=False,
                    initializer=tf.zeros_initializer(),
                )
                for suffix in ("/adam_m", "/adam_v")
            )
            next_m = tf.multiply(self.beta_1, m) + tf.multiply(1.0 - self.beta_1, grad)
            next_v = tf.multiply(self.beta_2, v) + tf.multiply(1.0 - self.beta_2, tf.square(grad))
            update = next_m / (tf.sqrt(next_v) + self.epsilon)
            if not any(re.search(pattern, param_name) for pattern in self.exclude_from_weight_decay):
                update += self.weight_decay_rate * param
            next_param = param - self.learning_rate * update
            assignments.extend([param.assign(next_param), m.assign(next_m), v.assign(next_v)])
        return tf.group(*assignments, name=name)
