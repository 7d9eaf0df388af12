"""Convolutions: layouts, shape rules, gradients of gradients, loops, towers, empty batches and bad input."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax
from jax.sharding import PartitionSpec as P

from tests.bounds import close
from tests.spread import spread
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.tensor_conversion import constant, placeholder
from towerstrat.graph.ir.types import float32
from towerstrat.graph.ops.gradients.gradients import gradients
from towerstrat.graph.ops.math.arithmetic import multiply
from towerstrat.graph.ops.math.reductions import reduce_sum
from towerstrat.graph.ops.nn import convolution as c
from towerstrat.graph.ops.nn.convolution_kernels import _plain, convolve, padding_of, window
from towerstrat.graph.runtime.sessions.session import Session

RNG = np.random.RandomState(0)


def rand(*shape):
    return RNG.randn(*shape).astype(np.float32)


def run(fetches, feeds):
    return Session().run(fetches, feeds)


def test_channels_first_is_channels_last_transposed():
    x2, w2, x3, w3, d2 = rand(2, 7, 6, 4), rand(3, 2, 4, 5), rand(2, 4, 5, 3, 2), rand(2, 3, 2, 2, 3), rand(3, 3, 4, 2)
    to2, to3 = (0, 3, 1, 2), (0, 4, 1, 2, 3)
    pairs = [
        (c.conv2d(x2, w2, [1, 2, 1, 1], "SAME"), c.conv2d(x2.transpose(to2), w2, [1, 1, 2, 1], "SAME",
                                                          data_format="NCHW"), to2),
        (c.conv2d(x2, w2, [1, 1, 1, 1], "VALID", dilations=[1, 2, 3, 1]),
         c.conv2d(x2.transpose(to2), w2, [1, 1, 1, 1], "VALID", data_format="NCHW", dilations=[1, 1, 2, 3]), to2),
        (c.conv3d(x3, w3, [1, 1, 2, 1, 1], "SAME"),
         c.conv3d(x3.transpose(to3), w3, [1, 1, 1, 2, 1], "SAME", data_format="NCDHW"), to3),
        (c.depthwise_conv2d(x2, d2, [1, 2, 2, 1], "SAME"),
         c.depthwise_conv2d(x2.transpose(to2), d2, [1, 1, 2, 2], "SAME", data_format="NCHW"), to2),
        (c.separable_conv2d(x2, d2, rand(1, 1, 8, 3) * 0 + 1, [1, 1, 1, 1], "VALID"),
         c.separable_conv2d(x2.transpose(to2), d2, np.ones((1, 1, 8, 3), np.float32), [1, 1, 1, 1], "VALID",
                            data_format="NCHW"), to2),
        (c.conv1d(x2[:, 0], w2[0], 2, "SAME"), c.conv1d(x2[:, 0].transpose(0, 2, 1), w2[0], 2, "SAME",
                                                        data_format="NCW"), (0, 2, 1)),
        (c.convolution(x2, w2, "SAME", dilation_rate=[1, 2]),
         c.convolution(x2.transpose(to2), w2, "SAME", dilation_rate=[1, 2], data_format="NCHW"), to2),
        (c.conv2d_transpose(x2, rand(3, 3, 2, 4) * 0 + 0.5, [2, 14, 11, 2], [1, 2, 2, 1]),
         c.conv2d_transpose(x2.transpose(to2), np.full((3, 3, 2, 4), 0.5, np.float32), [2, 2, 14, 11], [1, 1, 2, 2],
                            data_format="NCHW"), to2),
    ]  # fmt: skip
    for last, first, order in pairs:
        assert [last.shape.as_list()[i] for i in order] == first.shape.as_list()
    for (last, first), (_, _, order) in zip(run([p[:2] for p in pairs], {}), pairs, strict=True):
        close(last.transpose(order), first, 100, max(1.0, np.abs(first).max()))


def test_atrous_transpose_is_the_gradient_of_atrous():
    x, w, dy = placeholder("float32", [2, 8, 7, 3]), rand(3, 3, 3, 4), rand(2, 8, 7, 4)
    y = c.atrous_conv2d(x, w, 2, "SAME")
    (wanted,) = gradients(y, [x], [dy])
    found, wanted = run([c.atrous_conv2d_transpose(dy, w, [2, 8, 7, 3], 2, "SAME"), wanted], {x: rand(2, 8, 7, 3)})
    close(found, wanted, 3 * 3 * 4, 3 * 3 * 4)


UNKNOWN = [
    # input, filter, strides, padding, dilations, output
    ([None, 8, 8, 3], [3, 3, 3, 4], [1, 1, 1, 1], "SAME", [1, 1, 1, 1], [None, 8, 8, 4]),
    (None, None, [1, 1, 1, 1], "SAME", [1, 1, 1, 1], [None] * 4),
    ([None, None, 8, 3], [None, 3, 3, 4], [1, 2, 2, 1], "VALID", [1, 2, 2, 1], [None, None, 2, 4]),
    ([2, 8, 9, None], [3, 3, None, 4], [1, 2, 2, 1], "SAME", [1, 2, 2, 1], [2, 4, 5, 4]),
    ([2, 8, 9, 3], None, [1, 2, 2, 1], "VALID", [1, 1, 1, 1], [2, None, None, None]),
    ([2, 8, 9, 3], None, [1, 2, 2, 1], "SAME", [1, 1, 1, 1], [2, 4, 5, None]),
]


@pytest.mark.parametrize(("x", "w", "strides", "padding", "dilations", "wanted"), UNKNOWN)
def test_shapes_known_in_part(x, w, strides, padding, dilations, wanted):
    y = c.conv2d(placeholder("float32", x), placeholder("float32", w), strides, padding, dilations=dilations)
    assert y.shape.as_list() == wanted


def f32(*shape):
    return placeholder("float32", list(shape))


BAD = [
    (lambda: c.conv2d(f32(None, 8, 8, 3), f32(3, 3, 4, 4), [1, 1, 1, 1], "SAME"), ValueError, "3 and 4"),
    (lambda: c.conv2d(f32(None, 2, 2, 3), f32(3, 3, 3, 4), [1, 1, 1, 1], "VALID"), ValueError, "subtracting 3 from 2"),
    (lambda: c.conv2d(f32(None, 8, 8, 3), f32(3, 3, 3, 4), [2, 1, 1, 1], "SAME"), ValueError, "batch and channels"),
    (lambda: c.conv2d(f32(None, 8, 8, 3), f32(3, 3, 3, 4), [1, 1, 1], "SAME"), ValueError, "of 1, 2 or 4 integers"),
    (lambda: c.conv2d(f32(None, 8, 8, 3), f32(3, 3, 3, 4), [1, 1, 1, 1], "same"), ValueError, "'SAME' or 'VALID'"),
    (lambda: c.conv2d(f32(None, 8, 8, 3), f32(3, 3, 3, 4), [1, 1, 1, 1], "SAME", data_format="NCHW"), ValueError,
     "8 and 3"),
    (lambda: c.conv2d(f32(8, 8, 3), f32(3, 3, 3, 4), [1, 1, 1, 1], "SAME"), ValueError, "rank 4"),
    (lambda: c.conv2d(placeholder("int32", [1, 8, 8, 3]), placeholder("int32", [3, 3, 3, 4]), [1, 1, 1, 1], "SAME"),
     TypeError, "int32"),
    (lambda: c.conv2d(placeholder("float64", [1, 8, 8, 3]), f32(3, 3, 3, 4), [1, 1, 1, 1], "SAME"), TypeError,
     "float64 and float32"),
    (lambda: c.conv2d_transpose(f32(2, 4, 4, 3), f32(3, 3, 5, 4), [2, 8, 8, 5], [1, 2, 2, 1]), ValueError, "3 and 4"),
    (lambda: c.conv2d_transpose(f32(2, 4, 4, 3), f32(3, 3, 5, 3), [2, 8, 8, 6], [1, 2, 2, 1]), ValueError, "6 and 5"),
    (lambda: c.conv2d_transpose(f32(2, 4, 4, 3), f32(3, 3, 5, 3), [2, 9, 8, 5], [1, 2, 2, 1]), ValueError, "5 and 4"),
    (lambda: c.depthwise_conv2d(f32(2, 8, 8, 3), f32(3, 3, 4, 2), [1, 1, 1, 1], "SAME"), ValueError, "3 and 4"),
    (lambda: c.depthwise_conv2d(f32(2, 8, 8, 3), f32(3, 3, 3, 2), [1, 2, 2, 1], "SAME", [2, 2]), ValueError, "rate"),
    (lambda: c.separable_conv2d(f32(2, 8, 8, 3), f32(3, 3, 3, 2), f32(3, 1, 6, 2), [1, 1, 1, 1], "SAME"), ValueError,
     "pointwise"),
    (lambda: c.convolution(f32(2, 8, 8, 3), f32(3, 3, 3, 2), "SAME", [2, 2], [2, 2]), ValueError, "strides > 1"),
    (lambda: c.conv1d(f32(2, 8, 3), f32(3, 2, 2), 1, "SAME"), ValueError, "3 and 2"),
]  # fmt: skip


@pytest.mark.parametrize(("build", "kind", "words"), BAD)
def test_refused_while_building_with_the_users_line(build, kind, words):
    with pytest.raises(kind, match=words):
        build()


def test_bad_channels_name_the_line():
    with pytest.raises(ValueError, match=r"test_convolution\.py"):
        c.conv2d(f32(None, 8, 8, 3), f32(3, 3, 4, 4), [1, 1, 1, 1], "SAME")


def test_names_are_the_originals():
    x, w = f32(2, 8, 8, 3), f32(3, 3, 3, 4)
    assert c.conv2d(x, w, [1, 1, 1, 1], "SAME").name == "Conv2D:0"
    assert c.conv1d(f32(2, 8, 3), f32(3, 3, 4), 1, "SAME").name == "conv1d/Squeeze:0"
    assert c.conv2d_transpose(f32(2, 8, 8, 4), w, [2, 8, 8, 3], [1, 1, 1, 1]).name == "conv2d_transpose:0"
    assert c.depthwise_conv2d(x, f32(3, 3, 3, 2), [1, 1, 1, 1], "SAME").name == "depthwise:0"
    assert c.separable_conv2d(x, f32(3, 3, 3, 2), f32(1, 1, 6, 2), [1, 1, 1, 1], "SAME").name == "separable_conv2d:0"


def test_empty_batch_and_gradients_of_gradients():
    x, w = f32(None, 6, 6, 2), f32(3, 3, 2, 3)
    d = f32(3, 3, 2, 2)
    fetches = []
    for y, filters in ((c.conv2d(x, w, [1, 2, 2, 1], "SAME"), w), (c.depthwise_conv2d(x, d, [1, 1, 1, 1], "VALID"), d)):
        first = gradients(multiply(y, y), [x, filters])
        fetches += [y, *first, *gradients(multiply(first[1], first[1]), [x, filters])]
    values = run(fetches, {x: np.zeros((0, 6, 6, 2), np.float32), w: rand(3, 3, 2, 3), d: rand(3, 3, 2, 2)})
    first = [(0, 3, 3, 3), (0, 6, 6, 2), (3, 3, 2, 3), (0, 6, 6, 2), (3, 3, 2, 3)]
    second = [(0, 4, 4, 4), (0, 6, 6, 2), (3, 3, 2, 2), (0, 6, 6, 2), (3, 3, 2, 2)]
    assert [v.shape for v in values] == first + second
    assert not any(np.any(v) for v in values)


@pytest.mark.long
@settings(max_examples=5, derandomize=True)
@given(st.data())
def test_the_form_for_the_cpu_has_the_values_and_gradients_of_the_plain_one(data):
    """Twice differentiated, against lax.conv_general_dilated and its own rules."""
    integers = lambda low, high: data.draw(st.integers(low, high))  # noqa: E731
    rank, groups = integers(1, 2), data.draw(st.sampled_from([1, 2, 4]))
    taps = [integers(1, 3) for _ in range(rank)]
    strides = [integers(1, 3) for _ in range(rank)]
    dilation = [integers(1, 2) for _ in range(rank)]
    sizes = [integers((k - 1) * d + 1, 7) for k, d in zip(taps, dilation, strict=True)]
    padding = data.draw(st.sampled_from(["SAME", "VALID"]))
    how = window(strides, padding_of(sizes, taps, strides, dilation, padding), dilation, groups)
    rng = np.random.RandomState(integers(0, 99))
    x = rng.randn(2, *sizes, 4).astype(np.float32)
    w = rng.randn(*taps, 4 // groups, 4).astype(np.float32)

    def derivatives(function, x, w):
        def loss(x, w):
            return jnp.sum(jnp.sin(function(x, w)))

        def second(x, w):
            return sum(jnp.sum(g * g) for g in jax.grad(loss, (0, 1))(x, w))

        return function(x, w), jax.grad(loss, (0, 1))(x, w), jax.grad(second, (0, 1))(x, w)

    found = jax.jit(lambda x, w: derivatives(lambda x, w: convolve(x, w, how, "cpu"), x, w))(x, w)
    wanted = jax.jit(lambda x, w: derivatives(lambda x, w: _plain(x, w, how), x, w))(x, w)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-3 * max(1.0, float(np.abs(b).max())))


@spread(("groups", "varying"), itertools.product([1, 4], ["x", "w", "both"]), every=9)
def test_inside_scan_and_towers(groups, varying):
    """Whichever operand differs by tower, in a differentiated loop under the check of replication."""
    axis = Axis("tower", jax.devices()[:4])
    how = window((2, 2), ((1, 1), (1, 1)), (1, 1), groups)
    x, w = rand(4, 2, 6, 6, 4), rand(4, 3, 3, 4 // groups, 4)

    def step(x, w):
        def body(carry, _):
            grads = jax.grad(lambda w: jnp.sum(convolve(x, w, how, "cpu") ** 2))(carry)
            return carry - np.float32(1e-3) * grads, jnp.sum(carry)

        return lax.scan(body, w, None, length=2)[0]

    def mapped(x, w):
        x = x[0] if varying != "w" else lax.pcast(x[0], "tower", to="varying")
        return step(x, lax.pcast(w[0], "tower", to="varying") if varying == "x" else w[0])[None]

    def spec(name):
        return P("tower") if varying in (name, "both") else P()

    found = jax.jit(axis.map(mapped, (spec("x"), spec("w")), P("tower")))(x, w)
    for i in range(4):
        own = (x[i if varying != "w" else 0], w[i if varying != "x" else 0])
        np.testing.assert_allclose(found[i], step(*own), rtol=1e-4, atol=1e-4)


def test_one_operand_varies_without_a_cast():
    axis = Axis("tower", jax.devices()[:2])
    how = window((1, 1), ((1, 1), (1, 1)), (1, 1))
    x, w = rand(2, 2, 5, 5, 3), rand(3, 3, 3, 2)
    function = axis.map(
        lambda x: jax.grad(lambda x: jnp.sum(convolve(x, jnp.asarray(w), how, "cpu") ** 2))(x[0])[None],
        (P("tower"),), P("tower"),
    )  # fmt: skip
    wanted = jax.grad(lambda x: jnp.sum(_plain(x, jnp.asarray(w), how) ** 2))(jnp.asarray(x[1]))
    np.testing.assert_allclose(jax.jit(function)(x)[1], wanted, rtol=1e-4, atol=1e-4)


def test_the_compiled_loop_holds_no_convolution_out_of_form():
    """XLA's CPU compiler runs a convolution as one call only in its canonical form."""
    how = window((2, 2), ((1, 1), (1, 1)), (1, 1))
    x, w = rand(8, 12, 12, 4), rand(3, 3, 4, 4)

    def step(carry, _):
        gw, gx = jax.grad(lambda w, x: jnp.sum(convolve(x, w, how, "cpu") ** 2), (0, 1))(*carry)
        return (carry[0] - gw, carry[1] - gx), None

    compiled = jax.jit(lambda w, x: lax.scan(step, (w, x), None, length=3)[0]).lower(w, x).compile()
    lines = [line for line in compiled.as_text().splitlines() if " convolution(" in line]
    assert len(lines) == 3
    for line in lines:
        assert "dim_labels=b01f_01io->b01f" in line, line
        assert "{3,2,1,0} convolution(" in line, line
        assert "rhs_reversal" not in line, line


