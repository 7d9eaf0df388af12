"""Expressions over ``tf`` of 2.x and the inputs below; float inputs get gradients of the sum of the first result."""

import numpy as np

f4, i4 = np.float32, np.int32

INPUTS = {
    "x": np.array([[-1.5, 0.25, 2.0], [2.5, 0.5, -0.25]], f4), "y": np.array([[-1.5, 1.0, 3.0], [1.0, 0.5, 2.0]], f4),
    "p": np.array([[0.5, 1.0, 2.0], [3.0, 0.25, 1.5]], f4), "u": np.array([[0.5, -0.25, 0.75], [-0.5, 0.125, 0.3]], f4),
    "row": np.array([1.0, -2.0, 0.5], f4), "zero": np.array([[0.0, 3.0, 0.0], [0.0, 0.0, 5.0]], f4),
    "i": np.array([[7, -7, 3], [0, 5, -1]], i4), "j": np.array([[2, 2, -2], [3, -3, 4]], i4),
    "b": np.array([[True, False, True], [False, False, True]]), "bv": np.array([True, False, True]),
    "c": np.array([[1 + 2j, -3j, 2], [0.5 - 1j, -1, 1j]], np.complex64),
    "m": np.array([[[2, 1, 0], [1, 3, 1], [0, 1, 4]], [[5, 2, 1], [2, 6, 2], [1, 2, 7]]], f4),
    "seq": (np.arange(40, dtype=f4).reshape(2, 5, 4) % 7) / 3 - 1,
    "img": (np.arange(100, dtype=f4).reshape(2, 5, 5, 2) % 11) / 5 - 1,
    "vol": (np.arange(128, dtype=f4) * 37 % 128).reshape(1, 4, 4, 4, 2) / 50 - 1,
    "w1": (np.arange(24, dtype=f4).reshape(3, 4, 2) % 5) / 4 - 0.5,
    "w2": (np.arange(36, dtype=f4).reshape(3, 3, 2, 2) % 7) / 4 - 0.75,
    "w3": (np.arange(32, dtype=f4).reshape(2, 2, 2, 2, 2) % 7) / 4 - 0.75,
    "wd": (np.arange(18, dtype=f4).reshape(3, 3, 2, 1) % 5) / 4 - 0.5,
    "wp": np.array([[[[1.0, -0.5, 2.0], [0.5, 1.0, 0.0]]]], f4),
    "dil": (np.arange(18, dtype=f4).reshape(3, 3, 2) % 5) / 4, "table": np.arange(12, dtype=f4).reshape(4, 3) / 4 - 1,
    "ids": np.array([0, 0, 2], i4), "pick": np.array([[0, 2], [1, 1]], i4),
    "labels": np.array([[0.1, 0.2, 0.7], [0.0, 1.0, 0.0]], f4), "classes": np.array([2, 0], i4),
    "lengths": np.array([2, 3], i4),
}  # fmt: skip

REDUCTIONS = [
    f"tf.reduce_{name}({x}{rest})"
    for name, x in (("sum", "x"), ("mean", "x"), ("prod", "p"), ("max", "x"), ("min", "x"), ("logsumexp", "x"),
                    ("all", "b"), ("any", "b"))
    for rest in ("", ", 1", ", [0], True", ", axis=-1, keepdims=True")
]  # fmt: skip


def each(call, names):
    return [call.replace("NAME", name) for name in names.split()]


