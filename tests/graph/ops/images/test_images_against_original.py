"""Images against what TensorFlow 1.12 and 2.15 make of the same expressions and files."""

import ast
import base64
from functools import cache

import numpy as np

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.golden import goldens
from tests.golden.images_cases import CASES, FILES, INPUTS, LATER
from tests.spread import spread
from towerstrat.graph.eager.mode import eager_mode
from towerstrat.graph.ir import nest

IMAGES = {name: base64.b64decode(data) for name, data in goldens.facts("images_files").items()}
NOISE = "tf.image.extract_glimpse(photo, [2, 3], [[1.5, 2.0], [1.0, 2.5]], centered=False, normalized=False)"
LIMITS = {np.float16: 2e-3, np.float32: 1e-5, np.float64: 1e-5}


@cache
def golden(api):
    return goldens.arrays(f"images_{api}")


def used(text):
    return sorted({n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)} & INPUTS.keys())


def evaluated(text, api, tensors):
    return [tf.convert_to_tensor(t) for t in nest.flatten(eval(text, {"tf": api, "np": np, **tensors}))]


def alike(text, found, wanted):
    assert found.dtype == wanted.dtype, text
    assert found.shape == wanted.shape, text
    if wanted.dtype.kind != "f":
        assert np.array_equal(found, wanted), (text, found, wanted)
        return
    limit = LIMITS[wanted.dtype.type]
    np.testing.assert_allclose(found, wanted, limit, limit * max(1, np.abs(wanted).max(initial=0)), err_msg=text)


def seed(value):
    return np.cos(np.arange(value.size)).reshape(value.shape).astype(value.dtype)


def slopes_alike(text, api, found):
    stored = golden(api)
    if f"{text}/refused" in stored:
        return
    for i, slope in enumerate(found):
        wanted = stored.get(f"{text}/slope{i}")
        assert (slope is None) == (wanted is None), text
        if slope is not None:
            alike(text, slope, wanted)


def check_values(text, api, values):
    wanted = [golden(api)[f"{text}/value{i}"] for i in range(len(values))]
    assert f"{text}/value{len(values)}" not in golden(api)
    for found, value in zip(values, wanted, strict=True):
        alike(text, np.asarray(found), value)
    return wanted


def in_session(text, shaped):
    names = used(text)
    tensors = {
        n: tf.placeholder(INPUTS[n].dtype, INPUTS[n].shape if shaped else [None] * INPUTS[n].ndim) for n in names
    }
    feeds = {tensors[n]: INPUTS[n] for n in names}
    outputs = evaluated(text, tf, tensors)
    with tf.Session() as session:
        values = session.run(outputs, feeds)
        check_values(text, 1, values)
        assert all(o.shape.is_compatible_with(v.shape) for o, v in zip(outputs, values, strict=True)), text
        sources = [t for t in tensors.values() if t.dtype.is_floating]
        real = [(o, seed(v)) for o, v in zip(outputs, values, strict=True) if o.dtype.is_floating]
        if shaped and sources and real:
            slopes = tf.gradients([o for o, _ in real], sources, [tf.constant(s) for _, s in real])
            slopes_alike(text, 1, [None if s is None else session.run(tf.convert_to_tensor(s), feeds) for s in slopes])


SAME = "tf.image.resize_images(shot, [4, 5])"
"""An image that is known to have the size already is left alone."""
SIZED = ("tf.contrib.image.sparse_image_warp", "tf.contrib.image.interpolate_spline")
"""These need sizes that are known while the graph is built, as in the original."""
STILL = [text for text in CASES if text != NOISE]


@spread("text", STILL)
def test_values_and_gradients_in_sessions(text):
    in_session(text, shaped=True)


ANY_SIZE = [text for text in STILL if text != SAME and not text.startswith(SIZED)]


@spread("text", ANY_SIZE, every=37)
def test_values_of_images_whose_sizes_are_not_known(text):
    in_session(text, shaped=False)


