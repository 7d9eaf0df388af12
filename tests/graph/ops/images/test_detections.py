"""Boxes of detectors, pairs, components and warps beside the same written in plain Python, and in towers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.spread import spread
from towerstrat.graph.eager.mode import eager_mode

# ---- detections --------------------------------------------------------------------------------------------------


def common(a, b):
    """The intersection of two boxes over their union."""
    (low, high), (low_b, high_b) = ((np.minimum(c[:2], c[2:]), np.maximum(c[:2], c[2:])) for c in (a, b))
    both = np.prod(np.maximum(np.minimum(high, high_b) - np.maximum(low, low_b), 0))
    areas = np.prod(high - low), np.prod(high_b - low_b)
    return both / (sum(areas) - both) if min(areas) > 0 else 0.0


def chosen(boxes, scores, most, limit, least=-np.inf):
    found = []
    for i in sorted(range(len(scores)), key=lambda i: -scores[i]):
        if len(found) < most and scores[i] > least and all(common(boxes[i], boxes[j]) <= limit for j in found):
            found.append(i)
    return found


def combined(boxes, scores, of_class, of_all, limit, least):
    """Of one image: boxes, scores and classes, without what fills them up."""
    found = [
        (scores[i, c], c, boxes[i, 0 if boxes.shape[1] == 1 else c])
        for c in range(scores.shape[1])
        for i in chosen(boxes[:, 0 if boxes.shape[1] == 1 else c], scores[:, c], of_class, limit, least)
    ]
    return sorted(found, key=lambda one: -one[0])[:of_all]


def proposals(scores, deltas, info, anchors, limit, first, least, most):
    """Of one image: boxes and scores."""
    scores, deltas, anchors = scores.reshape(-1), deltas.reshape(-1, 4), anchors.reshape(-1, 4)
    boxes, kept = [], []
    for i in np.argsort(-scores, kind="stable")[:first]:
        sides = anchors[i, 2:] - anchors[i, :2]
        middle = anchors[i, :2] + sides / 2 + sides * deltas[i, :2]
        half = sides / 2 * np.exp(np.minimum(deltas[i, 2:], np.log(1000 / 16)))
        box = np.clip(np.concatenate([middle - half, middle + half]), 0, np.tile(info[:2], 2))
        if min(box[2:] - box[:2]) >= least * info[2]:
            boxes.append(box)
            kept.append(scores[i])
    places = chosen(boxes, kept, most, limit)
    return np.array([boxes[i] for i in places]).reshape(-1, 4), np.array([kept[i] for i in places])


@pytest.mark.long
@given(st.integers(0, 2**16), st.integers(1, 9), st.integers(1, 9), st.booleans(), st.booleans())
def test_combined_suppression(seed, of_class, of_all, shared, padded):
    random = np.random.RandomState(seed)
    boxes = random.randint(0, 33, (2, 7, 1 if shared else 3, 4)).astype("float32") / 16
    scores = random.permutation(42).reshape(2, 7, 3).astype("float32") / 42
    with eager_mode():
        found = tf2.image.combined_non_max_suppression(boxes, scores, of_class, of_all, 0.4, 0.1, padded, False)
        many = min(of_all, of_class * 3) if padded else of_all
        assert found.nmsed_boxes.shape.as_list() == [2, many, 4]
        for i, wanted in enumerate(combined(*image, of_class, many, 0.4, 0.1) for image in zip(boxes, scores)):  # noqa: B905
            n = int(found.valid_detections[i])
            assert n == len(wanted)
            for place, (score, owner, box) in enumerate(wanted):
                assert (found.nmsed_scores[i, place].numpy(), found.nmsed_classes[i, place].numpy()) == (score, owner)
                assert np.array_equal(found.nmsed_boxes[i, place].numpy(), box)
            assert not any(part[i, n:].numpy().any() for part in found[:3])


@pytest.mark.long
def test_proposals():
    random = np.random.RandomState(0)
    scores = random.permutation(2 * 3 * 4 * 2).reshape(2, 3, 4, 2).astype("float32")
    deltas = random.uniform(-0.6, 0.6, (2, 3, 4, 8)).astype("float32")
    deltas[0, 0, 0, 2:4] = 9
    info = np.array([[60, 80, 1.5, 0, 0], [100, 90, 0.5, 0, 0]], "float32")
    corners = random.uniform(0, 60, (3, 4, 2, 2)).astype("float32")
    anchors = np.concatenate([corners, corners + random.uniform(5, 40, (3, 4, 2, 2))], -1).astype("float32")
    with eager_mode():
        boxes, values = tf2.image.generate_bounding_box_proposals(
            scores, deltas, info, anchors.reshape(3, 4, 8), 0.4, 20, 16.0, 17
        )
    for i in range(2):
        wanted, kept = proposals(scores[i], deltas[i], info[i], anchors, 0.4, 20, 16.0, 17)
        assert 0 < len(kept) < 17
        np.testing.assert_allclose(boxes.numpy()[i, : len(kept)], wanted, 1e-5, 1e-4)
        assert np.array_equal(values.numpy()[i], np.concatenate([kept, np.zeros(17 - len(kept))]))
        assert not boxes.numpy()[i, len(kept) :].any()


# ---- pairs and components ----------------------------------------------------------------------------------------

PAIRS = [
    ([[2.0, 3.0, 1.0], [0.0, 5.0, 4.0]], -1.0, -1, [2, 0], [1, -1, 0]),
    ([[2.0, 3.0, 1.0], [0.0, 5.0, 4.0]], -1.0, 1, [-1, 0], [1, -1, -1]),
    ([[2.0, 3.0, 1.0], [0.0, 5.0, 4.0]], [1.0], 0, [2, -1], [-1, -1, 0]),
    ([[1.5], [0.5], [1.0]], 0.0, -1, [-1, -1, -1], [-1]),
]
"""Distances, rows, most, and the two results of 1.15."""


@spread(("distances", "rows", "most", "columns_of_rows", "rows_of_columns"), PAIRS, every=3)
def test_pairs(distances, rows, most, columns_of_rows, rows_of_columns):
    with eager_mode():
        found = tf.contrib.image.bipartite_match(distances, rows, most)
        assert [part.numpy().tolist() for part in found] == [columns_of_rows, rows_of_columns]


def test_there_must_be_so_many_rows():
    message = "There should be at least 3 rows in distance_mat, but only got 1 rows"
    with eager_mode(), pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.contrib.image.bipartite_match([[1.0]], 3.0)
    with tf.Graph().as_default(), tf.Session() as session:
        rows = tf.placeholder(tf.float32, [])
        found = tf.contrib.image.bipartite_match([[1.0]], rows)
        assert session.run(found, {rows: 1.0})[0].tolist() == [0]
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.run(found, {rows: 3.0})


def components(images):
    """By filling from each pixel that is not filled yet."""
    numbers, count = np.zeros(images.shape, np.int32), 0
    for place in np.ndindex(images.shape):
        if not images[place] or numbers[place]:
            continue
        count += 1
        open_places = [place]
        while open_places:
            i, y, x = open_places.pop()
            inside = 0 <= y < images.shape[1] and 0 <= x < images.shape[2]
            if inside and not numbers[i, y, x] and images[i, y, x] == images[place]:
                numbers[i, y, x] = count
                open_places += [(i, y + 1, x), (i, y - 1, x), (i, y, x + 1), (i, y, x - 1)]
    return numbers


@pytest.mark.long
@given(st.integers(0, 2**16), st.integers(1, 3), st.sampled_from([(4, 5), (9, 7), (1, 6)]))
def test_components(seed, kinds, shape):
    images = np.random.RandomState(seed).randint(0, kinds + 1, (2, *shape))
    with eager_mode():
        assert np.array_equal(tf.contrib.image.connected_components(images).numpy(), components(images))


@pytest.mark.long
def test_a_component_that_winds():
    """A spiral needs many rounds of neighbours, were it not for shortcuts."""
    image = np.ones((11, 11), np.int32)
    for i in range(1, 9, 2):
        image[i, i : 11 - i] = image[i : 11 - i, 10 - i] = 0
        image[10 - i, i : 11 - i] = image[i + 2 : 11 - i, i] = 0
    with tf.Graph().as_default(), tf.Session() as session:
        given = tf.placeholder(tf.int32, [None, None])
        found = session.run(tf.contrib.image.connected_components(given), {given: image})
    assert np.array_equal(found, components(image[None])[0])


# ---- in towers ---------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_towers():
    """Each tower has images of its own; gradients of a warp reach a variable."""
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver("")
    strategy = tf.contrib.distribute.TPUStrategy(resolver, num_cores=2)
    pixels = np.random.RandomState(0).rand(4, 3, 4, 1).astype("float32")
    with tf.Graph().as_default(), strategy.scope(), tf.Session() as session:
        flow = tf.get_variable("flow", [1, 3, 4, 2], initializer=tf.constant_initializer(0.25))

        def tower(images):
            bent = tf.contrib.image.dense_image_warp(images, tf.tile(flow, [2, 1, 1, 1]))
            (slope,) = tf.gradients(tf.reduce_sum(bent), [flow])
            numbers = tf.contrib.image.connected_components(images[..., 0] > 0.5)
            boxes, scores = images[:, :, :, 0], images[:, :, 0, 0]
            marked = tf.image.draw_bounding_boxes(images, boxes[:, :1] * 0.5)
            detected = tf.image.combined_non_max_suppression(boxes[:, :, None], scores[..., None], 2, 2)
            single = tf.image.non_max_suppression_padded(boxes[0], scores[0], 2, pad_to_max_output_size=True)[0]
            pairs = tf.contrib.image.bipartite_match(images[0, :, :, 0], -1.0)
            return bent, numbers, slope, marked, detected.nmsed_scores, single, pairs[0]

        images = strategy.distribute_dataset(lambda: tf.data.Dataset.from_tensor_slices(pixels).batch(2, True))
        found = strategy.call_for_each_tower(tower, images.make_one_shot_iterator().get_next(), run_concurrently=False)
        session.run(tf.global_variables_initializer())
        bent, numbers, slopes, *others = session.run([strategy.unwrap(part) for part in found])
    assert all(len(part) == 2 for part in others)
    with tf.Graph().as_default(), tf.Session() as session:
        alone = tf.constant(0.25, shape=[1, 3, 4, 2])
        warped = tf.contrib.image.dense_image_warp(tf.constant(pixels), tf.tile(alone, [4, 1, 1, 1]))
        wanted, slope = session.run([warped, tf.gradients(warped, alone)[0]])
    np.testing.assert_allclose(np.concatenate(bent), wanted, 1e-6)
    np.testing.assert_allclose(sum(slopes), slope, 1e-5, 1e-6)
    assert np.array_equal(numbers[0], components(pixels[:2, ..., 0] > 0.5))
