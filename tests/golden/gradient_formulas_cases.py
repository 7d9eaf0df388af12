# ruff: noqa: UP031
"""Gradients at special points, where outputs are fed, and of gradients. Runs under Python 3.6 too.

A case is an expression over ``tf`` and the inputs below. Its gradients are taken by every floating input that it
names, and the gradients of their sum once more.
"""

import re

import numpy as np

f4, i4 = np.float32, np.int32
INF, NAN = float("inf"), float("nan")

INPUTS = {
    "x": np.array([[-1.5, 0.0, 2.0], [2.0, 0.5, -0.25]], f4), "y": np.array([[-1.5, 1.0, 3.0], [1.0, 0.5, 0.0]], f4),
    "p": np.array([[0.5, 1.0, 2.0], [3.0, 0.25, 1.5]], f4), "u": np.array([[0.5, -0.25, 0.75], [-0.5, 0.1, 0.125]], f4),
    "odd": np.array([0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 6.0, 88.0, -88.0], f4),
    "ties": np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]], f4),
    "zeros": np.array([[0.0, 3.0, 2.0], [0.0, 0.0, 5.0], [1.0, 2.0, 4.0]], f4),
    "rows": np.array([[1.0, 2.0], [3.0, 3.0], [3.0, 0.0], [0.0, 5.0]], f4),
    "img": np.array([1.0, 2.0, 2.0, 0.0, 3.0, 3.0, 1.0, 1.0, 1.0], f4).reshape(1, 3, 3, 1),
    "m": np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]], f4), "row": np.array([1.0, -2.0, 0.5], f4),
    "c": np.array([1 + 2j, -3j, 2, 0.5 - 1j], np.complex64), "i": np.array([[7, -7, 3], [0, 5, -1]], i4),
    "ids": np.array([0, 0, 2, 2], i4), "mix": np.array([2, 0, -1, 2], i4),
    "b": np.array([[True, False, True], [False, False, True]]),
}  # fmt: skip

UNARY = [
    "abs", "negative", "square", "sqrt", "rsqrt", "reciprocal", "exp", "expm1", "log", "log1p", "sin", "cos", "tan",
    "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sigmoid", "erf", "erfc", "lgamma",
    "log_sigmoid", "sign", "math.bessel_i0e", "math.bessel_i1e", "identity", "zeros_like", "ones_like", "stop_gradient",
    "floor", "ceil", "round", "rint", "is_nan", "nn.relu", "nn.relu6", "nn.elu", "nn.selu", "nn.softplus",
    "nn.softsign", "nn.l2_loss", "nn.crelu", "nn.leaky_relu", "nn.softmax", "nn.log_softmax", "reduce_max",
    "reduce_min", "reduce_sum", "reduce_mean", "reduce_prod", "reduce_logsumexp", "norm", "cumsum", "cumprod",
]  # fmt: skip
BINARY = [
    "maximum", "minimum", "pow", "atan2", "div_no_nan", "floormod", "floordiv", "squared_difference", "truediv",
    "subtract", "multiply", "math.xlogy", "math.xdivy", "less", "equal",
]  # fmt: skip

PLAIN = ["tf.%s(%s)" % (name, x) for name in UNARY for x in ("x", "p", "u", "odd")]
PLAIN += ["tf.%s(%s)" % (name, pair) for name in BINARY for pair in ("x, y", "p, x", "odd, 1.", "0., odd", "ties, 2.")]
PLAIN += ["tf.reduce_%s(%s, 1)" % (n, x) for n in ("max", "min", "prod", "logsumexp") for x in ("ties", "zeros", "x")]
PLAIN += ["tf.unsorted_segment_%s(rows, %s, 3)" % (n, i)
          for n in ("sum", "max", "min", "prod", "mean") for i in ("ids", "mix")]  # fmt: skip
