"""Names of graph elements without a scope's prefix, and with one: ``strip_name_scope`` and ``prepend_name_scope``.

Both keep the marks that may precede a name: ``^`` of a control input and ``loc:@`` of a colocation.
"""

from __future__ import annotations

import re

from towerstrat.platform.text import as_str

_MARK = r"([\^]|loc:@|^)"


def strip_name_scope(name: str | bytes, export_scope: str | None) -> str | bytes:
    """``name`` without the leading ``export_scope/``; as it is where the scope is None or another one."""
    if not export_scope:
        return name
    scope = re.escape(export_scope.removesuffix("/"))
    return re.sub(rf"{_MARK}{scope}[\/]+(.*)", r"\1\2", as_str(name), count=1)


def prepend_name_scope(name: str | bytes, import_scope: str | None) -> str | bytes:
    """``import_scope/name``; ``name`` as it is where the scope is None."""
    if not import_scope:
        return name
    scope = import_scope.removesuffix("/")
    return re.sub(rf"{_MARK}(.+)", lambda found: f"{found[1]}{scope}/{found[2]}", as_str(name), count=1)
