"""Errors as text, in processes that have neither JAX nor NumPy too."""

from __future__ import annotations


def error_text(error: BaseException) -> str:
    """The class and the text of an error, as UTF-8 can say it: also of one that cannot be printed."""
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception as other:
        text = f"{type(error).__name__}, whose text cannot be had: {type(other).__name__}"
    return text.encode(errors="backslashreplace").decode()
