"""The computations that are made three ways: those of the tables of goldens, and of types that no table has."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import towerstrat.compat.v1
import towerstrat.compat.v2  # (all operation types are registered now)
import towerstrat.training.optimizers.keras_updates
import towerstrat.training.saving.save_restore_ops
import towerstrat.training.summaries.summary_ops
import towerstrat.training.summaries.write_ops
from tests.golden import array_mathematics_cases as expressions
from tests.golden import images_cases, names_v2_cases
from tests.golden.nn_cases import cases as nn_cases
from tests.graph.ops.array.array_namespace import namespace
from tests.graph.ops.test_kernels import EMPTY
from tests.graph.three_ways import Case
from towerstrat.graph.functions import map_fn as functional
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.tensor_conversion import constant, placeholder_with_default
from towerstrat.graph.ir.types import float32, int32
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.building import op_builder
from towerstrat.graph.ops.control import assertions, tensor_array, while_loop
from towerstrat.graph.ops.control import branches as control_flow
from towerstrat.graph.ops.host import python_calls, runtime_checks
from towerstrat.graph.ops.images import boxes, patches
from towerstrat.graph.ops.indexing import gather_scatter, histograms, sorting
from towerstrat.graph.ops.linalg import decompositions, products
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.ops.nn import activations, candidate_sampling, embedding, misc, normalization
from towerstrat.graph.ops.random import stateful, stateless
from towerstrat.graph.tapes.custom_gradients import custom_gradient, recompute_grad
from towerstrat.graph.tapes.vectorized import vectorized_map

TF = namespace()
f4, i4 = np.float32, np.int32

X = np.array([[-1.5, 0.25, 2.0], [2.5, 0.5, -0.75]], f4)
P = np.array([[0.5, 1.25, 2.0], [3.0, 0.25, 1.5]], f4)
N = np.arange(24, dtype=f4).reshape(2, 3, 4) / 7 - 1
IMAGE = np.random.RandomState(0).permutation(2 * 4 * 4 * 3).reshape(2, 4, 4, 3).astype(f4) / 8
ROWS = np.array([[1.0, 2.0], [3.0, 3.5], [3.0, 0.5], [0.25, 5.0]], f4)
IDS = np.array([0, 0, 2, 2], i4)
INTS = np.array([[7, -7, 3], [0, 5, -1]], i4)
MASK = np.array([True, False, True, True])
SEED = np.array([3, 4], i4)


def one(type: str, **attrs: Any) -> Callable[..., Any]:
    """Adds an operation as it is."""
    return lambda *tensors: op_builder.add(type, tensors, attrs)


def of_expressions() -> Iterator[Case]:
    yield from _evaluated([*expressions.CASES, *expressions.DYNAMIC], TF, expressions.INPUTS)


def of_names() -> Iterator[Case]:
    yield from _evaluated(names_v2_cases.CASES, towerstrat.compat.v2, names_v2_cases.INPUTS)


IMAGES = [
    "tf.image.resize(plane, [3, 7])",
    "tf.image.resize(plane, [7, 2], 'nearest')",
    "tf.image.resize(plane, [3, 7], 'bicubic')",
    "tf.image.resize(plane, [3, 2], 'area')",
    "tf.image.resize(plane, [3, 2], 'lanczos3', antialias=True)",
    "tf.image.rgb_to_hsv(hues)",
    "tf.image.hsv_to_rgb(photo)",
    "tf.image.adjust_hue(photo, 0.3)",
    "tf.image.adjust_saturation(photo, 1.5)",
    "tf.image.adjust_contrast(photo, 1.5)",
    "tf.image.crop_and_resize(photo, boxes, owner, [3, 2])",
    "tf.image.draw_bounding_boxes(photo, frames, None)",
    "tf.image.extract_patches(photo, [1, 2, 2, 1], [1, 1, 2, 1], [1] * 4, 'SAME')",
    "tf.image.non_max_suppression(found, scores, 3)",
    "tf.image.non_max_suppression_padded(found, scores, 3, pad_to_max_output_size=True)",
    "tf.image.stateless_sample_distorted_bounding_box([40, 50, 3], [[[0.1, 0.2, 0.9, 0.7]]], [1, 2])",
    "tf.strings.unicode_script(labels * 500)",
    "tf.image.combined_non_max_suppression(found[None, :, None], classes[None], 2, 5)",
    "tf.image.generate_bounding_box_proposals(photo, tf.tile(photo, [1, 1, 1, 4]),"
    " 9.0 + tf.reshape(photo, [-1, 36])[:, :5], tf.reshape(tf.range(144.0) % 7.0, [3, 4, 12]), min_size=0.25)",
]


def of_images() -> Iterator[Case]:
    yield from _evaluated(IMAGES, towerstrat.compat.v2, images_cases.INPUTS)
    contrib = [
        "tf.contrib.image.transform(photo, [1.1, 0.2, -0.5, 0.1, 0.9, 0.25, 0.01, 0.02], 'BILINEAR')",
        "tf.contrib.image.bipartite_match(scores[:, None] - scores[None] * 0.75, -1.0)",
        "tf.contrib.image.connected_components(labels)",
        "tf.contrib.resampler.resampler(photo, spots)",
    ]
    yield from _evaluated(contrib, towerstrat.compat.v1, images_cases.INPUTS)


def _evaluated(texts: Iterable[str], tf: Any, inputs: Mapping[str, np.ndarray[Any, Any]]) -> Iterator[Case]:
    """Expressions over ``tf`` and named inputs as functions of those that they use."""
    for text in texts:
        names = sorted({n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)} & inputs.keys())

        def function(*tensors: Any, text: str = text, names: Sequence[str] = names) -> Any:
            return eval(text, {"tf": tf, "np": np, **dict(zip(names, tensors, strict=True))})

        yield Case(text, function, tuple(inputs[n] for n in names))


def of_networks() -> Iterator[Case]:
    for name, function, inputs in nn_cases():
        yield Case(name, lambda *tensors, f=function: f(misc, *tensors), tuple(inputs))


# ---- regions ---------------------------------------------------------------------------------------------------


def branches(x: Any) -> Any:
    total = reductions.reduce_sum(x)
    return control_flow.cond(total > 1.0, lambda: x * x, lambda: -x), control_flow.cond(
        total > 9.0, lambda: x * x, lambda: -x
    )


def loop(x: Any) -> Any:
    return while_loop.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x + 1.0), (constant(0), x))


def written(x: Any) -> Any:
    a = tensor_array.TensorArray(float32, size=2, clear_after_read=False).unstack(x)
    a = a.write(0, a.read(1) * 2.0).identity()
    b = tensor_array.TensorArray(float32, size=2, clear_after_read=False).scatter([1, 0], x * x)
    c = tensor_array.TensorArray(float32, size=2).split(x, [1, 1])
    return a.stack(), b.gather([0, 0, 1]), b.concat(), a.size(), c.read(1)


def doubled(x: Any) -> Any:
    @custom_gradient
    def inner(value: Any) -> Any:
        return value * value, lambda dy: dy * 10.0 * value

    return inner(x)


def doubled_in_a_loop(x: Any) -> Any:
    return while_loop.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, doubled(y)), (constant(0), x))[1]


def checked(x: Any) -> Any:
    runtime_checks.Assert(reductions.reduce_all(x > -5.0), ["too small", x])
    return runtime_checks.check_numerics(x, "broken") * 2.0


def rows_of(x: Any) -> Any:
    return vectorized_map(lambda r: reductions.reduce_sum(r) * r, x)


def turned(x: Any, count: int) -> Any:
    """A transform of real numbers over some dimensions, there and back."""
    there = op_builder.add_op(f"RFFT{count}D", [x], {"fft_length": None})
    return op_builder.add_op(f"IRFFT{count}D", [there], {"fft_length": None})


def dense(values: Any) -> Any:
    return arrays.identity(IndexedSlices(values, constant([2, 0, 2, 1]), constant([4, 2])))


FURTHER = [
    Case("sort", lambda x: (sorting.sort(x), sorting.argsort(x, direction="DESCENDING")), (X,)),
    Case("at most one", lambda x: one("AtMostOneTrue")(x[0], x[1]), (MASK,)),
    Case("count over", one("CountOver", axes=(0, 1)), (X,)),
    Case("cumulative_logsumexp", lambda x: reductions.cumulative_logsumexp(x, 1), (X,)),
    Case("dense", dense, (ROWS,)),
    Case("dropout", lambda x, keep, noise: one("Dropout")(x, keep, noise), (X, np.array(0.5, f4), P / 4)),
    Case("inverses", lambda x: (arithmetic.erfinv(x / 4.0), arithmetic.ndtri(0.5 + x / 8.0)), (X,), ulps=4),
    Case("fitted rank", one("FittedRank", excess=0, expands=False), (X[:, :1], X[:, 0])),
    Case("gelu", lambda x: (activations.gelu(x), activations.gelu(x, True)), (X,)),
    Case("mul_no_nan", lambda x, y: (arithmetic.multiply_no_nan(x, y), arithmetic.xlog1py(x, y)), (X, P)),
    Case("matrix_transpose", lambda x: arrays.matrix_transpose(x), (N,)),
    Case("max_pool1d", lambda x: misc.pool(x, [2], "MAX", "VALID"), (N,)),
    Case("max_pool_with_argmax", lambda x: misc.max_pool_with_argmax(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), (IMAGE,)),
    Case("fused_batch_norm", lambda x, s, o: misc.fused_batch_norm(x, s, o)[0], (IMAGE, P[0], P[1]), ulps=8),
    Case("fused_batch_norm of halves", lambda x, s, o: misc.fused_batch_norm(x, s, o)[0],
         (IMAGE.astype(np.float16), P[0], P[1])),
    Case("prevent_gradient", lambda x: op_builder.add_op("PreventGradient", [x]) + x, (X,)),
    Case("snapshot", lambda x: op_builder.add_op("Snapshot", [x]), (X,)),
    Case("placeholder_with_default", lambda x: placeholder_with_default(x, [2, 3]), (X,)),
    Case("repeat", lambda x: arrays.repeat(x, [2, 1], 0), (X,)),
    Case("select_v2", lambda x, y: one("SelectV2")(x > 0.0, x, y), (X, P)),
    Case("spectral_norm", lambda x: decompositions.norm(x, 2, axis=(0, 1)), (X,), ulps=20),
    Case("SegmentSqrtN", one("SegmentSqrtN"), (ROWS, IDS)),
    Case("tensor scatters", lambda x, u: [f(x, [[0], [1]], u) for f in (
        gather_scatter.tensor_scatter_nd_add, gather_scatter.tensor_scatter_nd_sub,
            gather_scatter.tensor_scatter_nd_update)], (X, P)),
    Case("transforms", lambda x: turned(x, 3), (N,), ulps=8),
    Case("transforms of two", lambda x: turned(x, 2), (N,), ulps=8),
    Case("complex transforms", lambda x: arithmetic.real(op_builder.add_op("IFFT3D", [op_builder.add_op("FFT3D",
        [x])])),
         (N.astype(np.complex64),), ulps=8),
    Case("random_crop", lambda x: stateful.random_crop(x, [2, 3]), (X,)),
    Case("branches", branches, (X,)),
    Case("loop", loop, (X,)),
    Case("array", written, (ROWS[:2],)),
    Case("map_fn", lambda x: functional.map_fn(lambda r: r * r, x), (X,)),
    Case("custom gradient", doubled, (X,)),
    Case("custom gradient in a loop", doubled_in_a_loop, (X,)),
    Case("recompute", lambda x: recompute_grad(lambda v: arithmetic.tanh(v) * v)(x), (X,)),
    Case("checks", checked, (X,)),
    Case("vectorized_map", rows_of, (X,)),
    Case("print", lambda x: python_calls.Print(x, [x], "", first_n=0) * 2.0, (X,)),
    Case("orders", lambda x: (assertions.is_non_decreasing(x), assertions.is_strictly_increasing(x)), (IDS,)),
    Case("stateless", lambda s: (
        stateful.stateless_random_uniform([3], s), stateful.stateless_random_normal([3], s),
        stateful.stateless_truncated_normal([3], s), stateful.stateless_multinomial(constant(P), 4, s)), (SEED,)),
    Case("more that is stateless", lambda s: (
        stateless.stateless_gamma([2, 3], s, P), stateless.stateless_poisson([2, 3], s, P),
        stateless.stateless_binomial([2, 3], s, 5.0, P / 4), stateless.stateless_shuffle(ROWS, s),
        stateless.stateless_parameterized_truncated_normal([3], s, 0.0, 1.0, -1.0, 1.0),
        stateless.stateless_uniform([3], s, 0, 9, int32),
        stateless.stateless_uniform([3], s, None, None, int32)), (SEED,)),
    Case("optimization barrier", one("OptimizationBarrier"), (X, IDS)),
    Case("order of a matrix", one("MatrixPerm"), (np.array(3, i4),)),
    Case("placeholder identity", one("PlaceholderIdentity"), (X,)),
    Case("deduplicate", one("DeduplicateRows"), (ROWS, IDS)),
    Case("orthogonal columns", one("OrthogonalColumns", gain=2.0), (ROWS,), ulps=8),
    Case("placed matrix", one("PlacedMatrix", shape=(3, 2), transposed=True, middle=False), (X,)),
    Case("step ratio", one("StepRatio"), (P, X)),
    Case("trust ratio", one("TrustRatio", eeta=0.1, weight_decay=0.1, epsilon=0.0), (P, X)),
    Case("broadcastable weights", one("BroadcastableWeights"), (P[:1], X)),
    Case("matmul of a batch", lambda a, b: products.matmul(a, b, transpose_b=True), (N, N)),
    Case("sums of what is left", lambda x: normalization.sufficient_statistics(x, [0])[1:3], (X,)),
]  # fmt: skip


# ---- nothing ---------------------------------------------------------------------------------------------------

NONE = np.zeros((0, 3), f4)
NO_IDS = np.zeros(0, i4)
W = np.eye(3, dtype=f4)
PICTURES = np.zeros((0, 5, 6, 2), f4)
FILTER = np.ones((2, 2, 2, 2), f4)


def of_kernels() -> Iterator[Case]:
    for text in EMPTY:
        names = [n for n in ("e", "w", "ids") if re.search(rf"\b{n}\b", text)]
        given = {"e": NONE, "w": W, "ids": np.zeros((0, 1), i4)}

        def function(*tensors: Any, text: str = text, names: Any = names) -> Any:
            return eval(text, {"tf": TF}, dict(zip(names, tensors, strict=True)))

        yield Case(text, function, tuple(given[n] for n in names))


NOTHING = [
    Case("argmin", lambda x: reductions.argmin(x, 1), (NONE,)),
    Case("at most one, nothing", one("AtMostOneTrue"), (MASK[0], MASK[1])),
    Case("broadcast_to", lambda x: arrays.broadcast_to(x, [2, 0, 3]), (NONE,)),
    Case("weights of nothing", one("BroadcastableWeights"), (NONE[:, :1], NONE)),
    Case("embedding", lambda t, i: embedding.embedding_lookup([t, t], i, max_norm=1.0), (W, NO_IDS)),
    Case("embedding by rows", lambda t, i: embedding.embedding_lookup(t, i, max_norm=1.0), (W, NO_IDS)),
    Case("conv2d_backprop_input", lambda g, w: misc.conv2d_backprop_input([0, 5, 6, 2], w, g, [1] * 4, "SAME"),
         (PICTURES, FILTER)),
    Case("depthwise", lambda x, w: misc.depthwise_conv2d(x, w, [1] * 4, "SAME"), (PICTURES, FILTER)),
    Case("depthwise_backprop_input", lambda g, w: misc.depthwise_conv2d_native_backprop_input(
        [0, 5, 6, 2], w, g, [1] * 4, "SAME"), (np.zeros((0, 5, 6, 4), f4), FILTER)),
    Case("dilation2d", lambda x, w: misc.dilation2d(x, w, [1] * 4, [1] * 4, "SAME"), (PICTURES, FILTER[..., 0])),
    Case("conv3d", lambda x, w: misc.conv3d(x, w, [1] * 5, "SAME"), (PICTURES[:, :, :, None], FILTER[:, :, None])),
    Case("conv3d_transpose", lambda x, w: misc.conv3d_transpose(x, w, [0, 5, 6, 1, 2], [1] * 5), (
        PICTURES[:, :, :, None], FILTER[:, :, None])),
    Case("dense of nothing", lambda v: arrays.identity(IndexedSlices(v, constant(NO_IDS), constant([4, 3]))), (NONE,)),
    Case("stitched", lambda x, i: array_stitch(x, i), (NONE, NO_IDS)),
    Case("ensured", lambda x: arrays.ensure_shape(x, [None, 3]), (NONE,)),
    Case("sums of segments", lambda x, i: [one(f"Segment{k}")(x, i) for k in ("Sum", "Mean", "Max")], (NONE, NO_IDS)),
    Case("in_top_k", lambda x, i: misc.in_top_k(x, i, 2), (NONE, NO_IDS)),
    Case("searched", lambda x, v: (histograms.searchsorted(x, v), histograms.searchsorted(x, v, "right")), (NONE,
        NONE)),
    Case("lists", lambda i: (gather_scatter.unique(i), gather_scatter.unique_with_counts(i),
        gather_scatter.setdiff1d(i, i)), (NO_IDS,)),
    Case("unravelled", lambda i: histograms.unravel_index(i, [2, 3]), (NO_IDS,)),
    Case("parts", lambda x: (arrays.ones_like(x), arrays.slice(x, [0, 1], [-1, 2]), arrays.unstack(x, axis=1)),
        (NONE,)),
    Case("squeezed", lambda x: arrays.squeeze(arrays.expand_dims(x, 2), [2]), (NONE,)),
    Case("repeated", lambda x: arrays.repeat(x, 2, 0), (NONE,)),
    Case("scatters of nothing", lambda x, u, i: [f(x, i, u) for f in (
        gather_scatter.tensor_scatter_nd_add, gather_scatter.tensor_scatter_nd_sub,
            gather_scatter.tensor_scatter_nd_update)],
         (X, NONE, np.zeros((0, 1), i4))),
    Case("losses", lambda x, i: misc.sparse_softmax_cross_entropy_with_logits(labels=i, logits=x), (NONE, NO_IDS)),
    Case("arrays of nothing", written, (np.zeros((2, 0), f4),)),
    Case("cropped", lambda x: stateful.random_crop(x, [0, 3]), (NONE,)),
    Case("placed", one("PlacedMatrix", shape=(0, 3), transposed=False, middle=False), (NONE,)),
    Case("diagonals", lambda x: (decompositions.matrix_diag_part(x), decompositions.matrix_diag(x)), (np.zeros((0, 3,
        3), f4),)),
]  # fmt: skip
"""Batches of no examples that cutting the other cases does not give."""

NO_BATCHES = {
    "array", "broadcastable weights", "conv3d_SAME", "dense", "depthwise_backprop_input", "dilation2d",
    "embedding_max_norm", "embedding_mod", "orthogonal columns", "placed matrix", "placeholder_with_default", "repeat",
    "spectral_norm", "tensor scatters",
    "tf.argmin(x, 0)", "tf.broadcast_dynamic_shape(tf.shape(x), tf.shape(row))",
    "tf.dynamic_stitch([[0, 2], [1]], [row[:2], row[2:]])", "tf.gather(n, [0, 0, 1])",
    "tf.reverse_sequence(x, [2, 3], 1)", "tf.slice(x, [0, 1], [2, 2])",
    "tf.sparse.to_dense(tf.SparseTensor([[0, 2], [1, 0], [1, 1]], row, [2, 3])) * x",
    "tf.sparse_segment_mean(rows, [0, 1, 1], [0, 0, 1])",
    "tf.sparse_segment_sum(rows, [0, 1, 1], [0, 0, 1])", "transforms",
}  # fmt: skip
"""Cases that cannot be cut: numbers in them speak of rows, or what is cut is no batch."""

WITHOUT_BATCH = {
    "shapes and ranges": "BroadcastArgs IRFFT3D LinSpace MatrixPerm RFFT3D Range SpectralNorm TensorArraySizeV3",
    "no fewer rows than columns": "OrthogonalColumns",
    "parts of one tensor": "DiagPart",
    "sizes that the program states": "PlaceholderWithDefault SparseToDense",
    "draws that depend on a seed": """
        RandomUniformInt StatelessMultinomial StatelessParameterizedTruncatedNormal StatelessRandomBinomial
        StatelessRandomGammaV2 StatelessRandomNormal StatelessRandomPoisson StatelessRandomUniform
        StatelessRandomUniformFullInt StatelessRandomUniformInt StatelessSampleDistortedBoundingBox StatelessShuffle
        StatelessTruncatedNormal""",
}
"""Types that have no batch."""


def array_stitch(x: Any, ids: Any) -> Any:
    return gather_scatter.dynamic_stitch([ids, constant([0, 1])], [x, constant(X)])


# ---- state -----------------------------------------------------------------------------------------------------


class State:
    """A function of variables: what it returns, and what it leaves in them.

    Attributes:
      initial: the variables' values. differentiated: whether gradients by them are compared too.
    """

    def __init__(self, name: str, function: Callable[..., Any], *initial: Any, differentiated: bool = False):
        self.name = name
        self.function = function
        self.initial = [np.asarray(value, f4) for value in initial]
        self.differentiated = differentiated


def update(type: str, *inputs: Any, **attrs: Any) -> Callable[..., Any]:
    """Adds an operation on variables' handles and constants, and reads the variables after it."""

    def function(*variables: Any) -> Any:
        graph = get_default_graph()
        given = [constant(value, float32 if np.asarray(value).dtype.kind == "f" else None) for value in inputs]
        op = graph.add(type, [*(v.handle for v in variables), *given], attrs)
        with graph.control_dependencies([op]):
            return [v.read_value() for v in variables]

    return function


