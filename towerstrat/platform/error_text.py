"""Errors as text, importable in processes that have neither JAX nor NumPy."""

from __future__ import annotations


def error_text(error: BaseException) -> str:
    """``"Class: message"`` of an error, never raising: lone surrogates are escaped, and ``__str__`` may fail."""
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception as other:
        text = f"{type(error).__name__}, whose text cannot be had: {type(other).__name__}"
    return text.encode(errors="backslashreplace").decode()
