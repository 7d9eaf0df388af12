"""What an error of a program tells of Python 2, for which many programs of those days were written."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SAID = re.compile(r"Missing parentheses in call to|multiple exception types must be parenthesized|leading zeros")
"""What Python 3 says of the statements of Python 2 that it knows."""
_WRITTEN = re.compile(r"^\s*(print|exec)\s+[\"'\w%>]|^\s*raise\s+[\w.]+\s*,|^\s*except\s+[\w.]+\s*,|<>|`|\bur['\"]")
"""Statements of Python 2 that are invalid syntax to it."""
BUILTINS = {
    "apply", "basestring", "buffer", "cmp", "coerce", "execfile", "file", "intern", "long", "raw_input", "reduce",
    "reload", "unichr", "unicode", "xrange",
}  # fmt: skip
_METHODS = {"has_key", "iteritems", "iterkeys", "itervalues", "next", "viewitems", "viewkeys", "viewvalues"}
MODULES = {
    "ConfigParser", "Queue", "StringIO", "Tkinter", "__builtin__", "cPickle", "cStringIO", "commands", "httplib",
    "urllib2", "urlparse",
}  # fmt: skip
HELP = "This is Python 2: convert the program, for example with `python -m lib2to3 -w FILE` of Python 3.11 or 3.12."


def hint(error: BaseException) -> str | None:
    """A sentence for errors that code of Python 2 meets in Python 3; None for others."""
    return HELP if _is_of_python2(error) else None


def _is_of_python2(error: BaseException) -> bool:
    if isinstance(error, SyntaxError):
        return bool(_SAID.search(error.msg or "") or _WRITTEN.search(error.text or ""))
    if isinstance(error, TypeError):
        return 'Did you mean "print(<message>, file=<output_stream>)"' in str(error)
    if isinstance(error, NameError) and not isinstance(error, UnboundLocalError):
        return error.name in BUILTINS
    if isinstance(error, AttributeError):
        return error.name in _METHODS and isinstance(error.obj, dict | Iterator)
    return isinstance(error, ModuleNotFoundError) and error.name in MODULES
