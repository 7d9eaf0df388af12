"""``python -m tests.graph.gradients.mutations [--only WORD] [TEST ...]``: which tests notice a gradient that is lost.

Each mutation takes a repair out, or drops one flow of cotangents, in a copy of the tree, one at a time; the tests,
files or rooms, run there until their first failure. Prints for each mutation which noticed it; the exit status is 1
where none did. By default the tests are those of gradients.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
from dataclasses import dataclass

from tests.mutants.copies import changed, copied, first_failure

TESTS = (
    "tests/graph/gradients/test_table.py",
    "tests/fuzz/test_gradients.py",
    "tests/graph/ops/control/test_gradients_in_loops.py",
    "tests/graph/ops/control/test_control_flow.py",
    "tests/graph/lowering",
    "tests/graph/tapes",
    "tests/graph/functions/test_under_tape.py",
    "tests/graph/runtime/sessions/test_device_towers.py",
    "tests/graph/test_three_ways.py",
    "tests/towers/mirrored",
)


@dataclass(frozen=True)
class Mutation:
    """A change of one line or a few.

    Attributes:
      what: what is lost.
      file: below the package.
      text, instead: what stands there once, and what takes its place.
    """

    what: str
    file: str
    text: str
    instead: str


REPAIRS = (
    Mutation(
        "initial values of loops in towers", "graph/ops/control/while_loop.py",
        "flows_of(sets, inputs, regions.body_vars) for sets in (flows, reached)",
        "flows_of(sets, inputs, () if regions.graph.trace else regions.body_vars) for sets in (flows, reached)",
    ),
    Mutation(
        "rows of vectorized_map in towers", "graph/tapes/vectorized.py",
        "flows_of(depends, inputs, rows)", "flows_of(depends, inputs, () if graph.trace else rows)",
    ),
    Mutation(
        "paths through what towers were later found to differ in", "graph/ir/shard_traces.py",
        "        self._lead_through(other.op, op, its)\n", "",
    ),
    Mutation(
        "what a gradient in a region uses of outside: the gradient of a Jacobian", "graph/lowering/backward_pass.py",
        "lowering = _with_records_of_region(lowering, op)", "lowering.fork()",
    ),
    Mutation(
        "reads after writes in a region", "graph/lowering/lowering.py",
        "if variable is None or value is variable:", "if True:",
    ),
    Mutation(
        "what a gradient function uses, in a gradient of the gradient", "graph/lowering/backward_pass.py",
        'o.definition.reads_value or o.definition.collective or o in rules',
        "o.definition.reads_value or o.definition.collective",
    ),
    Mutation(
        "gradients of gradients by the formula of a type", "graph/lowering/gradient_formulas.py",
        "result = function(*arrays)", "result = value(*arrays)",
    ),
    Mutation(
        "calls of Python before a function's program", "graph/functions/traced.py",
        'if gradients and not before.isdisjoint(gradients[0].op.attrs["path"]):', "if False:",
    ),
    Mutation(
        "what towers share, in a gradient of a gradient of the whole", "graph/lowering/backward_pass.py",
        "lowering.values.update({t: share(v, axis) for t, v in values.items()})",
        "lowering.values.update({t: vary(v, axis) for t, v in values.items()})",
    ),
    Mutation(
        "sums over towers, in a gradient of a gradient of the whole", "graph/lowering/backward_pass.py",
        "in_place_of(total, sum_shares(jnp.asarray(dense), lowering.axis)) if lowering.vjp.active else total",
        "total",
    ),
    Mutation(
        "gradients of the whole, in those of a tower", "graph/lowering/backward_pass.py",
        "if (together or of_whole) and", "if together and",
    ),
    Mutation(
        "what towers share, once, in a gradient of a gradient of the whole by one", "graph/lowering/backward_pass.py",
        "else masked(g, first)) for t, g in by_input]", "else g) for t, g in by_input]",
    ),
    Mutation(
        "gradients in regions through what towers join", "graph/ir/shard_traces.py",
        "if self._region_gradients.lead_through(op, its):", "if False:",
    ),
    Mutation(
        "what is read after a write, where an outer tape records the gradient", "graph/functions/traced.py",
        "outputs, writes), gradients)", "outputs, ()), gradients)",
    ),
    Mutation(
        "cotangents of two tapes for one gradient function", "graph/functions/traced.py",
        "(nested and not derivative.adds_up)", "False",
    ),
    Mutation(
        "what the condition of a differentiated loop writes", "graph/ops/control/while_lowering.py",
        "return self.test(carry), outputs", "return (self.test(carry)[0], carry), outputs",
    ),
)  # fmt: skip
FLOWS = (
    Mutation(
        "the second operand of an operation", "graph/lowering/tape.py",
        "dict(zip(record.sources, record.pull(filled), strict=True))",
        "dict(list(zip(record.sources, record.pull(filled), strict=True))[:1])",
    ),
    Mutation(
        "the third use of a tensor", "graph/lowering/tape.py",
        "for other in arrays[1:]:", "for other in arrays[1:2]:",
    ),
    Mutation(
        "tensors that a loop captures", "graph/ops/control/while_loop.py",
        "flows_of(sets, inputs, regions.body_vars) for sets in (flows, reached)",
        "flows_of([s & {*regions.body_vars} for s in sets], inputs, regions.body_vars) for sets in (flows, reached)",
    ),
    Mutation(
        "variables that loops and branches read", "graph/lowering/taped_evaluation.py",
        "sources = [t for t in dict.fromkeys(op.inputs) if t in paths.tensors]",
        "sources = [t for t in paths.tensors.intersection(op.inputs) if not (op.bodies and t.dtype is resource)]",
    ),
    Mutation(
        "what the second branch depends on alone", "graph/ops/control/branches.py",
        "differentiable_leaves([a], true, stopped) | differentiable_leaves([b], false, stopped)",
        "differentiable_leaves([a], true, stopped)",
    ),
    Mutation(
        "the cotangent of the first branch", "graph/ops/control/branches.py",
        "values = [_fill(v, t) for v, t in",
        "values = [_fill(v if which or isinstance(v, Unwritten) else jax.lax.stop_gradient(v), t) for v, t in",
    ),
    Mutation(
        "rows of a TensorArray that a loop reads", "graph/ops/control/while_lowering.py",
        "walk.take(self._rows(walk.op.inputs[0]), count) for walk in self.walks.reads",
        "lax.stop_gradient(walk.take(self._rows(walk.op.inputs[0]), count)) for walk in self.walks.reads",
    ),
    Mutation(
        "rows of a TensorArray that a loop writes", "graph/ops/control/while_lowering.py",
        "self.inits[i] = walk.put(self.inits[i], rows)",
        "self.inits[i] = walk.put(self.inits[i], lax.stop_gradient(rows))",
    ),
    Mutation(
        "what enters a differentiated loop", "graph/ops/control/while_lowering.py",
        "self.test(self.start()) if acts else self.start()",
        "lax.stop_gradient(self.test(self.start()) if acts else self.start())",
    ),
    Mutation(
        "tensors that a vectorized function captures", "graph/tapes/vectorized.py",
        "depends = [differentiable_leaves([r], block) for r in block.results]",
        "depends = [differentiable_leaves([r], block).intersection(rows) for r in block.results]",
    ),
    Mutation(
        "rows of a table in IndexedSlices", "graph/lowering/read_gradients.py",
        "return {op.inputs[0]: RowCotangent(jnp.reshape(cotangent,",
        "return {op.inputs[0]: RowCotangent(0 * jnp.reshape(cotangent,",
    ),
    Mutation(
        "what towers share, in a gradient over all of them", "graph/lowering/backward_pass.py",
        "total = vary((yield id(tensor), dense), lowering.axis)", "total = vary(dense, lowering.axis)",
    ),
)  # fmt: skip


def noticed(copy: pathlib.Path, mutation: Mutation, tests: list[str]) -> dict[str, str]:
    """The tests that fail with a mutation in a copy of the tree: what was run -> the first test that failed."""
    file = copy / "towerstrat" / mutation.file
    text = file.read_text()
    if text.count(mutation.text) != 1:
        raise ValueError(f"{mutation.file} has {text.count(mutation.text)} times what {mutation.what!r} changes.")
    with changed(file, text.replace(mutation.text, mutation.instead).encode()):
        return {test: name for test in tests if (name := first_failure(copy, [test]))}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.graph.gradients.mutations", description="Lost gradients.")
    parser.add_argument("--only", default="", help="the mutations of which this is said")
    parser.add_argument("tests", nargs="*", default=TESTS, help="files or rooms of tests")
    arguments = parser.parse_args()
    unseen = 0
    chosen = [("repair", m) for m in REPAIRS] + [("flow", m) for m in FLOWS]
    with copied() as copy:
        for kind, mutation in [(kind, m) for kind, m in chosen if arguments.only in m.what]:
            found = noticed(copy, mutation, list(arguments.tests))
            unseen += not found
            print(f"{kind}: {mutation.what}: {'noticed by' if found else 'NOT NOTICED'}", flush=True)
            for test, first in found.items():
                print(f"    {test}: {first}", flush=True)
    return 1 if unseen else 0


if __name__ == "__main__":
    sys.exit(main())
