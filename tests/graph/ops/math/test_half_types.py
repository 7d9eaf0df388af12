"""Element-wise functions of 16-bit floats: those of 32 bits, rounded, for each type that takes floats."""

import jax.numpy as jnp
import numpy as np
import pytest

from towerstrat.graph.ops.math import elementwise

RECORDS = [
    r for r in elementwise.UNARY if r.kind in ("float", "inexact", "number", "real") and not r.type.startswith("Is")
]
VALUES = np.array([0.125, 0.25, 0.625, 0.75, 0.9375], np.float32)
"""Numbers that both types have, where every function of the table is defined."""


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16])
@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.type)
def test_halves(record, dtype):
    x = VALUES + 1.0 if record.type == "Acosh" else VALUES
    result = record.kernel(jnp.asarray(x, dtype))
    wide = np.asarray(record.kernel(jnp.asarray(jnp.asarray(x, dtype), jnp.float32)), np.float32)
    assert result.dtype == dtype
    eps = float(jnp.finfo(dtype).eps)
    np.testing.assert_allclose(np.asarray(result, np.float32), wide, rtol=4 * eps, atol=4 * eps)
