"""Modules that are imported when they are first used."""

import gc
import subprocess
import sys

import pytest

from towerstrat.platform.deferred import Deferred, without_collections

LATE = ("google.protobuf", "jax.extend", "malt", "unittest")
"""Needed by some programs only, and slow to import."""
FLOORS = ("towerstrat.data", "towerstrat.towers", "towerstrat.models", "towerstrat.training")
"""Imported with the first of their names that a program uses."""


def test_what_few_programs_need_is_imported_when_it_is_used():
    program = f"""
import calendar, sys
import jax
before = set(sys.modules)
import towerstrat.compat.v1 as tf
print([name for name in {LATE + FLOORS} if name in sys.modules and name not in before])
_ = tf.layers.Dense, tf.train.AdamOptimizer
print([name for name in {FLOORS} if name in sys.modules])
config, case = tf.ConfigProto(allow_soft_placement=True), tf.test.TestCase
from towerstrat.graph.autograph import conversion, options
converted = conversion.conversion_of(calendar.isleap, options.options_for(), requested=True)
print([name for name in {LATE} if name in sys.modules])
print(config.allow_soft_placement, "ConfigProto" in dir(tf), "ConfigProto" in tf.__all__, type(converted).__name__)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    expected = [
        "[]",
        "['towerstrat.towers', 'towerstrat.models', 'towerstrat.training']",
        "['google.protobuf', 'malt', 'unittest']",
        "True True True Converted",
    ]
    assert done.stdout.splitlines() == expected


def test_a_deferred_module_has_the_names_of_the_module():
    assert Deferred("math").floor(2.5) == 2
    with pytest.raises(AttributeError, match="module 'math' has no attribute 'missing'"):
        Deferred("math").missing  # noqa: B018


@pytest.mark.parametrize("enabled", [True, False])
def test_collections_are_as_before_afterwards(enabled):
    was = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with pytest.raises(KeyError), without_collections():
            assert not gc.isenabled()
            raise KeyError
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if was else gc.disable)()