@spread("text", LATER, every=29)
def test_values_and_gradients_eagerly(text):
    with eager_mode():
        tensors = {n: tf2.constant(INPUTS[n]) for n in used(text)}
        sources = [t for t in tensors.values() if t.dtype.is_floating]
        with tf2.GradientTape() as tape:
            tape.watch(sources)
            outputs = evaluated(text, tf2, tensors)
        values = check_values(text, 2, [o.numpy() for o in outputs])
        real = [(o, tf2.constant(seed(v))) for o, v in zip(outputs, values, strict=True) if o.dtype.is_floating]
        if sources and real and f"{text}/refused" not in golden(2):
            slopes = tape.gradient([o for o, _ in real], sources, [s for _, s in real])
            slopes_alike(text, 2, [None if s is None else tf2.convert_to_tensor(s).numpy() for s in slopes])


@spread("text", ANY_SIZE, every=19)
def test_values_in_functions_of_datasets(text):
    """The sizes of what a dataset's function gets are not known here: numpy computes what it can."""
    names = used(text)
    kinds = tuple(tf.as_dtype(INPUTS[n].dtype) for n in names)
    shapes = tuple([None] * INPUTS[n].ndim for n in names)
    elements = tf.data.Dataset.from_generator(lambda: iter([tuple(INPUTS[n] for n in names)]), kinds, shapes)
    mapped = elements.map(lambda *tensors: tuple(evaluated(text, tf, dict(zip(names, tensors, strict=True)))))
    with tf.Session() as session:
        check_values(text, 1, session.run(mapped.make_one_shot_iterator().get_next()))


# ---- files -------------------------------------------------------------------------------------------------------

APART = {
    **{(f"bmp_{kind}", "tf.image.decode_image"): "1.12 compares channels with a byte of something else" for kind in (
        "grey", "rgb", "rgba")},
    **{(f"jpeg_{kind}", "tf.image.decode_and_crop_jpeg"): "1.12 smooths the colours of its window as if it ended there"
       for kind in ("1", "2", "progressive", "truncated")},
}  # fmt: skip
"""What is not equal, and why."""


@spread("name", sorted(IMAGES), every=7)
def test_files_are_decoded_to_the_last_bit(name):
    with tf.Session() as session:
        for text in FILES:
            wanted = golden(1)[f"{name}/{text}"]
            try:
                found = session.run(eval(text, {"tf": tf, "file": tf.constant(IMAGES[name])}))
            except tf.errors.OpError as error:
                found = np.array(type(error).__name__)
            if (name, text.partition("(")[0]) in APART:
                continue
            assert found.dtype == wanted.dtype, (text, found, wanted)
            assert np.array_equal(found, wanted), (text, found, wanted)


def test_what_is_encoded_is_decoded():
    shot = INPUTS["shot"]
    with tf.Session() as session:
        for channels in (1, 2, 3, 4):
            for kind in (np.uint8, np.uint16):
                pixels = np.resize(shot, (4, 5, channels)).astype(kind) * (257 if kind is np.uint16 else 1)
                file = session.run(tf.image.encode_png(pixels, compression=3))
                dtype = tf.as_dtype(kind)
                assert np.array_equal(session.run(tf.image.decode_png(file, 0, dtype)), pixels)
        fine = session.run(tf.image.decode_jpeg(tf.image.encode_jpeg(shot, quality=100, chroma_downsampling=False)))
        assert np.abs(fine.astype(int) - shot).max() < 20
        assert session.run(tf.image.adjust_jpeg_quality(shot, 30)).shape == shot.shape


def test_an_image_of_one_colour_stays_as_it_is():
    grey = np.full([8, 8, 1], 120, np.uint8)
    with tf.Session() as session:
        stored = tf.image.decode_jpeg(tf.image.encode_jpeg(grey, quality=100))
        for found in session.run([stored, tf.image.adjust_jpeg_quality(grey, 100)]):
            assert np.array_equal(found, grey)