def updates(name: str, cells: int, *scalars: float, **attrs: Any) -> list[State]:
    """An optimizer's operation on a whole variable and on rows of it."""
    slots = [P.T, *([np.full((3, 2), 0.5)] * (cells - 1))]
    whole, rows = f"ResourceApply{name}", f"ResourceSparseApply{name}"
    return [
        State(whole, update(whole, *scalars, X.T, **attrs), *slots),
        State(rows, update(rows, *scalars, X.T[:2], np.array([2, 0], i4), **attrs), *slots),
    ]


def slice_assigned(v: Any) -> Any:
    changed = v[0, 1:].assign([7.0, 8.0])
    with get_default_graph().control_dependencies([changed]):
        return v.read_value()


STATES = [
    State("read", lambda v: (v * 2.0, v.is_initialized()), X, differentiated=True),
    State("lookup", lambda v: embedding.embedding_lookup(v, [0, 1, 0]), X, differentiated=True),
    *(State(f"assign{how}", update(f"Assign{how}VariableOp", P), X) for how in ("", "Add", "Sub")),
    *(State(f"scatter {how}", update(f"ResourceScatter{how}", np.array([1, 0], i4), P[::-1]), X)
      for how in ("Update", "Add", "Sub", "Mul", "Div", "Min", "Max")),
    *(State(f"scatter nd {how}", update(f"ResourceScatterNd{how}", np.array([[1, 2], [0, 0]], i4), P[0, :2]), X)
      for how in ("Update", "Add", "Sub")),
    State("slice", slice_assigned, X),
    *updates("AdaMax", 3, 0.9, 0.1, 0.9, 0.99, 1e-3),
    *updates("Adadelta", 3, 0.1, 0.9, 1e-3),
    *updates("Adagrad", 2, 0.1),
    *updates("AdagradDA", 3, 0.1, 0.01, 0.01, 2.0),
    *updates("Adam", 3, 0.9, 0.99, 0.1, 0.9, 0.99, 1e-3, use_nesterov=False),
    *updates("LazyAdam", 3, 0.9, 0.99, 0.1, 0.9, 0.99, 1e-3, use_nesterov=True),
    *updates("CenteredRMSProp", 4, 0.1, 0.9, 0.5, 1e-1),
    *updates("Ftrl", 3, 0.1, 0.01, 0.01, -0.5),
    *updates("FtrlV2", 3, 0.1, 0.01, 0.01, 0.01, -0.5),
    *updates("GradientDescent", 1, 0.1),
    *updates("Momentum", 2, 0.1, 0.9, use_nesterov=True),
    *updates("ProximalAdagrad", 2, 0.1, 0.01, 0.01),
    *updates("ProximalGradientDescent", 1, 0.1, 0.01, 0.01),
    *updates("RMSProp", 3, 0.1, 0.9, 0.5, 1e-1),
    *updates("KerasMomentum", 2, 0.1, 0.9, use_nesterov=True),
    *updates("AdagradV2", 2, 0.1, 1e-3, update_slots=True),
    *updates("AdamWithAmsgrad", 4, 0.9, 0.99, 0.1, 0.9, 0.99, 1e-3),
    *updates("AddSign", 2, 0.1, 0.75, 0.5, 0.9),
]  # fmt: skip


