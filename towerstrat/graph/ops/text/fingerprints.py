"""The 64-bit hashes of strings that hash buckets and lookup tables use; the values are those of the original.

- ``string_to_hash_bucket_fast``: FarmHash's ``Fingerprint64`` (https://github.com/google/farmhash, ``farmhashna``).
- ``string_to_hash_bucket_strong``: SipHash-2-4 (Aumasson and Bernstein, *SipHash: a fast short-input PRF*, 2012).
- ``string_to_hash_bucket``: MurmurHash64A with a fixed seed (``tensorflow/core/lib/hash/hash.cc``).
"""

from __future__ import annotations

MASK = 0xFFFFFFFFFFFFFFFF

_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def _word(text: bytes, place: int, size: int = 8) -> int:
    return int.from_bytes(text[place : place + size], "little")


def _rotated(value: int, by: int) -> int:
    """A word rotated to the right."""
    value &= MASK
    return (value >> by | value << (64 - by)) & MASK


def _mixed(value: int) -> int:
    value &= MASK
    return value ^ value >> 47


def _of_two(u: int, v: int, factor: int) -> int:
    """The hash of two words (``HashLen16``)."""
    v &= MASK
    a = _mixed(((u & MASK) ^ v) * factor)
    return _mixed((v ^ a) * factor) * factor & MASK


def _up_to_16(s: bytes) -> int:
    size = len(s)
    factor = _K2 + size * 2
    if size >= 8:
        a = _word(s, 0) + _K2
        b = _word(s, size - 8)
        return _of_two(_rotated(b, 37) * factor + a, (_rotated(a, 25) + b) * factor, factor)
    if size >= 4:
        return _of_two(size + (_word(s, 0, 4) << 3), _word(s, size - 4, 4), factor)
    if size:
        y = s[0] + (s[size >> 1] << 8)
        z = size + (s[-1] << 2)
        return _mixed((y * _K2 ^ z * _K0) & MASK) * _K2 & MASK
    return _K2


def _ends(s: bytes) -> tuple[int, int, int, int, int, int]:
    """State that hashes of strings of 17 to 64 bytes begin with: (factor, a, c, d, y, z) of ``HashLen17to32``."""
    size = len(s)
    factor = _K2 + size * 2
    first = _K1 if size <= 32 else _K2
    a = _word(s, 0) * first & MASK
    b = _word(s, 8)
    c = _word(s, size - 8) * factor & MASK
    d = _word(s, size - 16) * _K2 & MASK
    return factor, a, c, d, _rotated(a + b, 43) + _rotated(c, 30) + d, a + _rotated(b + _K2, 18) + c


def _up_to_64(s: bytes) -> int:
    size = len(s)
    factor, a, _, _, y, before = _ends(s)
    z = _of_two(y, before, factor)
    e = _word(s, 16) * factor & MASK
    f = _word(s, 24)
    g = (y + _word(s, size - 32)) * factor & MASK
    h = (z + _word(s, size - 24)) * factor & MASK
    return _of_two(_rotated(e + f, 43) + _rotated(g, 30) + h, e + _rotated(f + a, 18) + g, factor)


def _weak(s: bytes, place: int, a: int, b: int) -> tuple[int, int]:
    """Two words of 32 bytes and two seeds (``WeakHashLen32WithSeeds``)."""
    w, x, y, z = (_word(s, place + 8 * i) for i in range(4))
    a += w
    b = _rotated(b + a + z, 21)
    c = a
    a += x + y
    return (a + z) & MASK, (b + _rotated(a, 44) + c) & MASK


def _long(s: bytes) -> int:
    """Strings of more than 64 bytes, 64 at a time; the last 64 once more."""
    size = len(s)
    y = (81 * _K1 + 113) & MASK
    z = _mixed(y * _K2 + 113) * _K2 & MASK
    x = (81 * _K2 + _word(s, 0)) & MASK
    v = w = (0, 0)

    def block(place: int, factor: int, nine: int) -> None:
        nonlocal x, y, z, v, w
        x = _rotated(x + y + v[0] + _word(s, place + 8), 37) * factor & MASK
        y = _rotated(y + v[1] + _word(s, place + 48), 42) * factor & MASK
        x ^= w[1] * nine & MASK
        y = (y + v[0] * nine + _word(s, place + 40)) & MASK
        z = _rotated(z + w[0], 33) * factor & MASK
        v = _weak(s, place, v[1] * factor & MASK, x + w[0])
        w = _weak(s, place + 32, z + w[1], y + _word(s, place + 16))
        z, x = x, z

    for place in range(0, (size - 1) // 64 * 64, 64):
        block(place, _K1, 1)
    factor = _K1 + ((z & 0xFF) << 1)
    w = (w[0] + ((size - 1) & 63) & MASK, w[1])
    v = (v[0] + w[0] & MASK, v[1])
    w = (w[0] + v[0] & MASK, w[1])
    block(size - 64, factor, 9)
    first = _of_two(v[0], w[0], factor) + _mixed(y) * _K0 + z
    return _of_two(first, _of_two(v[1], w[1], factor) + x, factor)


def fingerprint64(text: bytes) -> int:
    """FarmHash's ``Fingerprint64``."""
    size = len(text)
    if size <= 16:
        return _up_to_16(text)
    if size <= 32:
        factor, *_, y, z = _ends(text)
        return _of_two(y, z, factor)
    return _up_to_64(text) if size <= 64 else _long(text)


_CAT = 0xC6A4A7935BD1E995


def fingerprint_cat64(one: int, other: int) -> int:
    """The hash of two hashes, by which crosses of features are numbered."""
    found = (one ^ _CAT) ^ (_mixed(other * _CAT) * _CAT & MASK)
    return _mixed(_mixed(found * _CAT) * _CAT)


def murmur64(text: bytes) -> int:
    """MurmurHash64A with the original's seed."""
    factor, seed = 0xC6A4A7935BD1E995, 0xDECAFCAFFE
    size = len(text)
    h = seed ^ size * factor & MASK
    for place in range(0, size - 7, 8):
        k = _word(text, place) * factor & MASK
        h = (h ^ (k ^ k >> 47) * factor & MASK) * factor & MASK
    if size % 8:
        h = (h ^ _word(text, size // 8 * 8)) * factor & MASK
    h = (h ^ h >> 47) * factor & MASK
    return h ^ h >> 47


def siphash64(text: bytes, key: tuple[int, int]) -> int:
    """SipHash-2-4 with a key of two words."""
    v = [0x736F6D6570736575 ^ key[0], 0x646F72616E646F6D ^ key[1], 0x6C7967656E657261 ^ key[0],
         0x7465646279746573 ^ key[1]]  # fmt: skip

    def rounds(count: int) -> None:
        a, b, c, d = v
        for _ in range(count):
            a = a + b & MASK
            b = _rotated(b, 51) ^ a
            a = _rotated(a, 32)
            c = c + d & MASK
            d = _rotated(d, 48) ^ c
            a = a + d & MASK
            d = _rotated(d, 43) ^ a
            c = c + b & MASK
            b = _rotated(b, 47) ^ c
            c = _rotated(c, 32)
        v[:] = a, b, c, d

    whole = len(text) // 8 * 8
    last = len(text) << 56 & MASK | _word(text, whole)
    for word in (*(_word(text, place) for place in range(0, whole, 8)), last):
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]
