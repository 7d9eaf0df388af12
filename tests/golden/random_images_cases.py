"""What is drawn again and again: functions of ``tf`` that give one draw as a float32 vector, and how it is counted."""

import numpy as np

COUNT = 4000
IMAGE = np.linspace(0.2, 0.8, 4 * 5 * 3, dtype="float32").reshape(4, 5, 3)
ROWS = np.concatenate([IMAGE[None] * 3 - 1, IMAGE[None] * 20 + 7])
ROWS[:, :, :, 1] -= 2


def of_part(**arguments):
    """The top, left, height and width of a part of an image."""

    def draw(tf):
        begin, size, _ = tf.image.sample_distorted_bounding_box([40, 60, 3], [[[0.1, 0.2, 0.7, 0.9]]], **arguments)
        return tf.cast(tf.concat([begin[:2], size[:2]], 0), tf.float32)

    return draw


def of_image(make):
    """Some values of a changed image."""
    return lambda tf: tf.reshape(make(tf, tf.constant(IMAGE)), [-1])[:4]


DRAWS = {
    "part": of_part(min_object_covered=0.1),
    "small part": of_part(min_object_covered=0.3, aspect_ratio_range=[0.5, 2.0], area_range=[0.1, 0.5]),
    "hard part": of_part(min_object_covered=1.0, area_range=[0.3, 0.5], max_attempts=3),
    "brightness": of_image(lambda tf, image: tf.image.random_brightness(image, 0.25)),
    "contrast": of_image(lambda tf, image: tf.image.random_contrast(image, 0.5, 1.75)),
    "hue": of_image(lambda tf, image: tf.image.random_hue(image, 0.2)),
    "saturation": of_image(lambda tf, image: tf.image.random_saturation(image, 0.25, 1.5)),
    "sides": of_image(lambda tf, image: tf.image.random_flip_left_right(image)),
    "up and down": of_image(lambda tf, image: tf.image.random_flip_up_down(image)),
    "crop": of_image(lambda tf, image: tf.random_crop(image, [2, 2, 3])),
}


NOISE = {"uniform noise": True, "gaussian noise": False}


def drawn(tf, name):
    """``COUNT`` draws, ``[COUNT, n]``. One glimpse has all of the noise: the original draws it anew for no other."""
    if name in NOISE:
        glimpse = tf.image.extract_glimpse(
            tf.constant(ROWS), [50, 80], [[-99.0, 0.0]] * 2, normalized=False, uniform_noise=NOISE[name]
        )
        return tf.reshape(tf.transpose(glimpse, [1, 2, 0, 3]), [COUNT, 6])
    return tf.map_fn(lambda _: tf.cast(DRAWS[name](tf), tf.float32), tf.range(COUNT), tf.float32, parallel_iterations=1)
