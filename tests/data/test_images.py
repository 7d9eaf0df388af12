"""Pipelines of images: files of different sizes, in order and ahead in threads."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.golden.images_cases import INPUTS
from tests.spread import spread
from towerstrat.data.pipeline import batching, function_steps, mapping
from towerstrat.graph.ops.images import resize_kernels

FILES = json.loads((Path(__file__).parents[1] / "golden" / "images_files.json").read_text())
PHOTOS = [base64.b64decode(FILES[f"jpeg_{name}"]) for name in ("0", "1", "2", "grey", "cmyk", "progressive")]


def distorted(data):
    image = tf.image.convert_image_dtype(tf.image.decode_jpeg(data, channels=3), tf.float32)
    begin, size, _ = tf.image.sample_distorted_bounding_box(tf.shape(image), [[[0.0, 0.0, 1.0, 1.0]]], seed=3)
    image = tf.image.random_flip_left_right(tf.slice(image, begin, size), seed=4)
    image = tf.image.resize_images(image, [5, 6])
    image.set_shape([5, 6, 3])
    return tf.image.random_hue(image, 0.2, seed=5)


def elements(data):
    following = data.make_one_shot_iterator().get_next()
    found = []
    with tf.Session() as session:
        while True:
            try:
                found.append(session.run(following))
            except tf.errors.OutOfRangeError:
                return found


@pytest.mark.long
def test_images_are_equal_however_many_are_made_at_a_time():
    one, four = (elements(tf.data.Dataset.from_tensor_slices(PHOTOS).map(distorted, calls)) for calls in (None, 4))
    assert len(one) == len(PHOTOS)
    assert np.array_equal(one, four)
    assert len({image.tobytes() for image in one}) == len(one)


def test_an_image_that_cannot_be_decoded_is_an_error_in_its_place():
    data = tf.data.Dataset.from_tensor_slices([*PHOTOS[:3], b"no image", PHOTOS[4]])
    following = data.map(lambda file: tf.image.decode_jpeg(file, 3), 2).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        for photo in PHOTOS[:3]:
            assert np.array_equal(session.run(following), session.run(tf.image.decode_jpeg(photo, 3)))
        with pytest.raises(tf.errors.InvalidArgumentError, match="unknown format starting with 'no image'"):
            session.run(following)
        assert session.run(following).shape == (9, 11, 3)


def test_nothing_is_compiled_for_the_size_of_an_image(monkeypatch):
    """What works on images before they have one size is numpy's; draws and colours are compiled once."""
    segments = []

    def noted(self, *arguments):
        segments.append(self)
        made(self, *arguments)

    made = function_steps.Segment.__init__
    monkeypatch.setattr(function_steps.Segment, "__init__", noted)
    assert len(elements(tf.data.Dataset.from_tensor_slices(PHOTOS).map(distorted))) == len(PHOTOS)
    assert len(segments) == 2
    assert all(len(segment._programs) == 1 for segment in segments)


def floats(data):
    return tf.image.convert_image_dtype(tf.image.decode_jpeg(data, channels=3), tf.float32)


def crop(image, *before):
    return tf.slice(image, [0] * len(before) + [1, 0, 0], [*before, 2, 4, 3])


def used_twice(data):
    image = floats(data)
    return crop(image), tf.reduce_max(image)


def through_moves(data):
    image = tf.expand_dims(floats(data), 0)
    with tf.control_dependencies([tf.assert_positive(tf.shape(image))]):
        image = tf.identity(image)
    part = tf.squeeze(tf.slice(image, [0, 1, 0, 0], [1, tf.shape(image)[1] - 2, 4, 3]), 0)
    return tf.image.resize_images(part, [3, 7]) - 0.5, tf.shape(image)