# ---- chance ----------------------------------------------------------------------------------------------------

DRAWS: dict[str, Callable[[], Any]] = {
    "RandomUniform": lambda: stateful.random_uniform([4, 3], 1.0, 2.0, seed=1),
    "RandomUniformInt": lambda: stateful.random_uniform([4, 3], 1, 3, int32, seed=1),
    "RandomStandardNormal": lambda: stateful.random_normal([4, 3], seed=1),
    "TruncatedNormal": lambda: stateful.truncated_normal([4, 3], seed=1),
    "RandomGamma": lambda: stateful.random_gamma([4], [1.0, 2.0, 3.0], seed=1),
    "RandomPoissonV2": lambda: stateful.random_poisson([1.0, 2.0, 3.0], [4], seed=1),
    "RandomShuffle": lambda: stateful.random_shuffle(constant(X), seed=1),
    "Multinomial": lambda: stateful.multinomial(constant(X), 4, seed=1),
    "ExtractGlimpse": lambda: patches.extract_glimpse(IMAGE, [9, 9], [[0.0, 0.0], [0.0, 0.0]]),
    "SampleDistortedBoundingBoxV2": lambda: boxes.sample_distorted_bounding_box([40, 50, 3], [[[0.0, 0.0, 1.0, 1.0]]])[
        2
    ],
    "CandidateSampler": lambda: candidate_sampling.uniform_candidate_sampler([[1, 2]], 2, 3, False, 4, seed=1)[0],
}
"""Draws: what is equal three ways is their type, shape and range; sessions, programs and functions count separately."""

