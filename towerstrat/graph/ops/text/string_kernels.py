"""Operations on strings, on the host: arrays of objects, each of them ``bytes``.

A form raises ValueError for what cannot be computed; whoever runs it makes that an InvalidArgumentError. Regular
expressions are RE2's, as the original's are, by the package ``google-re2`` (``pip install towerstrat[strings]``).
"""

from __future__ import annotations

import base64
import functools
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.types import DType, HostArray, bool_
from towerstrat.graph.ops.text.fingerprints import fingerprint64, murmur64, siphash64

try:
    import re2
except ModuleNotFoundError:
    re2 = None

_SPACES = b" \t\n\v\f\r"


def filled(values: Iterable[Any], shape: Sequence[int], dtype: Any = object) -> HostArray:
    """Values in row-major order as an array of a shape."""
    result = np.empty(tuple(shape), dtype)
    flat = result.reshape(-1)
    for place, value in enumerate(values):
        flat[place] = value
    return result


def each(function: Callable[[Any], Any], x: HostArray, dtype: Any = object) -> HostArray:
    """A function of every string."""
    return filled(map(function, x.reshape(-1)), x.shape, dtype)


def together(function: Callable[..., Any], *arrays: HostArray) -> HostArray:
    """A function of the entries of several arrays that broadcast to one shape."""
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    return filled(map(function, *[np.broadcast_to(a, shape).reshape(-1) for a in arrays]), shape)


# ---- numbers -------------------------------------------------------------------------------------------------------


def _number_format(precision: int, scientific: bool, shortest: bool, width: int, fill: str, code: str) -> str:
    size = f"{width}" if width > -1 else ""
    digits = f".{precision}" if precision > -1 else ""
    return f"%{fill}{size}{digits}{'e' if scientific else 'g' if shortest else code}"


def as_string(x: HostArray, *, precision: int, scientific: bool, shortest: bool, width: int, fill: str) -> HostArray:
    """Numbers as C's printf writes them; infinities and NaN are padded with spaces."""
    form = _number_format(precision, scientific, shortest, width, fill, "d" if x.dtype.kind in "iu" else "f")
    plain = form.replace("%0", "%", 1)

    def real(value: Any) -> str:
        return (form if np.isfinite(value) else plain) % value

    if x.dtype.kind == "b":
        return each(lambda value: b"true" if value else b"false", x)
    if x.dtype.kind == "c":
        return each(lambda value: f"({real(value.real)},{real(value.imag)})".encode(), x)
    if x.dtype.kind in "iu":
        return each(lambda value: (form % value).encode(), x)
    return each(lambda value: real(value).encode(), x.astype(np.float64))


_FLOAT = re.compile(rb"[+-]?(inf|nan|0x[0-9a-f]+|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)", re.IGNORECASE)
_INTEGER = re.compile(rb"-?\d+")


def number(text: bytes, dtype: DType) -> Any:
    """The number that a string writes. Raises ValueError where it writes none of this element type."""
    stripped = text.strip(_SPACES)
    if dtype.is_integer:
        if _INTEGER.fullmatch(stripped) and dtype.min <= int(stripped) <= dtype.max:
            return int(stripped)
    elif _FLOAT.fullmatch(stripped):
        return float(int(stripped, 16)) if b"x" in stripped.lower() else float(stripped)
    raise ValueError(f"{text.decode(errors='backslashreplace')!r} is not a valid {dtype.name}.")


def to_number(x: HostArray, *, out_type: DType) -> HostArray:
    def converted(text: bytes) -> Any:
        try:
            return number(text, out_type)
        except ValueError:
            shown = text.decode(errors="backslashreplace")
            raise ValueError(f"StringToNumberOp could not correctly convert string: {shown}") from None

    with np.errstate(over="ignore"):
        return each(converted, x, np.float64 if out_type.is_floating else out_type.np).astype(out_type.np)


# ---- joining and splitting -----------------------------------------------------------------------------------------


