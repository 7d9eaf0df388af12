"""Missing classes of the original that classes here derive from there, for ``isinstance``."""

from __future__ import annotations

from functools import cache

from towerstrat.compat.names import original_modules
from towerstrat.compat.names.lazy_names import LazyName

_ROWS = (
    ("compat.v2_functions.initializers", {
        "tf.keras.initializers": """
            GlorotNormal GlorotUniform HeNormal HeUniform LecunNormal LecunUniform RandomNormal RandomUniform
            TruncatedNormal he_normal=HeNormal he_uniform=HeUniform lecun_normal=LecunNormal lecun_uniform=LecunUniform
            random_normal=RandomNormal random_uniform=RandomUniform truncated_normal=TruncatedNormal
            variance_scaling=VarianceScaling""",
    }),
    ("graph.scopes.initializers", {
        "tf.keras.initializers": """
            Constant Identity Initializer Ones Orthogonal VarianceScaling Zeros constant=Constant
            glorot_normal=GlorotNormal glorot_uniform=GlorotUniform identity=Identity ones=Ones orthogonal=Orthogonal
            zeros=Zeros""",
    }),
    ("models.layers.layer", {
        "tf.keras.layers": "InputSpec Layer",
    }),
    ("models.layers.convolution", {
        "tf.keras.layers": """
            Conv1D Conv2D Conv3D Convolution1D=Conv1D Convolution2D=Conv2D Convolution3D=Conv3D SeparableConv1D
            SeparableConv2D SeparableConvolution1D=SeparableConv1D SeparableConvolution2D=SeparableConv2D""",
    }),
    ("models.layers.dense", {
        "tf.keras.layers": "Dense Dropout Flatten",
    }),
    ("models.layers.batch_normalization", {
        "tf.keras.layers": "BatchNormalization",
    }),
    ("models.layers.pooling", {
        "tf.keras.layers": """
            AveragePooling1D AveragePooling2D AveragePooling3D AvgPool1D=AveragePooling1D AvgPool2D=AveragePooling2D
            AvgPool3D=AveragePooling3D MaxPool1D=MaxPooling1D MaxPool2D=MaxPooling2D MaxPool3D=MaxPooling3D
            MaxPooling1D MaxPooling2D MaxPooling3D""",
    }),
    ("models.layers.transposed_convolution", {
        "tf.keras.layers": """
            Conv2D=Conv2DTranspose Conv2DTranspose Conv3D=Conv3DTranspose Conv3DTranspose Convolution2D=Conv2DTranspose
            Convolution2DTranspose=Conv2DTranspose Convolution3D=Conv3DTranspose
            Convolution3DTranspose=Conv3DTranspose""",
    }),
)  # fmt: skip
"""A module below ``towerstrat``, and by public module the missing classes; ``public=own``: ours has another name."""


@cache
def _derived() -> dict[str, list[LazyName]]:
    found: dict[str, list[LazyName]] = {}
    for module, areas in _ROWS:
        for place, names in areas.items():
            for public, _, own in (name.partition("=") for name in names.split()):
                found.setdefault(f"{place}.{public}", []).append(LazyName(f"towerstrat.{module}", own or public))
    return found


@cache
def derived(name: str, api: int) -> tuple[type, ...]:
    """The classes here that derive from the missing class ``name`` in the original.

    Args:
      name: such as ``tf.keras.layers.Layer``; ``tensorflow.python...`` for one of the inside. api: 1 or 2.
    """
    module, _, last = name.partition(".")[2].rpartition(".")
    exported = original_modules.names(module, api).get(last, ()) if name.startswith("tensorflow.") else ()
    public = [f"tf.{place.removeprefix('compat.v1.')}" for place in exported] or [name]
    return tuple(own.value() for place in public for own in _derived().get(place, ()))
