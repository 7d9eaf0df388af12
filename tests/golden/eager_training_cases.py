"""What trains a model where programs run eagerly: programs that the original and ours both run. For Python 3.6 too.

A case is a function of the namespace ``tf`` that returns plain facts: names, numbers, or what an error begins with.
"""

import numpy as np


def names(things):
    return [t.name for t in things]


def values(things):
    return [t.numpy().tolist() for t in things]


def refused(function):
    """The type of the error that ``function`` raises."""
    try:
        function()
    except Exception as error:
        return type(error).__name__
    return "nothing"


OPTIMIZERS = {
    "descent": lambda tf: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adam": lambda tf: tf.train.AdamOptimizer(0.1),
    "rmsprop": lambda tf: tf.train.RMSPropOptimizer(0.1, centered=True),
    "adagrad": lambda tf: tf.train.AdagradOptimizer(0.1),
    "adadelta": lambda tf: tf.train.AdadeltaOptimizer(0.1),
    "ftrl": lambda tf: tf.train.FtrlOptimizer(0.1),
    "proximal_adagrad": lambda tf: tf.train.ProximalAdagradOptimizer(0.1),
    "proximal_descent": lambda tf: tf.train.ProximalGradientDescentOptimizer(0.1, 0.01, 0.02),
}


def trained(tf, name):
    """What an optimizer makes of three variables, one of them a table, in three steps."""
    v, w = tf.Variable([1.0, 2.0], name="w"), tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="w")
    table = tf.Variable([[1.0], [2.0], [3.0]], name="table")
    step = tf.train.get_or_create_global_step()
    optimizer = OPTIMIZERS[name](tf)
    found = [name, names(optimizer.variables()), optimizer.get_slot_names()]

    def loss():
        rows = tf.nn.embedding_lookup(table, [0, 2])
        return tf.reduce_sum(v * v) + tf.reduce_sum(w) * 0.5 + tf.reduce_sum(rows * rows)

    for _ in range(3):
        found.append(optimizer.minimize(loss, global_step=step, var_list=[v, w, table]))
    found += [names(optimizer.variables()), optimizer.get_slot_names(), step.numpy().tolist()]
    found += values([v, w, table]) + values(optimizer.variables())
    return found + [optimizer.get_slot(v, s).name for s in optimizer.get_slot_names()]


def optimizers(tf):
    found = []
    for name in sorted(OPTIMIZERS):
        tf.reset_default_graph()
        found.append(trained(tf, name))
    return found


def losses_to_minimize(tf):
    v, fixed = tf.Variable([1.0, 2.0], name="v"), tf.Variable([3.0, 4.0], trainable=False, name="fixed")
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    pairs = optimizer.compute_gradients(lambda: tf.reduce_sum(v * fixed))
    found = [names(x for _, x in pairs), values(g for g, _ in pairs)]
    pairs = optimizer.compute_gradients(lambda: tf.reduce_sum(v * fixed), grad_loss=2.0, var_list=[fixed, v])
    found += [names(x for _, x in pairs), values(g for g, _ in pairs)]
    found.append([g for g, _ in optimizer.compute_gradients(lambda: tf.constant(1.0), [v])])
    found.append(optimizer.compute_gradients(lambda: tf.constant(1.0)))
    found.append(optimizer.apply_gradients([(tf.constant([1.0, 1.0]), v), (None, fixed)]))
    found += [
        refused(lambda: optimizer.minimize(tf.reduce_sum(v), var_list=[v])),
        refused(lambda: optimizer.compute_gradients(tf.reduce_sum(v))),
        refused(lambda: optimizer.minimize(lambda: tf.constant(1.0), var_list=[v])),
        refused(lambda: optimizer.minimize(lambda: tf.constant(1.0))),
        refused(lambda: optimizer.apply_gradients([(None, v)])),
        refused(lambda: optimizer.apply_gradients([])),
    ]
    kept = tf.Variable([1.0, -1.0], constraint=lambda x: tf.maximum(x, 0.0))
    optimizer.minimize(lambda: tf.reduce_sum(kept))
    return found + values([v, kept])


