"""Branches, loops, arrays, checks and gradients of one's own, executed eagerly, against 1.12 and 2.15."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.golden.eager_flow_cases import BOTH, LATER
from tests.graph.control_flow_namespace import namespace
from towerstrat.compat.v2_functions import assertions, control_flow
from towerstrat.graph.eager.mode import eager_mode
from towerstrat.graph.functions import polymorphic
from towerstrat.graph.tapes import custom_gradients, gradient_tape, vectorized

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "eager_flow.json").read_text())
TF1, TF2 = namespace(), namespace()
NAMESPACES = {"1.12": TF1, "2.15": TF2}
for tf in (TF1, TF2):
    tf.GradientTape = gradient_tape.GradientTape
TF2.__dict__.update(
    {n: getattr(control_flow, n) for n in ("cond", "map_fn", "while_loop", "hessians")},
    function=polymorphic.function, vectorized_map=vectorized.vectorized_map,
    recompute_grad=custom_gradients.recompute_grad, debugging=SimpleNamespace(**{**vars(TF1), **vars(assertions)}),
    linalg=TF1, math=TF1,
)  # fmt: skip
CASES = {"1.12": BOTH, "2.15": {**BOTH, **LATER}}
RUNS = [(version, name) for version, cases in CASES.items() for name in cases]

LATER_IS_RIGHT = {
    "array_element_shape", "array_element_shape_violated", "array_flow", "array_gradient", "array_scatter",
    "array_write_read", "cond_float_tensor", "custom_gradient_wrong_number", "while_list",
    "while_maximum", "while_maximum_single_list_body", "while_structure_changes", "while_too_few",
}  # fmt: skip
"""Programs that fail by accident in 1.12, or have Python numbers as results, and mean what they mean in 2.15."""

OWN = {
    "array_close": {"dtype": "int32", "value": 0},
    "array_out_of_function": {"dtype": "float32", "value": [1.0, 2.0]},
    "case_dict": {"dtype": "int32", "value": 1},
    "case_not_callable": "TypeError",
    "custom_gradient_kwargs": [{"dtype": "float32", "value": 6.0}, {"dtype": "float32", "value": 20.0}],
    "while_maximum_single": [{"dtype": "int32", "value": 3}],
    "while_single": [{"dtype": "int32", "value": 5}],
}
"""What ours make of programs that 2.15 refuses by accident."""


def expected(version, name):
    if name in OWN and (version == "2.15" or name in ("case_not_callable", "case_dict")):
        return OWN[name]
    golden = GOLDEN["2.15" if name in LATER_IS_RIGHT else version][name]
    return golden.get("error", golden.get("value"))


def plain(value):
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in sorted(value.items())}
    if value is None:
        return None
    array = np.asarray(value)
    if array.dtype.kind == "O":
        return {"dtype": "string", "value": [v.decode() for v in array.ravel()]}
    return {"dtype": array.dtype.name, "value": array.tolist()}


def same(found, wanted):
    if isinstance(wanted, list) or "value" not in (wanted or {}):
        assert type(found) is type(wanted), (found, wanted)
        pairs = zip(found, wanted, strict=True) if isinstance(wanted, list) else ()
        for one, other in pairs:
            same(one, other)
        if isinstance(wanted, dict):
            assert found.keys() == wanted.keys()
            for key in wanted:
                same(found[key], wanted[key])
        return
    # A Python number comes back as a tensor of ours.
    assert found["dtype"].rstrip("246") == wanted["dtype"].rstrip("246"), (found, wanted)
    if isinstance(wanted["value"], str) or found["dtype"] == "string":
        assert found == wanted
    else:
        np.testing.assert_allclose(found["value"], wanted["value"], rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize(("version", "name"), RUNS)
def test_as_the_original(version, name):
    case, wanted = CASES[version][name], expected(version, name)
    with eager_mode():
        if isinstance(wanted, str):
            with pytest.raises(Exception) as caught:
                case(NAMESPACES[version])
            assert wanted in [kind.__name__ for kind in caught.type.__mro__]
        else:
            same(plain(case(NAMESPACES[version])), wanted)
