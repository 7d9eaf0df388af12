"""Strings: operation types that the host computes, and the functions that make them.

They work in graphs, eagerly, in functions and in functions of datasets. Devices have no strings: inside of towers and
step loops they are refused when the program runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.graph.ir import nest, shapes
from towerstrat.graph.ir.composite_values import of_each
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.given_arguments import check_given, one_of
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.op_registry import Attrs, Rule, Signature, define_op
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.sparse_tensor import SparseTensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import (
    DType,
    as_dtype,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
)
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.building.op_builder import add, add_op
from towerstrat.graph.ops.host.python_calls import formatted
from towerstrat.graph.ops.text import string_kernels

Inputs = Sequence[Tensor]


def _check_strings(inputs: Inputs) -> None:
    for tensor in inputs:
        if tensor.dtype is not string:
            raise TypeError(f"Expected strings, got {tensor.dtype.name} ({tensor.name}). Use tf.as_string.")


def _mapping(dtype: DType = string, operands: int = 1) -> Rule:
    """The rule of types that map each string: the first input's shape; the first ``operands`` are strings."""

    def rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
        _check_strings(inputs[:operands])
        return [Signature(dtype, inputs[0].dims)]

    return rule


# ---- numbers -------------------------------------------------------------------------------------------------------


def _as_string_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    dtype = inputs[0].dtype
    if not (dtype.is_integer or dtype.is_floating or dtype.is_complex or dtype.is_bool):
        raise TypeError(f"Expected numbers or truths, got {dtype.name} ({inputs[0].name}).")
    if len(attrs["fill"]) > 1:
        raise ValueError("Fill string must be one or fewer characters")
    if attrs["fill"] not in ("", " ", "+", "-", "0", "#"):
        raise ValueError(f'Fill argument not supported: "{attrs["fill"]}"')
    if dtype.is_integer or dtype.is_bool:
        if attrs["scientific"] or attrs["shortest"]:
            raise ValueError(f"scientific and shortest format not supported for datatype {dtype.name}")
        if attrs["precision"] > -1:
            raise ValueError(f"precision not supported for datatype {dtype.name}")
    elif attrs["scientific"] and attrs["shortest"]:
        raise ValueError("Cannot select both scientific and shortest notation")
    return [Signature(string, inputs[0].dims)]


define_op("AsString", _as_string_rule, numpy=string_kernels.as_string, differentiable=False, entrywise=True)


