# ruff: noqa: UP031
"""Expressions about images that the originals and ours both evaluate, over ``tf`` and the names in ``INPUTS``.

``CASES`` are those of 1.12, ``LATER`` those of 2.15, ``FILES`` are about image files of images_files.json: over ``tf``
and ``file``. Floating inputs are differentiated.
"""

import numpy as np

_RANDOM = np.random.RandomState(5)


def _pixels(*shape):
    return _RANDOM.randint(0, 256, shape).astype("uint8")


def _floats(*shape):
    return (_RANDOM.randint(0, 65, shape) / 64.0).astype("float32")


INPUTS = {
    "plane": _floats(1, 5, 4, 1),
    "tiny": _floats(2, 2, 3, 1),
    "dot": _floats(1, 1, 1, 2),
    "photo": _floats(2, 3, 4, 3),
    "single": _floats(4, 3, 3),
    "pixels": _pixels(2, 3, 4, 3),
    "shot": _pixels(4, 5, 3),
    "grey": _pixels(1, 3, 2, 1),
    "wide": _RANDOM.randint(0, 65536, (1, 2, 3, 3)).astype("uint16"),
    "whole": _RANDOM.randint(-300, 300, (1, 2, 3, 1)).astype("int32"),
    "half": _floats(1, 2, 2, 3).astype("float16"),
    "double": _floats(1, 3, 2, 3).astype("float64"),
    "large": _floats(1, 12, 13, 2),
    "other": _floats(1, 12, 13, 2),
    "boxes": np.array([[0, 0, 1, 1], [0.2, 0.1, 0.7, 0.9], [0.8, 0.9, 0.3, 0.2], [-0.3, 0.2, 1.2, 0.8]], "float32"),
    "owner": np.array([0, 1, 1, 0], "int32"),
    "found": np.array(
        [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [1, 11.1, 0, 10.1], [0, 100, 1, 101]],
        "float32",
    ),
    "scores": np.array([0.9, 0.75, 0.6, 0.95, 0.5, 0.3], "float32"),
    "classes": np.array([[0.9, 0.05], [0.75, 0.25], [0.6, 0.7], [0.95, 0.35], [0.5, -0.5], [0.3, 0.65]], "float32"),
    "frames": np.array(
        [[[0, 0, 1, 1], [0.3, 0.2, 0.8, 0.7]], [[0.1, 0.5, 0.5, 0.4], [-0.5, 0.3, 0.5, 1.5]]], "float32"
    ),
    "hues": ((_RANDOM.permutation(36).reshape(1, 3, 4, 3) + 1) / 64.0).astype("float32"),
    "black": np.zeros((1, 2, 2, 3), "float32"),
    "centers": np.array(
        [[[0, 0], [3, 0.5], [1, 2], [2.5, 3], [0.25, 4]], [[1, 0], [0, 1], [2, 2], [4, 0], [3, 3.5]]], "float32"
    ),
    "heights": np.array(
        [[[1, 0], [0.5, 2], [-1, 1], [0, 3], [2, 0]], [[0, 1], [1, 0], [2, 1], [3, -1], [1, 1]]], "float32"
    ),
    "places": np.array([[[0.5, 0.5], [3, 0.5], [1.75, 6]], [[0, 0], [2.5, 2.5], [-1, 1]]], "float32"),
    "bends": np.array(
        [
            [[0.5, -0.25], [1, 1], [-3, 0.75], [0, 0]],
            [[9, 0], [-0.5, 0.5], [0.25, -9], [1.5, 2]],
            [[-1, 0], [2, 3], [0, 0.5], [0.1, 0.2]],
        ],
        "float32",
    ).reshape(1, 3, 4, 2),
    "spots": np.array(
        [[[0.5, 0.25], [2.75, 1.5], [-0.5, 1], [3.4, 2.2]], [[-3, 0.5], [1, 2.0], [4, 3], [1.25, -0.75]]], "float32"
    ),
    "labels": np.array(
        [[[1, 1, 0, 2], [0, 1, 2, 2], [3, 0, 0, 2]], [[0, 5, 5, 5], [5, 5, 0, 5], [0, 5, 5, 5]]], "int32"
    ),
    "flow": np.array([[[0.5, 0.25], [-0.25, 0.5]], [[2.0, -2.0], [0.0, 0.75]]], "float32").reshape(1, 2, 2, 2),
}

