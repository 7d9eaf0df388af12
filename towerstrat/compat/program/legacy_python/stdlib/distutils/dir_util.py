"""Copying and removing folders."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def mkpath(name: str, mode: int = 0o777, verbose: int = 1, dry_run: int = 0) -> list[str]:
    """Makes a folder and those above it. Returns the new ones."""
    made: list[str] = [str(p) for p in (Path(name), *Path(name).parents) if not p.exists()][::-1]
    if not dry_run:
        os.makedirs(name, mode, exist_ok=True)
    return made


def copy_tree(src: str, dst: str, preserve_mode: int = 1, preserve_times: int = 1, preserve_symlinks: int = 0,
              update: int = 0, verbose: int = 1, dry_run: int = 0) -> list[str]:  # fmt: skip
    """Copies what is in a folder into another, which may be there. Returns the copies.

    Args:
      update: whether files are left out that are not newer than their copy.
    """
    copies = []
    for folder, _, files in os.walk(src, followlinks=not preserve_symlinks):
        place = Path(dst, os.path.relpath(folder, src))
        for name in sorted(files):
            source, copy = Path(folder, name), place / name
            if update and copy.exists() and copy.stat().st_mtime >= source.stat().st_mtime:
                continue
            if not dry_run:
                place.mkdir(parents=True, exist_ok=True)
                take = shutil.copy2 if preserve_times else shutil.copy if preserve_mode else shutil.copyfile
                take(source, copy, follow_symlinks=not preserve_symlinks)
            copies.append(str(copy))
    return copies


def remove_tree(directory: str, verbose: int = 1, dry_run: int = 0) -> None:
    """Removes a folder and all that is in it."""
    if not dry_run:
        shutil.rmtree(directory)
