"""Expressions over ``tf.contrib.eager``, run eagerly by TensorFlow 1.12 and by ours. Python 3.6 too."""


def fed(metric, *batches, **last):
    """The metric after several batches."""
    for batch in batches[:-1]:
        metric(*batch)
    metric(*batches[-1], **last)
    return metric


def over(tfe, dataset):
    return [int(x) for x in tfe.Iterator(dataset)]


def pulled(tfe, dataset):
    iterator = tfe.Iterator(dataset)
    return [int(iterator.next()), int(next(iterator)), int(iterator.get_next())]


def in_graph(tf, tfe):
    with tf.Graph().as_default(), tf.Session() as session:
        metric = tfe.metrics.Mean("loss of it")
        given = tf.placeholder(tf.float32, [None])
        update, start, result = metric(given), metric.init_variables(), metric.result()
        session.run(start)
        values = [session.run(update, {given: v}) for v in ([1.0, 2.0], [6.0])]
        first = session.run(result)
        session.run(start)
        session.run(update, {given: [4.0]})
        return values, first, session.run(result), [v.name for v in tf.local_variables()]


def stored(tf, tfe):
    store = tfe.EagerVariableStore()
    for _ in range(2):
        with store.as_default():
            y = tf.layers.dense(tf.ones([1, 3]), 2, name="d", kernel_initializer=tf.ones_initializer())
    return y, [v.name for v in store.trainable_variables()]


CASES = [
    "fed(m.Mean(), [1.0], [3.0], [5.0]).result()", "fed(m.Mean(), [[1.0, 3.0]], [[5.0]], weights=[2.0]).result()",
    "fed(m.Mean('loss', tf.float32), [[1, 2]]).result()", "m.Mean()([1.0, 3.0])",
    "m.Mean()([1.0, 3.0], weights=[0.0, 1.0])", "m.Mean('a').name, [v.name for v in fed(m.Mean('a'), [1.0]).variables]",
    "fed(m.Accuracy(), [[1, 2, 3], [1, 2, 0]], [[1], [1]]).result()",
    "fed(m.Accuracy(), [[1, 2], [1, 0]], weights=[1.0, 3.0]).result()", "m.Accuracy()([1, 2], [1, 2, 3])",
    "fed(m.CategoricalAccuracy(), [[[0, 1], [1, 0]], [[0.2, 0.8], [0.1, 0.9]]]).result()",
    "m.CategoricalAccuracy()([[0, 1], [1, 0]], [[0.2, 0.8], [0.1, 0.9]])",
    "fed(m.BinaryAccuracy(0.5), [[False, True, True], [0.2, 0.9, 0.5]]).result()",
    "m.BinaryAccuracy(0.0)(tf.constant([False, True]), [0.2, -0.9])",
    "fed(m.SparseAccuracy(), [[1, 0], [[0.2, 0.8], [0.1, 0.9]]]).result()",
    "m.SparseAccuracy()([1, 0], [[0.2, 0.8], [0.1, 0.9]], [1.0, 2.0])",
    "m.SparseAccuracy()([1, 0, 2], [[0.2, 0.8], [0.1, 0.9]])", "[fed(m.Mean(), [4.0]), m.Metric().name][1]",
    "m.Metric()(1.0)", "m.Mean().init_variables()", "in_graph(tf, tfe)",
    "tfe.gradients_function(lambda x, y: x * x * y)(3.0, 2.0)",
    "tfe.gradients_function(lambda x, y: (x * y, x))(2.0, 3.0)",
    "tfe.gradients_function(lambda x, y: x * y, params=['y'])(2.0, 3.0)",
    "tfe.gradients_function(lambda x, y: x * y, params=[0])(2.0, 3.0)",
    "tfe.gradients_function(lambda x: x * x)(tf.constant([1.0, 2.0]), dy=tf.constant([1.0, 10.0]))",
    "tfe.gradients_function(lambda x: tfe.gradients_function(lambda y: y * y * y)(x)[0])(2.0)",
    "tfe.gradients_function(lambda x: x)(x=1.0)", "tfe.gradients_function(lambda x: None)(1.0)",
    "tfe.gradients_function(lambda x: x, params=[1.5])(1.0)", "tfe.gradients_function(lambda x: x, params=['y'])(1.0)",
    "tfe.gradients_function(lambda x, y: x)(1.0, 2.0)",
    "tfe.value_and_gradients_function(lambda x, y: [x * y, x])(2.0, 3.0)",
    "tfe.implicit_gradients(lambda x: v * x)(2.0)[0][0]",
    "tfe.implicit_value_and_gradients(lambda x: [v * x, v * 1.0])(2.0)", "tfe.implicit_gradients(lambda x: x)(2.0)",
    "tfe.implicit_gradients(lambda x: None)(2.0)", "tfe.defun(lambda x: x * v)(2.0)",
    "tfe.defun(input_signature=[tfe.TensorSpec([], tf.float32)])(lambda x: x * v)(tf.constant(2.0))",
    "tfe.py_func(lambda x: x * v, [tf.constant(2.0)], tf.float32)", "over(tfe, tf.data.Dataset.range(3))",
    "pulled(tfe, tf.data.Dataset.range(3))", "pulled(tfe, tf.data.Dataset.range(2))",
    "tfe.in_eager_mode(), tfe.executing_eagerly(), tfe.num_gpus()", "stored(tf, tfe)",
]  # fmt: skip
