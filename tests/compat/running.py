"""The command ``towerstrat`` in a process of its own."""

import os
import re
import subprocess
import sys

import pytest

from towerstrat.compat import importer


def towerstrat(*arguments, folder=None, full=False):
    """Exit status, output, and errors without the lines that say which names the program has, and lacks."""
    code, output, error = said(*arguments, folder=folder, full=full)
    return code, output, re.sub(r"\Atowerstrat: [12]\.x names.* \(.*\)\n(towerstrat: .* missing .*\n)?", "", error)


def said(*arguments, folder=None, full=False):
    environment = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"} | {"JAX_PLATFORMS": "cpu"}
    if full:
        environment["TOWERSTRAT_TRACEBACK"] = "full"
    done = subprocess.run(
        [sys.executable, "-m", "towerstrat", *arguments], capture_output=True, text=True, cwd=folder, env=environment
    )
    return done.returncode, done.stdout, done.stderr


def names_without_keras():
    """The names of 1.x, and below them those of 2.x, where the package that serves ``tf.keras`` is not installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOWERSTRAT_KERAS", os.devnull)
        return importer.Finder(1).root
