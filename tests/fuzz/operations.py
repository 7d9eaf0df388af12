"""Operations by all routes: one expression of a case, computed in every way that a program can ask for it."""

from __future__ import annotations

import contextlib
import inspect
from collections import Counter
from typing import Any

import numpy as np

from tests.fuzz import generate
from tests.fuzz.difference import Difference, apart
from tests.fuzz.routes import ROUTES, Results
from tests.fuzz.tolerances import of_types
from tests.graph.three_ways import within
from towerstrat.errors import OpError, UnsupportedError
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.tensor_conversion import placeholder

REFUSALS: Counter[str] = Counter()
"""Routes that refused a case, with how often they did: what cannot be compiled, or needs a shape to be built."""

HEADER = """\
import ml_dtypes
import numpy as np

from tests.fuzz.routes import *
"""


def program(seed: int) -> Difference | None:
    """Runs the case of a seed by all routes; the first route that disagrees with the first one that gives a result."""
    with np.errstate(all="ignore"):
        case = generate.case(np.random.RandomState(seed))
    values = list(case.inputs.values())
    names = [n for n in ROUTES if "towers" not in n or not any(word in case.text for word in generate.OF_TOWERS)]
    found = {name: _outcome(name, case.function, values) for name in names}
    results = {name: outcome for name, outcome in found.items() if outcome is not None}
    if not results:
        return None
    wanted = next(iter(results))
    tolerance = of_types(types(case))
    size = max([float(np.max(np.abs(v[np.isfinite(v)]), initial=0)) for v in values if v.dtype.kind in "fV"], default=0)
    for name, outcome in results.items():
        problem = _problem(outcome, results[wanted], tolerance, size)
        if problem:
            return Difference(f"{case.text}: {name} and {wanted}: {problem}"[:600], _shown(case, (wanted, name)))
    return None


def types(case: generate.Case) -> set[str]:
    """The operation types that a case adds to a graph; none where that refuses it."""
    with Graph().as_default() as graph, contextlib.suppress(TypeError, ValueError):
        case.function(*[placeholder(v.dtype, v.shape) for v in case.inputs.values()])
    return {op.type for op in within(graph.root)}


def _outcome(name: str, function: Any, values: list[Any]) -> Results | str | None:
    """The results by a route; "raises" where the values cannot be computed; None where the route refuses."""
    try:
        with np.errstate(all="ignore"):
            return ROUTES[name](function, values)
    except UnsupportedError:
        REFUSALS[name] += 1
        return None
    except OpError:
        return "raises"
    except (TypeError, ValueError):
        if "any" in name or name in ("in_branch", "in_loop"):
            REFUSALS[name] += 1
            return None
        return "raises"
    except Exception as error:
        return f"crashes: {error!r}"


def _problem(found: Results | str, wanted: Results | str, tolerance: Any, size: float) -> str:
    if isinstance(found, str) or isinstance(wanted, str):
        return "" if found == wanted == "raises" else f"{found} is not {wanted}"
    if len(found) % max(len(wanted), 1):
        return f"{len(found)} results are not {len(wanted)}"
    for i, result in enumerate(found):
        problem = apart(result, wanted[i % len(wanted)], tolerance, size)
        if problem:
            return problem
    return ""


def _shown(case: generate.Case, names: tuple[str, ...]) -> str:
    sources = "\n".join(inspect.getsource(ROUTES[name]) for name in dict.fromkeys(names))
    calls = "\n".join(f"print({name}(function, values))" for name in dict.fromkeys(names))
    return f"{HEADER}{case.program()}\n\n{sources}\n{calls}\n"
