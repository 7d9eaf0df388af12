"""Pipelines of images: files of different sizes, in order and ahead in threads."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.golden.images_cases import INPUTS
from towerstrat.data import steps

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

    made = steps.Segment.__init__
    monkeypatch.setattr(steps.Segment, "__init__", noted)
    assert len(elements(tf.data.Dataset.from_tensor_slices(PHOTOS).map(distorted))) == len(PHOTOS)
    assert len(segments) == 2
    assert all(len(segment._programs) == 1 for segment in segments)


@pytest.mark.long
def test_a_random_crop_of_images_of_any_size_is_a_part_of_them():
    shot = INPUTS["shot"]
    data = tf.data.Dataset.from_generator(lambda: iter([shot, shot[:3]]), tf.uint8, [None, None, None])
    for whole, part in zip([shot, shot[:3]], elements(data.map(lambda x: tf.random_crop(x, [2, 3, 3]))), strict=True):
        assert part.tobytes() in {
            whole[y : y + 2, x : x + 3].tobytes() for y in range(len(whole) - 1) for x in range(whole.shape[1] - 2)
        }