@of_each
def as_string(
    input: Any, precision: int = -1, scientific: bool = False, shortest: bool = False, width: int = -1, fill: str = "",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Numbers and truths written as text, as C's printf does it (``%f``, ``%d``).

    Args:
      precision: digits after the point of floating numbers; -1: six.
      scientific: ``%e`` instead of ``%f``. shortest: ``%g``.
      width: pad to this many characters.
      fill: what to pad with: a space, ``"0"``, ``"-"`` (to the left), ``"+"`` (with signs).

    Raises:
      ValueError: an option that the element type has not.
    """
    attrs = {"precision": precision, "scientific": scientific, "shortest": shortest, "width": width, "fill": fill}
    return add_op("AsString", [convert_to_tensor(input)], attrs, name or "AsString")


def _number_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    _check_strings(inputs)
    if attrs["out_type"] not in (float32, float64, int32, int64):
        raise TypeError(f"Expected out_type float32, float64, int32 or int64, got {attrs['out_type'].name}.")
    return [Signature(attrs["out_type"], inputs[0].dims)]


define_op("StringToNumber", _number_rule, numpy=string_kernels.to_number, differentiable=False, entrywise=True)


@of_each
def string_to_number(
    string_tensor: Any = None, out_type: Any = float32, name: str | None = None, input: Any = None
) -> Tensor:
    """The numbers that strings write. ``string_tensor`` is an old name of ``input``.

    Raises:
      InvalidArgumentError: a string writes none.
    """
    string_tensor = one_of(input, string_tensor, "input", "string_tensor")
    check_given("string_to_number", input=string_tensor)
    return add_op(
        "StringToNumber", [_strings(string_tensor)], {"out_type": as_dtype(out_type)}, name or "StringToNumber"
    )


def _strings(value: Any) -> Tensor:
    return convert_to_tensor(value, string)


# ---- joining and splitting -----------------------------------------------------------------------------------------


def _join_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    if not inputs:
        raise ValueError("string_join needs one tensor at least.")
    _check_strings(inputs)
    if any(t.dims is None for t in inputs):
        return [Signature(string, None)]
    common = TensorShape(None)
    for tensor in inputs:
        common = common if tensor.dims == () else common.merge_with(tensor.dims)
    return [Signature(string, () if common.dims is None else common.raw)]


define_op("StringJoin", _join_rule, numpy=string_kernels.join, differentiable=False)


def string_join(inputs: Sequence[Any], separator: str = "", name: str | None = None) -> Tensor:
    """Strings joined entry by entry.

    Args:
      inputs: string tensors of one shape; scalars are joined to every entry.
    """
    return add_op("StringJoin", [_strings(x) for x in inputs], {"separator": separator}, name or "StringJoin")


def _reduce_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    x, axes = inputs
    _check_strings([x])
    known = constant_value(axes)
    if x.dims is None or known is None:
        return [Signature(string, None)]
    rank = len(x.dims)
    reduced = {axis % rank for axis in known.reshape(-1).tolist() if -rank <= axis < rank}
    if attrs["keep_dims"]:
        return [Signature(string, tuple(1 if i in reduced else d for i, d in enumerate(x.dims)))]
    return [Signature(string, tuple(d for i, d in enumerate(x.dims) if i not in reduced))]


define_op("ReduceJoin", _reduce_rule, numpy=string_kernels.reduce_join, differentiable=False)


def reduce_join(
    inputs: Any, axis: Any = None, keep_dims: bool | None = None, separator: str = "", name: str | None = None,
    reduction_indices: Any = None, keepdims: bool | None = None,
) -> Tensor:  # fmt: skip
    """Strings joined along dimensions.

    Args:
      axis: which ones, in order; the first is the innermost. None: all, the last innermost.
      keepdims: keep them with size 1.
      reduction_indices, keep_dims: deprecated names of ``axis`` and ``keepdims``.
    """
    keep = bool(one_of(keepdims, keep_dims, "keepdims", "keep_dims"))
    axis = one_of(axis, reduction_indices, "axis", "reduction_indices")
    x = _strings(inputs)
    axes = arrays.range(arrays.rank(x) - 1, -1, -1) if axis is None else convert_to_tensor(axis, int32)
    return add_op("ReduceJoin", [x, axes], {"keep_dims": keep, "separator": separator}, name or "ReduceJoin")


def _split_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    _check_strings(inputs)
    if inputs[0].dims is not None and len(inputs[0].dims) != 1:
        raise ValueError(f"Expected a vector of strings, got shape {inputs[0].shape}.")
    return [Signature(int64, (None, 2)), Signature(string, (None,)), Signature(int64, (2,))]


define_op("StringSplit", _split_rule, numpy=string_kernels.split, differentiable=False)
define_op("StringSplitV2", _split_rule, numpy=string_kernels.split_v2, differentiable=False)


def split_at_characters(source: Any, sep: Any, skip_empty: bool) -> SparseTensor:
    """The parts of ``[n]`` strings between any of the characters of ``sep``: a sparse tensor ``[n, most parts]``."""
    inputs = [_strings(source), _strings(sep)]
    return SparseTensor(*add("StringSplit", inputs, {"skip_empty": skip_empty}, "StringSplit"))


def split_as_python(source: Any, sep: Any, maxsplit: int) -> SparseTensor:
    """The parts of ``[n]`` strings, as Python's ``split`` gives them: a sparse tensor ``[n, most parts]``.

    Args:
      sep: what divides, as a whole; None or the empty string: any spaces.
      maxsplit: divide so often at most; -1: always.
    """
    inputs = [_strings(source), _strings("" if sep is None else sep)]
    return SparseTensor(*add("StringSplitV2", inputs, {"maxsplit": maxsplit}, "StringSplitV2"))


def _segment_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    x, ids, number = inputs
    _check_strings([x])
    if x.dims is None or ids.dims is None:
        return [Signature(string, None)]
    known = constant_value(number)
    return [Signature(string, (None if known is None else int(known), *x.dims[len(ids.dims) :]))]


define_op("UnsortedSegmentJoin", _segment_rule, numpy=string_kernels.unsorted_segment_join, differentiable=False)


def unsorted_segment_join(
    inputs: Any, segment_ids: Any, num_segments: Any, separator: str = "", name: str | None = None
) -> Tensor:
    """The strings of each segment joined, in order.

    Args:
      segment_ids: of the shape of ``inputs``, or of its first dimensions; negative ones are left out.
      num_segments: one more than the largest id allowed.
    """
    given = [_strings(inputs), convert_to_tensor(segment_ids), convert_to_tensor(num_segments)]
    return add_op("UnsortedSegmentJoin", given, {"separator": separator}, name or "UnsortedSegmentJoin")


# ---- parts, patterns, letters --------------------------------------------------------------------------------------


def _check_unit(unit: str) -> dict[str, str]:
    if unit not in ("BYTE", "UTF8_CHAR"):
        raise ValueError(f"Expected unit 'BYTE' or 'UTF8_CHAR', got {unit!r}.")
    return {"unit": unit}


def _substr_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    x, places, sizes = inputs
    _check_strings([x])
    if places.dtype not in (int32, int64) or sizes.dtype is not places.dtype:
        raise TypeError(f"Expected int32 or int64 pos and len, got {places.dtype.name} and {sizes.dtype.name}.")
    return [Signature(string, shapes.broadcast(x.dims, places.dims))]


define_op("Substr", _substr_rule, numpy=string_kernels.substr, differentiable=False)
define_op("StringLength", _mapping(int32), numpy=string_kernels.length, differentiable=False)
define_op("StringStrip", _mapping(), numpy=string_kernels.strip, differentiable=False)
define_op("StringLower", _mapping(), numpy=string_kernels.cased("lower"), differentiable=False)
define_op("StringUpper", _mapping(), numpy=string_kernels.cased("upper"), differentiable=False)
define_op("RegexReplace", _mapping(operands=3), numpy=string_kernels.regex_replace, differentiable=False)
define_op("RegexFullMatch", _mapping(bool_, 2), numpy=string_kernels.regex_full_match, differentiable=False)
define_op("EncodeBase64", _mapping(), numpy=string_kernels.encode_base64, differentiable=False)
define_op("DecodeBase64", _mapping(), numpy=string_kernels.decode_base64, differentiable=False)


@of_each
def substr(input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """Parts of strings.

    Args:
      pos: where each begins; negative: counted from the end.
      len: how many characters, fewer where the string ends; of the shape of ``pos``.
      unit: ``"BYTE"`` or ``"UTF8_CHAR"``.

    Raises:
      InvalidArgumentError: a place outside of its string.
    """
    places = convert_to_tensor(pos)
    inputs = [_strings(input), places, convert_to_tensor(len, None if isinstance(len, Tensor) else places.dtype)]
    return add_op("Substr", inputs, _check_unit(unit), name or "Substr")


@of_each
def string_length(input: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """The lengths of strings, int32, in bytes or (``unit="UTF8_CHAR"``) characters."""
    return add_op("StringLength", [_strings(input)], _check_unit(unit), name or "StringLength")


@of_each
def string_strip(input: Any, name: str | None = None) -> Tensor:
    """Strings without spaces, tabs and line ends at their two ends."""
    return add_op("StringStrip", [_strings(input)], {}, name or "StringStrip")


@of_each
def string_lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Strings in lower case: ASCII letters, or all letters with ``encoding="utf-8"``."""
    return add_op("StringLower", [_strings(input)], _check_encoding(encoding), name or "StringLower")


@of_each
def string_upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Strings in upper case: ASCII letters, or all letters with ``encoding="utf-8"``."""
    return add_op("StringUpper", [_strings(input)], _check_encoding(encoding), name or "StringUpper")


def _check_encoding(encoding: str) -> dict[str, str]:
    if encoding not in ("", "utf-8"):
        raise ValueError(f"only utf-8 or '' (no encoding) is supported, received {encoding}")
    return {"encoding": encoding}


@of_each
def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Tensor:  # fmt: skip
    """Strings with what matches replaced.

    Args:
      pattern: a regular expression of RE2 (https://github.com/google/re2/wiki/Syntax); a scalar.
      rewrite: what it is replaced by; ``\\\\1`` is the first group, ``\\\\0`` the match.
      replace_global: every match, not just the first.

    Raises:
      InvalidArgumentError: RE2 does not take the pattern.
      UnsupportedError: the package google-re2 is not installed.
    """
    inputs = [_strings(input), _strings(pattern), _strings(rewrite)]
    return add_op("RegexReplace", inputs, {"replace_global": replace_global}, name or "RegexReplace")


@of_each
def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """Whether a regular expression matches each string as a whole; bool. Raises as ``regex_replace``."""
    return add_op("RegexFullMatch", [_strings(input), _strings(pattern)], {}, name or "RegexFullMatch")


@of_each
def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Tensor:
    """Strings in base 64 with the alphabet for URLs; ``pad`` adds ``=`` up to a multiple of four."""
    return add_op("EncodeBase64", [_strings(input)], {"pad": pad}, name or "EncodeBase64")


@of_each
def decode_base64(input: Any, name: str | None = None) -> Tensor:
    """The bytes of base 64 with the alphabet for URLs. Raises InvalidArgumentError for anything else."""
    return add_op("DecodeBase64", [_strings(input)], {}, name or "DecodeBase64")


_RAW = (
    bfloat16, bool_, complex64, complex128, float16, float32, float64, int8, int16, int32, int64, uint8, uint16
)  # fmt: skip


def _raw_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    _check_strings(inputs)
    if attrs["out_type"] not in _RAW:
        raise TypeError(f"Expected out_type {', '.join(kind.name for kind in _RAW)}, got {attrs['out_type'].name}.")
    dims = inputs[0].dims
    return [Signature(attrs["out_type"], None if dims is None else (*dims, None))]


define_op("DecodeRaw", _raw_rule, numpy=string_kernels.decode_raw, differentiable=False)


def decode_raw(
    input_bytes: Any = None, out_type: Any = None, little_endian: bool = True, name: str | None = None,
    bytes: Any = None,
) -> Tensor:  # fmt: skip
    """The bytes of strings as numbers: ``[...]`` to ``[..., n]``.

    Args:
      input_bytes: the strings; ``bytes`` is an old name.
      out_type: an integer or floating type.
      little_endian: the order of the bytes of a number.

    Raises:
      InvalidArgumentError: strings of different lengths, or of a length that is no multiple of a number's size.
    """
    input_bytes = one_of(input_bytes, bytes, "input_bytes", "bytes")
    check_given("decode_raw", input_bytes=input_bytes, out_type=out_type)
    attrs = {"out_type": as_dtype(out_type), "little_endian": bool(little_endian)}
    return add_op("DecodeRaw", [_strings(input_bytes)], attrs, name or "DecodeRaw")


# ---- hashes --------------------------------------------------------------------------------------------------------

for _type, _kind in (("", "legacy"), ("Fast", "fast"), ("Strong", "strong")):
    define_op(f"StringToHashBucket{_type}", _mapping(int64), numpy=string_kernels.bucket(_kind), differentiable=False)


def _hashed(type: str, input: Any, num_buckets: Any, name: str | None, **attrs: Any) -> Tensor:
    if num_buckets < 1:
        raise ValueError(f"Expected num_buckets of at least 1, got {num_buckets}.")
    return add_op(type, [_strings(input)], {"num_buckets": num_buckets, **attrs}, name or type)


@of_each
def string_to_hash_bucket(
    string_tensor: Any = None, num_buckets: int | None = None, name: str | None = None, input: Any = None
) -> Tensor:
    """A number below ``num_buckets`` for each string, int64, by the hash of old; prefer the fast one.

    ``string_tensor`` is an old name of ``input``.
    """
    string_tensor = one_of(input, string_tensor, "input", "string_tensor")
    check_given("string_to_hash_bucket", input=string_tensor, num_buckets=num_buckets)
    return _hashed("StringToHashBucket", string_tensor, num_buckets, name)


@of_each
def string_to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Tensor:
    """A number below ``num_buckets`` for each string, int64: FarmHash's fingerprint."""
    return _hashed("StringToHashBucketFast", input, num_buckets, name)


@of_each
def string_to_hash_bucket_strong(input: Any, num_buckets: int, key: Sequence[int], name: str | None = None) -> Tensor:
    """A number below ``num_buckets`` for each string, int64: SipHash with a key of two integers.

    Raises:
      ValueError: a key of another length.
    """
    if len(key) != 2:
        raise ValueError("Key must have 2 elements")
    words = tuple(int(word) % 2**64 for word in key)
    return _hashed("StringToHashBucketStrong", input, num_buckets, name, key=words)


def _padded_raw(x: Any, length: Any, *, out_type: DType, little_endian: bool) -> Any:
    size = int(length)
    if size <= 0 or size % out_type.np.itemsize:
        raise ValueError(f"fixed_length ({size}) must be a multiple of the size of out_type ({out_type.np.itemsize})")
    texts = string_kernels.each(lambda text: text[:size].ljust(size, b"\0"), x)
    found = string_kernels.decode_raw(texts, out_type=out_type, little_endian=little_endian)
    return found.reshape(*x.shape, size // out_type.np.itemsize)


define_op(
    "DecodePaddedRaw", lambda inputs, attrs: _raw_rule(inputs[:1], attrs), numpy=_padded_raw, differentiable=False
)  # fmt: skip


def decode_raw_v2(
    input_bytes: Any, out_type: Any, little_endian: bool = True, fixed_length: Any = None, name: str | None = None
) -> Tensor:
    """The bytes of strings as numbers: ``[...]`` to ``[..., n]``.

    Args:
      out_type: an integer or floating type.
      little_endian: the order of the bytes of a number.
      fixed_length: strings are cut, or filled up with zeros, to so many bytes; without it they are of one length.

    Raises:
      InvalidArgumentError, when it runs: strings of different lengths, or a length that is no multiple of the type's.
    """
    if fixed_length is None:
        return decode_raw(input_bytes, out_type, little_endian, name)
    attrs = {"out_type": as_dtype(out_type), "little_endian": little_endian}
    inputs = [_strings(input_bytes), convert_to_tensor(fixed_length)]
    return add_op("DecodePaddedRaw", inputs, attrs, name or "DecodePaddedRaw")


# ---- templates -----------------------------------------------------------------------------------------------------


def _format(*values: Any, template: str, placeholder: str, summarize: int) -> Any:
    first, *rest = template.split(placeholder)
    shown = [formatted(value, summarize, quoted=True) for value in values]
    return string_kernels.filled(["".join([first, *(a + b for a, b in zip(shown, rest, strict=True))]).encode()], ())


define_op("StringFormat", lambda inputs, attrs: [Signature(string, ())], numpy=_format, differentiable=False)


def string_format(
    template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Tensor:
    """A text with the values of tensors in it, as ``tf.print`` shows them.

    Args:
      template: the text, with a ``placeholder`` for each tensor.
      inputs: a tensor, or a sequence of them.
      summarize: how many entries from each end of a dimension; -1: all.

    Raises:
      ValueError: not as many tensors as placeholders.
    """
    given = [convert_to_tensor(x) for x in (nest.flatten(inputs) if isinstance(inputs, list | tuple) else [inputs])]
    expected = template.count(placeholder)
    if expected != len(given):
        raise ValueError(
            f"The template expects {expected} tensors, but the inputs only has {len(given)}. Please ensure the number "
            "of placeholders in template matches inputs length."
        )
    attrs = {"template": template, "placeholder": placeholder, "summarize": summarize}
    return add_op("StringFormat", given, attrs, name or "StringFormat")
