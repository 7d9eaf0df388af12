# ruff: noqa: UP031
"""Expressions that the original and ours both evaluate. Runs under Python 3.6 too.

Each case is an expression over ``tf`` and the inputs below; floats get gradients of its sum.
"""

import numpy as np

f4, i4, i8 = np.float32, np.int32, np.int64
INF, NAN = float("inf"), float("nan")

INPUTS = {
    "x": np.array([[-1.5, 0.0, 2.0], [2.0, 0.5, -0.25]], f4),
    "y": np.array([[-1.5, 1.0, 3.0], [1.0, 0.5, 0.0]], f4),
    "p": np.array([[0.5, 1.0, 2.0], [3.0, 0.25, 1.5]], f4),
    "u": np.array([[0.5, -0.25, 0.75], [-0.5, 0.0, 0.125]], f4),
    "row": np.array([1.0, -2.0, 0.5], f4),
    "z": np.array([0.0, 0.0, 0.0, 1.0, -2.0, -2.0, 4.0], f4),
    "w": np.array([0.0, 2.0, 0.5, 0.0, 2.0, 0.5, -1.0], f4),
    "odd": np.array([0.0, INF, -INF, NAN, 1.0], f4),
    "half": np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997], f4),
    "ties": np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]], f4),
    "zeros2": np.array([[0.0, 3.0, 2.0], [0.0, 0.0, 5.0], [1.0, 2.0, 4.0]], f4),
    "none": np.zeros((0, 3), f4),
    "i": np.array([[7, -7, 3], [0, 5, -1]], i4),
    "j": np.array([[2, 2, -2], [3, -3, 4]], i4),
    "l": np.array([[7, -7, 3], [0, 5, -1]], i8),
    "b": np.array([[True, False, True], [False, False, True]]),
    "bv": np.array([True, False]),
    "c": np.array([[1 + 2j, -3j, 2], [0.5 - 1j, -1, 1j]], np.complex64),
    "d": np.array([[2 - 1j, 1j, 1], [1 - 1j, -2, 3j]], np.complex64),
    "m": np.array([[[2, 1, 0], [1, 3, 1], [0, 1, 4]], [[5, 2, 1], [2, 6, 2], [1, 2, 7]]], f4),
    "n": np.arange(24, dtype=f4).reshape(2, 3, 4) / 7 - 1,
    "img": np.arange(32, dtype=f4).reshape(1, 4, 4, 2) / 5,
    "deep": np.arange(32, dtype=f4).reshape(1, 2, 2, 8) / 5,
    "rows": np.array([[1.0, 2.0], [3.0, 3.0], [3.0, 0.0], [0.0, 5.0]], f4),
    "ids": np.array([0, 0, 2, 2], i4),
    "mix": np.array([2, 0, -1, 2], i4),
    "perm": np.array([2, 0, 1], i4),
    "pick": np.array([[0, 2], [1, 1]], i4),
    "bytes": np.array([[0, 7, 255]], np.uint8),
    "wild": np.array(
        [
            NAN, INF, -INF, -0.5, -1.0, -7.5, 127.0, 128.0, 200.0, 300.0, -129.0, 32768.0, 70000.0, -40000.0,
            2147483648.0, 3e9, -2147483648.0, -3e9, 5e9, -5e9, 9.2e18, 1e19, 1.85e19, -1e19, 1e30,
        ],
        f4,
    ),
    "nans": np.array([[NAN, 1.0, 3.0, NAN], [NAN, -INF, NAN, NAN], [INF, NAN, -INF, 2.0], [NAN, NAN, NAN, NAN]], f4),
    "scalar": np.array(1.25, f4),
    "k": np.array(1, i4),
}  # fmt: skip