KEPT = [
    *each("tf.math.NAME(x)", """abs atan ceil cos cosh erf erfc exp expm1 floor negative reciprocal rint round sigmoid
        sign sin sinh softplus softsign square tan tanh log_sigmoid is_nan is_finite angle real"""),
    *each("tf.math.NAME(p)", "digamma lgamma log log1p rsqrt sqrt bessel_i0e special.expint"),
    *each("tf.math.NAME(u)", "acos asin atanh special.expint"),
    *each("tf.math.NAME(x, y)", """add subtract multiply divide maximum minimum floormod floordiv squared_difference
        atan2 equal less greater_equal not_equal xdivy"""),
    *each("tf.math.NAME(i, j)", "floordiv floormod maximum equal truediv divide"),
    *each("tf.nn.NAME(x)", "relu relu6 elu selu leaky_relu"),
    "tf.math.pow(p, y)", "tf.math.xlogy(zero, p)", "tf.math.divide_no_nan(x, zero)", "tf.math.angle(c)",
    "tf.math.conj(c)", "tf.math.imag(c)", "tf.cumsum(x, 1, True, True)", "tf.math.cumprod(p, 1)",
    "tf.nn.l2_normalize(x, 1)", "tf.nn.bias_add(img, row[:2])", "tf.nn.bias_add(seq[..., :3], row, 'NWC')",
    "tf.nn.bias_add(seq[:, :3], row, 'NCW')", "tf.nn.l2_loss(x)", "tf.math.polyval([p, y], x)",
    "tf.math.zero_fraction(zero)", "tf.one_hot(ids, 3)", "tf.sequence_mask(lengths, 4)", "tf.concat([x, y], 1)",
    "tf.split(x, [1, 2], 1)", "tf.stack([x, y], 1)", "tf.unstack(x, axis=1)", "tf.tile(row, [2])", "tf.eye(2, 3)",
    "tf.slice(x, [0, 1], [2, 2])", "tf.range(2, 9, 3)", "tf.linalg.trace(m)", "tf.linalg.det(m)", "tf.linalg.inv(m)",
    "tf.linalg.cholesky(m)", "tf.linalg.solve(m, m)", "tf.linalg.band_part(m, 1, 0)", "tf.linalg.tensor_diag(row)",
    *each("tf.einsum('NAME', x, y)", """ij,kj->ik ...j,...j->...j ...j,kj->...k i...,j...->ij... ij,ij aB,cB->ca
        ij,...->i...j"""),
    *each("tf.einsum('NAME', m)", "...ij->...ji ...ii->...i ...ii i...->...i ..."),
    "tf.einsum('...ij,jk,kl->...il', m, tf.transpose(x), y)",
    "tf.einsum('...ij,...jk->...ik', m[:, None], tf.ones([4, 3, 2]))", "tf.einsum(',i->i', x[0, 0], row)",
    "tf.einsum('ij,jk,kl->il', x, m[0], m[1], optimize='optimal')", "tf.einsum('ij,kj->ik', c, c)",
    "tf.einsum('...j,kj->...k', i, j)", "tf.tensordot(x, y, [[1], [1]])", "tf.clip_by_value(x, -1., 1.)",
    "tf.clip_by_norm(x, 1.)",
    "tf.math.unsorted_segment_mean(table[:3], ids, 4)", "tf.meshgrid(row, row)",
    "tf.unique(ids)", "tf.searchsorted(row[2:], [0.1, 2.])", "tf.bitcast(x, tf.int32)",
    "tf.dtypes.saturate_cast(x * 200, tf.uint8)", "tf.cast(x, tf.int32)",
    "tf.nn.batch_normalization(x, 0.5, 2.0, row, row, 0.1)", "tf.nn.lrn(img)", "tf.broadcast_to(row, [2, 3])",
    "tf.math.top_k(x, 2)", "tf.scatter_nd([[0], [2], [0]], row, [4])", "tf.reverse(x, [1])",
    "tf.strided_slice(x, [0], [1])",
]  # fmt: skip

