"""A value that is not what its tensor was declared as is an error of ours, which names the operation."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from towerstrat.errors import InternalError
from towerstrat.graph.ir import op_registry
from towerstrat.graph.ir.tensor_conversion import placeholder
from towerstrat.graph.ops.nn.activations import relu
from towerstrat.graph.runtime.sessions.session import Session

WRONG = {
    "element type": (lambda x: x.astype(jnp.float16), [2]),
    "size": (lambda x: x[:1], [2]),
    "rank": (lambda x: x[None], [None]),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_value_that_was_not_declared_so_is_an_internal_error(what, monkeypatch):
    kernel, shape = WRONG[what]
    broken = dataclasses.replace(op_registry.lookup("Relu"), kernel=kernel, numpy=None)
    monkeypatch.setitem(op_registry._TYPES, "Relu", broken)
    x = placeholder("float32", shape)
    y = relu(x, name="mine")
    with pytest.raises(InternalError, match=r"mine \(type Relu, created at .*test_declared\.py.*declared as float32"):
        Session().run(y, {x: np.zeros(2, np.float32)})