UNARY = [
    "abs", "negative", "square", "sqrt", "rsqrt", "reciprocal", "exp", "expm1", "log", "log1p", "sin", "cos", "tan",
    "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "atanh", "sigmoid", "erf", "erfc", "lgamma", "digamma",
    "sign", "floor", "ceil", "rint", "round", "log_sigmoid", "is_nan", "is_inf", "is_finite",
]  # fmt: skip
CASES = ["tf.%s(%s)" % (name, x) for name in UNARY for x in ("x", "p", "u", "odd")]
CASES += ["tf.%s(i)" % name for name in ["abs", "negative", "square", "sign", "round"]]
CASES += ["tf.acosh(p)", "tf.acosh(p + 1.)", "tf.round(half)", "tf.rint(half)", "tf.floor(half)", "tf.ceil(half)"]
CASES += ["tf.math.bessel_i0e(x)", "tf.math.bessel_i1e(x)", "tf.math.bessel_i0(x)", "tf.math.bessel_i1(x)"]
BINARY = [
    "add", "subtract", "multiply", "div", "divide", "truediv", "realdiv", "maximum", "minimum", "squared_difference",
    "atan2", "floordiv", "floormod", "mod", "div_no_nan", "less", "less_equal", "greater", "greater_equal", "equal",
    "not_equal",
]  # fmt: skip
CASES += ["tf.%s(%s)" % (name, pair) for name in BINARY for pair in ("x, y", "x, row", "z, w", "odd, 1.", "scalar, x")]
CASES += [
    "tf.%s(i, j)" % n
    for n in [
        "add",
        "subtract",
        "multiply",
        "div",
        "divide",
        "truediv",
        "floordiv",
        "floormod",
        "truncatediv",
        "truncatemod",
        "floor_div",
        "maximum",
        "minimum",
        "less",
        "equal",
        "squared_difference",
    ]
]
CASES += [
    "tf.pow(%s)" % pair
    for pair in ("p, y", "x, 2.", "x, 3.", "z, w", "z, 0.", "z, 1.", "w, 0.5", "tf.abs(j), tf.abs(i)")
]
CASES += [
    "tf.math.xlogy(z, w)", "tf.math.xdivy(z, w)", "tf.igamma(p, p)", "tf.igammac(p, y + 2.)", "tf.zeta(p + 1., p)",
    "tf.polygamma(tf.ones_like(p), p)", "tf.betainc(p, p, p / 4.)", "tf.stop_gradient(tf.igamma(z, tf.abs(w)))",
    "tf.stop_gradient(tf.igammac(z, tf.abs(w)))", "tf.stop_gradient(tf.zeta(w + 1., z))",
    "tf.stop_gradient(tf.zeta(1. / tf.abs(z), tf.ones_like(z)))",
    "tf.stop_gradient(tf.betainc(z, tf.ones_like(z), tf.abs(w) / 4.))", "tf.lbeta(p)", "tf.math.polyval([p, x, 2.], y)",
]  # fmt: skip
CASES += [
    "x + 1", "1 + x", "x - y", "2 - x", "x * 2", "3. * x", "x / 2", "1 / p", "i / 2", "i // 2", "i % 3", "7 % j",
    "x % 2.", "x // 2.", "x ** 2", "2. ** x", "-x", "abs(x)", "b & b", "b | True", "b ^ b", "~b", "x < y", "x <= 0",
    "x > y", "x >= 0", "x + np.float32(1)", "np.ones(3, np.float32) * x", "m @ n", "x + [1., 2., 3.]", "x * row",
    "x - [[1.], [2.]]", "l + 1", "bytes + 1", "bytes / 2", "tf.scalar_mul(2., x)",
]  # fmt: skip
CASES += [
    "tf.cast(x, tf.int32)",
    "tf.cast(i, tf.float32)",
    "tf.cast(b, tf.float32)",
    "tf.cast(x, tf.bool)",
    "tf.cast(x, tf.float64)",
    "tf.cast(c, tf.float32)",
    "tf.cast(x, tf.complex64)",
    "tf.cast(x, tf.float32)",
    "tf.to_float(i)",
    "tf.to_int32(x)",
    "tf.to_int64(x)",
    "tf.to_double(x)",
    "tf.cast(x, tf.float16)",
    "tf.saturate_cast(x * 1000., tf.uint8)",
    "tf.saturate_cast(i * 1000, tf.int8)",
    "tf.cast(bytes, tf.int32)",
    *[
        "tf.cast(%s, tf.%s)" % (source, kind)
        for source in ("wild", "tf.cast(wild, tf.float64)")
        for kind in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool")
    ],
    "tf.cast(tf.cast(wild[:14], tf.float16), tf.uint8)",
    "tf.to_int32(wild)",
    "tf.to_int64(wild)",
    "tf.cast(tf.cast(x, tf.bfloat16), tf.float32)",
]
CASES += [
    "tf.complex(x, y)", "tf.real(c)", "tf.imag(c)", "tf.conj(c)", "tf.angle(c)", "tf.abs(c)", "c * d", "c / d",
    "tf.exp(c)", "tf.real(c * d)", "tf.abs(tf.complex(x, y + 2.))", "tf.real(tf.complex(x, y) * tf.complex(y, x))",
    "tf.conj(x)", "tf.square(tf.abs(c * d))", "tf.real(x)", "tf.imag(tf.exp(tf.complex(x, y)))",
    "tf.matmul(c, d, adjoint_b=True)", "tf.real(tf.matmul(tf.complex(x, y), tf.complex(y, p), adjoint_b=True))",
]  # fmt: skip
CASES += ["tf.logical_and(b, ~b)", "tf.logical_or(b, ~b)", "tf.logical_xor(b, True)", "tf.logical_not(b)"]
CASES += ["tf.bitwise.%s(i, j)" % n for n in ("bitwise_and", "bitwise_or", "bitwise_xor")]
CASES += ["tf.bitwise.invert(i)", "tf.bitwise.left_shift(i, tf.abs(j))", "tf.bitwise.right_shift(i, tf.abs(j))"]
REDUCE = ["sum", "mean", "prod", "max", "min", "logsumexp"]
AXES = (
    "", ", 0", ", 1", ", -1", ", [0, 1]", ", axis=1, keepdims=True", ", [], True", ", keepdims=True",
    ", reduction_indices=[1]",
)  # fmt: skip
CASES += [
    "tf.reduce_%s(%s%s)" % (n, x, a)
    for n in REDUCE
    for x in ("x", "ties", "zeros2")
    for a in AXES
    if "[]" not in a or n != "logsumexp"
]
CASES += ["tf.reduce_%s(none, 0)" % n for n in ["sum", "mean", "prod", "max", "min"]] + [
    "tf.reduce_%s(n, [0, -1])" % n for n in REDUCE
]
CASES += ["tf.reduce_%s(i, 1)" % n for n in ["sum", "mean", "prod", "max", "min"]] + [
    "tf.reduce_sum(x, k)",
    "tf.reduce_mean(bytes)",
]
CASES += [
    "tf.reduce_all(b, 1)", "tf.reduce_any(b)", "tf.reduce_any(b, 0, keepdims=True)", "tf.reduce_max(odd[:3])",
    "tf.reduce_sum(c, 0)", "tf.reduce_logsumexp(odd[:2])", "tf.reduce_logsumexp(-1. / tf.zeros_like(x), 1)",
    "tf.count_nonzero(x, 1)", "tf.count_nonzero(b)", "tf.count_nonzero(x, dtype=tf.int32, keepdims=True)",
    "tf.argmax(x, 1)", "tf.argmax(nans, 1)", "tf.argmin(nans, 1)", "tf.argmax(nans)",
    "tf.argmin(tf.cast(nans, tf.float16), 1, output_type=tf.int32)", "tf.argmin(x, 0)", "tf.argmax(ties, -1)",
    "tf.argmax(x)", "tf.argmax(i, 1, output_type=tf.int32)", "tf.argmin(bytes, dimension=1)", "tf.arg_max(x, 1)",
    "tf.add_n([x, y, p])", "tf.add_n([x])", "tf.accumulate_n([x, y])",
]  # fmt: skip
CASES += ["tf.cumsum(x, 1, exclusive=%s, reverse=%s)" % (e, r) for e in (True, False) for r in (True, False)]
CASES += ["tf.cumprod(p, 1, exclusive=%s, reverse=%s)" % (e, r) for e in (True, False) for r in (True, False)]
CASES += ["tf.cumsum(i)", "tf.cumsum(none)", "tf.cumprod(x, 1)", "tf.cumsum(x, -1)"]
# sizes and elements that move
CASES += [
    "tf.shape(x)", "tf.shape(x, out_type=tf.int64)", "tf.size(n)", "tf.rank(n)", "tf.identity(x)",
    "tf.stop_gradient(x) * x", "tf.identity_n([x, y])[1]", "tf.ensure_shape(x, [2, 3])", "tf.guarantee_const(x)",
    "tf.zeros_like(x)", "tf.ones_like(i)", "tf.ones_like(x, dtype=tf.int64)", "tf.zeros_like(b)", "tf.zeros([2, 3])",
    "tf.ones([2], tf.int32)", "tf.zeros(tf.shape(x))", "tf.zeros([tf.shape(x)[0], 4])", "tf.fill([2, 3], 7)",
    "tf.fill(tf.shape(x), scalar)", "tf.zeros([])", "tf.ones((0, 2))", "tf.range(5)", "tf.range(2, 9, 3)",
    "tf.range(0., 1., 0.25)", "tf.range(5, 0, -2)", "tf.range(3, dtype=tf.int64)", "tf.range(tf.shape(x)[1])",
    "tf.linspace(0., 1., 5)", "tf.lin_space(scalar, 3., 3)", "tf.reshape(x, [3, 2])", "tf.reshape(x, [-1])",
    "tf.reshape(n, [tf.shape(n)[0], -1])", "tf.reshape(n, [-1, 4])", "tf.reshape(x, tf.shape(y))",
    "tf.reshape(n, [2, -1, 2])", "tf.reshape(none, [-1, 3])", "tf.reshape(none, [0, 5])",
    "tf.reshape(n, tf.concat([tf.shape(n)[:1], [12]], 0))", "tf.reshape(scalar, [])", "tf.reshape(scalar, [1, 1])",
    "tf.reshape(n, tf.stack([tf.shape(n)[0] * 3, 4]))", "tf.reshape(n, [-1, tf.shape(n)[1] * 2])",
    "tf.expand_dims(x, 0)", "tf.expand_dims(x, -1)", "tf.expand_dims(x, dim=1)", "tf.squeeze(tf.expand_dims(x, 1))",
    "tf.squeeze(tf.expand_dims(x, 1), [1])", "tf.squeeze(img, 0)", "tf.squeeze(img, squeeze_dims=[0])",
    "tf.transpose(x)", "tf.transpose(n, [2, 0, 1])", "tf.transpose(n, [0, 2, 1])", "tf.transpose(n, perm)",
    "tf.transpose(c, conjugate=True)", "tf.matrix_transpose(n)", "tf.linalg.adjoint(c)", "tf.concat([x, y], 0)",
    "tf.concat([x, y, p], -1)", "tf.concat([x, none], 0)", "tf.concat([x], 0)", "tf.concat([tf.shape(x), [1]], 0)",
    "tf.stack([x, y])", "tf.stack([x, y], axis=1)", "tf.stack([x, y], -1)", "tf.stack([1, 2])",
    "tf.stack([k, 2, tf.shape(x)[0]])", "tf.unstack(x)[1]", "tf.unstack(n, axis=1)[2]",
    "tf.unstack(x, num=3, axis=-1)[0]", "tf.split(x, 3, 1)[1]", "tf.split(n, [1, 3], 2)[1]",
    "tf.split(n, [1, -1], axis=-1)[1]", "tf.split(x, 1)[0]", "tf.tile(x, [2, 1])", "tf.tile(row, [3])",
    "tf.tile(x, [1, tf.shape(x)[0]])", "tf.broadcast_to(row, [2, 3])", "tf.broadcast_to(x, tf.shape(y))",
    "tf.reverse(x, [1])", "tf.reverse(n, [0, -1])", "tf.roll(x, 1, 1)", "tf.roll(x, [1, -1], [0, 1])",
    "tf.slice(x, [0, 1], [2, 2])", "tf.slice(n, [1, 0, 2], [-1, 2, -1])", "tf.slice(x, [k, 0], [1, 2])",
    "tf.where(b, x, y)", "tf.where(bv, x, y)", "tf.where(x > 0., tf.sqrt(tf.maximum(x, 0.)), tf.zeros_like(x))",
    "tf.where(p > 1., tf.log(x), x)", "tf.where(k > 0, x, y)", "tf.broadcast_dynamic_shape(tf.shape(x), tf.shape(row))",
    "tf.shape_n([x, n])[1]", "tf.parallel_stack([row, row])",
]  # fmt: skip
CASES += [
    "n[0]", "n[:, 1]", "n[..., -1]", "n[:, 1:, ::2]", "n[::-1]", "n[:, ::-1, 3:0:-2]", "n[:, tf.newaxis]",
    "n[tf.newaxis, ..., None]", "n[k]", "n[k, :, k]", "n[:k]", "n[k:]", "n[..., 1:-1]", "n[-1, -2]",
    "x[:, :tf.shape(x)[0]]", "n[1:1]", "n[:, 5:]", "n[:, -2:]", "n[0, ..., 1:2]", "tf.shape(n)[1:]", "tf.shape(n)[-1]",
    "n[tf.shape(n)[0] - 1]", "n[::2]", "n[:]", "n[...]", "n[:, k:k + 1]", "n[:2, k]",
    "tf.strided_slice(n, [0, 1], [2, 3])", "tf.strided_slice(n, [0, 1], [2, 3], [1, 2], shrink_axis_mask=1)",
]  # fmt: skip
# indices
CASES += [
    "tf.gather(n, [0, 0, 1])", "tf.gather(n, pick, axis=1)", "tf.gather(row, perm)", "tf.gather(x, k, axis=-1)",
    "tf.gather_nd(n, pick)", "tf.gather_nd(n, [[0, 1, 2], [1, 2, 3]])", "tf.gather_nd(x, [[[0, 1]], [[1, 1]]])",
    "tf.batch_gather(x, pick)", "tf.scatter_nd([[1], [3], [1]], [1., 2., 3.], [5])",
    "tf.scatter_nd(tf.expand_dims(perm, 1), tf.expand_dims(row, 1) * [1., 2.], [4, 2])", "tf.one_hot(perm, 4)",
    "tf.one_hot(mix, 3)", "tf.one_hot(mix, 3, on_value=5., off_value=-1.)",
    "tf.one_hot(perm, 3, axis=0, dtype=tf.int32)", "tf.one_hot(pick, 3, axis=1)", "tf.one_hot(perm, 3, True, False)",
    "tf.sequence_mask([1, 3, 2], 4)", "tf.sequence_mask(tf.abs(perm), 3, tf.float32)", "tf.meshgrid(row, row)[0]",
    "tf.meshgrid(row, row)[1]", "tf.meshgrid(row, z, indexing='ij')[1]", "tf.invert_permutation(perm)",
    "tf.searchsorted([[1., 2., 2., 5.]], [[2., 0., 9.]])",
    "tf.searchsorted([[1., 2., 2., 5.]], [[2., 0., 9.]], side='right')",
    "tf.bincount([1, 1, 3], minlength=5, maxlength=5)", "tf.bincount([1, 1, 3])",
    "tf.bincount([1, 1, 3], weights=[.5, 1., 2.], minlength=6)", "tf.histogram_fixed_width(x, [-1., 2.], 4)",
    "tf.histogram_fixed_width_bins(x, [-1., 2.], 4)", "tf.unravel_index([5, 1], [2, 3])",
    "tf.confusion_matrix([1, 2, 2], [1, 0, 2], 3)",
    "tf.confusion_matrix([1, 2, 2], [1, 0, 2], 3, weights=[.5, 1., 2.], dtype=tf.float32)",
    "tf.dynamic_stitch([[0, 2], [1]], [row[:2], row[2:]])", "tf.reverse_sequence(x, [2, 3], 1)",
    "tf.reverse_sequence(n, [1, 2, 2, 0], seq_axis=0, batch_axis=2)",
]  # fmt: skip
CASES += ["tf.unsorted_segment_%s(rows, ids, 3)" % n for n in ["sum", "prod", "max", "min", "mean", "sqrt_n"]]
CASES += [
    "tf.unsorted_segment_sum(rows, mix, 3)",
    "tf.unsorted_segment_sum(x, pick[:1, 0:1] + [[0, 1, 1], [1, 0, 1]], 2)",
]
CASES += [
    "tf.pad(x, [[1, 0], [0, 2]])", "tf.pad(x, [[0, 0], [1, 1]], constant_values=9.)",
    "tf.pad(x, [[1, 1], [2, 0]], 'REFLECT')", "tf.pad(x, [[2, 0], [1, 3]], 'symmetric')",
    "tf.pad(none, [[0, 0], [1, 1]])", "tf.pad(i, [[1, 0], [0, 0]])", "tf.space_to_depth(img, 2)",
    "tf.depth_to_space(deep, 2)", "tf.space_to_batch_nd(img, [2, 2], [[0, 0], [2, 0]])",
    "tf.batch_to_space_nd(tf.tile(deep, [4, 1, 1, 1]), [2, 2], [[0, 1], [1, 0]])",
    "tf.space_to_batch(img, [[0, 0], [0, 0]], 2)",
    "tf.batch_to_space(tf.tile(deep, [4, 1, 1, 1]), [[0, 0], [0, 0]], 2)", "tf.bitcast(x, tf.int32)",
    "tf.bitcast(i, tf.uint8)", "tf.required_space_to_batch_paddings([5, 7], [2, 3])[0]",
    "tf.required_space_to_batch_paddings([5, 7], [2, 3])[1]",
]  # fmt: skip
# clipping
CASES += [
    "tf.clip_by_value(x, -1., 1.)", "tf.clip_by_value(x, -1.5, 2.)", "tf.clip_by_value(i, 0, 5)",
    "tf.clip_by_value(x, y, 2.)", "tf.clip_by_value(x, -p, p)", "tf.clip_by_norm(x, 1.)",
    "tf.clip_by_norm(x, 1., axes=[1])", "tf.clip_by_norm(tf.zeros_like(x) * x, 1.)", "tf.clip_by_average_norm(x, 0.1)",
    "tf.global_norm([x, y, None])", "tf.clip_by_global_norm([x, y], 2.)[0][1]",
    "tf.clip_by_global_norm([x, None, y], 200.)[0][2]", "tf.clip_by_global_norm([x, y], 2.)[1]",
]  # fmt: skip
# matrices
CASES += [
    "tf.matmul(x, y, transpose_b=True)", "tf.matmul(x, y, True)", "tf.matmul(m, n)",
    "tf.matmul(n, m, transpose_a=True)", "tf.matmul(m, m, adjoint_b=True)", "tf.matmul(i, i, transpose_b=True)",
    "tf.matmul(none, m[0])", "tf.matmul(x, y, transpose_b=True, a_is_sparse=True)", "tf.tensordot(x, m, [[1], [1]])",
    "tf.tensordot(x, y, 2)", "tf.tensordot(n, x, [[0, 1], [0, 1]])", "tf.tensordot(row, row, 1)",
    "tf.tensordot(n, x, [1, 1])", "tf.einsum('ij,ij->i', x, y)", "tf.einsum('bij,bjk->bik', m, n)",
    "tf.einsum('ij,kj', x, y)", "tf.einsum('bij->bj', m)", "tf.matrix_diag(x)", "tf.matrix_diag_part(n)",
    "tf.matrix_set_diag(m, x)", "tf.diag(row)", "tf.diag_part(m[0])", "tf.matrix_band_part(m, 1, 0)",
    "tf.matrix_band_part(n, 0, -1)", "tf.trace(m)", "tf.eye(2, 3)", "tf.eye(2, batch_shape=[3])",
    "tf.eye(tf.shape(x)[0])", "tf.cross(x, y)", "tf.norm(x)", "tf.norm(x, axis=1)", "tf.norm(x, 1, 1)",
    "tf.norm(x, np.inf, axis=0)", "tf.norm(p, 3, axis=1, keepdims=True)", "tf.norm(n, 'fro', [1, 2])",
    "tf.norm(n, 1, [1, 2])", "tf.norm(n, np.inf, [1, 2], keepdims=True)", "tf.norm(tf.zeros_like(x) * x)",
    "tf.cholesky(m)", "tf.matrix_inverse(m)", "tf.matrix_determinant(m)", "tf.matrix_solve(m, n)",
    "tf.matrix_solve(m, n, adjoint=True)", "tf.matrix_triangular_solve(m, n)",
    "tf.matrix_triangular_solve(m, n, lower=False, adjoint=True)", "tf.cholesky_solve(m, n)",
    "tf.self_adjoint_eig(m)[0]", "tf.self_adjoint_eigvals(m)", "tf.svd(tf.sin(n * n), compute_uv=False)",
    "tf.svd(tf.sin(n * n))[0]", "tf.abs(tf.qr(m)[1])", "tf.linalg.logdet(m)", "tf.linalg.slogdet(m)[1]",
    "tf.matrix_solve_ls(n, m, 0.1)", "tf.linalg.expm(m / 5.)",
]  # fmt: skip
# transforms
CASES += [
    "tf.spectral.rfft(n)", "tf.spectral.irfft(c)", "tf.spectral.rfft(n, [6])", "tf.spectral.irfft(c, [3])", "tf.fft(c)",
    "tf.ifft(c)", "tf.fft2d(c)", "tf.ifft2d(c)", "tf.spectral.rfft2d(n)", "tf.abs(tf.fft(tf.complex(x, y)))",
    "tf.abs(tf.spectral.rfft(n))", "tf.spectral.dct(x)", "tf.spectral.dct(x, norm='ortho')",
    "tf.spectral.idct(x, norm='ortho')", "tf.spectral.idct(x)", "tf.real(tf.ifft(tf.complex(x, y)))",
    "tf.spectral.irfft(tf.complex(x, y))",
]  # fmt: skip
CASES += [
    "tf.imag(tf.exp(c) * d)", "tf.abs(tf.conj(c) * d + 1.)", "tf.real(c / d)", "tf.imag(tf.square(c))",
    "tf.real(tf.fft(c))",
]  # fmt: skip
DYNAMIC = [
    "tf.where(b)", "tf.boolean_mask(x, b)", "tf.boolean_mask(n, bv)", "tf.boolean_mask(n, [True, False, True], axis=1)",
    "tf.unique([4, 1, 4, 2])[0]", "tf.unique([4, 1, 4, 2])[1]", "tf.unique_with_counts([4, 1, 4, 2])[2]",
    "tf.setdiff1d([1, 2, 3, 4], [2, 4])[0]", "tf.setdiff1d([1, 2, 3, 4], [2, 4])[1]",
    "tf.dynamic_partition(rows, ids, 3)[2]", "tf.dynamic_partition(rows, ids, 3)[1]",
    "tf.sparse_segment_sum(rows, [0, 1, 1], [0, 0, 1])", "tf.sparse_segment_mean(rows, [0, 1, 1], [0, 0, 1])",
    "tf.sequence_mask(tf.abs(perm) + k)", "tf.confusion_matrix([1, 2], [0, 2])",
]  # fmt: skip
DYNAMIC += ["tf.segment_%s(rows, ids)" % n for n in ["sum", "prod", "max", "min", "mean"]]
DYNAMIC += ["tf.segment_%s(tf.cast(rows * 3., tf.int32) - 4, ids)" % n for n in ["sum", "prod", "max", "min", "mean"]]
CASES += ["tf.unsorted_segment_mean(tf.cast(rows * 3., tf.%s) - 4, ids, 4)" % t for t in ("int32", "int64")]
CASES += ["tf.unsorted_segment_%s(tf.cast(rows, tf.float16), ids, 4)" % n for n in ("max", "min", "mean")]
SHAPES = ("full", "batch", "rank")


def static_shape(array, how):
    """The shape of a placeholder: as it is, with the first size unknown, or unknown."""
    if how == "full" or array.ndim == 0:
        return list(array.shape)
    return [None] + list(array.shape[1:]) if how == "batch" else None


def used(case):
    import re

    return [n for n in INPUTS if re.search(r"(?<![\w.'])%s(?![\w'(=])" % n, case)]