def schedules(tf):
    step = tf.train.get_or_create_global_step()
    rates = [
        tf.train.piecewise_constant(step, [2, 4], [0.1, 0.2, 0.3]), tf.train.exponential_decay(0.1, step, 2, 0.5),
        tf.train.exponential_decay(0.1, step, 2, 0.5, staircase=True), tf.train.natural_exp_decay(0.1, step, 10, 0.5),
        tf.train.inverse_time_decay(0.1, step, 10, 0.5), tf.train.polynomial_decay(0.1, step, 4),
        tf.train.cosine_decay(0.1, step, 10), tf.train.cosine_decay_restarts(0.1, step, 3),
        tf.train.linear_cosine_decay(0.1, step, 10),
    ]  # fmt: skip
    found = [[callable(rate) for rate in rates]]
    for _ in range(6):
        found.append(values(rate() for rate in rates))
        step.assign_add(1)
    return found + [
        refused(lambda: tf.train.exponential_decay(0.1, None, 2, 0.5)),
        refused(lambda: tf.train.piecewise_constant(step, [2, 4], [0.1, 0.2])),
        refused(lambda: tf.train.piecewise_constant(step, [2.0, 4], [0.1, 0.2, 0.3])()),
    ]


def global_step(tf):
    found = [tf.train.get_global_step() is None]
    step = tf.train.get_or_create_global_step()
    found += [step.name, step.dtype.name, tf.train.get_global_step() is step, refused(tf.train.create_global_step)]
    found.append(tf.train.global_step(None, step))
    tf.reset_default_graph()
    return found + [tf.train.get_global_step() is None]


def layer_names(tf):
    x, found = tf.ones([2, 3]), []
    image = tf.ones([1, 4, 4, 1])
    made = [tf.layers.Dense(4), tf.layers.Dense(4), tf.layers.Conv2D(2, 3), tf.layers.BatchNormalization()]
    for layer in made:
        found += [
            layer(image if layer is made[2] else x).shape.as_list(),
            names(layer.variables),
            names(layer.trainable_variables),
        ]
    tf.layers.dense(x, 4)
    tf.layers.dense(x, 4, name="one")
    tf.layers.dense(x, 4, name="one")
    tf.layers.dense(x, 4, name="one", reuse=True)
    for scope in ("a", "a", "b"):
        with tf.variable_scope(scope):
            for layer in (tf.layers.Dense(2), tf.layers.Dense(2, name="named")):
                layer(x)
                found += [layer.name, layer.scope_name, names(layer.variables)]
    return found


def layer_losses(tf):
    x = tf.ones([2, 3])
    layer = tf.layers.Dense(
        4, kernel_regularizer=lambda k: tf.reduce_sum(k * k), kernel_initializer=tf.ones_initializer()
    )
    layer(x)
    layer(x)
    found = [values(layer.losses), tf.losses.get_regularization_losses()]
    layer.kernel.assign(layer.kernel * 2.0)
    found += [values(layer.losses), [w.tolist() for w in layer.get_weights()], layer.count_params()]
    layer.set_weights([np.ones((3, 4)), np.full(4, 2.0)])
    return found + [
        layer(x).numpy().tolist(), refused(lambda: layer.updates), refused(lambda: layer.graph),
        refused(lambda: layer.get_losses_for(None)),
        refused(lambda: tf.layers.Dense(4, activity_regularizer=tf.nn.l2_loss)),
    ]  # fmt: skip


def batch_normalization(tf):
    rows, found = tf.constant([[1.0, 2.0], [3.0, 6.0]]), []
    images = tf.reshape(tf.range(16.0), [2, 2, 2, 2])
    for x, arguments in ((rows, {}), (images, {}), (images, {"fused": False}), (images, {"scale": False})):
        layer = tf.layers.BatchNormalization(momentum=0.5, **arguments)
        for training in (True, False, tf.constant(True), tf.constant(False)):
            found += [layer(x, training=training).numpy().tolist(), values(layer.variables)]
    return found + [names(layer.variables), refused(lambda: layer.updates)]


