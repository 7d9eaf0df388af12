"""The public names of the 2.x namespace for images. Data, by module."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import Rows

_FILES = """
    decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg decode_png encode_jpeg encode_png
    extract_jpeg_shape is_jpeg"""

ROWS: Rows = (
    ("compat.v2_functions.images", {
        "tf.image": """
            crop_and_resize draw_bounding_boxes extract_glimpse extract_patches non_max_suppression_padded
            stateless_random_crop""",
    }),
    ("graph.ops.images.boxes", {
        "tf.image": """
            non_max_suppression non_max_suppression_overlaps non_max_suppression_with_scores
            sample_distorted_bounding_box=sample_distorted_bounding_box_v2 stateless_sample_distorted_bounding_box""",
    }),
    ("graph.ops.images.codecs", {
        "tf.image tf.io": _FILES,
    }),
    ("graph.ops.images.colors", {
        "tf.image": """
            adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_jpeg_quality adjust_saturation
            grayscale_to_rgb hsv_to_rgb per_image_standardization rgb_to_grayscale rgb_to_hsv rgb_to_yiq rgb_to_yuv
            yiq_to_rgb yuv_to_rgb""",
    }),
    ("graph.ops.images.dtype_conversion", {
        "tf.image": "convert_image_dtype",
    }),
    ("graph.ops.images.cropping", {
        "tf.image": """
            central_crop crop_to_bounding_box pad_to_bounding_box
            resize_with_crop_or_pad=resize_image_with_crop_or_pad""",
    }),
    ("graph.ops.images.detections", {
        "tf.image": "combined_non_max_suppression generate_bounding_box_proposals",
    }),
    ("graph.ops.images.flips", {
        "tf.image": """
            flip_left_right flip_up_down random_flip_left_right random_flip_up_down rot90
            stateless_random_flip_left_right stateless_random_flip_up_down transpose""",
    }),
    ("graph.ops.images.quality_metrics", {
        "tf.image": "image_gradients psnr sobel_edges ssim ssim_multiscale total_variation",
    }),
    ("graph.ops.images.augmentation", {
        "tf.image": """
            random_brightness random_contrast random_hue random_jpeg_quality random_saturation
            stateless_random_brightness stateless_random_contrast stateless_random_hue stateless_random_jpeg_quality
            stateless_random_saturation""",
    }),
    ("graph.ops.images.resizing", {
        "tf.image": "ResizeMethod resize resize_with_pad",
    }),
)  # fmt: skip
"""(module, {place: names}); see ``v1.ROWS``."""
