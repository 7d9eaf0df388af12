"""What XLA compiled, kept in the user's cache folder: programs that a process compiled once, later ones load.

JAX has a persistent compilation cache; ``enable`` turns it on and gives it a store of its own. JAX's store writes
entries in place and never replaces one, so that a process that is killed in between leaves an entry that fails in
every later start; and it is bounded only with a lock over all processes.
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
"""The environment variable that names another folder, or turns the cache off ("off" or "0")."""

LIMIT = 2**30
"""Bytes that all entries take together, unless JAX_COMPILATION_CACHE_MAX_SIZE says otherwise."""

_DIGEST = hashlib.sha256().digest_size
_LONGEST_NAME = 200
_ABANDONED = 3600.0
"""Seconds after which a file that is being written belongs to a process that was killed."""


def enable() -> str | None:
    """Turns JAX's persistent compilation cache on for this process. Must be called before anything is compiled.

    A cache that the user configured with JAX's own variables stays as it is. Where the usual folder cannot be made
    there is no cache. Entries are native code: a folder to which somebody else could write them is not used.

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
        return EntryFiles(folder, LIMIT if limit == -1 else limit), path

    compilation_cache.get_file_cache = get_file_cache
    return None


def exposure(folder: Path) -> str | None:
    """Says how a user other than this one could put files into a folder; None where nobody can, or none can tell.

    Args:
      folder: without links. It and its parent must be this user's and closed to all others; above, a folder that all
        may write must be sticky, as /tmp is.

    Raises:
      OSError: it cannot be looked at.
    """
    if not hasattr(os, "getuid"):
        return None
    for path in (folder, folder.parent):
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode):
            return f"{path} is a link"
        if found.st_uid != os.getuid():
            return f"{path} belongs to another user (uid {found.st_uid})"
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return f"others may write to {path} (mode {stat.S_IMODE(found.st_mode):o})"
    for path in folder.parent.parents:
        mode = os.lstat(path).st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return f"others may replace what is in {path} (mode {stat.S_IMODE(mode):o})"
    return None


def usual_folder() -> Path:
    """The folder for towerstrat's cached files. Raises RuntimeError where the user has no home."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "towerstrat"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local", "towerstrat", "Cache")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "towerstrat")


@functools.cache
def processor() -> str:
    """A short digest of the processor's model and instruction set: XLA compiles for exactly these on the CPU."""
    known = [platform.machine(), platform.processor()]
    known += processor_lines(("vendor_id", "cpu family", "model", "flags", "Features", "CPU implementer", "CPU part"))
    if sys.platform == "darwin":
        with contextlib.suppress(OSError):
            known.append(subprocess.run(["sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True).stdout.hex())
    return hashlib.sha256("\n".join(known).encode()).hexdigest()[:12]


def processor_lines(fields: tuple[str, ...]) -> list[str]:
    """The lines on the first processor that begin with one of ``fields``, as Linux has them; [] elsewhere."""
    try:
        first = Path("/proc/cpuinfo").read_text().partition("\n\n")[0]
    except OSError:
        return []
    return [line for line in first.splitlines() if line.startswith(fields)]


class EntryFiles:
    """The store of a JAX compilation cache: a file per entry, used by any number of processes without locks.

    A file is the SHA-256 digest of the entry and the entry. It is written under another name and renamed, so that
    readers see whole entries only; one whose digest is wrong is deleted and compiled again.

    Args:
      folder: where the files of this processor are; its siblings named alike count for ``limit`` too.
      limit: bytes of all files together. A process looks at them when it writes first, and again after each
        sixteenth of ``limit`` it wrote; then those go that were unused for longest.
    """

    def __init__(self, folder: Path, limit: int):
        self._path = folder
        self.limit = limit
        self.unswept = 0

    def get(self, key: str) -> bytes | None:
        """An entry, None where there is no whole one."""
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
        """Writes an entry, in the place of one that may be there. One larger than the limit is not kept."""
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
        """Deletes the entries unused for longest until the others take at most ``limit`` bytes; abandoned files too."""
        files = []
        for path in self._path.parent.glob("programs-*/*"):
            with contextlib.suppress(FileNotFoundError):  # Another process sweeps at the same time.
                found = path.stat()
                if path.suffix == ".program":
                    files.append((found.st_mtime, found.st_size, path))
                elif path.suffix == ".part" and found.st_mtime < time.time() - _ABANDONED:
                    path.unlink()
        excess = sum(size for _, size, _ in files) - limit
        for _, size, path in sorted(files):
            if excess <= 0:
                break
            path.unlink(missing_ok=True)
            excess -= size

    def _warn(self, verb: str, error: OSError) -> None:
        warnings.warn(f"Cannot {verb} compiled programs in {self._path}: {error.strerror}.", stacklevel=2)