_RESIZED = [
    "tf.image.resize_%s(%s, %s, align_corners=%s)" % (method, image, size, corners)
    for method in ("bilinear", "nearest_neighbor", "bicubic", "area")
    for corners in (False, True)
    for image, size in (("plane", [3, 2]), ("plane", [7, 6]), ("tiny", [5, 5]), ("pixels", [2, 2]))
    if not (method == "area" and corners and image == "tiny")
]
_SMALLER = [
    "tf.image.resize(%s, %s, %r, antialias=%s)" % (image, size, method, antialias)
    for method in ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic")
    for antialias in (False, True)
    for image, size in (("plane", [3, 2]), ("plane", [7, 6]), ("pixels", [2, 2]))
    if not (antialias and method in ("nearest", "area"))
]

SHARED = [
    "tf.image.central_crop(photo, 0.5)", "tf.image.central_crop(shot, 0.7)", "tf.image.central_crop(shot, 1.0)",
    "tf.image.crop_to_bounding_box(photo, 1, 0, 2, 3)", "tf.image.pad_to_bounding_box(photo, 1, 2, 5, 7)",
    "tf.image.pad_to_bounding_box(shot, 0, 0, 4, 6)", "tf.image.flip_left_right(photo)", "tf.image.flip_up_down(shot)",
    "tf.image.rot90(photo)", "tf.image.rot90(photo, 3)", "tf.image.rot90(shot, 2)",
    "tf.image.rot90(shot, tf.constant(5))", "tf.image.convert_image_dtype(pixels, tf.float32)",
    "tf.image.convert_image_dtype(pixels, tf.uint16)", "tf.image.convert_image_dtype(wide, tf.uint8)",
    "tf.image.convert_image_dtype(wide, tf.float32)", "tf.image.convert_image_dtype(photo, tf.uint8)",
    "tf.image.convert_image_dtype(photo * 3.0 - 1.0, tf.uint8, saturate=True)",
    "tf.image.convert_image_dtype(photo, tf.float64)", "tf.image.convert_image_dtype(whole, tf.uint8, saturate=True)",
    "tf.image.rgb_to_grayscale(photo)", "tf.image.rgb_to_grayscale(pixels)", "tf.image.grayscale_to_rgb(grey)",
    "tf.image.hsv_to_rgb(photo)", "tf.image.rgb_to_yiq(photo)", "tf.image.yiq_to_rgb(photo)",
    "tf.image.rgb_to_yuv(photo)", "tf.image.yuv_to_rgb(photo)", "tf.image.adjust_brightness(photo, 0.25)",
    "tf.image.adjust_brightness(pixels, -0.3)", "tf.image.adjust_contrast(photo, 1.5)",
    "tf.image.adjust_contrast(pixels, 0.5)", "tf.image.adjust_hue(photo, 0.3)", "tf.image.adjust_hue(pixels, -0.2)",
    "tf.image.adjust_hue(double, 0.1)", "tf.image.adjust_saturation(photo, 2.0)",
    "tf.image.adjust_saturation(pixels, 0.4)", "tf.image.per_image_standardization(single)",
    "tf.image.per_image_standardization(shot)", "tf.image.per_image_standardization(tf.stop_gradient(black[0]))",
    "tf.image.total_variation(photo)", "tf.image.total_variation(single)", "tf.image.image_gradients(photo)",
    "tf.image.sobel_edges(photo)", "tf.image.psnr(photo, photo / 2.0, 1.0)", "tf.image.psnr(pixels, pixels[::-1], 255)",
    "tf.image.ssim(large, other, 1.0)", "tf.image.crop_and_resize(photo, boxes, owner, [3, 2])",
    "tf.image.crop_and_resize(photo, boxes, owner, [1, 3], 'nearest', 0.5)",
    "tf.image.crop_and_resize(pixels, boxes, owner, [2, 2])", "tf.image.non_max_suppression(found, scores, 3)",
    "tf.image.non_max_suppression(found, scores, 30, 0.9)",
    "tf.image.non_max_suppression(found, scores, 30, score_threshold=0.55)",
    "tf.image.non_max_suppression(found, scores, 0)",
]  # fmt: skip