ARRAYS = [
    "tf.constant([1, 2])", "tf.constant(2.0, shape=[2, 2])", "tf.constant([1, 2, 3, 4], tf.int64, [2, 2])",
    "tf.convert_to_tensor([1, 2], dtype_hint=tf.float32)", "tf.zeros([2, 3])", "tf.ones([2], tf.int32)",
    "tf.fill([2, 2], 3)", "tf.zeros_like(x)", "tf.ones_like(i, tf.float32)", "tf.linspace(0., 1., 5)", "tf.shape(x)",
    "tf.shape(x, tf.int64)", "tf.size(x)", "tf.size(x, out_type=tf.int64)", "tf.expand_dims(x, 1)",
    "tf.squeeze(x[:1], 0)", "tf.transpose(x)", "tf.transpose(seq, [2, 0, 1])", "tf.transpose(c, conjugate=True)",
    "tf.roll(x, 1, 1)", "tf.pad(x, [[1, 0], [0, 2]], constant_values=9)", "tf.pad(x, [[1, 0], [0, 2]], 'REFLECT')",
    "tf.reverse_sequence(x, lengths, 1, 0)", "tf.space_to_batch(img[:, :4, :4], [2, 2], [[0, 0], [0, 0]])",
    "tf.batch_to_space(tf.ones([4, 1, 1, 1]), [2, 2], [[0, 0], [0, 0]])", "tf.nn.space_to_depth(img[:, :4, :4], 2)",
    "tf.nn.depth_to_space(tf.reshape(img[:, :4, :4], [2, 2, 2, 8]), 2)", "tf.boolean_mask(x, b)",
    "tf.boolean_mask(x, bv, axis=1)", "tf.math.bincount(ids)", "tf.math.bincount(ids, minlength=5, dtype=tf.int64)",
    "tf.math.bincount(pick, axis=-1, minlength=4)",
    "tf.math.bincount(pick, [[1., 2.], [3., 4.]], axis=-1, minlength=3)",
    "tf.math.bincount(pick, axis=-1, minlength=3, maxlength=3, binary_output=True)", "tf.math.bincount(pick, axis=0)",
    "tf.linalg.diag(row)", "tf.linalg.diag_part(m)", "tf.linalg.set_diag(m, x)", "tf.gather(table, ids)",
    "tf.gather(table, ids, axis=1)", "tf.gather(x, pick, batch_dims=1)", "tf.gather(seq, pick, axis=2, batch_dims=1)",
    "tf.gather(seq, pick, batch_dims=-1)", "tf.gather(m, ids, axis=-1)", "tf.gather_nd(x, [[0, 1], [1, 2]])",
    "tf.gather_nd(x, [[0], [2]], batch_dims=1)", "tf.gather_nd(seq, [[[1, 2]], [[4, 0]]], batch_dims=1)",
    "tf.where(bv, x, 0.)", "tf.where(b, x, row)", "tf.where(b)", "tf.where([[True], [False]], x, y)",
    "tf.repeat(x, 2)", "tf.repeat(x, [1, 2], 0)", "tf.repeat(x, [0, 3, 1], axis=1)", "tf.repeat(3, 4)", "tf.sort(x)",
    "tf.sort(x, 0, 'DESCENDING')", "tf.sort(i, direction='DESCENDING')", "tf.argsort(x)",
    "tf.argsort(i, 0, 'DESCENDING')", "tf.argsort([2, 1, 2, 1], stable=True)",
    "tf.tensor_scatter_nd_update(x, [[0, 1], [1, 2]], [5., 6.])", "tf.tensor_scatter_nd_update(table, [[1], [3]], x)",
    "tf.tensor_scatter_nd_add(table, [[1], [1]], x)", "tf.tensor_scatter_nd_sub(x, [[0]], [row])",
    "tf.sparse.to_dense(tf.SparseTensor([[0, 2], [1, 0], [1, 1]], row, [2, 3])) * x",
    "tf.sparse.to_dense(tf.SparseTensor([[1], [3]], row[:2], [5]), row[2]) * [1., 2., 4., 8., 16.]",
    "tf.sparse.to_dense(tf.SparseTensor([[3], [3], [0]], row, [4]), validate_indices=False) * [1., 2., 4., 8.]",
]  # fmt: skip

MATHEMATICS = [
    "tf.math.count_nonzero(zero)", "tf.math.count_nonzero(zero, 1, True, tf.int32)", "tf.argmax(x)", "tf.argmax(x, 1)",
    "tf.argmin(x, axis=1, output_type=tf.int32)", "tf.math.scalar_mul(2.0, x)", "tf.norm(x)", "tf.norm(x, axis=1)",
    "tf.norm(x, 1, [0, 1], True)", "tf.linalg.norm(m, np.inf, [1, 2])", "tf.matmul(x, y, transpose_b=True)",
    "tf.linalg.matvec(m, x)", "tf.linalg.matvec(x, row)", "tf.linalg.matvec(m, x, transpose_a=True)",
    "tf.linalg.normalize(x)", "tf.linalg.normalize(x, 1, axis=1)", "tf.math.top_k(i, 2, index_type=tf.int64)",
    "tf.nn.in_top_k(classes, x, 2)", "tf.math.in_top_k(targets=classes, predictions=x, k=1)",
    "tf.math.confusion_matrix([1, 2], [2, 2])", "tf.math.confusion_matrix([1, 0], [1, 1], weights=[2, 3])",
    "tf.sparse.segment_mean(table, ids, [0, 0, 2], num_segments=4)",
    "tf.math.reduce_std(x)", "tf.math.reduce_std(x, 1)",
    "tf.math.reduce_variance(x, 0, True)", "tf.math.reduce_variance(c)", "tf.math.reduce_euclidean_norm(x, 1)",
    "tf.math.cumulative_logsumexp(x)", "tf.math.cumulative_logsumexp(x, 1, exclusive=True)",
    "tf.math.cumulative_logsumexp(x, 1, reverse=True)", "tf.math.erfinv(u)", "tf.math.erfcinv(p / 2)",
    "tf.math.ndtri(p / 4)", "tf.math.multiply_no_nan(x / zero, zero)", "tf.math.multiply_no_nan(x, zero)",
    "tf.math.reciprocal_no_nan(zero)", "tf.math.xlog1py(zero, p)", "tf.math.xlog1py(x, p)", "tf.nn.gelu(x)",
    "tf.nn.gelu(x, True)", "tf.nn.silu(x)", "tf.nn.swish(x, 2.0)", "tf.nn.silu(x, beta=0.5)",
]  # fmt: skip

