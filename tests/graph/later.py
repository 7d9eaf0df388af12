"""What the tests of the later surface compare with: values printed by TensorFlow 2.15."""

import ast
import collections
import json
import os
import re
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.golden.later_cases import CASES, net

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "later.json").read_text())


def cases(area: str) -> list[tuple[str, str]]:
    """The expressions of an area with what the original prints for them."""
    return [(case, _as_this_python_prints(GOLDEN[area][case])) for case in CASES[area]]


def _as_this_python_prints(text: str) -> str:
    """Python 3.12 prints an OrderedDict as a dict, earlier ones, as the original's, as a list of pairs."""

    def again(found: re.Match[str]) -> str:
        return repr(collections.OrderedDict(ast.literal_eval(found[1])))

    return re.sub(r"OrderedDict\((\[[^\]]*\])\)", again, text)


def printing(tf):
    """``tf.print`` as a function that returns what it prints."""

    def text(*args, **kwargs):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out")
            tf.print(*args, output_stream=f"file://{path}", **kwargs)
            with open(path) as stream:
                return stream.read()

    return text


def printed(expression: str, tf: SimpleNamespace) -> str:
    """What our functions print for an expression, or the type of the error they raise."""
    try:
        return repr(eval(expression, {"tf": tf, "np": np, "cs": collections, "net": net, "printed": printing(tf)}))
    except Exception as error:
        return f"raises {type(error).__name__}"


def module(**names: Any) -> SimpleNamespace:
    """A namespace to evaluate expressions in."""
    return SimpleNamespace(**names)