CASES = [
    *SHARED,
    *_RESIZED,
    "tf.image.resize_bilinear(dot, [2, 3])",
    "tf.image.resize_bilinear(half, [3, 3])",
    "tf.image.resize_bilinear(double, [2, 2])",
    "tf.image.resize_bilinear(whole, [3, 2])",
    "tf.image.resize_images(photo, [2, 5])",
    "tf.image.resize_images(shot, [3, 4], tf.image.ResizeMethod.NEAREST_NEIGHBOR)",
    "tf.image.resize_images(shot, [4, 5])",
    "tf.image.resize_images(shot, [6, 6], preserve_aspect_ratio=True)",
    "tf.image.resize_images(shot, [3, 9], 2, True, preserve_aspect_ratio=True)",
    "tf.image.resize_image_with_crop_or_pad(photo, 2, 6)",
    "tf.image.resize_image_with_crop_or_pad(shot, 7, 2)",
    "tf.image.resize_image_with_pad(photo, 5, 5)",
    "tf.image.resize_image_with_pad(shot, 6, 4, 3)",
    "tf.image.transpose_image(photo)",
    "tf.image.transpose_image(shot)",
    "tf.image.adjust_gamma(photo, 2.0)",
    "tf.image.rgb_to_hsv(tf.stop_gradient(photo))",
    "tf.image.rgb_to_hsv(tf.stop_gradient(black))",
    "tf.image.ssim_multiscale(tf.tile(large, [1, 2, 2, 1]), tf.tile(large, [1, 2, 2, 1]) * 0.75, 1.0, [0.4, 0.6])",
    "tf.image.draw_bounding_boxes(photo, frames)",
    "tf.image.draw_bounding_boxes(tiny, frames)",
    "tf.image.non_max_suppression_padded(found, scores, 5, pad_to_max_output_size=True)",
    "tf.image.non_max_suppression_padded(found, scores, 5)",
    "tf.image.extract_glimpse(photo, [2, 2], [[0.0, 0.0], [0.3, -0.2]])",
    "tf.image.extract_glimpse(photo, [2, 3], [[1.5, 2.0], [1.0, 2.5]], centered=False, normalized=False)",
    "tf.extract_image_patches(photo, [1, 2, 2, 1], [1, 1, 2, 1], [1, 1, 1, 1], 'VALID')",
    "tf.extract_image_patches(photo, [1, 2, 3, 1], [1, 2, 1, 1], [1, 1, 1, 1], 'SAME')",
    "tf.contrib.image.rotate(photo, 0.5)",
    "tf.contrib.image.rotate(photo, [0.25, -1.0], 'BILINEAR')",
    "tf.contrib.image.rotate(shot, 1.5)",
    "tf.contrib.image.translate(photo, [1.0, -1.0])",
    "tf.contrib.image.translate(photo, [[0.5, 0.25], [-1.5, 0.75]], 'BILINEAR')",
    "tf.contrib.image.transform(photo, [1.1, 0.2, -0.5, 0.1, 0.9, 0.25, 0.01, 0.02], 'BILINEAR')",
    "tf.contrib.image.transform(photo, [1.1, 0.2, -0.5, 0.1, 0.9, 0.25, 0.01, 0.02], output_shape=[2, 5])",
    "tf.contrib.image.compose_transforms([1.1, 0.2, -0.5, 0.1, 0.9, 0.25, 0.0, 0.0], [1.0, 0, 2, 0, 1, 3, 0, 0])",
    "tf.contrib.image.angles_to_projective_transforms([0.5, 1.0], 10.0, 20.0)",
    "tf.extract_image_patches(plane, [1, 2, 2, 1], [1, 2, 2, 1], [1, 2, 1, 1], 'SAME')",
    "tf.contrib.image.dense_image_warp(photo[:1], bends)",
    "tf.contrib.image.dense_image_warp(double, tf.zeros([1, 3, 2, 2]) + 0.5)",
    *("tf.contrib.image.interpolate_spline(centers, heights, places, %d)" % order for order in (1, 2)),
    *(
        "tf.contrib.image.interpolate_spline(*[tf.to_double(t) for t in (centers, heights, places)], order=%d)" % order
        for order in (1, 3, 4, 6)
    ),
    "tf.contrib.image.interpolate_spline(centers, heights, places, 2, 0.5)",
    "tf.contrib.image.sparse_image_warp(photo, centers[:, :3], centers[:, :3] + heights[:, :3] / 4.0)",
    "tf.contrib.image.sparse_image_warp(photo, places, places + 0.5, 1, 0.1, 1)",
    "tf.contrib.image.sparse_image_warp(double, *[tf.to_double(p) for p in (places[:1], places[:1] + 0.25)],"
    " interpolation_order=3, num_boundary_points=3)[1]",
    "tf.contrib.resampler.resampler(photo, spots)",
    "tf.contrib.resampler.resampler(photo, tf.reshape(spots, [2, 2, 2, 2]))",
    "tf.contrib.image.connected_components(labels)",
    "tf.contrib.image.connected_components(labels[1] > 0)",
    "tf.contrib.image.connected_components(tf.cast(labels[0], tf.float32))",
    "tf.contrib.image.connected_components(tf.greater(plane[..., 0], 0.3))",
]

