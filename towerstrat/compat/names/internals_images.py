"""Modules of the original's inside about images. Data, as in ``internals``."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import LazyName, named

_KERNELS = named("graph.ops.images.resizing", "resize_area resize_bicubic resize_bilinear resize_nearest_neighbor")

_WARPS = ("dense_image_warp", "interpolate_spline", "sparse_image_warp")

MODULES: dict[str, tuple[str, dict[str, LazyName]]] = {
    "contrib.image.python.ops.image_ops": ("tf.contrib.image", {}),
    **{
        f"contrib.{place}": ("", named("graph.ops.images.warps", name))
        for place, name in (
            *((f"image.python.ops.{name}", name) for name in _WARPS),
            ("resampler.python.ops.resampler_ops", "resampler"),
        )
    },
    "python.ops.gen_image_ops": ("tf.image", _KERNELS),
    "python.ops.image_ops": ("tf.image", _KERNELS),
    "python.ops.image_ops_impl": ("tf.image", {}),
}
"""Path below ``tensorflow`` -> (the public modules whose names it offers; names of its own)."""