ADJOINTS = {
    "Conv3DBackpropFilterV2": (
        lambda x, w: c.conv3d(x, w, [1, 2, 1, 2, 1], "SAME"),
        lambda x, g: c.conv3d_backprop_filter_v2(x, [2, 2, 3, 2, 3], g, [1, 2, 1, 2, 1], "SAME"),
        [2, 4, 3, 5, 2], [2, 2, 3, 2, 3], [0, 1]),
    "DepthwiseConv2dNativeBackpropFilter": (
        lambda x, w: c.depthwise_conv2d_native(x, w, [1, 2, 2, 1], "SAME"),
        lambda x, g: c.depthwise_conv2d_native_backprop_filter(x, [3, 3, 3, 2], g, [1, 2, 2, 1], "SAME"),
        [2, 5, 6, 3], [3, 3, 3, 2], [0, 1]),
    "DepthwiseConv2dNativeBackpropInput": (
        lambda x, w: c.depthwise_conv2d_native(x, w, [1, 2, 2, 1], "SAME"),
        lambda w, g: c.depthwise_conv2d_native_backprop_input([2, 5, 6, 3], w, g, [1, 2, 2, 1], "SAME"),
        [2, 5, 6, 3], [3, 3, 3, 2], [1, 0]),
}  # fmt: skip
"""By type: the convolution, its derivative, shapes of input and filter, and the places of the other and of the own."""


@pytest.mark.parametrize("type", ADJOINTS)
def test_derivatives_are_adjoint_to_the_convolution(type):
    """<derivative(other, g), own> is <g, convolution(x, w)>, for values and for gradients by each of the three."""
    convolution, derivative, *shapes, (other, own) = ADJOINTS[type]
    draws = np.random.RandomState(4)
    operands = [constant(draws.randn(*shape), float32) for shape in shapes]
    y = convolution(*operands)
    g = constant(draws.randn(*y.shape.as_list()), float32)
    totals = [reduce_sum(derivative(operands[other], g) * operands[own]), reduce_sum(g * y)]
    assert type in {op.type for op in get_default_graph().get_operations()}
    found, wanted = run([[t, *gradients(t, [*operands, g])] for t in totals], {})
    for one, twin in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, twin, rtol=1e-4, atol=1e-3)