NEURAL = [
    "tf.nn.softmax(x)", "tf.nn.softmax(x, 0)", "tf.nn.log_softmax(x, axis=0)", "tf.nn.crelu(x)", "tf.nn.crelu(x, 0)",
    "tf.nn.dropout(x, 0.0)", "tf.nn.softmax_cross_entropy_with_logits(labels, x)",
    "tf.nn.softmax_cross_entropy_with_logits(labels, x, axis=0)",
    "tf.nn.sparse_softmax_cross_entropy_with_logits(classes, x)", "tf.nn.sigmoid_cross_entropy_with_logits(labels, x)",
    "tf.nn.weighted_cross_entropy_with_logits(labels, x, 2.0)", "tf.nn.embedding_lookup(table, ids)",
    "tf.nn.embedding_lookup(table, ids, max_norm=0.5)",
    "tf.nn.moments(x, [0])", "tf.nn.moments(img, [0, 1, 2], keepdims=True)", "tf.nn.weighted_moments(x, [0], p)",
    "tf.nn.weighted_moments(x, [1], p, True)", "tf.nn.sufficient_statistics(x, [0])[:3]",
    "tf.nn.sufficient_statistics(x, [0], keepdims=True)[:3]",
    "tf.nn.batch_norm_with_global_normalization(img, row[:2], p[0, :2], row[1:], y[1, :2], 0.1, True)",
    "tf.nn.conv1d(seq, w1, 2, 'SAME')", "tf.nn.conv1d(seq, w1, 1, 'VALID', dilations=2)",
    "tf.nn.conv1d(seq, w1, [1], 'VALID')", "tf.nn.conv2d(img, w2, 1, 'SAME')",
    "tf.nn.conv2d(img, w2, [2, 1], 'VALID')", "tf.nn.conv2d(img, w2, [1, 2, 2, 1], 'SAME', dilations=1)",
    "tf.nn.conv2d(img, w2, 1, 'SAME', dilations=[2, 2])", "tf.nn.conv2d(img, w2, 2, [[0, 0], [1, 0], [2, 1], [0, 0]])",
    "tf.nn.conv3d(vol, w3, [1, 1, 1, 1, 1], 'SAME')", "tf.nn.conv3d(vol, w3, [1, 2, 2, 2, 1], 'VALID')",
    "tf.nn.conv1d_transpose(tf.ones([2, 5, 2]), w1, [2, 10, 4], 2)",
    "tf.nn.conv2d_transpose(img, w2, [2, 10, 10, 2], 2)",
    "tf.nn.conv2d_transpose(img, w2, [2, 7, 7, 2], [1, 1, 1, 1], 'VALID')",
    "tf.nn.conv3d_transpose(vol, w3, [1, 8, 8, 8, 2], 2)", "tf.nn.conv_transpose(img, w2, [2, 10, 10, 2], 2)",
    "tf.nn.convolution(img, w2)", "tf.nn.convolution(seq, w1, [2], 'SAME')",
    "tf.nn.convolution(img, w2, dilations=[2, 1], padding='SAME')",
    "tf.nn.depthwise_conv2d(img, wd, [1, 1, 1, 1], 'SAME')",
    "tf.nn.depthwise_conv2d(img, wd, [1, 1, 1, 1], 'VALID', dilations=[2, 2])",
    "tf.nn.separable_conv2d(img, wd, wp, [1, 1, 1, 1], 'SAME')",
    "tf.nn.dilation2d(img, dil, [1, 1, 1, 1], 'SAME', 'NHWC', [1, 1, 1, 1])", "tf.nn.max_pool(img, 2, 2, 'SAME')",
    "tf.nn.max_pool(img, [1, 3, 2, 1], [1, 1, 2, 1], 'VALID')", "tf.nn.max_pool(seq, 2, 3, 'VALID')",
    "tf.nn.max_pool(vol, 2, 2, 'VALID', 'NDHWC')", "tf.nn.max_pool(img, 2, 1, [[0, 0], [1, 1], [1, 0], [0, 0]])",
    "tf.nn.avg_pool(img, [2, 3], 1, 'SAME')", "tf.nn.avg_pool(seq, [2], [1], 'SAME')",
    "tf.nn.avg_pool(vol, 2, 1, 'SAME', 'NDHWC')", "tf.nn.max_pool1d(seq, 2, 2, 'SAME')",
    "tf.nn.max_pool2d(img, 2, 2, 'VALID')",
    "tf.nn.avg_pool1d(seq, 2, 1, 'SAME')", "tf.nn.avg_pool2d(img, [3, 3], 2, 'SAME')",
    "tf.nn.max_pool_with_argmax(img, 2, 2, 'VALID')", "tf.nn.pool(img, [2, 2], 'MAX')",
    "tf.nn.pool(img, [2, 2], 'AVG', [2, 2], 'SAME')", "tf.nn.pool(seq, [2], 'MAX', dilations=[2])",
    "tf.nn.compute_average_loss(x)", "tf.nn.compute_average_loss(x, sample_weight=[1., 2.])",
    "tf.nn.compute_average_loss(x, global_batch_size=4)", "tf.nn.compute_average_loss(x[:0])",
    "tf.nn.scale_regularization_loss(x)",
]  # fmt: skip

