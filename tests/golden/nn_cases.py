"""Calls of tf.nn that are made on the original and on towerstrat alike: (name, function of tf.nn and tensors, inputs).

An input is an array; floating ones are differentiated. Values are multiples of 1/2, so that ties and zeros occur.
"""

import numpy as np

SEED = 7
_SEEDS = [SEED]


def _next_seed():
    _SEEDS[0] += 1
    return _SEEDS[0]


def _values(*shape, dtype="float64", scale=2.0):
    draws = np.random.RandomState(_next_seed()).randn(*shape)
    return (np.round(draws * scale) / 2).astype(dtype)


def _distinct(*shape, dtype="float32"):
    """No two values alike: at ties the original's 3-D pooling depends on the device."""
    return np.random.RandomState(SEED).permutation(int(np.prod(shape))).reshape(shape).astype(dtype) / 8


def _positive(*shape, dtype="float64"):
    return np.abs(_values(*shape, dtype=dtype)) + np.asarray(0.5, dtype)


def _labels(classes, *shape):
    return np.random.RandomState(SEED).randint(0, classes, shape).astype("int32")


def _one_hot(n, classes):
    return np.eye(classes)[np.arange(n) % classes]


def cases():
    _SEEDS[0] = SEED
    found = []

    def case(name, function, *inputs):
        found.append((name, function, inputs))

    for kernel in (1, 2, 3, 5):
        for stride in (1, 2, 3):
            for padding in ("SAME", "VALID"):
                case(f"conv2d_k{kernel}_s{stride}_{padding}",
                     lambda nn, x, w, s=stride, p=padding: nn.conv2d(x, w, [1, s, s, 1], p), _values(2, 7, 6, 2),
                     _values(kernel, kernel, 2, 3))  # fmt: skip
    for padding in ("SAME", "VALID"):
        p = padding
        case("conv2d_uneven_" + p, lambda nn, x, w, p=p: nn.conv2d(x, w, [1, 1, 3, 1], p), _values(2, 7, 6, 2),
             _values(2, 4, 2, 3))  # fmt: skip
        case("conv1d_" + p, lambda nn, x, w, p=p: nn.conv1d(x, w, 2, p), _values(2, 7, 2), _values(3, 2, 4))
        case("conv3d_" + p, lambda nn, x, w, p=p: nn.conv3d(x, w, [1, 2, 1, 2, 1], p), _values(2, 4, 3, 5, 2),
             _values(2, 3, 2, 2, 3))  # fmt: skip
        case("atrous_" + p, lambda nn, x, w, p=p: nn.atrous_conv2d(x, w, 2, p), _values(2, 8, 7, 2),
             _values(3, 3, 2, 3))  # fmt: skip
        case("convolution_dilated_" + p, lambda nn, x, w, p=p: nn.convolution(x, w, p, dilation_rate=[2, 1]),
             _values(2, 8, 7, 2), _values(3, 2, 2, 3))  # fmt: skip
        case("convolution_1d_" + p, lambda nn, x, w, p=p: nn.convolution(x, w, p, strides=[2]), _values(2, 8, 2),
             _values(3, 2, 3))  # fmt: skip
        for stride in (1, 2):
            case(f"depthwise_s{stride}_{p}", lambda nn, x, w, s=stride, p=p: nn.depthwise_conv2d(x, w, [1, s, s, 1], p),
                 _values(2, 7, 6, 3), _values(3, 2, 3, 2))  # fmt: skip
        case("depthwise_rate_" + p, lambda nn, x, w, p=p: nn.depthwise_conv2d(x, w, [1, 1, 1, 1], p, rate=[2, 2]),
             _values(2, 7, 6, 3), _values(3, 2, 3, 1))  # fmt: skip
        case("separable_" + p, lambda nn, x, d, w, p=p: nn.separable_conv2d(x, d, w, [1, 1, 1, 1], p),
             _values(2, 5, 6, 3), _values(3, 3, 3, 2), _values(1, 1, 6, 4))  # fmt: skip
        for name, ksize, strides in (("2x2", [2, 2], [2, 2]), ("3x3s2", [3, 3], [2, 2]), ("3x2s1", [3, 2], [1, 1])):
            k, s = [1] + ksize + [1], [1] + strides + [1]
            case(f"max_pool_{name}_{p}", lambda nn, x, k=k, s=s, p=p: nn.max_pool(x, k, s, p), _values(2, 7, 6, 2))
            case(f"avg_pool_{name}_{p}", lambda nn, x, k=k, s=s, p=p: nn.avg_pool(x, k, s, p), _values(2, 7, 6, 2))
        case("max_pool3d_" + p, lambda nn, x, p=p: nn.max_pool3d(x, [1, 2, 3, 2, 1], [1, 2, 2, 1, 1], p),
             _distinct(2, 4, 5, 3, 2))  # fmt: skip
        case("avg_pool3d_" + p, lambda nn, x, p=p: nn.avg_pool3d(x, [1, 2, 3, 2, 1], [1, 2, 2, 1, 1], p),
             _values(2, 4, 5, 3, 2, dtype="float32"))  # fmt: skip
        case("pool_1d_" + p, lambda nn, x, p=p: nn.pool(x, [3], "AVG", p, strides=[2]), _values(2, 7, 2))
    case("pool_dilated", lambda nn, x: nn.pool(x, [2, 2], "MAX", "VALID", dilation_rate=[2, 2]), _values(2, 7, 6, 2))
    case("max_pool_constant", lambda nn, x: nn.max_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], "SAME"), np.ones((1, 5, 5, 1)))
    case("conv2d_transpose", lambda nn, x, w: nn.conv2d_transpose(x, w, [2, 8, 7, 3], [1, 2, 2, 1]),
         _values(2, 4, 4, 2), _values(3, 3, 3, 2))  # fmt: skip
    case("conv2d_transpose_valid", lambda nn, x, w: nn.conv2d_transpose(x, w, [2, 9, 10, 3], [1, 2, 2, 1], "VALID"),
         _values(2, 4, 4, 2), _values(3, 3, 3, 2))  # fmt: skip
    case("conv3d_transpose", lambda nn, x, w: nn.conv3d_transpose(x, w, [2, 4, 3, 4, 3], [1, 2, 1, 2, 1]),
         _values(2, 2, 3, 2, 2), _values(3, 2, 3, 3, 2))  # fmt: skip
    case("conv2d_backprop_input", lambda nn, w, dy: nn.conv2d_backprop_input([2, 5, 6, 2], w, dy, [1, 2, 2, 1], "SAME"),
         _values(3, 3, 2, 4), _values(2, 3, 3, 4))  # fmt: skip
    case("conv2d_backprop_filter",
         lambda nn, x, dy: nn.conv2d_backprop_filter(x, [3, 3, 2, 4], dy, [1, 2, 2, 1], "SAME"), _values(2, 5, 6, 2),
         _values(2, 3, 3, 4))  # fmt: skip
    case("depthwise_backprop_input",
         lambda nn, w, dy: nn.depthwise_conv2d_native_backprop_input([2, 5, 6, 3], w, dy, [1, 2, 2, 1], "SAME"),
         _values(3, 3, 3, 2), _values(2, 3, 3, 6))  # fmt: skip
    case("depthwise_backprop_filter",
         lambda nn, x, dy: nn.depthwise_conv2d_native_backprop_filter(x, [3, 3, 3, 2], dy, [1, 2, 2, 1], "SAME"),
         _values(2, 5, 6, 3), _values(2, 3, 3, 6))  # fmt: skip
    case("dilation2d", lambda nn, x, w: nn.dilation2d(x, w, [1, 2, 1, 1], [1, 1, 2, 1], "SAME"), _values(2, 5, 6, 2),
         _values(2, 3, 2) + 0.125)  # fmt: skip
    case("lrn", lambda nn, x: nn.lrn(x, 2, 1.5, 0.7, 0.6), _values(2, 3, 2, 6, dtype="float32"))

    for name in ("relu", "relu6", "elu", "selu", "softplus", "softsign", "sigmoid", "tanh", "leaky_relu", "crelu"):
        case(name, lambda nn, x, f=name: getattr(nn, f)(x), np.concatenate([_values(3, 4), [[0.0, 6.0, 7.0, -30.0]]]))
        case(name + "_of_nan", lambda nn, x, f=name: getattr(nn, f)(x), np.array([[np.nan, 1.0], [-2.0, np.nan]]))
    case("max_pool_of_nan", lambda nn, x: nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
         np.array([[1.0, np.nan, 3.0, np.nan], [3.0, 2.0, 4.0, 1.0]]).reshape(1, 2, 4, 1))  # fmt: skip
    case("swish", lambda nn, x: nn.swish(x), _values(3, 4, dtype="float32"))
    case("leaky_relu_alpha", lambda nn, x: nn.leaky_relu(x, 1.5), _values(3, 4))
    case("softmax", lambda nn, x: nn.softmax(x), _values(3, 5))
    case("softmax_axis", lambda nn, x: nn.softmax(x, axis=1), _values(2, 3, 4))
    case("log_softmax", lambda nn, x: nn.log_softmax(x, axis=0), _values(3, 5) * 20)
    case("bias_add", lambda nn, x, b: nn.bias_add(x, b), _values(2, 3, 4), _values(4))
    case("xw_plus_b", lambda nn, x, w, b: nn.xw_plus_b(x, w, b), _values(2, 3), _values(3, 4), _values(4))
    case("relu_layer", lambda nn, x, w, b: nn.relu_layer(x, w, b), _values(2, 3), _values(3, 4), _values(4))
    case("l2_loss", lambda nn, x: nn.l2_loss(x), _values(3, 4))
    case("l2_normalize", lambda nn, x: nn.l2_normalize(x, 1), np.concatenate([_values(3, 4), np.zeros((1, 4))]))
    case("l2_normalize_all", lambda nn, x: nn.l2_normalize(x), _values(3, 4))
    case("zero_fraction", lambda nn, x: nn.zero_fraction(x), _values(3, 4))
    case("moments", lambda nn, x: nn.moments(x, [0, 2]), _values(3, 4, 2))
    case("moments_keep", lambda nn, x: nn.moments(x, [1], keep_dims=True), _values(3, 4, 2))
    for kind in ("int32", "int64"):
        case(f"moments_{kind}", lambda nn, x: nn.moments(x, [0]), np.array([[7, -1], [8, -2], [2, 5]], kind))
    case("moments_half", lambda nn, x: nn.moments(x, [0]), _values(3, 4, dtype="float16"))
    case("weighted_moments", lambda nn, x, w: nn.weighted_moments(x, [0], w), _values(3, 4), _positive(3, 1))
    case("sufficient_statistics", lambda nn, x: nn.sufficient_statistics(x, [0], shift=0.5)[:3],
         _values(3, 4, dtype="float32"))  # fmt: skip
    case("normalize_moments", lambda nn, a, b: nn.normalize_moments(3.0, a, b, 0.5), _values(4, dtype="float32"),
         _values(4, dtype="float32"))  # fmt: skip
    for offset in (True, False):
        case(f"batch_normalization_{offset}",
             lambda nn, x, m, v, o, s, use=offset: nn.batch_normalization(x, m, v, o if use else None, s, 1e-3),
             _values(3, 4), _values(4), _positive(4), _values(4), _values(4))  # fmt: skip
    case("fused_batch_norm", lambda nn, x, s, o: nn.fused_batch_norm(x, s, o)[:3], _values(2, 3, 3, 4, dtype="float32"),
         _values(4, dtype="float32"), _values(4, dtype="float32"))  # fmt: skip
    case(
        "fused_batch_norm_inference",
        lambda nn, x, s, o: nn.fused_batch_norm(
            x, s, o, np.float32([0.5, 1, 0, -1]), np.float32([1, 2, 0.5, 3]), epsilon=0.1, is_training=False,
        )[:1],
        _values(2, 3, 3, 4, dtype="float32"), _values(4, dtype="float32"), _values(4, dtype="float32"),
    )  # fmt: skip
    case("softmax_xent_v2", lambda nn, z, x: nn.softmax_cross_entropy_with_logits_v2(labels=z, logits=x),
         _positive(4, 5), _values(4, 5))  # fmt: skip
    case("softmax_xent_dim", lambda nn, z, x: nn.softmax_cross_entropy_with_logits_v2(labels=z, logits=x, dim=1),
         _positive(2, 5, 3), _values(2, 5, 3))  # fmt: skip
    case("softmax_xent", lambda nn, x: nn.softmax_cross_entropy_with_logits(labels=_one_hot(4, 5), logits=x),
         _values(4, 5) * 30)  # fmt: skip
    case("sparse_xent", lambda nn, x: nn.sparse_softmax_cross_entropy_with_logits(labels=_labels(5, 4), logits=x),
         _values(4, 5) * 30)  # fmt: skip
    case("sparse_xent_3d", lambda nn, x: nn.sparse_softmax_cross_entropy_with_logits(labels=_labels(5, 2, 3), logits=x),
         _values(2, 3, 5))  # fmt: skip
    case("sparse_xent_half", lambda nn, x: nn.sparse_softmax_cross_entropy_with_logits(labels=_labels(5, 4), logits=x),
         _values(4, 5, dtype="float16"))  # fmt: skip
    case("sigmoid_xent", lambda nn, z, x: nn.sigmoid_cross_entropy_with_logits(labels=z, logits=x), _values(4, 5),
         _values(4, 5))  # fmt: skip
    case("weighted_xent", lambda nn, z, x: nn.weighted_cross_entropy_with_logits(z, x, 2.5), _values(4, 5),
         _values(4, 5))  # fmt: skip
    case("log_poisson", lambda nn, z, x: nn.log_poisson_loss(z, x), _values(4, 5), _values(4, 5))
    case("log_poisson_full", lambda nn, z, x: nn.log_poisson_loss(z, x, True), _positive(4, 5), _values(4, 5))
    case("top_k", lambda nn, x: nn.top_k(x, 3), _values(4, 6))
    case("in_top_k", lambda nn, x: nn.in_top_k(x, _labels(6, 4), 2), _values(4, 6, dtype="float32"))
    case("in_top_k_border", lambda nn, x: nn.in_top_k(x, np.int32([0, 5, 2, 2]), 3),
         np.float32([[1, 1, 1, 1, 0, 0], [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6], [0, np.inf, 9, 0, 0, 0]]))  # fmt: skip
    ids = np.int32([[0, 3], [6, 3]])
    case("embedding", lambda nn, t: nn.embedding_lookup(t, ids), _values(7, 3))
    case("embedding_max_norm", lambda nn, t: nn.embedding_lookup(t, ids, max_norm=1.0), _values(7, 3))
    for strategy in ("mod", "div"):
        case("embedding_" + strategy,
             lambda nn, a, b, c, s=strategy: nn.embedding_lookup([a, b, c], np.arange(7), partition_strategy=s),
             _values(3, 2), _values(2, 2), _values(2, 2))  # fmt: skip
    case("conv3d_backprop_filter",
         lambda nn, x, dy: nn.conv3d_backprop_filter_v2(x, [2, 2, 3, 2, 3], dy, [1, 2, 1, 2, 1], "SAME"),
         _values(2, 4, 3, 5, 2), _values(2, 2, 3, 3, 3))  # fmt: skip
    return found


def weights(shape):
    """The cotangent of an output."""
    return np.asarray(np.random.RandomState(3).rand(*shape))
