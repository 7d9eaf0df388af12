"""How outcomes of MirroredStrategy's cases are compared with the original's."""

import json
import math
from pathlib import Path

GOLDEN = Path(__file__).parents[2] / "golden"
ACCIDENTS = {"AssertionError", "AttributeError", "IndexError", "UnboundLocalError"}
"""Errors by which the original fails where it meant none."""
TOLERANCE = 2e-5
"""Numbers are kept with six digits of float32 arithmetic of a few operations each."""


def kept(name):
    return json.loads((GOLDEN / name).read_text())


def plain(found):
    """An outcome as JSON gives it back."""
    return json.loads(json.dumps(found))


def failed(told):
    return isinstance(told, dict) and set(told) == {"error", "message"}


def accident(told):
    """An error that the original raised by accident, or one that says nothing: ours may do better."""
    return failed(told) and (told["error"] in ACCIDENTS or not told["message"])


def alike(here, there):
    """Values to a bound, errors by their types; where the original fails by accident, anything goes."""
    if accident(there):
        return True
    if failed(there):
        return failed(here) and here["error"] == there["error"]
    if isinstance(there, dict):
        return isinstance(here, dict) and set(here) == set(there) and all(alike(here[k], there[k]) for k in there)
    if isinstance(there, list):
        return isinstance(here, list) and len(here) == len(there) and all(map(alike, here, there))
    if isinstance(there, float) or isinstance(here, float):
        numbers = all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in (here, there))
        return numbers and math.isclose(here, there, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return here == there


def differences(here, there, at=""):
    """Where outcomes are apart: paths with what is here and what is there."""
    if alike(here, there):
        return []
    both = [x for x in (here, there) if isinstance(x, dict) and not failed(x)]
    if len(both) == 2 and set(here) == set(there):
        return [d for k in there for d in differences(here[k], there[k], f"{at}[{k}]")]
    if isinstance(here, list) and isinstance(there, list) and len(here) == len(there):
        return [d for i, (h, t) in enumerate(zip(here, there, strict=True)) for d in differences(h, t, f"{at}[{i}]")]
    return [(at, here, there)]
