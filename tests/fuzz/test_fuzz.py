"""The random programs find what differs, and show it."""

import numpy as np
import pytest

from tests.fuzz import operations, tolerances
from tests.fuzz.difference import Tolerance, apart, written
from tests.fuzz.routes import ROUTES
from tests.spread import spread
from towerstrat.graph.ir import op_registry

EXACT = Tolerance()
NAN = float("nan")


@pytest.mark.parametrize(
    ("found", "wanted", "tolerance", "same"),
    [
        (np.float32([1, NAN]), np.float32([1, NAN]), EXACT, True),
        (np.float32([1, 2]), np.float32([1, NAN]), EXACT, False),
        (np.float32(1 + 2**-23), np.float32(1), EXACT, False),
        (np.float32(1 + 2**-23), np.float32(1), Tolerance(each=1), True),
        (np.float32([1e-9, 1]), np.float32([0, 1]), Tolerance(each=1), False),
        (np.float32([1e-9, 1]), np.float32([0, 1]), Tolerance(largest=1), True),
        (np.float32([np.inf]), np.float32([-np.inf]), Tolerance(9, 9), False),
        (np.int32([1]), np.int64([1]), EXACT, False),
        (np.int32([1]), np.int32([[1]]), EXACT, False),
        (np.int32([1]), np.int32([2]), Tolerance(9, 9), False),
    ],
)
def test_results_are_apart(found, wanted, tolerance, same):
    assert (apart(found, wanted, tolerance) == "") is same


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(), (0, 2), (2, 1)])
def test_an_array_is_written_as_code(dtype, shape):
    array = np.ones(shape, dtype)
    again = eval(written(array), {"np": np, "nan": NAN})
    assert again.dtype == array.dtype
    assert again.shape == shape


def test_tolerances_are_of_operation_types():
    listed = {name for table in (tolerances.EACH, tolerances.LARGEST) for v in table.values() for name in v.split()}
    assert listed <= set(op_registry.types())


FOUND = [9060, 9073]
"""Seeds whose programs differed once."""


@spread("seed", [*range(0, 400, 7), *FOUND], every=22)
def test_operations_agree_by_all_routes(seed):
    difference = operations.program(seed)
    assert difference is None, f"{difference.what}\n{difference.program}"


def test_a_route_that_differs_is_found_and_shown(monkeypatch):
    monkeypatch.setitem(ROUTES, "eager", lambda function, values: [r + 1 for r in ROUTES["constant"](function, values)])
    differences = (operations.program(seed) for seed in range(16, 40))  # not every program runs eagerly
    difference = next(each for each in differences if each is not None)
    assert "eager and constant" in difference.what
    assert "print(constant(function, values))" in difference.program