def variables_by_name(tf):
    found = [tf.get_variable("w", [2]) is tf.get_variable("w", [2]), tf.get_variable("w", [2]).name]
    for reuse in (None, True, tf.AUTO_REUSE):
        with tf.variable_scope("s", reuse=reuse) as scope:
            found += [tf.get_variable("w", [2]).name, str(scope.reuse).split(".")[-1], tf.Variable(1.0).name]
    for _ in range(2):
        with tf.variable_scope(None, "d") as scope:
            found += [tf.get_variable("w", [2]).name, scope.name, scope.original_name_scope]
        with tf.name_scope("n") as name:
            found += [name, tf.Variable(1.0, name="w").name]
    found.append(tf.get_local_variable("l", [2]).trainable)
    tf.get_variable("r", [2], initializer=tf.ones_initializer(), regularizer=tf.reduce_sum, collections=["mine"])
    tf.add_to_collection("other", 3)
    keys = ("mine", "other", "variables", "trainable_variables")
    return found + [tf.get_collection(k) for k in keys] + [values(tf.losses.get_regularization_losses())]


def losses(tf):
    found = [
        tf.losses.mean_squared_error([1.0, 2.0], [2.0, 4.0]),
        tf.losses.absolute_difference([1.0, 2.0], [2.0, 4.0], weights=[1.0, 0.0]),
        tf.losses.softmax_cross_entropy([[0.0, 1.0]], [[1.0, 2.0]], label_smoothing=0.1),
        tf.losses.sparse_softmax_cross_entropy([1], [[1.0, 2.0]]),
        tf.losses.sigmoid_cross_entropy([[0.0, 1.0]], [[1.0, 2.0]]),
        tf.losses.huber_loss([1.0, 2.0], [2.0, 4.0]),
    ]
    tf.losses.add_loss(tf.constant(1.0))
    return values(found) + [tf.losses.get_losses(), tf.losses.get_regularization_loss().numpy().tolist()]


def metrics(tf):
    ones = [1.0, 0.0]
    return [
        refused(lambda: tf.metrics.mean(ones)), refused(lambda: tf.metrics.accuracy(ones, ones)),
        refused(lambda: tf.metrics.auc(ones, ones)), refused(lambda: tf.metrics.precision(ones, ones)),
        refused(lambda: tf.metrics.recall_at_k(ones, ones, 1)), refused(lambda: tf.metrics.mean_iou(ones, ones, 2)),
    ]  # fmt: skip


def moving_averages(tf):
    v = tf.Variable([1.0, 2.0], name="v")
    average = tf.train.ExponentialMovingAverage(0.9)
    found = [average.apply([v])]
    v.assign([2.0, 3.0])
    average.apply([v])
    found += [average.average(v).name, values([average.average(v)]), average.apply()]
    counted = tf.train.ExponentialMovingAverage(0.9, num_updates=tf.Variable(3))
    counted.apply([v])
    v.assign([4.0, 5.0])
    counted.apply([v])
    return found + values([counted.average(v)])


def clipping(tf):
    clipped, norm = tf.clip_by_global_norm([tf.ones([3]), None], 1.0)
    found = [values(clipped[:1]), clipped[1], norm.numpy().tolist()]
    return found + values([tf.clip_by_norm(tf.ones([4]), 1.0), tf.global_norm([tf.ones([4])])])


def initializers(tf):
    made = [tf.zeros_initializer(), tf.ones_initializer(), tf.constant_initializer(3.0)]
    found = values(i(shape=[2, 2]) for i in made) + values([tf.zeros_initializer()([2], tf.int32)])
    for name in ("random_normal", "glorot_uniform", "orthogonal", "truncated_normal", "random_uniform"):
        found.append(getattr(tf, name + "_initializer")()(shape=[2, 3]).shape.as_list())
    return found


CASES = [
    optimizers, losses_to_minimize, schedules, global_step, layer_names, layer_losses, batch_normalization,
    variables_by_name, losses, metrics, moving_averages, clipping, initializers,
]  # fmt: skip
