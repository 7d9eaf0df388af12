"""Neural-network operations against the original's values and gradients, and what they refuse."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.golden import goldens
from tests.golden.nn_cases import cases, weights
from tests.graph.ops.test_kernels import WIDE, widths
from tests.spread import spread
from towerstrat import set_data_checks
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor, placeholder
from towerstrat.graph.lowering.input_checks import PADDING
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.ops.gradients.gradients import gradients
from towerstrat.graph.ops.nn import misc
from towerstrat.graph.ops.random import stateful
from towerstrat.graph.runtime.sessions.session import Session
from towerstrat.graph.variables.variables import Variable

GOLDEN = goldens.arrays("nn")
CASES = cases()


def tolerance(dtype):
    return {"float64": 1e-9, "float32": 2e-5, "float16": 2e-3}.get(np.dtype(dtype).name, 0)


def close(found, wanted, what):
    assert found.dtype == wanted.dtype, what
    assert found.shape == wanted.shape, what
    limit = tolerance(wanted.dtype)
    np.testing.assert_allclose(found, wanted, rtol=limit, atol=10 * limit, err_msg=what)


@spread(("name", "function", "inputs"), CASES, ids=[name for name, _, _ in CASES])
def test_original_values_and_gradients(name, function, inputs):
    tensors = [placeholder(x.dtype, x.shape) for x in inputs]
    outputs = function(misc, *tensors)
    outputs = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
    fetches = {f"{name}/value{i}": output for i, output in enumerate(outputs)}
    for key, output in fetches.items():
        assert output.shape.as_list() == list(GOLDEN[key].shape), key
    if f"{name}/not_differentiable" not in GOLDEN:
        floating = [o for o in outputs if o.dtype.is_floating]
        seeds = [constant(weights(o.shape.as_list()).astype(o.dtype.np)) for o in floating]
        found = gradients(floating, tensors, seeds) if floating else [None] * len(tensors)
        for i, gradient in enumerate(found):
            key = f"{name}/grad{i}"
            assert (gradient is not None) == (key in GOLDEN), key
            if gradient is not None:
                fetches[key] = convert_to_tensor(gradient)  # of a lookup it is rows
    values = Session().run(fetches, dict(zip(tensors, inputs, strict=True)))
    for key, value in values.items():
        close(np.asarray(value), GOLDEN[key], key)


def test_a_lookup_in_variables_has_rows_as_its_gradient():
    table = Variable(np.arange(14.0, dtype=np.float32).reshape(7, 2), name="table")
    parts = [Variable(np.full((n, 2), float(n), np.float32)) for n in (3, 2, 2)]
    ids = constant([0, 3, 6, 3])
    whole = misc.embedding_lookup(table, ids)
    pieces = misc.embedding_lookup(parts, ids, partition_strategy="div")
    (rows,) = gradients(whole, [table])
    found = gradients(misc.l2_loss(pieces), list(parts))
    assert isinstance(rows, IndexedSlices)
    assert all(isinstance(g, IndexedSlices) for g in found)
    assert whole.name == "embedding_lookup/Identity:0"
    session = Session()
    session.run([v.initializer for v in (table, *parts)])
    got, values, indices, dense = session.run([whole, rows.values, rows.indices, [convert_to_tensor(g) for g in found]])
    np.testing.assert_array_equal(got, [[0, 1], [6, 7], [12, 13], [6, 7]])
    np.testing.assert_array_equal(values, np.ones((4, 2)))
    assert indices.tolist() == [0, 3, 6, 3]
    np.testing.assert_array_equal(dense[0], [[3, 3], [0, 0], [0, 0]])
    np.testing.assert_array_equal(dense[1], [[4, 4], [0, 0]])
    np.testing.assert_array_equal(dense[2], [[0, 0], [2, 2]])


def test_rows_of_other_parts_are_not_touched():
    """The indices of a part's gradient are the rows it gave, and one past every table's end, which an update drops."""
    parts = [Variable(np.zeros((4, 1), np.float32)) for _ in range(2)]
    looked_up = misc.embedding_lookup(parts, constant([1, 2, 5]))
    gradient = gradients(looked_up, parts)
    session = Session()
    session.run([p.initializer for p in parts])
    indices = session.run([g.indices for g in gradient])
    assert [i.tolist() for i in indices] == [[PADDING, 1, PADDING], [0, PADDING, 2]]
    session.run([p.scatter_sub(g) for p, g in zip(parts, gradient, strict=True)])
    assert [p.ravel().tolist() for p in session.run(parts)] == [[0, -1, 0, 0], [-1, 0, -1, 0]]


def test_channels_first():
    x, b = np.random.RandomState(0).randn(2, 3, 4, 5).astype(np.float32), np.float32([1, 2, 3])
    last = x.transpose(0, 2, 3, 1)
    pairs = [
        (misc.bias_add(last, b), misc.bias_add(x, b, "NCHW")),
        (misc.fused_batch_norm(last, b, b)[0], misc.fused_batch_norm(x, b, b, data_format="NCHW")[0]),
    ]
    for a, b in Session().run(pairs):
        np.testing.assert_allclose(a.transpose(0, 3, 1, 2), b, rtol=1e-6)


def test_half_precision_statistics_are_float32():
    x = np.full((200, 4, 4, 2), 300, np.float16)
    y, mean, variance = Session().run(misc.fused_batch_norm(x, np.ones(2, np.float32), np.ones(2, np.float32)))
    assert (y.dtype, mean.dtype, variance.dtype) == (np.float16, np.float32, np.float32)
    np.testing.assert_allclose(mean, 300)
    np.testing.assert_allclose(y, 1)


def test_empty_batches():
    x, image = placeholder("float32", [None, 3]), placeholder("float32", [None, 2, 2, 3])
    three = np.ones(3, np.float32)
    normal, mean, _ = misc.fused_batch_norm(image, three, three)
    labels = placeholder("int32", [None])
    outputs = [misc.softmax(x), misc.log_softmax(x), misc.relu(x), misc.crelu(x), misc.bias_add(x, three),
        misc.lrn(image), normal,
               misc.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x),
               misc.softmax_cross_entropy_with_logits_v2(labels=x, logits=x), misc.in_top_k(x, labels, 2),
               misc.sigmoid_cross_entropy_with_logits(labels=x, logits=x), misc.top_k(x, 2).values,
               misc.l2_normalize(x, 1),
               misc.embedding_lookup(np.ones((4, 2), np.float32), labels)]  # fmt: skip
    feeds = {x: np.zeros((0, 3)), image: np.zeros((0, 2, 2, 3)), labels: np.zeros(0)}
    *values, mean, loss, grad = Session().run(
        [*outputs, mean, misc.l2_loss(x), *gradients([outputs[0], *outputs[7:9]], [x])], feeds
    )
    assert [v.shape for v in values] == [
        (0, 3), (0, 3), (0, 3), (0, 6), (0, 3), (0, 2, 2, 3), (0, 2, 2, 3), (0,), (0,), (0,), (0, 3), (0, 2), (0, 3),
        (0, 2),
    ]  # fmt: skip
    assert np.isnan(mean).all()
    assert loss == 0
    assert grad.shape == (0, 3)


def test_unchecked_labels_outside_the_classes_give_nan():
    set_data_checks(False)
    try:
        loss = misc.sparse_softmax_cross_entropy_with_logits(labels=[-1, 0, 2], logits=np.zeros((3, 2), np.float32))
        np.testing.assert_array_equal(np.isnan(Session().run(loss)), [True, False, True])
    finally:
        set_data_checks(True)


def f32(*shape):
    return placeholder("float32", list(shape))


BAD = [
    (lambda: misc.bias_add(f32(2, 8), f32(7)), ValueError, "8 and 7"),
    (lambda: misc.bias_add(f32(8), f32(8)), ValueError, "rank 2"),
    (lambda: misc.bias_add(f32(2, 8), f32(8), "CHWN"), ValueError, "data_format"),
    (lambda: misc.elu(placeholder("int32", [2])), TypeError, "int32"),
    (lambda: misc.relu(placeholder("bool", [2])), TypeError, "bool"),
    (lambda: misc.softmax(f32(2, 3), axis=2), ValueError, "axis"),
    (lambda: misc.softmax(f32(2, 3), axis=1, dim=1), ValueError, "dim"),
    (lambda: misc.softmax_cross_entropy_with_logits(f32(2, 3), f32(2, 3)), ValueError, "named arguments"),
    (lambda: misc.softmax_cross_entropy_with_logits(labels=f32(2, 3)), ValueError, "Both labels and logits"),
    (lambda: misc.softmax_cross_entropy_with_logits_v2(labels=f32(2, 3), logits=f32(2, 4)), ValueError, "Incompatible"),
    (lambda: misc.sparse_softmax_cross_entropy_with_logits(labels=placeholder("int32", [2, 1]), logits=f32(2, 8)),
     ValueError, "Rank mismatch"),
    (lambda: misc.sparse_softmax_cross_entropy_with_logits(labels=placeholder("int32", [3]), logits=f32(2, 8)),
     ValueError, "Shape mismatch"),
    (lambda: misc.sparse_softmax_cross_entropy_with_logits(labels=f32(2), logits=f32(2, 8)), TypeError, "int32"),
    (lambda: misc.sigmoid_cross_entropy_with_logits(labels=f32(2, 1), logits=f32(2, 8)), ValueError, "same shape"),
    (lambda: misc.fused_batch_norm(f32(2, 3, 3, 4), f32(3), f32(4)), ValueError, "scale"),
    (lambda: misc.fused_batch_norm(f32(2, 4), f32(4), f32(4)), ValueError, "rank 4"),
    (lambda: misc.fused_batch_norm(f32(2, 3, 3, 4), f32(4), f32(4), f32(4)), ValueError, "must be None"),
    (lambda: misc.fused_batch_norm(f32(2, 3, 3, 4), f32(4), f32(4), is_training=False), ValueError, "must be given"),
    (lambda: misc.moments(placeholder("int8", [2]), [0]), TypeError, "int8"),
    (lambda: misc.moments(f32(2, 3), [2]), ValueError, "axis"),
    (lambda: misc.top_k(f32(2, 3), 4), ValueError, "last dimension >= k"),
    (lambda: misc.in_top_k(f32(2, 3), placeholder("int32", [3]), 1), ValueError, "must match"),
    (lambda: misc.embedding_lookup([], placeholder("int32", [3])), ValueError, "at least one"),
    (lambda: misc.embedding_lookup([f32(2, 3)] * 2, placeholder("int32", [3]), "hash"), ValueError, "'mod' or 'div'"),
]  # fmt: skip


@pytest.mark.parametrize(("build", "kind", "words"), BAD)
def test_refused_while_building(build, kind, words):
    with pytest.raises(kind, match=words):
        build()


@pytest.mark.parametrize(("function", "weights", "of_x"), [
    (misc.moments, [], slice(0, 2)), (misc.weighted_moments, [[1.0, 2.0]], slice(0, 2)),
    (misc.sufficient_statistics, [], slice(1, 3)),
])  # fmt: skip
def test_dimensions_are_kept_under_both_names(function, weights, of_x):
    x = constant([[1.0, 2.0], [3.0, 5.0]])
    wanted = function(x, [1], *weights, keep_dims=True)[of_x]
    found = function(x, [1], *weights, keepdims=True)[of_x]
    assert [t.shape.as_list() for t in found] == [[2, 1]] * 2
    with Session() as session:
        np.testing.assert_array_equal(*session.run([list(found), list(wanted)]))
    assert function(x, [1], *weights)[1].shape.as_list() == [2]
    with pytest.raises(ValueError, match="both 'keep_dims' and 'keepdims'"):
        function(x, [1], *weights, keep_dims=True, keepdims=True)


def test_statistics_over_a_size_that_is_not_known():
    x = placeholder("float32", [None, 3])
    with Session() as session:
        found = session.run(misc.sufficient_statistics(x, [0])[:3], {x: [[1, 2, 3], [4, 5, 6]]})
    assert [part.tolist() for part in found] == [2.0, [5.0, 7.0, 9.0], [17.0, 29.0, 45.0]]


@pytest.mark.parametrize(("build", "wanted"), [
    (lambda x: misc.relu(x), "Relu"), (lambda x: misc.leaky_relu(x), "LeakyRelu"), (lambda x: misc.crelu(x),
        "CRelu/Relu"),
    (lambda x: misc.moments(x, [0])[0], "moments"), (lambda x: misc.l2_normalize(x, 1), "l2_normalize"),
    (lambda x: misc.batch_normalization(x, x, x, x, x, 1e-3), "batchnorm/add_1"),
    (lambda x: misc.xw_plus_b(x, x, [1.0, 2.0]), "xw_plus_b"), (lambda x: misc.relu_layer(x, x, [1.0, 2.0]),
        "relu_layer"),
    (lambda x: misc.sigmoid_cross_entropy_with_logits(labels=x, logits=x), "logistic_loss"),
    (lambda x: misc.softmax_cross_entropy_with_logits(labels=x, logits=x),
     "softmax_cross_entropy_with_logits_sg/Reshape_2"),
    (lambda x: misc.in_top_k(x, [0, 1], 1), "in_top_k/InTopKV2"), (lambda x: misc.top_k(x).values, "TopKV2"),
])  # fmt: skip
def test_names(build, wanted):
    with get_default_graph().name_scope("outer"):
        assert build(f32(2, 2)).op.name == f"outer/{wanted}"


def build_all():
    """Every case on float32, and every random operation."""
    r = stateful
    for _, function, inputs in CASES:
        try:
            function(misc, *(placeholder("float32", x.shape) for x in inputs))
        except (TypeError, ValueError):
            continue
    x = f32(3, 4)
    r.random_uniform([3], 1.0, 3.0), r.random_normal([3]), r.truncated_normal([3]), r.random_shuffle(x)
    r.random_uniform([3], 0, 9, "int32"), r.random_crop(x, [2, 2]), misc.dropout(x, 0.5)
    r.multinomial(x, 3, output_dtype="int32")


@pytest.mark.long
@spread("platform", ["tpu", "cpu"], every=2)
def test_no_kernel_and_no_gradient_widens(platform):
    build_all()
    wrong, checked = set(), set()
    for op in get_default_graph().get_operations():
        tensors = (*op.inputs, *op.outputs)
        if op.definition.kernel is None or any(t.dtype.name in WIDE for t in tensors):
            continue
        lowering = Lowering(platform)
        static = {t: constant_value(t) for p, t in enumerate(op.inputs) if p in op.definition.static}
        lowering.values.update(static)
        traced = {t: jnp.zeros(t.shape.as_list(), t.dtype.np) for t in op.inputs if t not in static}
        differentiated = [t for t in traced if t.dtype.is_floating and op.definition.differentiable]

        def function(values, op=op, static=static, traced=traced, lowering=lowering, wanted=differentiated):
            given = dict(zip(traced, values, strict=True))

            def kernel(*some):
                if op.counter is not None:
                    lowering.state.values[op.counter] = np.uint32(0)
                made = lowering.apply(
                    op, [{**given, **static, **dict(zip(wanted, some, strict=True))}[t] for t in op.inputs]
                )
                return [m for m in made if jnp.issubdtype(m.dtype, jnp.floating)], list(made)

            results, pull, made = jax.vjp(kernel, *(given[t] for t in wanted), has_aux=True)
            return made, pull([jnp.ones_like(m) for m in results])

        with jax.enable_x64(True):
            trace = jax.make_jaxpr(function)(list(traced.values()))
        wrong |= {(op.type, *found) for found in widths(trace.jaxpr) if found[1] in WIDE}
        checked.add(op.type)
    assert len(checked) > 55
    assert not wrong
