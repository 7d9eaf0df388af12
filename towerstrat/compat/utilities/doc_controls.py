"""Marks for the generator of reference pages: ``tensorflow.tools.docs.doc_controls``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


def inheritable_header(text: str) -> Callable[[_T], _T]:
    """Decorator of a class: its page, and those of derived classes, begin with ``text``."""

    def mark(cls: _T) -> _T:
        cls._tf_docs_inheritable_header = text  # type: ignore[attr-defined]
        return cls

    return mark


def do_not_generate_docs(obj: _T) -> _T:
    """Decorator of what has no page."""
    obj._tf_docs_do_not_document = None  # type: ignore[attr-defined]
    return obj


def do_not_doc_inheritable(obj: _T) -> _T:
    """Decorator of a method that has no page, in derived classes either."""
    obj._tf_docs_do_not_doc_inheritable = None  # type: ignore[attr-defined]
    return obj


def for_subclass_implementers(obj: _T) -> _T:
    """Decorator of a method that is described in its own class alone."""
    obj._tf_docs_tools_for_subclass_implementers = None  # type: ignore[attr-defined]
    return obj
