"""Hooks of sessions against TensorFlow 1.12: when they act, what they log, write and call, in which order."""

import json
import re
from contextlib import nullcontext
from pathlib import Path

import pytest

import towerstrat.compat.v1 as tf
from tests.golden import hooks_cases
from towerstrat.compat.names import name_file
from towerstrat.compat.names.lazy_names import named

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "hooks.json").read_text())
OWN_LINES = re.compile(
    "INFO (One step per return to the host: |Going on with the run of |iterator goes on |"
    "ProfilerHook: no profile by jax.profiler)|WARNING The first tensor on its way that is not finite: "
)
"""What is logged besides: why a session does not run ahead, which random numbers and input a restored run takes, that a
profile is under way, where a NaN came from."""
LONG = {
    hooks_cases.stopping_again, hooks_cases.several_steps_a_run, hooks_cases.logging_tensors, hooks_cases.counting,
    hooks_cases.saving, hooks_cases.listening, hooks_cases.summarizing, hooks_cases.end_of_data,
    hooks_cases.input_pipeline,
}  # fmt: skip
"""``order`` has all of these hooks in one session."""
CASES = [pytest.param(case, id=case.__name__, marks=[pytest.mark.long] * (case in LONG)) for case in hooks_cases.CASES]


def inside(module, name):
    """A name of a module of ``tensorflow.python.training``."""
    [row] = name_file.below(f"tensorflow.python.training.{module}.{name}")
    return named(row, nullcontext).value()


@pytest.mark.parametrize("case", CASES)
def test_hooks(case, tmp_path):
    found = json.loads(json.dumps(hooks_cases.facts(tf, case, str(tmp_path), inside)))
    wanted = GOLDEN[case.__name__]
    if isinstance(found, dict):
        found["log"] = [line for line in found["log"] if not OWN_LINES.match(line)]
        assert found["log"] == wanted["log"]
    if case is hooks_cases.several_steps_a_run:
        found[0] = [line for line in found[0] if not OWN_LINES.match(line)]
    if case is hooks_cases.without_a_step:  # ours go on with what to do
        found = [[kind, message[: len(says)]] for (kind, message), (_, says) in zip(found, wanted, strict=True)]
    assert found == wanted
