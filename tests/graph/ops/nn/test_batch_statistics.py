"""Batch normalization by element type: what TensorFlow 2.15 gave, where the mean is many standard deviations."""

import numpy as np
import pytest

from tests.golden import goldens
from tests.golden.batch_statistics_cases import COTANGENT, OFFSET, OFFSETS, SCALE, TYPES, image
from towerstrat.graph.ir.tensor_conversion import constant
from towerstrat.graph.ops.gradients.gradients import gradients
from towerstrat.graph.ops.math.arithmetic import cast
from towerstrat.graph.ops.nn import misc
from towerstrat.graph.runtime.sessions.session import Session

GOLDEN = goldens.arrays("batch_statistics")
ROUNDING = {"float32": 2.0**-24, "bfloat16": 2.0**-8, "float16": 2.0**-11}
"""Half a unit in the last place, relative."""


def found(kind, offset):
    x, scale, shift = cast(constant(image(offset)), kind), constant(SCALE), constant(OFFSET)
    y, mean, variance = misc.fused_batch_norm(x, scale, shift, epsilon=1e-3)
    grads = gradients(y, [x, scale, shift], cast(constant(COTANGENT), kind))
    names = ("y", "mean", "variance", "dx", "dscale", "doffset")
    return dict(zip(names, Session().run([cast(v, "float32") for v in (y, mean, variance, *grads)]), strict=True))


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("kind", TYPES)
def test_as_the_original(kind, offset):
    ours = found(kind, offset)
    wide = 2.0**-24
    # float32 keeps its digits: the mean is subtracted first. Short floats are summed with their squares in float32,
    # where the square of the mean cancels.
    cancelled = 1 if kind == "float32" else 1 + offset**2
    for name, value in ours.items():
        wanted = GOLDEN[f"{kind}/{offset}/{name}"]
        size = np.abs(wanted).max()
        if name in ("y", "dx"):
            allowed = (4 * ROUNDING[kind] + 32 * wide * (cancelled + offset)) * size
        else:
            allowed = 32 * wide * (cancelled + offset) * max(size, np.sqrt(COTANGENT.size))
        np.testing.assert_allclose(value, wanted, rtol=0, atol=allowed, err_msg=name)


def test_one_pass_would_lose_digits_of_float32():
    """Why the choice depends on the element type."""
    wide = image(30).astype(np.float32)
    exact = image(30).astype(np.float64).var((0, 1, 2))
    squares = np.mean(wide * wide, (0, 1, 2), dtype=np.float32)
    one_pass = squares - np.mean(wide, (0, 1, 2), dtype=np.float32) ** 2
    kept = found("float32", 30)["variance"] * (1 - 1 / 120)
    assert np.abs(kept / exact - 1).max() < 1e-6
    assert np.abs(one_pass / exact - 1).max() > 1e-5
    short = found("bfloat16", 30)["variance"] * (1 - 1 / 120)
    assert np.abs(short / exact - 1).max() < 10 * ROUNDING["bfloat16"]


def test_a_constant_channel_has_no_negative_variance():
    x = np.full((8, 5, 5, 3), 300.3, np.float16)
    y, _, variance = Session().run(misc.fused_batch_norm(x, SCALE, OFFSET))
    assert np.all(variance >= 0)
    np.testing.assert_allclose(y, np.broadcast_to(OFFSET, y.shape), atol=0.05)