ELSEWHERE = {
    "Gradients Cotangent LoopVariable": "what gradients and loops are made of: the comparison itself is made with them",
    "AllConcat AllReduce AllToAll CollectivePermute GroupSum SelectPosition": "collectives: there is no axis here",
    "MeanOverWorkers": "gradients of several processes: tests/hosts/test_workers.py",
    "PyFuncInPlace PyFuncByPosition": "tf.py_func inside of towers: there is no axis here",
    "Divide FromPositions PositionIndex PositionInput Spread": "what differs by tower: there is no axis here",
    "ConstOfPositions OwnOfPositions": "what differs by tower: there is no axis here",
    "Switch": "values that may be dead: tests/graph/ops/control/test_switch_merge.py",
    "XlaSharding": "how logical devices divide a tensor: there is no axis here",
    "StepInput StepLoop Blank": "parts of step loops and of converted loops",
    "DatasetToTFRecord SaveDataset": "a dataset in a file",
    "DatasetHandle DatasetToSingleElement DistributedIteratorGetNext IteratorGetNext": "datasets",
    "DeserializeIterator SerializeIterator": "iterators in files",
    "IteratorToStringHandle MakeIterator OpenIterator OwnedIteratorGetNext OwnedIteratorGetOptional": "iterators",
    "GetElementAtIndex ReduceDataset": "a loop over a dataset",
    "IteratorGetNextAsOptional StatsAggregatorSummary": "iterators, and statistics of them",
    "CountSparseOutput": "ragged and sparse tensors: tests/data/elements/test_composite_elements.py",
    "DeserializeManySparse SerializeManySparse SerializeSparse": "strings: tests/data/elements/test_sparse.py",
    "Accumulator AccumulatorApplyGradient AccumulatorNumAccumulated": "accumulators of sessions",
    "AccumulatorSetGlobalStep AccumulatorStopTaking AccumulatorTakeGradient": "accumulators of sessions",
    "DecodePaddedRaw DecodeRaw": "strings",
    "ImageProjectiveTransformV3": "layers of keras: tests/compat/keras/test_layers_against_original.py",
    "DecodeAndCropJpeg DecodeBmp DecodeGif DecodeImage DecodeJpeg DecodePng ExtractJpegShape": "image files",
    "EncodeJpeg EncodeJpegVariableQuality EncodePng": "image files",
    "AssignRestored RestoreV2 SaveV2": "files",
    "AsString DecodeBase64 EncodeBase64 ReduceJoin RegexFullMatch RegexReplace StringFormat StringJoin": "strings",
    "StringLength StringLower StringSplit StringSplitV2 StringStrip StringToHashBucket StringUpper": "strings",
    "StringToHashBucketFast StringToHashBucketStrong StringToNumber Substr UnsortedSegmentJoin": "strings",
    "EditDistance RaggedRange SetSize": "ragged tensors and sets",
    "StringNGrams UnicodeDecode UnicodeEncode UnicodeTranscode": "strings",
    "CombineRows LookupBuckets": "ids whose number changes: tests/graph/ops/test_changing_sizes.py",
    "SparseCross SparseDistinct SparseOrder SparseReshape SparseToSparseSetOperation": "sparse",
    "InitializeTableFromTextFileV2 LookupTableExportV2 LookupTableFindV2 LookupTableImportV2": "lookup tables",
    "LookupTableInsertV2 LookupTableRemoveV2 LookupTableSizeV2": "lookup tables",
    "EagerPyFunc PyFunc PyFuncStateless PrintV2": "Python functions and printing: no kernel computes them",
    "MatchingFiles ReadFile WriteFile": "files",
    "DecodeCSV DecodeCompressed DecodeJSONExample ParseTensor SerializeTensor": "tests/data/parsing/test_examples.py",
    "ParseExample ParseSingleExample": "parsed messages: tests/data/parsing/test_examples.py",
    "ParseSequenceExample ParseSingleSequenceExample": "parsed messages: tests/data/parsing/test_examples.py",
    "UninitializedNames CountUpTo InitializedValue VarHandleOp": "variables of sessions",
    "ReadStringVariableOp AssignStringVariableOp StringVarIsInitializedOp": "variables of strings",
    "InitializedStringValue StringResourceGather StringResourceScatterUpdate": "variables of strings",
    "Queue QueueEnqueueV2 QueueEnqueueManyV2 QueueDequeueV2 QueueDequeueManyV2 QueueDequeueUpToV2": "queues",
    "QueueCloseV2 QueueIsClosedV2 QueueSizeV2": "queues",
    "Reader ReaderNumRecordsProducedV2 ReaderNumWorkUnitsCompletedV2 ReaderReadUpToV2": "readers of queues",
    "ReaderReadV2 ReaderResetV2": "readers of queues",
    "AudioSummaryV2 HistogramSummary ImageSummary MergeSummary ScalarSummary TensorSummaryV2": "bytes of messages",
    "CreateSummaryFileWriter CloseSummaryWriter FlushSummaryWriter ImportEvent WriteGraphSummary": "event files",
    "WriteAudioSummary WriteHistogramSummary WriteImageSummary WriteScalarSummary": "event files",
    "WriteSummary WriteStringSummary": "event files",
    "NoOp Placeholder": "nothing is computed",
    "LearnedUnigramCandidateSampler": "counts of sessions: tests/graph/ops/nn/test_candidate_sampling.py",
    "RngReadAndSkip SeedOfState": "the state of generators: tests/graph/test_generator.py",
}
"""Types that are in no case, and why."""