def join(*arrays: HostArray, separator: str) -> HostArray:
    """Strings joined entry by entry; scalars belong to every entry.

    Raises:
      ValueError: two shapes that differ, and neither is a scalar's.
    """
    shapes = [a.shape for a in arrays if a.ndim]
    for shape in shapes:
        if shape != shapes[0]:
            raise ValueError(f"Input shapes do not match: {list(shapes[0])} vs. {list(shape)}")
    between = separator.encode()
    return together(lambda *texts: between.join(texts), *arrays)


def reduce_join(x: HostArray, axes: HostArray, *, keep_dims: bool, separator: str) -> HostArray:
    """Strings joined along dimensions, the first one of ``axes`` innermost.

    Raises:
      ValueError: a dimension that is not there, or is named twice.
    """
    order = []
    for axis in axes.reshape(-1).tolist():
        if not -x.ndim <= axis < x.ndim:
            raise ValueError(f"Invalid reduction dimension {axis} for input with {x.ndim} dimension(s)")
        if axis % x.ndim in order:
            raise ValueError(f"Duplicate reduction dimension {axis}")
        order.append(axis % x.ndim)
    kept = [i for i in range(x.ndim) if i not in order]
    sizes = [x.shape[i] for i in kept]
    inner = [x.shape[i] for i in order]
    rows = x.transpose([*kept, *reversed(order)]).reshape(int(np.prod(sizes)), int(np.prod(inner)))
    between = separator.encode()
    shape = [1 if i in order else d for i, d in enumerate(x.shape)] if keep_dims else sizes
    return filled((between.join(row) for row in rows), shape)


def _sparse(rows: Sequence[Sequence[bytes]], width: int) -> tuple[HostArray, HostArray, HostArray]:
    """Rows of different lengths as (indices, values, shape) of a sparse tensor."""
    indices = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
    values = [text for row in rows for text in row]
    return (
        np.array(indices, np.int64).reshape(-1, 2),
        filled(values, [len(values)]),
        np.array([len(rows), width], np.int64),
    )


def split(x: HostArray, delimiter: HostArray, *, skip_empty: bool) -> tuple[HostArray, HostArray, HostArray]:
    """``tf.string_split``: every character of the delimiter divides; an empty one divides into bytes."""
    _check_vector(x)
    if delimiter.ndim:
        raise ValueError(f"delimiter must be a scalar, got shape: {list(delimiter.shape)}")
    between = bytes(delimiter[()])
    pattern = re.compile(b"[" + re.escape(between) + b"]") if between else None
    rows = []
    for text in x:
        parts = [text[i : i + 1] for i in range(len(text))] if pattern is None else pattern.split(text)
        rows.append([part for part in parts if part or not skip_empty] if text else [])
    return _sparse(rows, max(map(len, rows), default=0))


def split_v2(x: HostArray, separator: HostArray, *, maxsplit: int) -> tuple[HostArray, HostArray, HostArray]:
    """``tf.strings.split``: what Python's ``split`` does; an empty separator stands for any spaces."""
    _check_vector(x)
    if separator.ndim:
        raise ValueError(f"sep must be a scalar, got shape: {list(separator.shape)}")
    between = bytes(separator[()])
    rows = [text.split(between or None, maxsplit) for text in x]
    return _sparse(rows, max(map(len, rows), default=0))


def _check_vector(x: HostArray) -> None:
    if x.ndim != 1:
        raise ValueError(f"input must be a vector, got shape: {list(x.shape)}")


# ---- parts and lengths ---------------------------------------------------------------------------------------------


def _characters(text: bytes) -> list[bytes]:
    """The characters of UTF-8: a byte that begins none belongs to the one before it."""
    starts = [i for i, byte in enumerate(text) if i == 0 or byte & 0xC0 != 0x80]
    return [text[a:b] for a, b in itertools.pairwise([*starts, len(text)])]


def length(x: HostArray, *, unit: str) -> HostArray:
    return each(len if unit == "BYTE" else lambda text: len(_characters(text)), x, np.int32)