FLOW = [
    "tf.cond(x[0, 0] < 0, lambda: x + 1, lambda: x * 2)", "tf.cond(x[0, 0] > 0, lambda: [x], lambda: [x * 2])",
    "tf.switch_case(classes[1], [lambda: x, lambda: y])",
    "tf.switch_case(classes[0], {1: lambda: x, 0: lambda: y * 2})",
    "tf.switch_case(classes[0] + 5, [lambda: x, lambda: y])", "tf.switch_case(classes[0], [lambda: x], lambda: y)",
    "tf.while_loop(lambda v: tf.reduce_sum(v) < 50, lambda v: [v * 2], [x])",
    "tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * v), (0, x))[1]",
    "tf.while_loop(lambda i, v: True, lambda i, v: (i + 1, v * v), (0, x), maximum_iterations=2)[1]",
    "tf.map_fn(lambda r: r * 2, x)", "tf.map_fn(lambda r: tf.reduce_max(r), i)",
    "tf.map_fn(lambda r: tf.cast(r, tf.float32), i, fn_output_signature=tf.float32)",
    "tf.map_fn(lambda r: (r[0] + r[1], r[0]), (x, y), fn_output_signature=(tf.float32, tf.TensorSpec([3])))",
    "tf.map_fn(lambda r: r > 0, x, dtype=tf.bool)", "tf.numpy_function(lambda v: v + 1, [x], tf.float32)",
    "tf.tuple([x, y])[0]", "tf.case([(x[0, 0] > 0, lambda: x), (x[0, 0] < 0, lambda: y)], default=lambda: x)",
    "tf.foldl(lambda a, r: a + r, x)", "tf.scan(lambda a, r: a * r, x)",
]  # fmt: skip

INITIALIZERS = [
    "tf.initializers.Zeros()([2])", "tf.initializers.Ones()([2], tf.int32)", "tf.zeros_initializer()([2, 2])",
    "tf.initializers.Constant(3)([2])", "tf.constant_initializer([1, 2])([2], tf.int32)",
    "tf.initializers.Identity(2.0)([2, 3])", "tf.ones_initializer()([1])",
]  # fmt: skip

DYNAMIC = [
    "tf.math.segment_sum(table[:3], ids)", "tf.dynamic_partition(row, ids, 3)",
    "tf.sparse.segment_sum(table, ids, [0, 0, 1])", "tf.sparse.segment_sqrt_n(table, ids, [0, 0, 1])",
]  # fmt: skip
"""Results whose shape depends on values."""

CASES = [*REDUCTIONS, *KEPT, *ARRAYS, *MATHEMATICS, *NEURAL, *FLOW, *INITIALIZERS, *DYNAMIC]
