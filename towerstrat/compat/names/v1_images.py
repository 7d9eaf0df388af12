"""The public names of the 1.x namespace for images. Data, by module."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import Rows

ROWS: Rows = (
    ("graph.ops.images.boxes", {
        "tf.image": """
            crop_and_resize draw_bounding_boxes non_max_suppression non_max_suppression_overlaps
            non_max_suppression_padded sample_distorted_bounding_box""",
    }),
    ("graph.ops.images.codecs", {
        "tf.image": """
            decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg decode_png encode_jpeg encode_png
            extract_jpeg_shape is_jpeg""",
    }),
    ("graph.ops.images.colors", {
        "tf.image": """
            adjust_brightness adjust_contrast adjust_gamma=adjust_gamma_v1 adjust_hue adjust_jpeg_quality
            adjust_saturation grayscale_to_rgb hsv_to_rgb per_image_standardization rgb_to_grayscale rgb_to_hsv
            rgb_to_yiq rgb_to_yuv yiq_to_rgb yuv_to_rgb""",
    }),
    ("graph.ops.images.dtype_conversion", {
        "tf.image": "convert_image_dtype",
    }),
    ("graph.ops.images.cropping", {
        "tf.image": "central_crop crop_to_bounding_box pad_to_bounding_box resize_image_with_crop_or_pad",
    }),
    ("graph.ops.images.flips", {
        "tf.image": """
            flip_left_right flip_up_down random_flip_left_right random_flip_up_down rot90 transpose_image""",
    }),
    ("graph.ops.images.matching", {
        "tf.contrib.image": "connected_components",
    }),
    ("graph.ops.images.quality_metrics", {
        "tf.image": "image_gradients psnr sobel_edges ssim ssim_multiscale total_variation",
    }),
    ("graph.ops.images.patches", {
        "tf tf.image": "extract_image_patches",
        "tf.image": "extract_glimpse",
    }),
    ("graph.ops.images.augmentation", {
        "tf.image": "random_brightness random_contrast random_hue random_jpeg_quality random_saturation",
    }),
    ("graph.ops.images.resizing", {
        "tf.image": """
            ResizeMethod=ResizeMethodV1 resize_area resize_bicubic resize_bilinear
            resize_image_with_pad=resize_image_with_pad_v1 resize_images resize_nearest_neighbor""",
    }),
    ("graph.ops.images.projective_transforms", {
        "tf.contrib.image": """
            angles_to_projective_transforms compose_transforms flat_transforms_to_matrices matrices_to_flat_transforms
            rotate transform translate translations_to_projective_transforms""",
    }),
    ("graph.ops.images.warps", {
        "tf.contrib.image": "dense_image_warp interpolate_spline sparse_image_warp",
        "tf.contrib.resampler": "resampler",
    }),
)  # fmt: skip
"""(module, {place: names}); see ``v1.ROWS``."""

LATER_ROWS: Rows = (
    ("compat.v2_functions.images", {
        "tf.image": "extract_patches",
    }),
    ("graph.ops.images.boxes", {
        "tf.image": "non_max_suppression_with_scores",
    }),
    ("graph.ops.images.codecs", {
        "tf.io": """
            decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg decode_png encode_jpeg encode_png
            extract_jpeg_shape is_jpeg""",
    }),
    ("graph.ops.images.cropping", {
        "tf.image": "resize_with_crop_or_pad=resize_image_with_crop_or_pad",
    }),
    ("graph.ops.images.detections", {
        "tf.image": "combined_non_max_suppression generate_bounding_box_proposals",
    }),
    ("graph.ops.images.flips", {
        "tf.image": "transpose",
    }),
    ("graph.ops.images.matching", {
        "tf.contrib.image": "bipartite_match",
    }),
    ("graph.ops.images.resizing", {
        "tf.image": "resize=resize_images",
    }),
)  # fmt: skip
"""Likewise, the names that 1.13 to 1.15 added."""