def substr(x: HostArray, places: HostArray, sizes: HostArray, *, unit: str) -> HostArray:
    """``sizes`` characters from ``places``, which count from the end where they are negative.

    Raises:
      ValueError: a place outside of a string, or sizes of another shape than the places.
    """
    if places.shape != sizes.shape:
        raise ValueError(f"pos and len should have the same shape, got: {list(places.shape)} vs. {list(sizes.shape)}")
    shape = np.broadcast_shapes(x.shape, places.shape)
    flat = [np.broadcast_to(a, shape).reshape(-1) for a in (x, places, sizes)]
    found = []
    for index, (text, place, size) in enumerate(zip(*flat, strict=True)):
        parts: Any = text if unit == "BYTE" else _characters(text)
        if not -len(parts) <= place <= len(parts):
            raise ValueError(f"pos {place} out of range for string {text!r} at index {index}")
        begin = int(place) + (len(parts) if place < 0 else 0)
        part = parts[begin:] if size < 0 else parts[begin : begin + int(size)]
        found.append(part if unit == "BYTE" else b"".join(part))
    return filled(found, shape)


def strip(x: HostArray) -> HostArray:
    return each(lambda text: text.strip(_SPACES), x)


def cased(method: str) -> Callable[..., HostArray]:
    """``lower`` or ``upper``: of ASCII letters, or of all letters of UTF-8."""

    def form(x: HostArray, *, encoding: str) -> HostArray:
        if encoding:
            return each(lambda text: getattr(text.decode(errors="replace"), method)().encode(), x)
        return each(lambda text: getattr(text, method)(), x)

    return form


# ---- regular expressions -------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=256)
def _compiled(pattern: bytes) -> Any:
    """A compiled pattern. Raises ValueError where it is invalid, UnsupportedError without the package."""
    if re2 is None:
        raise UnsupportedError(
            "Regular expressions of tf.strings are RE2's and need the package google-re2: pip install google-re2."
        )
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        said, shown = (text.decode(errors="replace") for text in (error.args[0], pattern))
        raise ValueError(f"Invalid pattern: {shown}, error: {said}") from None


def _scalar(x: HostArray, what: str) -> bytes:
    if x.ndim:
        raise ValueError(f"{what} must be scalar, but received {list(x.shape)}")
    return bytes(x[()])


_REFERENCE = re.compile(rb"\\(.?)", re.DOTALL)


def _template(rewrite: bytes, groups: int) -> list[bytes | int] | None:
    """Replacement of a match: texts, and numbers of groups; None where it names a group that is not there.

    Raises:
      ValueError: a backslash before anything but a digit or a backslash.
    """
    parts: list[bytes | int] = []
    end = 0
    for found in _REFERENCE.finditer(rewrite):
        parts.append(rewrite[end : found.start()])
        end = found.end()
        sign = found.group(1)
        if not sign.isdigit() and sign != b"\\":
            raise ValueError(f"Invalid rewrite pattern: {rewrite.decode(errors='replace')}")
        parts.append(int(sign) if sign.isdigit() else sign)
    parts.append(rewrite[end:])
    return None if any(isinstance(part, int) and part > groups for part in parts) else parts


def regex_replace(x: HostArray, pattern: HostArray, rewrite: HostArray, *, replace_global: bool) -> HostArray:
    """Matches replaced by ``rewrite``, in which ``\\1`` is the first group; the first match alone, or all."""
    compiled = _compiled(_scalar(pattern, "Pattern"))
    template = _template(_scalar(rewrite, "Rewrite"), compiled.groups)
    if template is None:
        return x.copy()

    def replaced(text: bytes) -> bytes:
        out = []
        place, end = 0, -1
        while (found := compiled.search(text, place)) is not None:
            start, stop = found.span()
            out.append(text[place:start])
            if start == stop == end:
                # No empty match directly after a match: one character is passed over.
                step = len(next(iter(_characters(text[start:])), b"")) or 1
                out.append(text[start : start + step])
                place = start + step
                if start == len(text):
                    break
                continue
            out += [(found.group(part) or b"") if isinstance(part, int) else part for part in template]
            place = end = stop
            if not replace_global:
                break
        return b"".join([*out, text[place:]])

    return each(replaced, x)


