"""Arrays as the values of ``Summary`` messages, as the original's kernels make them.

A form raises ValueError for what it cannot show; whoever runs it makes that an InvalidArgumentError.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from towerstrat.graph.ir.node_def import tensor_proto
from towerstrat.graph.ir.types import HostArray
from towerstrat.platform import messages
from towerstrat.training.summaries.png_wav import png, wav

BAD_COLOR = (255, 0, 0, 255)
"""What image summaries show where a pixel is not finite: red."""
_DARK = 1e-6
"""Images whose largest value is below stay black."""


def of_number(tag: str, value: HostArray) -> messages.Summary:
    """A number, kept as float32."""
    return messages.Summary(value=[messages.Summary.Value(tag=tag, simple_value=float(value))])


# ---- histograms ----------------------------------------------------------------------------------------------------


@cache
def bucket_limits() -> HostArray:
    """The upper ends of a histogram's buckets: powers of 1.1 from 1e-12 to 1e20 on either side of 0."""
    positive = [1e-12]
    while positive[-1] * 1.1 < 1e20:
        positive.append(positive[-1] * 1.1)
    positive.append(np.finfo(np.float64).max)
    return np.array([*(-limit for limit in reversed(positive)), 0.0, *positive])


def of_distribution(tag: str, values: HostArray) -> messages.Summary:
    """The distribution of numbers. Raises ValueError where one is not finite."""
    flat = np.asarray(values, np.float64).reshape(-1)
    if not np.isfinite(flat).all():
        first = flat[~np.isfinite(flat)][0]
        raise ValueError(f"{'Nan' if np.isnan(first) else 'Infinity'} in summary histogram for: {tag}")
    return messages.Summary(value=[messages.Summary.Value(tag=tag, histo=histogram_of(flat))])


def histogram_of(flat: HostArray) -> messages.HistogramProto:
    """The histogram of finite numbers, float64 ``[n]``; runs of empty buckets are one."""
    limits = bucket_limits()
    largest = limits[-1]
    places = np.minimum(np.searchsorted(limits, flat, side="right"), len(limits) - 1)
    counts = np.bincount(places, minlength=len(limits))
    # Of empty buckets in a row the last one's end is kept.
    kept = np.flatnonzero((counts > 0) | (np.append(counts[1:], 1) > 0))
    message = messages.HistogramProto(
        min=flat.min(initial=largest), max=flat.max(initial=-largest), num=flat.size,
        bucket_limit=limits[kept], bucket=counts[kept].astype(np.float64),
    )  # fmt: skip
    if flat.size:  # added in order, as the original does it
        with np.errstate(over="ignore"):
            message.sum, message.sum_squares = np.add.accumulate(flat)[-1], np.add.accumulate(flat * flat)[-1]
    return message


# ---- images and sounds ---------------------------------------------------------------------------------------------


def of_images(tag: str, tensor: HostArray, max_images: int, bad_color: HostArray) -> messages.Summary:
    """The first images of a batch as PNG.

    Args:
      tensor: ``[batch, height, width, channels]`` with 1, 3 or 4 channels; uint8 as they are, floats scaled.
      bad_color: uint8, of at least as many channels.

    Raises:
      ValueError: another shape, or too few channels in ``bad_color``.
    """
    if tensor.ndim != 4 or tensor.shape[3] not in (1, 3, 4):
        raise ValueError(f"Tensor must be 4-D with last dim 1, 3, or 4, not {_shape(tensor)}")
    channels = tensor.shape[3]
    if bad_color.ndim != 1 or len(bad_color) < channels:
        raise ValueError(f"expected depth <= bad_color.size, got depth = {channels}, bad_color.size = {bad_color.size}")
    summary = messages.Summary()
    for name, image in _numbered(f"{tag}/image", tensor, max_images):
        pixels = image if image.dtype == np.uint8 else scaled(image, bad_color[:channels])
        height, width, _ = image.shape
        shown = messages.Summary.Image(
            height=height, width=width, colorspace=channels, encoded_image_string=png(pixels)
        )
        summary.value.add(tag=name, image=shown)
    return summary


def scaled(image: HostArray, bad_color: HostArray) -> HostArray:
    """A float image in uint8.

    Where no value is negative, 0 stays 0 and the largest one is 255; else 0 is 128, and the largest magnitude is 127
    away from it. Values that are not finite count for nothing, and their pixels have the bad colour.

    Args:
      image: floats ``[height, width, channels]``.
      bad_color: uint8 ``[channels]``.
    """
    finite = np.isfinite(image).all(axis=-1)
    shown = image[finite].astype(np.float32)
    low, high = shown.min(initial=np.inf), shown.max(initial=-np.inf)
    top, offset = (max(abs(low), abs(high)), 128.0) if low < 0 else (high, 0.0)
    factor = np.float32(0.0 if top < _DARK else (127.0 if low < 0 else 255.0) / np.float32(top)).astype(image.dtype)
    pixels = np.empty(image.shape, np.uint8)
    pixels[finite] = image[finite] * factor + image.dtype.type(offset)
    pixels[~finite] = bad_color
    return pixels


def of_sounds(tag: str, tensor: HostArray, sample_rate: HostArray, max_outputs: int) -> messages.Summary:
    """The first sounds of a batch as WAV.

    Args:
      tensor: float32 ``[batch, frames, channels]`` or ``[batch, frames]``.
      sample_rate: frames per second.

    Raises:
      ValueError: another shape, or no positive rate.
    """
    if tensor.ndim not in (2, 3):
        raise ValueError(f"Tensor must be 3-D or 2-D, got: {_shape(tensor)}")
    rate = float(sample_rate)
    if rate <= 0:
        raise ValueError("sample_rate must be > 0")
    summary = messages.Summary()
    whole = tensor if tensor.ndim == 3 else tensor[..., None]
    for name, samples in _numbered(f"{tag}/audio", whole, max_outputs):
        frames, channels = samples.shape
        sound = messages.Summary.Audio(
            sample_rate=rate, num_channels=channels, length_frames=frames, content_type="audio/wav",
            encoded_audio_string=wav(samples, round(rate)),
        )  # fmt: skip
        summary.value.add(tag=name, audio=sound)
    return summary


def _numbered(tag: str, batch: HostArray, most: int) -> Iterator[tuple[str, HostArray]]:
    """The first ``most`` of a batch, with their tags."""
    for i, entry in enumerate(batch[:most]):
        yield tag if most == 1 else f"{tag}/{i}", entry


def _shape(array: HostArray) -> str:
    return f"[{','.join(map(str, array.shape))}]"


# ---- tensors -------------------------------------------------------------------------------------------------------


def of_tensor(tag: str, value: HostArray, metadata: bytes) -> messages.Summary:
    """A tensor of any type and shape, with a ``SummaryMetadata`` that says who shows it."""
    summary = messages.Summary()
    entry = summary.value.add(tag=tag, tensor=tensor_proto(value))
    if metadata:
        entry.metadata.ParseFromString(metadata)
    return summary


def merged(summaries: list[bytes]) -> messages.Summary:
    """The values of several summaries. Raises ValueError where two have one tag."""
    union = messages.Summary()
    for summary in summaries:
        union.MergeFromString(summary)
    seen: set[str] = set()
    for value in union.value:
        if value.tag in seen:
            raise ValueError(f"Duplicate tag {value.tag} found in summary inputs")
        seen.add(value.tag)
    return union
