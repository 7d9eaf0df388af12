"""Persistent cache of XLA executables in the user's cache folder, so that a second start of a program compiles nothing.

JAX has such a cache; ``enable`` turns it on with a store of its own, ``EntryFiles``. JAX's store writes entries in
place and never replaces one, so that a process killed in between leaves an entry that fails at every later start, and
it can bound its size only under a lock over all processes. Here a file is renamed into place and carries its digest;
the last-used time of files decides what is evicted, and processes need no lock.

    ~/.cache/towerstrat/programs-1f0c2ab34d56/KEY.program     SHA-256 of the entry, then the entry

    >>> folder = Path(tempfile.mkdtemp(), "programs-0")
    >>> folder.mkdir()
    >>> entries = EntryFiles(folder, LIMIT)
    >>> entries.put("key", b"executable")
    >>> entries.get("key"), entries.get("other")
    (b'executable', None)

Entries are native code that this process will run: the folder must be one that only this user can write to
(``exposure``). XLA compiles for exactly one CPU's instructions, so that each CPU model has a folder of its own: home
folders are shared between machines.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import stat
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import jax
from jax._src import compilation_cache

VARIABLE = "TOWERSTRAT_COMPILATION_CACHE"
"""Environment variable: another folder for the cache, or "off" or "0" to turn it off."""

LIMIT = 2**30
"""Bytes of all entries together, unless JAX_COMPILATION_CACHE_MAX_SIZE is set."""

_DIGEST = hashlib.sha256().digest_size
_LONGEST_NAME = 200
_ABANDONED = 3600.0
"""Age in seconds from which an unfinished file counts as left by a killed process."""


def enable() -> str | None:
    """Turn JAX's persistent compilation cache on for this process. Must be called before anything is compiled.

    Does nothing where the user configured a cache with JAX's own variables, or where the usual folder cannot be made.

    Returns:
      A line for the user that says why the folder is not used; None where it is, or was not asked for.

    Raises:
      OSError: the folder that TOWERSTRAT_COMPILATION_CACHE names cannot be made.
    """
    named = os.environ.get(VARIABLE)
    settings: Any = jax.config
    if settings.jax_compilation_cache_dir is not None or named in ("off", "0"):
        return None
    try:
        root = Path(named).expanduser().absolute() if named else usual_folder()
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = root.resolve() / f"programs-{processor()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        danger = exposure(folder)
    except (OSError, RuntimeError):
        if named:
            raise
        return None
    if danger is not None:
        return f"compiled programs are not kept: {danger}. Name a folder of your own with {VARIABLE}"
    jax.config.update("jax_compilation_cache_dir", str(folder))
    # By default JAX leaves out programs that compile in less than a second.
    if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    # Not a public name of JAX: a version without it keeps its own store, in the same folder.
    others = getattr(compilation_cache, "get_file_cache", None)
    if others is None:
        return None

    def get_file_cache(path: str) -> Any:
        if path != str(folder):  # The program configured a cache of its own since.
            return others(path)
        limit = settings.jax_compilation_cache_max_size
        return EntryFiles(folder, LIMIT if limit == -1 else limit), path  # -1: JAX's default, no limit

    compilation_cache.get_file_cache = get_file_cache
    return None


def exposure(folder: Path) -> str | None:
    """Describe how another user could put files into a folder; None where nobody can, or the system has no user ids.

    Args:
      folder: resolved, without links. It and its parent must belong to this user and be writable for nobody else;
        folders above that all may write must be sticky, as /tmp is.

    Raises:
      OSError: a folder on the path cannot be inspected.
    """
    if not hasattr(os, "getuid"):
        return None
    for path in (folder, folder.parent):
        status = os.lstat(path)
        if not stat.S_ISDIR(status.st_mode):
            return f"{path} is a link"
        if status.st_uid != os.getuid():
            return f"{path} belongs to another user (uid {status.st_uid})"
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return f"others may write to {path} (mode {stat.S_IMODE(status.st_mode):o})"
    for path in folder.parent.parents:
        mode = os.lstat(path).st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return f"others may replace what is in {path} (mode {stat.S_IMODE(mode):o})"
    return None


def usual_folder() -> Path:
    """The system's place for a user's cached files. Raises RuntimeError where the user has no home folder."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "towerstrat"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local", "towerstrat", "Cache")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "towerstrat")