SCALED = {
    "a slice": lambda data: crop(floats(data) * 2.0 - 1.0),
    "a size": lambda data: tf.image.resize_images(floats(data), [6, 4]),
    "a size of shifted numbers": lambda data: tf.image.resize_images(floats(data) + 0.5, [4, 4]),
    "moves": through_moves,
    "a cast after a size": lambda data: crop(tf.cast(tf.image.resize_images(floats(data) * 9, [6, 4], 2), tf.uint8)),
    "casts both ways": lambda data: crop(tf.cast(tf.cast(floats(data) * 300, tf.uint8), tf.float32)),
    "half precision": lambda data: tf.image.resize_images(tf.cast(floats(data), tf.float16), [3, 3]),
    "the image itself": lambda data: (floats(data), crop(floats(data))),
    "used twice": used_twice,
}


@spread("name", list(SCALED), every=3)
def test_what_scales_an_image_may_wait(name, monkeypatch):
    found = elements(tf.data.Dataset.from_tensor_slices(PHOTOS).map(SCALED[name]))
    moved, late = [], function_steps._scaled_late
    monkeypatch.setattr(function_steps, "_scaled_late", lambda *arguments: moved.append(late(*arguments)) or {})
    wanted = elements(tf.data.Dataset.from_tensor_slices(PHOTOS).map(SCALED[name]))
    for a, b in zip(tf.contrib.framework.nest.flatten(found), tf.contrib.framework.nest.flatten(wanted), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, 1e-5, 1e-6)
    assert any(moved) == (name not in ("half precision", "a size of shifted numbers", "used twice"))


def test_threads_of_a_map_go_on_while_results_wait(monkeypatch):
    """Each element is begun when one is handed out, and not when all that were begun are."""
    begun = []
    begin = mapping._Threads.begin
    monkeypatch.setattr(
        mapping._Threads, "begin", lambda self, *given: (begin(self, *given), begun.append(len(self.begun)))
    )
    data = tf.data.Dataset.from_tensor_slices(PHOTOS * 3).map(lambda file: tf.image.decode_jpeg(file, 3)[:2, :1], 2)
    assert len(elements(data)) == 3 * len(PHOTOS)
    assert min(begun[: 2 * len(PHOTOS)]) > 2


@pytest.mark.parametrize("size", [2, 3, 7])
def test_batches_of_large_elements(size, monkeypatch):
    data = tf.data.Dataset.range(7).map(lambda x: (tf.fill([2, 3], x), tf.as_string(x))).batch(size)
    wanted = elements(data)
    monkeypatch.setattr(batching, "_LARGE", 0)
    for a, b in zip(elements(data), wanted, strict=True):
        assert [x.tolist() for x in a] == [x.tolist() for x in b]
    assert len(elements(tf.data.Dataset.range(7).batch(size, drop_remainder=True))) == 7 // size
    uneven = tf.data.Dataset.range(4).map(lambda x: (tf.as_string(x), tf.fill([1 + x // 2], x))).batch(4)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"had shape \[1\] and element 2 had shape \[2\]"):
        elements(uneven)


@pytest.mark.long
def test_a_random_crop_of_images_of_any_size_is_a_part_of_them():
    shot = INPUTS["shot"]
    data = tf.data.Dataset.from_generator(lambda: iter([shot, shot[:3]]), tf.uint8, [None, None, None])
    for whole, part in zip([shot, shot[:3]], elements(data.map(lambda x: tf.random_crop(x, [2, 3, 3]))), strict=True):
        assert part.tobytes() in {
            whole[y : y + 2, x : x + 3].tobytes() for y in range(len(whole) - 1) for x in range(whole.shape[1] - 2)
        }


@spread(("method", "size"), [(m, size) for m in ("bilinear", "bicubic", "area") for size in ((9, 4), (3, 12))], every=3)
def test_mirrored_images_are_resized_as_they_lie(method, size):
    images = np.random.default_rng(0).random((2, 5, 7, 3)).astype(np.float32)
    for view in (images[:, ::-1], images[:, :, ::-1], images[:, ::-1, 1::-2], images[..., ::-1], images[:0]):
        found = resize_kernels.resize_on_host(view, np.array(size), method=method)
        wanted = resize_kernels.resize_on_host(view.copy(), np.array(size), method=method)
        np.testing.assert_allclose(found, wanted, 1e-5, 1e-6)
