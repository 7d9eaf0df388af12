"""Operations that are run one by one: by numpy for shapes that are new, then by programs, with the same bits."""

import numpy as np
import pytest

import towerstrat.compat.v2 as tf
from tests.spread import spread
from towerstrat.graph.eager.mode import eager_mode
from towerstrat.graph.ir import op_registry
from towerstrat.graph.runtime.programs.host_form import FIRST_TIMES, LARGEST_IMAGE, SMALL, HostForm

CASES = {
    "conversions": lambda x, y: (tf.cast(x, tf.int32), tf.cast(x, tf.float64), tf.math.ceil(x), tf.floor(x)),
    "arithmetic": lambda x, y: (x + y, x - y, x * y, x / y, -x, tf.square(x)),
    "choices": lambda x, y: (tf.maximum(x, y), tf.minimum(x, y), tf.abs(x), tf.nn.relu(x), tf.where(x > y, x, y)),
    "comparisons": lambda x, y: (x < y, x <= y, x >= y, tf.equal(x, y), tf.logical_not((x > 0) | (y > 0) & (x < 1))),
    "movements": lambda x, y: (
        tf.reverse(x, [1]), tf.transpose(x), tf.pad(x, [[1, 2], [0, 1]]), tf.concat([x, y], 0), tf.stack([x, y], 1),
        tf.slice(x, [1, 2], [60, 70]), tf.tile(x, [2, 1]), tf.roll(x, 3, 1), tf.pad(x, [[2, 2], [1, 1]], "REFLECT"),
        tf.broadcast_to(x, [2, *x.shape]), tf.zeros_like(x), tf.ones_like(x), tf.reverse(x, [0]),
    ),
}  # fmt: skip


@pytest.fixture
def jitted(monkeypatch):
    """The types of operations of exact results that programs carried out."""
    found = []
    take = HostForm.take

    def noting(form, inputs):
        arrays = take(form, inputs)
        if arrays is None and form.op.definition.same_bits:
            found.append(form.op.type)
        return arrays

    monkeypatch.setattr(HostForm, "take", noting)
    return found


@spread("name", CASES, every=5)
def test_the_first_times_have_the_bits_of_later_ones(name, jitted):
    rng = np.random.RandomState(0)
    x, y = (rng.randn(80, 90 + len(name)).astype(np.float32) * 9 for _ in range(2))
    with eager_mode():
        x, y = tf.constant(x), tf.constant(y)
        compute = lambda: [v.numpy() for v in CASES[name](x, y)]  # noqa: E731
        first = compute()
        assert not jitted
        for _ in range(FIRST_TIMES):
            last = compute()
        assert jitted
    for early, late in zip(first, last, strict=True):
        assert early.dtype == late.dtype
        assert np.array_equal(early, late)


def test_large_arrays_and_halves_are_for_programs(jitted):
    with eager_mode():
        half = tf.cast(tf.zeros([SMALL + 7]), tf.float16)
        jitted.clear()
        assert (half + half).shape == [SMALL + 7]
        assert jitted == ["Add"]
        large = tf.zeros([LARGEST_IMAGE + 1], tf.uint8)
        jitted.clear()
        assert tf.reverse(large, [0]).shape == [LARGEST_IMAGE + 1]
        assert jitted == ["ReverseV2"]


def test_types_have_both_forms():
    exact = [d for d in map(op_registry.lookup, op_registry.types()) if d.same_bits]
    assert len(exact) > 30
    for definition in exact:
        assert definition.numpy is not None, definition.type
        assert definition.kernel or definition.lower, definition.type
