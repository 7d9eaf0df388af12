"""Bounds, sizes and masks that are Python values of a tower: each tower gets what it gets by itself."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.spread import spread
from tests.towers.common import tpu
from towerstrat.errors import UnsupportedError

ROWS = np.arange(72, dtype=np.float32).reshape(3, 4, 6) / 8

SLICES = {
    "begin": lambda h, i: h[i : i + 1] * 2.0,
    "index": lambda h, i: h[:, i],
    "from the end": lambda h, i: h[-1 - i],
    "box": lambda h, i: tf.slice(h, [0, i], [-1, 2]),
    "the rest of a box": lambda h, i: tf.slice(h, [i, 0], [1, -1]),
    "strided": lambda h, i: h[:, i : i + 4 : 2],
    "backwards": lambda h, i: h[3 - i :: -4],
    "two bounds and an axis": lambda h, i: h[tf.newaxis, i, 2 * i : 2 * i + 2],
    "computed": lambda h, i: h[tf.constant(i) + 0 : tf.constant(i) + 1],
    "crop": lambda h, i: tf.image.crop_to_bounding_box(tf.reshape(h, [1, 4, 6, 1]), 0, i, 2, 3),
    "swapped": lambda h, i: tf.concat([h[i : i + 1], h[i + 1 : i + 2]], 0),
}
"""Slices of one shape."""

SIZES = {
    "first": lambda h, i: h[:, i:],
    "last": lambda h, i: h[:, : i + 1],
    "step": lambda h, i: h[:, :: i + 1],
    "box": lambda h, i: tf.slice(h, [i, 0], [-1, 3]),
    "size": lambda h, i: tf.slice(h, [0, 0], [i + 1, 3]),
    "rotated": lambda h, i: tf.concat([h[:, i:], h[:, :i]], 1),
    "resized": lambda h, i: tf.image.resize_images(tf.reshape(h, [1, 4, 6, 1]), [2 + i, 3]),
    "mask": lambda h, i: tf.boolean_mask(h, [k >= i for k in range(4)]),
    "mask of one size": lambda h, i: tf.boolean_mask(h, [k == i for k in range(4)]),
    "segments": lambda h, i: tf.segment_sum(h, [0, 0, i, i + 1]),
    "partition": lambda h, i: tf.dynamic_partition(h, [0, min(i, 1), 1, 1], 2)[1],
    "in a loop": lambda h, i: tf.while_loop(
        lambda k, _: k < i + 1, lambda k, z: (k + 1, 2.0 * z + tf.reduce_sum(h[:, i:])), (0, h[0, 0])
    )[1],
}
"""Results of different shapes, or loops of different lengths."""

CONSTANTS = {
    "mask": lambda h, i: tf.boolean_mask(h, [True, False, True, True]),
    "coordinates": lambda h, i: tf.gather_nd(h, tf.where([True, False, True, True])),
    "unique": lambda h, i: tf.gather(h, tf.unique([3, 3, 1])[0]),
    "segments": lambda h, i: tf.segment_mean(h, [0, 0, 2, 2]),
    "sparse segments": lambda h, i: tf.sparse_segment_sum(h, [0, 1, 3], [0, 0, 1]),
    "partition": lambda h, i: tf.dynamic_partition(h, [0, 1, 1, 0], 2)[1],
    "difference": lambda h, i: tf.gather(h, tf.setdiff1d([0, 1, 2, 3], [1])[0]),
    "in a branch": lambda h, i: tf.cond(
        tf.reduce_sum(h) > 40, lambda: tf.boolean_mask(h, [True, False, True, True])[0], lambda: h[1]
    ),
    "in a loop": lambda h, i: tf.while_loop(
        lambda k, _: k < 2, lambda k, z: (k + 1, 2 * z + tf.segment_sum(h, [0, 0, 1, 1])), (0, h[:2])
    )[1],
}
"""Results whose shape depends on values, which are constants."""


def mirrored(towers):
    return tf.contrib.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(towers)])


def with_gradient(form, h, i):
    y = form(h, i)
    weights = tf.reshape(tf.range(1.0, tf.to_float(tf.size(y)) + 1.0), tf.shape(y))
    return y, tf.convert_to_tensor(tf.gradients(tf.reduce_sum(weights * y * y), h)[0])


def alone(form, towers):
    """The values and gradients that each tower makes of its input, without a strategy."""
    with tf.Graph().as_default(), tf.Session() as sess:
        return sess.run([with_gradient(form, tf.constant(ROWS[i]), i) for i in range(towers)])


def together(form, strategy):
    """The same on towers, and the operations that not all of them run."""
    with tf.Graph().as_default() as graph, strategy.scope(), tf.Session() as sess:
        data = strategy.distribute_dataset(lambda: tf.data.Dataset.from_tensor_slices(ROWS))
        iterator = data.make_initializable_iterator()

        def tower(h):
            return with_gradient(form, h, tf.contrib.distribute.get_tower_context().tower_id)

        results = strategy.call_for_each_tower(tower, iterator.get_next())
        sess.run(iterator.initializer)
        found = sess.run([list(strategy.unwrap(each)) for each in results])
        return list(zip(*found, strict=True)), [op for op in graph.carried_out() if op.axis_indices is not None]


def check(form, strategy, towers):
    found, own = together(form, strategy)
    for ours, wanted in zip(found, alone(form, towers), strict=True):
        for value, expected in zip(ours, wanted, strict=True):
            assert value.shape == expected.shape
            np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-5)
    return own


@spread(("name", "towers"), [(name, towers) for name in SLICES for towers in (2, 3)], every=3)
def test_slices_of_one_shape_are_one_operation(name, towers):
    assert not check(SLICES[name], mirrored(towers), towers)


@spread(("name", "towers"), [(name, towers) for name in SLICES if name != "computed" for towers in (2, 3)], every=4)
def test_slices_by_the_symbolic_number_of_a_tower(name, towers):
    assert not check(SLICES[name], tpu(towers), towers)


def test_sizes_by_a_symbolic_number_are_refused_by_name():
    """The message says what works: a mask, a part of one size, towers that are programs of their own."""
    instead = r".*tf\.sequence_mask.*tf\.slice\(x, \[tower_id\], \[2\]\).*MirroredStrategy"
    with pytest.raises(UnsupportedError, match=r"strided_slice \(created at .*their shapes differ" + instead):
        together(SIZES["last"], tpu(2))
    with pytest.raises(UnsupportedError, match=r"Tile.*created at .*each tower has another" + instead):
        together(lambda h, i: tf.tile(h, [1, i + 1]), tpu(2))


SYMBOLIC = {
    "last": lambda h, i: h[:, : i + 1],
    "step": lambda h, i: h[:, :: i + 1],
    "box": lambda h, i: tf.slice(h, [0, 0], [-1, i + 1]),
    "tiled": lambda h, i: tf.tile(h, [1, i + 1]),
    "padded": lambda h, i: tf.pad(h, [[0, 0], [0, i]]),
    "masked": lambda h, i: tf.boolean_mask(h, tf.range(4) < i + 1),
    "mask instead": lambda h, i: tf.where(tf.tile(tf.sequence_mask([i + 1], 6), [4, 1]), h, tf.zeros_like(h)),
}
"""Sizes by a number of the tower that is a tensor."""


@spread(("name", "towers"), [(name, towers) for name in SYMBOLIC for towers in (2, 3)], every=5)
def test_sizes_by_a_number_that_is_a_tensor(name, towers):
    check(lambda h, i: SYMBOLIC[name](h, tf.convert_to_tensor(i)), mirrored(towers), towers)


def test_the_advised_mask_by_a_symbolic_number():
    check(SYMBOLIC["mask instead"], tpu(2), 2)


@spread(("name", "towers"), [(name, towers) for name in SIZES for towers in (2, 3)], every=3)
def test_sizes_of_a_towers_own(name, towers):
    assert check(SIZES[name], mirrored(towers), towers)


@spread(("name", "strategy"), [(name, make) for name in CONSTANTS for make in (mirrored, tpu)], every=3)
def test_shapes_that_follow_from_constants(name, strategy):
    assert not check(CONSTANTS[name], strategy(2), 2)


def test_an_index_out_of_a_towers_range_names_its_line():
    with pytest.raises(ValueError, match="slice index 4 of dimension 0 out of bounds"):
        together(lambda h, i: h[3 + i], mirrored(2))


def test_a_mask_that_is_computed_is_refused_by_name():
    with pytest.raises(UnsupportedError, match="shape depends on values"):
        together(lambda h, i: tf.boolean_mask(h, h[:, 0] > 1.0), mirrored(2))
