"""Functions of ``python -c``, whose lines Python knows from 3.13 on."""

import subprocess
import sys

import pytest

PROGRAM = """
import linecache
import towerstrat.compat.v2 as tf
def f(x):
    return 1 if x > 2 else 0
linecache.getlines("<string>")
try:
    print(tf.function(f)(tf.constant(3)).numpy())
except Exception as error:
    print("its source is not available" in str(error))
names = {}
exec("\\n\\n\\ndef f(x):\\n    return 5 if x > 2 else 6", names)
try:
    print(tf.function(names["f"])(tf.constant(3)).numpy())
except Exception as error:
    print("its source is not available" in str(error))
"""


@pytest.mark.skipif(sys.version_info < (3, 13), reason="Python does not know them")
def test_a_function_of_the_command_is_converted_and_none_that_another_string_defines_in_its_place():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.stdout == "1\nTrue\n", done.stderr
