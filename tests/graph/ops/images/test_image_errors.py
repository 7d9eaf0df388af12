"""Calls of functions on images that the originals refuse: the same class of error, in sessions and eagerly."""

import ast
import builtins
import json
from pathlib import Path

import numpy as np

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.golden.image_errors_cases import CASES, INPUTS, LATER
from tests.spread import spread
from towerstrat.graph.eager.mode import eager_mode

FOLDER = Path(__file__).parents[3] / "golden"
GOLDEN, GOLDEN_LATER = (json.loads((FOLDER / f"image_errors_{i}.json").read_text()) for i in (1, 2))
TAKEN = "taken"


def used(text):
    return sorted({n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)} & INPUTS.keys())


def outcome(make, wanted):
    """``wanted`` where that is what happens, else what happens."""
    try:
        make()
    except Exception as error:
        kind = getattr(tf.errors, wanted, None) or getattr(builtins, wanted, ())
        return wanted if isinstance(error, kind) else f"{type(error).__name__}: {error}"
    return TAKEN


def in_session(text, fed):
    names = used(text)
    with tf.Graph().as_default(), tf.Session() as session:
        constants = [tf.constant(INPUTS[n]) for n in names]
        tensors = [tf.placeholder(c.dtype) for c in constants] if fed else constants
        found = eval(text, {"tf": tf, "np": np, **dict(zip(names, tensors, strict=True))})
        session.run(found, dict(zip(tensors, (INPUTS[n] for n in names), strict=True)) if fed else {})


def eagerly(text):
    with eager_mode():
        eval(text, {"tf": tf2, "np": np, **{n: tf2.constant(INPUTS[n]) for n in used(text)}})


ANY_RANK = "1.12 turned what has another rank without a word; later versions look at the rank"
EARLIER = "AssertionErrors and IndexErrors of the original's Python are ValueErrors"
UNKNOWN = "shapes need not be known while the graph is built"
V2_TYPES = "the AttributeError of 2.x"
NO_END = "an OutOfRangeError would end the data"
CONVERTED = "the ValueError of tf.convert_to_tensor"
NEWER = "later versions take it"
NONE = "none are chosen, as in 1.12"
DIFFERENT = {
    "tf.contrib.image.compose_transforms()": EARLIER,
    **dict.fromkeys((f"tf.image.rgb_to_{name}(scalar)" for name in ("grayscale", "yiq", "yuv")), EARLIER),
    **dict.fromkeys((f"tf.image.flip_{name}" for name in (
        "left_right(scalar)", "left_right(flat)", "up_down(scalar)")), ANY_RANK),
    **dict.fromkeys(("tf.image.random_flip_left_right(flat)", "tf.image.random_flip_up_down(row)"), ANY_RANK),
    **dict.fromkeys((f"tf.image.per_image_standardization({image})" for image in ("scalar", "flat")), ANY_RANK),
    "tf.image.per_image_standardization(five)": NEWER,
    **dict.fromkeys((text for text in CASES if text.startswith("tf.image.non_max_suppression_overlaps")), NEWER),
    **dict.fromkeys((text for text in CASES if text.startswith("tf.contrib.image.dense_image_warp")), UNKNOWN),
    "tf.image.adjust_brightness(truths, 0.1)": V2_TYPES,
    "tf.image.convert_image_dtype(image, tf.string)": V2_TYPES,
    "tf.image.crop_and_resize(batch, boxes, far_owner, [2, 2])": NO_END,
    "tf.image.crop_and_resize(batch, boxes, scores, [2, 2])": CONVERTED,
    "tf.image.decode_jpeg(scalar)": CONVERTED,
    "tf.image.non_max_suppression(boxes, scores, -1)": NONE,
    "tf.image.non_max_suppression_padded(boxes, scores, -1, pad_to_max_output_size=True)": NONE,
}  # fmt: skip
"""What is not as in one of the originals, and why."""


def alike(text, make, wanted):
    """What the original finds when it runs may be a ValueError or TypeError of the call that makes the operation.

    All errors of that kind are InvalidArgumentErrors when it runs: the originals have some others too.
    """
    found = outcome(make, wanted)
    if found == wanted:
        return True
    of_runs = issubclass(getattr(tf.errors, wanted, type(None)), tf.errors.OpError)
    earlier = found.startswith(("ValueError", "TypeError", "InvalidArgumentError"))
    return (of_runs and earlier and text not in DIFFERENT) or found


@spread("text", CASES, every=29)
def test_errors_in_sessions(text):
    found = [alike(text, lambda fed=fed: in_session(text, fed), GOLDEN[text][fed]) for fed in (False, True)]
    assert found == [True, True] or text in DIFFERENT, found


@spread("text", LATER, every=31)
def test_errors_eagerly(text):
    found = alike(text, lambda: eagerly(text), GOLDEN_LATER[text])
    assert found is True or text in DIFFERENT, found
