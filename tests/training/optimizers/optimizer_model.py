"""The model that tests/golden/optimizers.py trained with the original, and what came out of it."""

import numpy as np

from tests.golden import goldens
from tests.golden.optimizer_cases import CASES, DENSE_ONLY, FLOAT32_ONLY, KEPT, ROWS, STEP, STEPS, VARIABLES
from towerstrat.graph.ops.linalg.products import matmul
from towerstrat.graph.ops.math.arithmetic import square, tanh
from towerstrat.graph.ops.math.reductions import reduce_mean
from towerstrat.graph.variables.variables import Variable
from towerstrat.training import optimizers

ARCHIVE = goldens.arrays("optimizers")
LAYOUT = goldens.facts("optimizers")
DATA = {k: ARCHIVE[f"data/{k}"] for k in ("ids", "x", "y", *VARIABLES)}
TOLERANCE = {"float64": 1e-9, "float32": 2e-5}

COMPARED = [(name, dtype) for name in CASES for dtype in TOLERANCE]


def golden(name, dtype):
    """Name -> array: losses, and ``STEP/VARIABLE``; and the tolerance that it is good for."""
    known = "float32" if name in FLOAT32_ONLY else dtype
    flat, found, start = ARCHIVE[f"{name}/{known}"], {}, 0
    for key, shape in LAYOUT[name]:
        size = int(np.prod(shape))
        found[key] = flat[start : start + size].reshape(shape)
        start += size
    return found, TOLERANCE[known]


def make_optimizer(name, step):
    kind, arguments = CASES[name]
    return getattr(optimizers, kind)(**{k: step if v == STEP else v for k, v in arguments.items()})


def make_variables(dtype):
    return {k: Variable(DATA[k].astype(dtype), name=k) for k in VARIABLES}


def loss_of(name, variables, ids, x, y):
    """The model's loss; ``ids`` come as a one-hot matrix for optimizers that have no rule for rows in the original."""
    table = variables["table"]
    rows = matmul(ids, table) if name in DENSE_ONLY else table.sparse_read(ids)
    hidden = tanh(matmul(x, variables["w"]) + variables["b"] + rows)
    return reduce_mean(square(matmul(hidden, variables["v"]) - y))


def inputs(name, dtype):
    """The data as arrays ``[steps, batch, ...]``, in the form that the model takes."""
    ids = np.eye(ROWS, dtype=dtype)[DATA["ids"]] if name in DENSE_ONLY else DATA["ids"]
    return ids, DATA["x"].astype(dtype), DATA["y"].astype(dtype)


__all__ = ["COMPARED", "KEPT", "STEPS", "golden", "inputs", "loss_of", "make_optimizer", "make_variables"]
