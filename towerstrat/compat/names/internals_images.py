"""Modules of the original's inside about images. Data, as in ``internals``."""

from __future__ import annotations

from towerstrat.compat.names.named import Named, named

_KERNELS = named("graph.ops.images.resizing", "resize_area resize_bicubic resize_bilinear resize_nearest_neighbor")

MODULES: dict[str, tuple[str, dict[str, Named]]] = {
    "contrib.image.python.ops.image_ops": ("tf.contrib.image", {}),
    "python.ops.gen_image_ops": ("tf.image", _KERNELS),
    "python.ops.image_ops": ("tf.image", _KERNELS),
    "python.ops.image_ops_impl": ("tf.image", {}),
}
"""Path below ``tensorflow`` -> (the public modules whose names it offers; names of its own)."""