@functools.cache
def processor() -> str:
    """Digest (12 hex digits) of the CPU's model and instruction set, for which XLA's CPU programs are compiled."""
    known = [platform.machine(), platform.processor()]
    known += processor_lines(("vendor_id", "cpu family", "model", "flags", "Features", "CPU implementer", "CPU part"))
    if sys.platform == "darwin":
        with contextlib.suppress(OSError):
            known.append(subprocess.run(["sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True).stdout.hex())
    return hashlib.sha256("\n".join(known).encode()).hexdigest()[:12]


def processor_lines(fields: tuple[str, ...]) -> list[str]:
    """Lines of /proc/cpuinfo on the first processor that begin with one of ``fields``; [] without such a file."""
    try:
        first = Path("/proc/cpuinfo").read_text().partition("\n\n")[0]
    except OSError:
        return []
    return [line for line in first.splitlines() if line.startswith(fields)]


class EntryFiles:
    """Least-recently-used file store for JAX's compilation cache (``get``, ``put``), shared by processes without locks.

    A file is the SHA-256 digest of the entry, then the entry. It is written under another name and renamed; an entry
    with a wrong digest is deleted, and its program compiled again. Errors of the system become warnings.

    Args:
      folder: for files of this CPU model. Siblings named ``programs-*`` count towards ``limit`` too.
      limit: bytes of all files together. Checked at the first write of a process, and again after each sixteenth of
        ``limit`` that it wrote, so that several processes together can exceed it for a while.
    """

    def __init__(self, folder: Path, limit: int):
        self._path = folder
        self.limit = limit
        self.unswept = 0

    def get(self, key: str) -> bytes | None:
        """Read an entry and mark it as used; None where there is none, or a damaged one, which is deleted."""
        path = self._file(key)
        try:
            content = path.read_bytes()
            if hashlib.sha256(content[_DIGEST:]).digest() == content[:_DIGEST]:
                os.utime(path)
                return content[_DIGEST:]
            path.unlink()
        except FileNotFoundError:
            pass
        except OSError as error:
            self._warn("read", error)
        return None

    def put(self, key: str, value: bytes) -> None:
        """Write an entry atomically, replacing an older one. One larger than the limit is not kept."""
        size = len(value) + _DIGEST
        if size > self.limit:
            return
        try:
            if self.unswept <= 0:
                self._sweep(self.limit - size)
                self.unswept = self.limit // 16
            self.unswept -= size
            self._write(self._file(key), hashlib.sha256(value).digest() + value)
        except OSError as error:
            self._warn("write", error)

    def _file(self, key: str) -> Path:
        return self._path / f"{key[-_LONGEST_NAME:]}.program"

    def _write(self, path: Path, content: bytes) -> None:
        descriptor, temporary = tempfile.mkstemp(suffix=".part", dir=self._path)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):  # with its folder
                os.unlink(temporary)
            raise

    def _sweep(self, limit: int) -> None:
        """Evict least recently used entries down to ``limit`` bytes; delete abandoned temporary files."""
        files = []
        for path in self._path.parent.glob("programs-*/*"):
            with contextlib.suppress(FileNotFoundError):  # Another process sweeps at the same time.
                status = path.stat()
                if path.suffix == ".program":
                    files.append((status.st_mtime, status.st_size, path))
                elif path.suffix == ".part" and status.st_mtime < time.time() - _ABANDONED:
                    path.unlink()
        excess = sum(size for _, size, _ in files) - limit
        for _, size, path in sorted(files):
            if excess <= 0:
                break
            path.unlink(missing_ok=True)
            excess -= size

    def _warn(self, verb: str, error: OSError) -> None:
        warnings.warn(f"Cannot {verb} compiled programs in {self._path}: {error.strerror}.", stacklevel=2)