LATER = [
    *SHARED,
    *_SMALLER,
    "tf.image.resize(photo, [2, 5])",
    "tf.image.resize(shot, [4, 5])",
    "tf.image.resize(shot, [6, 6], preserve_aspect_ratio=True)",
    "tf.image.resize_with_crop_or_pad(shot, 7, 2)",
    "tf.image.resize_with_pad(shot, 6, 4)",
    "tf.image.resize_with_pad(photo, 5, 5, 'lanczos3', antialias=True)",
    "tf.image.transpose(photo)",
    "tf.image.adjust_gamma(photo, 2.0)",
    "tf.image.adjust_gamma(pixels, 0.5, 1.25)",
    "tf.image.adjust_brightness(half, 0.25)",
    "tf.image.rgb_to_hsv(hues)",
    "tf.image.per_image_standardization(photo)",
    "tf.image.ssim(large, other, 1.0, 5, 1.0, 0.02, 0.05)",
    "tf.image.ssim(large, other, 1.0, 9, return_index_map=True)",
    "tf.image.ssim_multiscale(large, large * 0.75, 1.0, [0.4, 0.6], filter_size=3)",
    "tf.image.draw_bounding_boxes(photo, frames, [[0.5, 0.25, 1.0], [1.0, 0.0, 0.5]])",
    "tf.image.draw_bounding_boxes(photo, frames, None)",
    "tf.image.non_max_suppression_overlaps(tf.matmul(found, found, transpose_b=True) / 100.0, scores, 4, 0.01)",
    "tf.image.non_max_suppression_with_scores(found, scores, 5, soft_nms_sigma=0.5)",
    "tf.image.non_max_suppression_with_scores(found, scores, 5, 0.3, 0.4)",
    "tf.image.extract_glimpse(photo, [2, 3], [[0.5, 0.0], [0.3, -0.9]], noise='zero')",
    "tf.image.extract_patches(photo, [1, 2, 2, 1], [1, 1, 2, 1], [1, 1, 1, 1], 'SAME')",
    "tf.image.is_jpeg(tf.image.encode_jpeg(shot))",
    *(
        "tf.image.combined_non_max_suppression(found[None, :, None], classes[None], %s)" % arguments
        for arguments in (
            "3, 4",
            "10, 8",
            "2, 20, pad_per_class=True",
            "10, 9, 0.3, pad_per_class=True, clip_boxes=False",
            "4, 20, score_threshold=0.4, clip_boxes=False",
        )
    ),
    "tf.image.combined_non_max_suppression(tf.stack([found, found[::-1]], 1)[None], classes[None], 3, 5)",
    "tf.image.combined_non_max_suppression(found[None, :0, None], tf.zeros([1, 0, 2]), 3, 5)",
]

FILES = [
    *("tf.image.decode_jpeg(file, channels=%d)" % c for c in (0, 1, 3)),
    *("tf.image.decode_jpeg(file, ratio=%d)" % r for r in (2, 8)), "tf.image.decode_jpeg(file, fancy_upscaling=False)",
    "tf.image.decode_jpeg(file, dct_method='INTEGER_ACCURATE')", "tf.image.decode_and_crop_jpeg(file, [1, 2, 5, 6])",
    *("tf.image.decode_png(file, channels=%d)" % c for c in (0, 1, 3, 4)), "tf.image.decode_png(file, dtype=tf.uint16)",
    "tf.image.decode_png(file, channels=1, dtype=tf.uint16)", "tf.image.decode_gif(file)",
    "tf.image.decode_image(file)", "tf.image.decode_image(file, channels=3)",
    "tf.image.decode_image(file, dtype=tf.float32)", "tf.image.decode_image(file, dtype=tf.uint16)",
    "tf.image.extract_jpeg_shape(file)", "tf.image.is_jpeg(file)",
]  # fmt: skip
"""Each for every file: values, or the class of the error and its first words."""
