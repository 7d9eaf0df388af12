"""Forms in which integers are given: for an axis, a count, several axes. Each call is tried with each form.

Runs under Python 3.6 too.
"""

import numpy as np

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
FORMS = ["1", "-1", "True", "1.0", "1.5", "'1'", "None", "[1]", "(1,)", "[-1]", "[[1]]", "[]", "()", "[0, 1]"]
FORMS += ["(0, 1)", "np.int32(1)", "np.int64(1)", "np.uint8(1)", "np.float32(1)", "np.array(1)", "np.array([1])"]
FORMS += ["np.bool_(True)", "np.array([0, 1])", "np.array([], int)", "tf.Dimension(1)", "[tf.Dimension(1)]"]
FORMS += [
    "[tf.Dimension(0), 1]", "tf.constant(1)", "tf.constant([1])", "tf.constant([0, 1])", "tf.constant(1, tf.int64)",
]  # fmt: skip
FORMS += ["tf.constant(1.0)", "tf.TensorShape([0, 1])", "[tf.constant(1)]", "[tf.constant(0), 1]", "[np.int64(1)]"]
FORMS += ["tf.constant(1, tf.int64)", "range(2)", "7", "[7]"]
CALLS = {
    "expand_dims": "tf.expand_dims(x, axis={})", "squeeze": "tf.squeeze(x[:, :1, :], axis={})",
    "concat": "tf.concat([x, x], {})", "stack": "tf.stack([x, x], axis={})", "unstack": "tf.unstack(x, axis={})[0]",
    "unstack num": "tf.unstack(x[:1], num={})[0]", "split axis": "tf.split(x, 1, axis={})[0]",
    "split number": "tf.split(x, {}, axis=0)[0]", "gather axis": "tf.gather(x, [0], axis={})",
    "one_hot axis": "tf.one_hot([0, 1], 3, axis={})", "one_hot depth": "tf.one_hot([0, 1], {})",
    "argmax": "tf.argmax(x, axis={})", "argmin dimension": "tf.argmin(x, dimension={})",
    "cumsum": "tf.cumsum(x, axis={})", "cumprod": "tf.cumprod(x, axis={})", "reduce_sum": "tf.reduce_sum(x, axis={})",
    "reduce_max": "tf.reduce_max(x, axis={}, keepdims=True)", "reduce_all": "tf.reduce_all(x > 1, axis={})",
    "reduce_logsumexp": "tf.reduce_logsumexp(x, axis={})", "count_nonzero": "tf.count_nonzero(x, axis={})",
    "moments": "tf.nn.moments(x, axes={})[0]", "l2_normalize": "tf.nn.l2_normalize(x, axis={})",
    "norm": "tf.norm(x, axis={})", "softmax": "tf.nn.softmax(x, axis={})",
    "log_softmax": "tf.nn.log_softmax(x, axis={})", "reverse": "tf.reverse(x, axis={})",
    "roll": "tf.roll(x, shift={}, axis=1)", "roll axis": "tf.roll(x, shift=1, axis={})",
    "transpose": "tf.transpose(x[0], perm={})", "tensordot": "tf.tensordot(x, x, axes={})",
    "top_k": "tf.nn.top_k(x, k={})[0]", "range": "tf.range({})", "fill": "tf.fill({}, 1.0)", "zeros": "tf.zeros({})",
    "ones": "tf.ones({})", "reshape": "tf.reshape(x[:1, :1, :1], {})", "tile": "tf.tile(x[0, 0], {})",
    "broadcast_to": "tf.broadcast_to(x[0, 0, 0], {})", "random_uniform": "tf.shape(tf.random_uniform({}))",
    "placeholder": "tf.placeholder_with_default(x[0, 0, 0], {})", "slice": "tf.slice(x[0, 0], {}, [1])",
    "slice size": "tf.slice(x[0, 0], [0], {})", "index": "x[{}]", "sequence_mask": "tf.sequence_mask([1, 2], {})",
    "eye": "tf.eye({})", "linspace": "tf.linspace(0.0, 1.0, {})", "pad": "tf.pad(x[0, 0], [[0, {}]])",
    "unsorted_segment_sum": "tf.unsorted_segment_sum(x[0, 0], [0, 0, 0, 0], {})",
    "matrix_band_part": "tf.matrix_band_part(x, {}, 0)",
    "boolean_mask": "tf.boolean_mask(x, [True, False, True], axis={})",
    "dense": "tf.layers.dense(x, {}, kernel_initializer=tf.ones_initializer())",
    "dense of dims": "tf.zeros([x.shape[0], {}])",
    "variable": "tf.get_variable('v', shape={}, initializer=tf.ones_initializer())",
    "dropout shape": "tf.nn.dropout(x, 1.0, noise_shape={})", "space_to_depth": "tf.space_to_depth(x[None], {})",
    "depth_to_space": "tf.depth_to_space(x[None], {})",
    "ksize": "tf.nn.max_pool(x[None], [1, {}, 1, 1], [1, 1, 1, 1], 'SAME')",
    "conv strides": "tf.nn.conv1d(x, np.ones([1, 4, 2], 'f'), {}, 'SAME')",
    "dynamic_partition": "tf.dynamic_partition(x[0, 0], [0, 0, 0, 0], {})[0]",
    "confusion_matrix": "tf.confusion_matrix([0], [0], {})", "bincount": "tf.bincount([0, 1], minlength={})",
    "size of batch": "tf.data.Dataset.range(3).batch({}).make_one_shot_iterator().get_next()",
    "repeat": "tf.data.Dataset.range(1).repeat({}).make_one_shot_iterator().get_next()",
    "take": "tf.data.Dataset.range(3).take({}).make_one_shot_iterator().get_next()",
    "shuffle": "tf.data.Dataset.range(1).shuffle({}).make_one_shot_iterator().get_next()",
    "layers flatten axis": "tf.layers.batch_normalization(x, axis={})",
    "foldl": "tf.foldl(lambda a, b: a + b, x, parallel_iterations={})",
    "clip_by_norm": "tf.clip_by_norm(x, 1.0, axes={})", "accumulated": "tf.reduce_sum(x, reduction_indices={})",
    "keep": "tf.reduce_mean(x, {})",
}  # fmt: skip


def outcome(tf, call, form):
    """The shape and the sum of the result, or ``["error"]``."""
    with tf.Graph().as_default(), tf.Session() as session:
        try:
            x = tf.constant(X)
            result = eval(call.replace("{}", form), {"tf": tf, "np": np, "x": x})
            session.run(tf.global_variables_initializer())
            value = np.asarray(session.run(result))
            return [list(value.shape), round(float(value.astype(np.float64).sum()), 2)]
        except Exception:
            return ["error"]


def forms(tf):
    """{call: {form: outcome}}"""
    return {name: {form: outcome(tf, call, form) for form in FORMS} for name, call in CALLS.items()}
