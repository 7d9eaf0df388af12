"""What is drawn for images is distributed as what the original draws."""

import json
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.golden.random_images_cases import COUNT, DRAWS, NOISE, drawn
from tests.spread import spread
from towerstrat.graph.eager.mode import eager_mode

GOLDEN = json.loads((Path(__file__).parents[3] / "golden/random_images.json").read_text())
SURE = 4.5
"""Standard deviations that a mean or a share may be off by."""


@spread("name", ["brightness", *sorted({*DRAWS, *NOISE} - {"brightness"})], every=20)
def test_distributions(name):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(3)
        draws = session.run(drawn(tf, name))
    golden = GOLDEN[name]
    limits, below = np.float32(golden["limits"]), np.array(golden["below"])
    step = 1e-5 * np.maximum(1, np.abs(limits))
    for limit, share, room in zip(limits, below, step, strict=True):
        least, most = ((draws <= limit + sign * room).mean(axis=0) for sign in (-1, 1))
        off = SURE * np.sqrt(np.maximum(share * (1 - share), 1 / COUNT) * 2 / COUNT)
        assert np.all((least <= share + off) & (share - off <= most)), (name, limit, share, least, most)
    error = SURE * np.array(golden["deviation"]) * np.sqrt(2 / COUNT) + 1e-5
    np.testing.assert_array_less(np.abs(draws.mean(axis=0) - golden["mean"]), error)


def test_qualities():
    """1.12 drew one quality while the graph was built; as later, each run draws its own."""
    pixels = np.random.RandomState(0).randint(0, 256, (8, 8, 3)).astype("uint8")
    with tf.Graph().as_default(), tf.Session() as session:
        wanted = session.run([tf.image.adjust_jpeg_quality(pixels, quality) for quality in (20, 21, 22)])
        found = tf.image.random_jpeg_quality(pixels, 20, 23)
        seen = {session.run(found).tobytes() for _ in range(60)}
    assert seen == {image.tobytes() for image in wanted}


def test_crops_by_seed():
    image = np.arange(30).reshape(5, 6)
    with eager_mode():
        parts = [tf2.image.stateless_random_crop(image, [4, 6], [7, i]).numpy() for i in range(24)]
        again = tf2.image.stateless_random_crop(image, [4, 6], [7, 0]).numpy()
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Need value.shape >= size"):
            tf2.image.stateless_random_crop(image, [4, 7], [7, 0])
    assert {part.tobytes() for part in parts} == {image[:4].tobytes(), image[1:].tobytes()}
    assert np.array_equal(again, parts[0])


@pytest.mark.parametrize("seeded", [True, False])
def test_a_part_and_its_box_agree(seeded):
    boxes = [[[0.1, 0.2, 0.7, 0.9]]]
    with eager_mode():
        if seeded:
            begin, size, box = tf2.image.stateless_sample_distorted_bounding_box([40, 60, 3], boxes, [1, 2])
        else:
            begin, size, box = tf2.image.sample_distorted_bounding_box([40, 60, 3], boxes, seed=3)
        (top, left, first), (height, width, channels) = begin.numpy(), size.numpy()
    assert (first, channels) == (0, -1)
    wanted = [top / 40, left / 60, (top + height) / 40, (left + width) / 60]
    np.testing.assert_allclose(box.numpy()[0, 0], wanted, rtol=1e-6)
