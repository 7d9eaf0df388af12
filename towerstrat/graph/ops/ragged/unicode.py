"""Strings as rows of characters or code points, and back; encodings. The host computes them.

Offsets are in bytes of the input. What is no character of the encoding is replaced, left out or refused, as ``errors``
says; a sequence of bytes that could begin a character counts as one.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from towerstrat.graph.ir.composite_values import of_each
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import HostArray, int32, int64, string
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.building.op_builder import add, add_op
from towerstrat.graph.ops.ragged import string_rows
from towerstrat.graph.ops.ragged.ragged_tensor import RaggedTensor
from towerstrat.graph.ops.text import string_kernels

Inputs = Sequence[Tensor]
_OUTPUTS = {"UTF-8": "utf-8", "UTF-16-BE": "utf-16-be", "UTF-32-BE": "utf-32-be"}
_REPLACEMENT = 0xFFFD
_ERRORS = ("strict", "replace", "ignore")


class Codec:
    """Encoding of strings, and treatment of what is not valid in it.

    Args:
      encoding: as ICU calls it, such as "UTF-8", "UTF-16-BE", "US-ASCII" or "ISO-8859-1".
      errors: "strict", "replace" (by ``replacement``, a code point) or "ignore".
      control: whether control characters below 32 are replaced too.

    Raises:
      ValueError: an encoding or way that is not known.
    """

    def __init__(self, encoding: str, errors: str, replacement: int, control: bool):
        if errors not in _ERRORS:
            raise ValueError(f"Expected errors of {', '.join(map(repr, _ERRORS))}, got {errors!r}.")
        try:
            "".encode(encoding)
        except LookupError:
            raise ValueError(f"Could not create converter for input encoding: {encoding}") from None
        _check_point(replacement)
        self.encoding = encoding
        self.errors = errors
        self.replacement = replacement
        self.control = control

    def read(self, data: bytes) -> list[tuple[int, int]]:
        """(code point, offset) of each character. Raises ValueError where ``errors`` is strict."""
        found: list[tuple[int, int]] = []
        place = 0
        while place < len(data):
            try:
                good, end, broken = data[place:].decode(self.encoding), len(data), len(data)
            except UnicodeDecodeError as error:
                end, broken = place + error.start, place + max(error.end, error.start + 1)
                good = data[place:end].decode(self.encoding)
            for character in good:
                point = ord(character)
                if self.control and point < 32:
                    self._replace(found, place)
                else:
                    found.append((point, place))
                place += len(character.encode(self.encoding))
            if end < len(data):
                self._replace(found, end)
            place = broken
        return found

    def _replace(self, found: list[tuple[int, int]], place: int) -> None:
        if self.errors == "strict":
            raise ValueError("Invalid formatting on input string")
        if self.errors == "replace":
            found.append((self.replacement, place))


def _check_point(point: int) -> None:
    if not 0 <= point <= 0x10FFFF or 0xD800 <= point < 0xE000:
        raise ValueError("unicode replacement_char must be a valid code point")


def _decode_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    dims = inputs[0].dims
    count = None if dims is None or dims[0] is None else dims[0] + 1
    kind = string if attrs["characters"] else int32
    return [Signature(int64, (count,)), Signature(kind, (None,)), Signature(int64, (None,))]


def _decode(x: HostArray, *, codec: Codec, characters: bool) -> tuple[HostArray, HostArray, HostArray]:
    rows = [codec.read(bytes(data)) for data in x.reshape(-1)]
    points = [point for row in rows for point, _ in row]
    if characters:
        values = string_kernels.filled([chr(p).encode(codec.encoding) for p in points], [len(points)])
    else:
        values = np.array(points, np.int32)
    offsets = np.array([offset for row in rows for _, offset in row], np.int64)
    return np.cumsum([0, *map(len, rows)]).astype(np.int64), values, offsets


define_op("UnicodeDecode", _decode_rule, numpy=_decode, differentiable=False)


def _decoded(x: Any, codec: Codec, characters: bool, offsets: bool) -> Any:
    def rows_of(tensor: Tensor, output: int) -> RaggedTensor:
        found = add("UnicodeDecode", [tensor], {"codec": codec, "characters": characters})
        return RaggedTensor(found[output], found[0])

    values = string_rows.per_string(x, lambda tensor: rows_of(tensor, 1))
    return (values, string_rows.per_string(x, lambda tensor: rows_of(tensor, 2))) if offsets else values


def unicode_decode(
    input: Any, input_encoding: str, errors: str = "replace", replacement_char: int = 65533,
    replace_control_characters: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """The code points of strings: ``[...]`` to ragged int32 ``[..., characters]``; those of a scalar are a vector.

    Args:
      input_encoding: such as "UTF-8" or "UTF-16-BE".
      errors: what is no character of the encoding is replaced by ``replacement_char``, left out ("ignore"), or an
        InvalidArgumentError ("strict").
      replace_control_characters: treat characters below 32 likewise.
    """
    codec = Codec(input_encoding, errors, replacement_char, replace_control_characters)
    return _decoded(input, codec, characters=False, offsets=False)


def unicode_decode_with_offsets(
    input: Any, input_encoding: str, errors: str = "replace", replacement_char: int = 65533,
    replace_control_characters: bool = False, name: str | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """``unicode_decode``, and the byte at which each character begins, int64."""
    codec = Codec(input_encoding, errors, replacement_char, replace_control_characters)
    found: tuple[Any, Any] = _decoded(input, codec, characters=False, offsets=True)
    return found


def unicode_split(
    input: Any, input_encoding: str, errors: str = "replace", replacement_char: int = 65533, name: str | None = None
) -> Any:
    """The characters of strings, each a string: ``[...]`` to ragged ``[..., characters]``; as ``unicode_decode``."""
    return _decoded(input, Codec(input_encoding, errors, replacement_char, False), characters=True, offsets=False)


def unicode_split_with_offsets(
    input: Any, input_encoding: str, errors: str = "replace", replacement_char: int = 65533, name: str | None = None
) -> tuple[Any, Any]:
    """``unicode_split``, and the byte at which each character begins, int64."""
    codec = Codec(input_encoding, errors, replacement_char, False)
    found: tuple[Any, Any] = _decoded(input, codec, characters=True, offsets=True)
    return found


# ---- back, and from one encoding to another ------------------------------------------------------------------------


def _encode_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    if inputs[0].dtype is not int32:
        raise TypeError(f"Expected code points of int32, got {inputs[0].dtype.name}.")
    dims = inputs[1].dims
    return [Signature(string, (None if dims is None or dims[0] is None else dims[0] - 1,))]


def _is_character(point: int) -> bool:
    """False of what is outside of Unicode, of surrogates and of noncharacters."""
    inside = 0 <= point <= 0x10FFFF and not 0xD800 <= point < 0xE000
    return inside and not 0xFDD0 <= point <= 0xFDEF and point & 0xFFFE != 0xFFFE


def _written(points: Sequence[int], encoding: str, errors: str, replacement: int) -> bytes:
    kept = []
    for point in points:
        if _is_character(point):
            kept.append(point)
        elif errors == "strict":
            raise ValueError("Code point is out of range for Unicode, or a noncharacter.")
        elif errors == "replace":
            kept.append(replacement)
        elif 0 <= point <= 0x10FFFF:
            kept.append(_REPLACEMENT if 0xD800 <= point < 0xE000 else point)
    return "".join(map(chr, kept)).encode(_OUTPUTS[encoding])


def _encode(points: HostArray, splits: HostArray, *, encoding: str, errors: str, replacement: int) -> HostArray:
    ends, every = splits.tolist(), points.tolist()
    rows = [_written(every[a:b], encoding, errors, replacement) for a, b in itertools.pairwise(ends)]
    return string_kernels.filled(rows, [len(rows)])


define_op("UnicodeEncode", _encode_rule, numpy=_encode, differentiable=False)


def _check_output(encoding: str) -> str:
    if encoding not in _OUTPUTS:
        raise ValueError(f"Expected output_encoding of {', '.join(_OUTPUTS)}, got {encoding!r}.")
    return encoding


def unicode_encode(
    input: Any, output_encoding: str, errors: str = "replace", replacement_char: int = 65533, name: str | None = None
) -> Any:
    """The strings of rows of code points: ragged or dense int32 ``[..., characters]`` to ``[...]``.

    Args:
      output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: code points that are none are replaced by ``replacement_char``, left out ("ignore"), or an
        InvalidArgumentError ("strict").
    """
    if errors not in _ERRORS:
        raise ValueError(f"Expected errors of {', '.join(map(repr, _ERRORS))}, got {errors!r}.")
    _check_point(replacement_char)
    attrs = {"encoding": _check_output(output_encoding), "errors": errors, "replacement": replacement_char}
    if isinstance(input, RaggedTensor):
        if isinstance(input.values, RaggedTensor):
            return input.with_values(
                unicode_encode(input.values, output_encoding, errors, replacement_char, name)
            )  # fmt: skip
        return add_op("UnicodeEncode", [input.values, input.row_splits], attrs, name or "UnicodeEncode")
    points = convert_to_tensor(input, None if isinstance(input, Tensor) else int32)
    if points.dims is None or not points.dims:
        raise ValueError(f"input_tensor's rank must be statically known and at least 1, got shape {points.shape}.")
    if len(points.dims) == 1:
        splits = arrays.stack([0, arrays.shape(points)[0]])
        return arrays.reshape(add_op("UnicodeEncode", [points, splits], attrs, name or "UnicodeEncode"), [])
    rows = RaggedTensor.from_tensor(arrays.reshape(points, arrays.concat([[-1], arrays.shape(points)[-1:]], 0)))
    made = add_op("UnicodeEncode", [rows.values, rows.row_splits], attrs, name or "UnicodeEncode")
    return arrays.reshape(made, arrays.shape(points)[:-1])


def _transcode_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    if inputs[0].dtype is not string:
        raise TypeError(f"Expected strings, got {inputs[0].dtype.name}.")
    return [Signature(string, inputs[0].dims)]


def _transcode(x: HostArray, *, codec: Codec, encoding: str) -> HostArray:
    return string_kernels.each(
        lambda data: "".join(chr(point) for point, _ in codec.read(data)).encode(_OUTPUTS[encoding]), x
    )


define_op("UnicodeTranscode", _transcode_rule, numpy=_transcode, differentiable=False)


@of_each
def unicode_transcode(
    input: Any, input_encoding: str, output_encoding: str, errors: str = "replace", replacement_char: int = 65533,
    replace_control_characters: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Strings of one encoding as those of another, "UTF-8", "UTF-16-BE" or "UTF-32-BE". Else as ``unicode_decode``."""
    codec = Codec(input_encoding, errors, replacement_char, replace_control_characters)
    attrs = {"codec": codec, "encoding": _check_output(output_encoding)}
    return add_op("UnicodeTranscode", [convert_to_tensor(input, string)], attrs, name or "UnicodeTranscode")
