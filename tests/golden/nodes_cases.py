"""Graphs whose nodes are compared: attributes of operations by the original's names. Runs under Python 3.6 too."""

import array_mathematics_cases as expressions
import numpy as np
from nn_cases import cases as nn_cases

f4 = np.float32
TENSOR = np.arange(24, dtype=f4).reshape(2, 3, 4)
IMAGE = np.ones([1, 4, 4, 2], f4)
VOLUME = np.ones([1, 4, 4, 4, 2], f4)


def further(tf):
    """Calls that the other tables do not have."""
    x, c = tf.constant(TENSOR), tf.constant(TENSOR, tf.complex64)
    v = tf.get_variable("v", [4, 3], initializer=tf.zeros_initializer(), use_resource=True)
    rows, ids = tf.constant(np.ones([2, 3], f4)), tf.constant([1, 2])
    tf.placeholder(tf.int64, [None, 3])
    tf.placeholder(tf.string)
    tf.placeholder_with_default(x, [2, None, 4])
    tf.random_uniform([2, 3], seed=5)
    tf.random_uniform([2], 0, 9, tf.int32, seed=6)
    tf.random_normal([2, 3], dtype=tf.float64, seed=7)
    tf.truncated_normal([4], seed=8)
    tf.random_shuffle(x, seed=9)
    tf.multinomial(rows, 3, seed=10)
    tf.matmul(rows, rows, transpose_b=True)
    tf.matmul(x, x, adjoint_a=True)
    tf.fft3d(c), tf.ifft3d(c), tf.spectral.rfft3d(x), tf.spectral.irfft2d(c)
    tf.nn.max_pool_with_argmax(IMAGE, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    tf.nn.conv3d(VOLUME, np.ones([2, 2, 2, 2, 3], f4), [1, 1, 2, 1, 1], "VALID")
    tf.Print(x, [x, ids], "text", first_n=3, summarize=7)
    tf.py_func(lambda a, b: a, [x, ids], tf.float32)
    tf.py_func(lambda a: (a, a), [x], [tf.float32, tf.float32], stateful=False)
    v.assign(np.ones([4, 3], f4)), v.assign_add(np.ones([4, 3], f4)), v.assign_sub(np.ones([4, 3], f4))
    tf.gather(v, ids), v + 1.0, v.initializer
    v.scatter_sub(tf.IndexedSlices(rows, ids))
    tf.scatter_add(v, ids, rows), tf.scatter_update(v, ids, rows), tf.scatter_sub(v, ids, rows)
    tf.is_variable_initialized(v)
    array = tf.TensorArray(tf.float32, 3, dynamic_size=True, clear_after_read=False, element_shape=[2])
    array.write(0, [1.0, 2.0]).read(0)
    array.unstack(np.ones([3, 2], f4)).gather([0, 1])
    tf.Assert(tf.constant(True), [x, ids], summarize=5)
    tf.check_numerics(x, "bad")
    tf.concat([ids, ids, ids], 0), tf.stack([ids, ids], 1), tf.unstack(x, axis=2), tf.split(x, 3, 1)
    tf.split(x, [1, 3], 2), tf.expand_dims(x, 1), tf.squeeze(tf.constant([[1.0]]), [0]), tf.squeeze([[2]])
    tf.one_hot(ids, 4, axis=0), tf.cast(x, tf.int8), tf.argmax(x, 1, output_type=tf.int32), tf.reshape(x, [-1])
    tf.reduce_sum(x, [0, 2], keepdims=True), tf.reduce_any([True], 0), tf.cumsum(x, 1, exclusive=True, reverse=True)
    x[1:, ::2, tf.newaxis, -1], x[..., 0], tf.strided_slice(x, [0, 0], [1, 2])
    tf.transpose(x), tf.transpose(x, [2, 0, 1]), tf.shape(x, out_type=tf.int64), tf.size(x), tf.shape_n([x, x])
    tf.dynamic_stitch([[0, 1], [2]], [[1.0, 2.0], [3.0]]), tf.dynamic_partition(ids, [0, 1], 2)
    tf.nn.top_k(x, 2, sorted=False), tf.unique(ids), tf.unique_with_counts(ids, tf.int64), tf.where(x > 1)
    tf.sparse_segment_sum(rows, [0, 1], [0, 0]), tf.bitcast(ids, tf.float32)
    tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(v), var_list=[v])
    tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True).minimize(tf.reduce_sum(tf.gather(v, ids)), var_list=[v])
    tf.train.RMSPropOptimizer(0.1, centered=True).minimize(tf.reduce_sum(v), var_list=[v])
    tf.train.FtrlOptimizer(0.1).minimize(tf.reduce_sum(v), var_list=[v])
    tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(v), var_list=[v])
    tf.train.AdadeltaOptimizer(0.1).minimize(tf.reduce_sum(v), var_list=[v])
    tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(v), var_list=[v])


def expression(case):
    def build(tf):
        inputs = {n: tf.placeholder(expressions.INPUTS[n].dtype, expressions.INPUTS[n].shape, "in_" + n)
                  for n in expressions.used(case)}  # fmt: skip
        eval(case, {"tf": tf, "np": np}, inputs)

    return build


def call(function, inputs):
    return lambda tf: function(tf.nn, *[tf.placeholder(i.dtype, i.shape) for i in inputs])


def cases():
    """{name: function of ``tf`` that builds a graph}"""
    found = {"further": further}
    found.update((case, expression(case)) for case in expressions.CASES)
    found.update((name, call(function, inputs)) for name, function, inputs in nn_cases())
    return found


SKIPPED = {"token", "container", "validate_shape", "use_locking", "use_cudnn_on_gpu", "cell", "_class", "Tperm"}
"""What says nothing of the computation: names of the runtime's own, and settings of kernels."""


def plain(value):
    """An attribute as JSON has it."""
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if hasattr(value, "tensor_shape"):
        return ["tensor", value.dtype, plain(value.tensor_shape)]
    if hasattr(value, "unknown_rank"):
        return "unknown" if value.unknown_rank else [d.size for d in value.dim]
    if hasattr(value, "name") and not hasattr(value, "attr"):
        return value.name
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float):
        return float("{:.6g}".format(value))  # noqa: UP032
    return value if isinstance(value, (bool, int, str)) else type(value).__name__


def nodes(graph, names_of):
    """{type: [{attribute: value} of each operation of it]}, of the attributes that ``names_of(op)`` lists."""
    found = {}
    for op in graph.get_operations():
        values = {name: plain(op.get_attr(name)) for name in names_of(op) if name not in SKIPPED}
        found.setdefault(op.type, []).append(values)
    return found