PLAIN += ["tf.segment_%s(rows, ids)" % n for n in ("sum", "max", "min", "mean")]
PLAIN += [
    "tf.nn.top_k(ties, 2)[0]", "tf.nn.max_pool(img, [1, 2, 2, 1], [1, 1, 1, 1], 'VALID')",
    "tf.nn.avg_pool(img, [1, 2, 2, 1], [1, 1, 1, 1], 'SAME')",
    "tf.nn.local_response_normalization(tf.reshape(p, [1, 1, 2, 3]), 1, 1.5, 0.5, 0.75)", "tf.where(b, x, tf.log(x))",
    "tf.where(x > 0., tf.log(x), x)", "tf.clip_by_value(x, -0.25, 2.)", "tf.clip_by_value(x, y, p)",
    "tf.clip_by_norm(x, 1.)", "tf.clip_by_norm(x * 0., 1.)", "tf.nn.l2_normalize(x, 1)",
    "tf.nn.l2_normalize(x * 0., 1)", "tf.norm(x * 0.)", "tf.norm(x, ord=1)", "tf.norm(ties, ord=np.inf)",
    "tf.sqrt(x) * 0.", "tf.nn.log_softmax(odd[2:4])",
    "tf.nn.log_softmax(tf.stack([x[0, 0], -1. / tf.zeros_like(x[0, 0])]))",
    "tf.nn.softmax_cross_entropy_with_logits_v2(labels=p, logits=x)",
    "tf.nn.sigmoid_cross_entropy_with_logits(labels=p, logits=x)",
    "tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.zeros_like(odd), logits=odd)", "tf.matrix_inverse(m)",
    "tf.matrix_determinant(m)", "tf.cholesky(m)", "tf.matrix_determinant(zeros)", "tf.linalg.slogdet(m)[0]",
    "tf.linalg.slogdet(m)[1]", "tf.self_adjoint_eigvals(m)", "tf.square(tf.self_adjoint_eig(m)[1])",
    "tf.svd(rows, compute_uv=False)", "tf.square(tf.svd(rows)[1])", "tf.square(tf.svd(zeros)[2])",
    "tf.square(tf.svd(x, full_matrices=True)[1])", "tf.zeta(p + 1., p)", "tf.polygamma(tf.ones_like(p), p)",
    "tf.betainc(p, p, p / 4.)", "tf.cast(tf.cast(x, tf.int32), tf.float32) * x", "tf.cast(x > 0., tf.float32)",
    "tf.to_float(tf.argmax(x, 1))", "tf.fill([2], x[0, 0])", "tf.one_hot([0, 1], 2, x[0, 0], x[0, 1])",
    "tf.range(p[0, 0], p[0, 2], 0.5)", "tf.linspace(p[0, 0], p[0, 2], 3)", "tf.gather(x, tf.cast(y, tf.int32) * 0)",
    "tf.to_float(tf.shape(x))", "tf.to_float(tf.size(x)) * x", "tf.cross(x, y)", "tf.real(tf.exp(tf.complex(x, y)))",
    "tf.abs(tf.complex(x, x * 0.))", "tf.angle(tf.complex(p, p))", "tf.random_uniform([2, 3]) * 0. * x",
    "tf.nn.dropout(x, 1.)", "tf.add_n([x, x, y])",
]  # fmt: skip
SEEDS = {"zero": 0.0, "infinite": INF}
"""Cotangents that the gradients of each case of ``SEEDED`` start with."""
SEEDED = ["tf.%s(odd)" % name for name in UNARY] + ["tf.%s(odd, 2.)" % name for name in BINARY]
FED = ["tf.%s(%s)" % (name, x) for name in UNARY for x in ("x", "p")]
FED += ["tf.%s(p, y)" % name for name in BINARY]
FED += ["tf.reduce_%s(ties, 1)" % n for n in ("max", "min", "sum", "mean", "prod", "logsumexp")]
FED += ["tf.unsorted_segment_%s(rows, ids, 3)" % n for n in ("max", "min", "prod", "sum")]
FED += ["tf.segment_max(rows, ids)", "tf.matrix_inverse(m)", "tf.nn.max_pool(img, [1, 2, 2, 1], [1, 1, 1, 1], 'VALID')"]
FED += [
    "tf.%s" % n
    for n in (
        "matrix_determinant(m)",
        "linalg.slogdet(m)[1]",
        "self_adjoint_eigvals(m)",
        "self_adjoint_eig(m)[0]",
        "svd(rows)[0]",
    )
]
"""Cases whose value is replaced by ``fed_value`` of its shape."""


def used(case):
    """The inputs that an expression names, in order."""
    return [n for n in INPUTS if re.search(r"(?<![\w.'])%s(?!\w|=)" % n, case)]


def floating(case):
    return [n for n in used(case) if INPUTS[n].dtype.kind in "fc"]


def fed_value(shape):
    """What a fed output is: nothing that any of the functions gives."""
    count = int(np.prod(shape))
    return (0.3 + 0.4 * np.arange(count)).astype(f4).reshape(shape)


def derived(tf, y, xs, seed):
    """Gradients of y by each of xs from a number as cotangent, then those of their sum; None where there is none.

    The first ones alone where the original has no second ones (LookupError).
    """
    start = None if seed is None else tf.ones_like(y) * seed
    first = [None if g is None else tf.convert_to_tensor(g) for g in tf.gradients(y, xs, start)]
    known = [g for g in first if g is not None]
    try:
        second = tf.gradients(known, xs) if known else [None] * len(xs)
    except LookupError:
        return first
    return first + [None if g is None else tf.convert_to_tensor(g) for g in second]