def regex_full_match(x: HostArray, pattern: HostArray) -> HostArray:
    compiled = _compiled(_scalar(pattern, "Pattern"))
    return each(lambda text: compiled.fullmatch(text) is not None, x, np.bool_)


# ---- hashes and encodings ------------------------------------------------------------------------------------------


def bucket(kind: str) -> Callable[..., HostArray]:
    """The hash of every string, modulo the number of buckets: "fast", "strong" (with a key) or "legacy"."""

    def form(x: HostArray, *, num_buckets: int, key: tuple[int, int] = (0, 0)) -> HostArray:
        if kind == "strong":
            return each(lambda text: siphash64(text, key) % num_buckets, x, np.int64)
        function = fingerprint64 if kind == "fast" else murmur64
        return each(lambda text: function(text) % num_buckets, x, np.int64)

    return form


def encode_base64(x: HostArray, *, pad: bool) -> HostArray:
    """Base 64 with the alphabet for URLs."""
    return each(lambda text: base64.urlsafe_b64encode(text) if pad else base64.urlsafe_b64encode(text).rstrip(b"="), x)


_BASE64 = re.compile(rb"[A-Za-z0-9_-]*={0,2}")


def decode_base64(x: HostArray) -> HostArray:
    """The bytes of base 64 with the alphabet for URLs, padded or not. Raises ValueError for what is none."""

    def decoded(text: bytes) -> bytes:
        if len(text.rstrip(b"=")) % 4 == 1:
            raise ValueError("Base64 string length cannot be 1 modulo 4.")
        if not _BASE64.fullmatch(text):
            raise ValueError("Invalid character found in base64.")
        bare = text.rstrip(b"=")
        return base64.urlsafe_b64decode(bare + b"=" * (-len(bare) % 4))

    return each(decoded, x)


def decode_raw(x: HostArray, *, out_type: DType, little_endian: bool) -> HostArray:
    """The bytes of each string as numbers, ``[*x.shape, n]``. Raises ValueError where lengths differ or do not fit."""
    texts = [bytes(text) for text in x.reshape(-1)]
    length = len(texts[0]) if texts else 0
    size = out_type.np.itemsize
    for place, text in enumerate(texts):
        if len(text) != length:
            raise ValueError(
                "DecodeRaw requires input strings to all be the same size, but element "
                f"{place} has size {length} != {len(text)}"
            )
    if length % size:
        raise ValueError(
            f"Input to DecodeRaw has length {length} that is not a multiple of {size}, the size of {out_type.name}"
        )
    return _numbers(b"".join(texts), out_type, little_endian).reshape(*x.shape, length // size)


def _numbers(data: bytes, out_type: DType, little_endian: bool) -> HostArray:
    """The bytes of numbers as numbers; of truth values every byte but 0 is true."""
    if out_type is bool_:
        return np.frombuffer(data, np.uint8).astype(bool)
    return np.frombuffer(data, out_type.np.newbyteorder("<" if little_endian else ">")).astype(out_type.np)


def unsorted_segment_join(x: HostArray, ids: HostArray, number: HostArray, *, separator: str) -> HostArray:
    """Strings (or rows of them) of one segment joined in order; a negative id leaves its row out."""
    count = int(number)
    rows = x.reshape(ids.size, *x.shape[ids.ndim :])
    members: list[list[HostArray]] = [[] for _ in range(count)]
    for place, row in zip(ids.reshape(-1).tolist(), rows, strict=True):
        if place >= count:
            raise ValueError(f"segment id {place} is not below num_segments={count}")
        if place >= 0:
            members[place].append(np.asarray(row, object))
    empty = np.full(rows.shape[1:], b"", object)
    joined = [join(*some, separator=separator) if some else empty for some in members]
    return np.stack(joined) if joined else np.empty((0, *rows.shape[1:]), object)
