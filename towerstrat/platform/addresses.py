"""Addresses of machines that programs run on: here that is this one, whatever the address. It is said once."""

from __future__ import annotations

from towerstrat.platform import logs

_said = False


def is_remote(target: str | bytes | None) -> bool:
    """Whether a target is the address of a machine, ``grpc://host:port``."""
    return (target.decode() if isinstance(target, bytes) else target or "").startswith("grpc://")


def taken_for_here(what: str) -> None:
    """Says, the first time in a process, that ``what`` means the devices of this machine."""
    global _said
    if not _said:
        _said = True
        logs.warning("%s: a program runs on the devices of this machine; addresses of others mean them too.", what)
