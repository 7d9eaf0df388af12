"""Branches (``tf.cond``, ``tf.case``), and operations that order others (``tf.group``, ``tf.tuple``).

``cond`` builds both functions as regions of one ``If`` operation. Outside tensors that they use become its inputs, and
the results' tensors its outputs:

    cond(p, lambda: x + 1., lambda: y)      If(p, x, y), bodies (x + 1.), (y); output 0 -> Merge

Lowered it is ``lax.cond``, or one region alone where the predicate is known. Both branches must have equal shapes then;
if they have not, NeedsStatic makes the plan run the operation with a known predicate. State variables that a branch
writes leave it as further results, and of row lookups the indices, so that their cotangents stay rows. ``case`` is a
chain of conds.

``flows`` and ``reach`` of the operation tell gradients, output by output, which inputs can have a cotangent.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir import nest
from towerstrat.graph.ir.argument_types import TensorLike
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.op_registry import Attrs, Signature, Unrolling, define_op
from towerstrat.graph.ir.output_pruning import prune, prune_block
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import Array, bool_, int32, int64, resource, string
from towerstrat.graph.lowering.differentiability import differentiable_leaves
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.lowering.lowering_errors import NeedsStatic
from towerstrat.graph.ops.array.arrays import identity
from towerstrat.graph.ops.building.op_builder import add_op
from towerstrat.graph.ops.control.collective_predicates import require_agreement
from towerstrat.graph.ops.control.regions import (
    by_position,
    captures_of,
    carry_type,
    check_under_varying,
    entering,
    flows_of,
    flows_through,
    leaving,
    merged_dims,
    parts_of,
    rebuilt,
    region_is_uniform,
    remark,
    state_type,
)
from towerstrat.graph.ops.control.tensor_array_lowering import Shape, Unwritten, Value
from towerstrat.graph.ops.host.runtime_checks import Assert

__all__ = ["case", "cond", "group", "no_op", "region_is_uniform", "switch_case", "tuple", "with_dependencies"]


# ---- ordering --------------------------------------------------------------------------------------------------


def no_op(name: str | None = None) -> Any:
    """An operation that does nothing, to carry control dependencies. None eagerly."""
    graph = get_default_graph()
    return None if graph.executing_eagerly else graph.add("NoOp", (), None, name or "NoOp")


def group(*inputs: Any, **kwargs: Any) -> Any:
    """An operation that runs after all of ``inputs`` (tensors, operations, variables, nested structures).

    None eagerly, where all of them have run.

    Raises:
      TypeError: an input that is no graph element. ValueError: a keyword other than ``name``.
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unknown keyword arguments: {', '.join(kwargs)}")
    graph = get_default_graph()
    if graph.executing_eagerly:
        return None
    after: list[Any] = []
    for item in nest.flatten(list(inputs)):
        if isinstance(item, IndexedSlices):
            item = item.values
        if not hasattr(item, "device"):
            raise TypeError(f"Expected tf.group() expected Tensor arguments not '{item}' with type '{type(item)}'")
        after.append(item)
    with graph.control_dependencies(after):
        return no_op(name or "group_deps")


def with_dependencies(dependencies: Iterable[Any], output_tensor: Any, name: str | None = None) -> Any:
    """``output_tensor`` (a tensor or IndexedSlices), available only after ``dependencies`` have run."""
    graph = get_default_graph()
    if graph.executing_eagerly:
        return output_tensor
    with graph.name_scope(name or "control_dependency") as scope, graph.control_dependencies(dependencies):
        first, *others = parts_of(output_tensor)
        tensors = [identity(first, name=scope), *(identity(t) for t in others)]
    return rebuilt(output_tensor, iter(tensors))


def tuple(
    tensors: Sequence[Any], name: str | None = None, control_inputs: Iterable[Tensor | Operation] | None = None
) -> list[Any]:
    """``tensors``, each available only when all of them (and ``control_inputs``) have been computed.

    Args:
      tensors: tensors or IndexedSlices; None stays None.
      name: of the name scope; by default "tuple".
      control_inputs: further operations, or tensors, to wait for.

    Raises:
      ValueError: no tensor among ``tensors``. TypeError: a control input that is no operation or tensor.
    """
    graph = get_default_graph()
    if graph.executing_eagerly:
        return list(tensors)
    with graph.name_scope(name or "tuple"):
        gates: list[Operation] = [t.op for t in tensors if t is not None]
        for control in control_inputs or ():
            if not isinstance(control, Tensor | Operation):
                raise TypeError(f"Control input must be Operation or Tensor: {control!r}")
            gates.append(control.op if isinstance(control, Tensor) else control)
        if not gates:
            raise ValueError(f"Must have at least one Tensor: {tensors}")
        gate = group(*dict.fromkeys(gates))
        return [None if t is None else with_dependencies([gate], t) for t in tensors]


# ---- branches --------------------------------------------------------------------------------------------------


def cond(
    pred: TensorLike,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """The result of ``true_fn()`` if ``pred`` is true when the program runs, else that of ``false_fn()``.

    Eagerly one of the functions is called, and may return anything; ``pred`` is anything with a truth value.

    Args:
      pred: a scalar bool tensor (not a Python bool: use Python's ``if``).
      true_fn: builds the branch for a true ``pred``. An operation as a result is run with its branch. Operations that
        were made outside of the functions run in any case.
      false_fn: builds the other branch, which returns the same structure, with equal element types.
      strict: keep a list or tuple of one.
      name: of the name scope; by default "cond".
      fn1: old name of ``true_fn``.
      fn2: old name of ``false_fn``.

    Raises:
      TypeError: ``pred`` is a Python bool, or the functions are missing or not callable.
      ValueError: the branches return nothing (in functions they may), or results that do not match.
    """
    true_fn = _function("true_fn", true_fn, "fn1", fn1)
    false_fn = _function("false_fn", false_fn, "fn2", fn2)
    graph = get_default_graph()
    if graph.executing_eagerly:
        result = true_fn() if pred else false_fn()
        return result if strict else _unpack(result)
    with graph.name_scope(name or "cond"):
        if isinstance(pred, bool):
            raise TypeError("pred must not be a Python bool: the branch would be fixed now. Use Python's `if`.")
        pred = convert_to_tensor(pred, name="pred")
        if pred.dtype is not bool_:
            raise TypeError(f"pred must be a bool tensor, got {pred!r}. Use tf.not_equal(x, 0) or tf.cast(x, tf.bool).")
        if not pred.shape.is_compatible_with(()):
            raise ValueError(f"pred must be a scalar, got {pred!r}.")
        true, true_result = _branch(pred, true_fn, "true_fn")
        false, false_result = _branch(pred, false_fn, "false_fn")
        if not strict:
            true_result, false_result = _unpack(true_result), _unpack(false_result)
        _check_alike(true_result, false_result)
        true_result, false_result = (
            _with_wide_indices(true, true_result, false_result), _with_wide_indices(false, false_result, true_result)
        )  # fmt: skip
        outputs = iter(add_if(pred, true, false))
        leaves = [None if leaf is None else rebuilt(leaf, outputs) for leaf in nest.flatten(true_result)]
        return nest.pack_sequence_as(true_result, leaves)


def add_if(pred: Tensor, true: Block, false: Block) -> list[Tensor]:
    """Add the ``If`` operation of two finished regions; return the results of the one that is taken."""
    graph = get_default_graph()
    pred = require_agreement(pred, (true, false))
    inputs = [pred, *captures_of((true, false), but=[pred])]
    flows, reach = (
        flows_of(
            [
                differentiable_leaves([a], true, stopped) | differentiable_leaves([b], false, stopped)
                for a, b in zip(true.results, false.results, strict=True)
            ],
            inputs,
        )
        for stopped in (False, True)
    )
    attrs = {"bodies": (true, false), "flows": flows, "reach": reach}
    op = graph.add("If", inputs, attrs, "If")
    return [graph.add("Merge", [t], None, "Merge").outputs[0] for t in op.outputs]


def _function(
    name: str, function: Callable[[], Any] | None, old: str, old_function: Callable[[], Any] | None
) -> Callable[[], Any]:
    if old_function is not None:
        if function is not None:
            raise TypeError(f"cond(): {name} and {old} may not be set simultaneously.")
        function = old_function
    if function is None:
        raise TypeError(f"cond(): {name} argument required")
    if not callable(function):
        raise TypeError(f"{name} must be callable.")
    return function


def _unpack(result: Any) -> Any:
    if isinstance(result, list | builtins.tuple) and len(result) == 1:
        return result[0]
    return result


def _branch(pred: Tensor, function: Callable[[], Any], name: str) -> builtins.tuple[Block, Any]:
    """Build a branch as a region; return it with the function's result."""
    graph = get_default_graph()
    with graph.body(f"the {name} of {graph.scope_name}") as block:
        block.predicate = graph.own(pred)
        result = function()
        # In functions, whose effects run anyway, a branch may return None or have None among its results.
        nothing = graph.building_function
        if result is None and not nothing:
            raise ValueError(f"{name} must have a return value.")
        leaves: list[Any] = []
        for leaf in nest.flatten(result):
            if isinstance(leaf, Operation):
                leaf = graph.add("Merge", [pred], None, "control_dependency", control_inputs=[leaf]).outputs[0]
            leaves.append(leaf)
        if not leaves:
            raise ValueError("true_fn and false_fn must return at least one result.")
        block.finish([t for leaf in leaves if leaf is not None or not nothing for t in parts_of(leaf)])
    return block, nest.pack_sequence_as(result, leaves)


def _with_wide_indices(block: Block, result: Any, other: Any) -> Any:
    """The result of a branch, its ``IndexedSlices`` with int64 indices where the other branch's have such."""
    leaves = nest.flatten(result)
    narrow = [
        i
        for i, (mine, its) in enumerate(zip(leaves, nest.flatten(other), strict=True))
        if isinstance(mine, IndexedSlices) and isinstance(its, IndexedSlices)
        if mine.indices.dtype is int32 and its.indices.dtype is int64
    ]
    if not narrow:
        return result
    with get_default_graph().within(block):
        for i in narrow:
            indices = add_op("Cast", [leaves[i].indices], {"DstT": int64})
            leaves[i] = IndexedSlices(leaves[i].values, indices, leaves[i].dense_shape)
        block.finish([t for leaf in leaves if leaf is not None for t in parts_of(leaf)])
    return nest.pack_sequence_as(result, leaves)


def _check_alike(one: object, two: object) -> None:
    try:
        nest.assert_same_structure(one, two)
    except TypeError as error:
        raise TypeError(f"Incompatible return types of true_fn and false_fn: {error}") from None
    except ValueError as error:
        raise ValueError(f"Incompatible return values of true_fn and false_fn: {error}") from None
    for a, b in zip(nest.flatten(one), nest.flatten(two), strict=True):
        if (a is None) is not (b is None):
            raise TypeError(
                f"true_fn and false_fn arguments to tf.cond must have the same number of outputs: {a!r}, {b!r}."
            )
        composite = [x for x in (a, b) if not isinstance(x, Tensor) and hasattr(x, "dtype") and not hasattr(x, "shape")]
        if composite and type(a) is not type(b):
            raise TypeError(f"Incompatible return types of true_fn and false_fn: {a!r} and {b!r}.")


def _if_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    signatures = []
    bodies: builtins.tuple[Block, Block] = attrs["bodies"]
    for a, b in zip(bodies[0].results, bodies[1].results, strict=True):
        if a.dtype is not b.dtype:
            raise ValueError(
                f"Outputs of true_fn and false_fn must have the same type: {a.dtype.name} ({a.name}), "
                f"{b.dtype.name} ({b.name})."
            )
        signatures.append(Signature(a.dtype, merged_dims(a.dims, b.dims)))
    return signatures


def _if_variance(op: Operation) -> list[bool]:
    for block in op.bodies:
        remark(block)
    pred = op.inputs[0]
    if pred.varies:
        check_under_varying(op, pred)
    true, false = op.bodies
    return [pred.varies or a.varies or b.varies for a, b in zip(true.results, false.results, strict=True)]


def _lower_if(lowering: Lowering, op: Operation) -> list[Value]:
    """Lower to ``lax.cond`` of the two regions; with a known predicate to one region alone.

    Raises:
      NeedsStatic: the branches differ in shape or make strings, so that the predicate's value must be known.
    """
    inputs = entering(lowering, op.inputs)
    pred = inputs[op.inputs[0]] if op.inputs[0] in inputs else lowering.value(op.inputs[0])
    if lowering.eager or not isinstance(pred, jax.core.Tracer):
        return _run_known(lowering, op, inputs, bool(pred))
    if any(t.dtype is string for t in op.outputs):
        raise NeedsStatic(op, 0)
    templates: list[Shape | None] = [None] * len(op.outputs)
    cells = lowering.cells_of(op)
    ungated: set[StateVariable] = set()
    traced: dict[int, list[builtins.tuple[Shape, str]]] = {}
    keys = [] if lowering.vjp.lookups is None else lowering.vjp.lookups.keys_in(op)

    def branch(which: int) -> Callable[[], builtins.tuple[list[Value], list[jax.Array], list[Array]]]:
        def run() -> builtins.tuple[list[Value], list[jax.Array], list[Array]]:
            block = op.bodies[which]
            child = lowering.fork(inputs)
            child.run(block.needed)
            values = [_fill(v, t) for v, t in zip(_results(child, op, block), templates, strict=True)]
            traced[which] = [carry_type(v) for v in values if not isinstance(v, Unwritten)]
            # lax.cond would raise a TypeError about its branches; the plan can run the operation another way.
            if len(traced) == 2 and traced[0] != traced[1]:
                raise NeedsStatic(op, 0)
            state = [state_type(lowering, c, child.state.read(c, op)) for c in cells]
            ungated.update(c for c in cells if not child.errors.is_masked(c))
            indices = [] if child.vjp.lookups is None else child.vjp.lookups.of(keys)
            return [v for v in values if not isinstance(v, Unwritten)], state, indices

        return run

    unwritten = _unwritten(lowering, op, inputs, templates)
    outputs, state, indices = lax.cond(jnp.reshape(pred, ()), branch(0), branch(1))
    if lowering.vjp.lookups is not None:
        lowering.vjp.lookups.join(keys, indices)
    before = lowering.errors.record
    for cell, value in zip(cells, state, strict=True):
        lowering.state.write(cell, value, None if cell in ungated else before)
    values = iter(outputs)
    return [unwritten[i] if i in unwritten else next(values) for i in range(len(op.outputs))]


def _results(child: Lowering, op: Operation, block: Block, keep: bool = False) -> list[Value]:
    """The values of a region's results. ``keep``: leave numpy values as they are."""
    varying = child.vjp.active
    return [leaving(child, r, varying or out.varies, keep) for r, out in zip(block.results, op.outputs, strict=True)]


def _run_known(lowering: Lowering, op: Operation, inputs: Mapping[Tensor, Array], pred: bool) -> list[Value]:
    """Evaluate only the branch that is taken."""
    block = op.bodies[0 if pred else 1]
    child = lowering.fork(inputs)
    child.run(block.needed)
    gates = {cell: lowering.errors.record if child.errors.is_masked(cell) else None for cell in child.state.written}
    for cell, gate in gates.items():
        lowering.state.write(cell, child.state[cell], gate)
    if lowering.vjp.lookups is not None:
        lowering.vjp.lookups.take(child.vjp.lookups)
    return _results(child, op, block, keep=True)


def _fill(value: Value, template: Shape | None) -> Value:
    """The value; zeros of the template's shape for an array that this branch leaves unwritten."""
    filled = value.like(template) if isinstance(value, Unwritten) and template is not None else None
    return value if filled is None else filled


def _unwritten(
    lowering: Lowering, op: Operation, inputs: Mapping[Tensor, Array], templates: list[Shape | None]
) -> dict[int, Unwritten]:
    """Outputs, by index, that neither branch writes; fills ``templates`` with the shapes of those that one does."""
    if not any(isinstance(lowering.value(t), Unwritten) for t in op.inputs if t.dtype not in (string, resource)):
        return {}
    results: list[list[Value]] = []

    def probe(block: Block) -> builtins.tuple[()]:
        child = lowering.fork(inputs)
        child.run(block.needed)
        results.append([child.value(r) for r in block.results])
        return ()

    for block in op.bodies:
        jax.eval_shape(partial(probe, block))
    left: dict[int, Unwritten] = {}
    for i, (a, b) in enumerate(zip(*results, strict=True)):
        shaped = [v for v in (a, b) if not isinstance(v, Unwritten)]
        if not shaped:
            left[i] = a
        else:
            templates[i] = np.shape(shaped[0])
    return left


def _unroll_if(unrolling: Unrolling, op: Operation) -> None:
    """Execute the branch that is taken, operation by operation."""
    block = op.bodies[0 if bool(unrolling.tensors[op.inputs[0]]) else 1]
    unrolling.copy(block.needed)
    unrolling.tensors.update(zip(op.outputs, [unrolling.tensors[t] for t in block.results], strict=True))


def _narrow_if(op: Operation, used: Set[Tensor]) -> Operation:
    """Prune a branch operation to the outputs that are used."""
    places = [i for i, t in enumerate(op.outputs) if t in used]
    bodies = [prune_block(b, [b.results[i] for i in places]) for b in op.bodies]
    if all(a is b for a, b in zip(bodies, op.bodies, strict=True)):
        return op
    inputs = [op.inputs[0], *captures_of(bodies, but=op.inputs[:1])]
    flows, reach = (
        flows_through([op.attrs[kind][i] for i in places], op.inputs, inputs) for kind in ("flows", "reach")
    )
    attrs = {"bodies": builtins.tuple(bodies), "flows": flows, "reach": reach}
    return prune(op, inputs, [op.outputs[i] for i in places], attrs)


define_op(
    "If",
    _if_rule,
    lower=by_position(_lower_if),
    varying=_if_variance,
    stage="branch",
    unroll=_unroll_if,
    narrow=_narrow_if,
    hidden=("bodies", "flows", "reach"),
)


# ---- case ------------------------------------------------------------------------------------------------------


def case(
    pred_fn_pairs: Mapping[Tensor, Callable[[], Any]] | Sequence[builtins.tuple[Tensor, Callable[[], Any]]],
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """The result of the function whose predicate is the first true one, else that of ``default()``.

    Args:
      pred_fn_pairs: pairs of a scalar bool tensor and a function, or a dict of them (then ``exclusive`` should be set:
        the order of a dict says nothing).
      default: without it, some predicate must be true when the program runs.
      exclusive: raise InvalidArgumentError when the program runs and more than one predicate is true.
      strict: keep a list or tuple of one.
      name: of the name scope.
    """
    if not isinstance(pred_fn_pairs, dict | list | builtins.tuple):
        raise TypeError("fns must be a list, tuple, or dict")
    pairs = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, dict) else list(pred_fn_pairs)
    if isinstance(pred_fn_pairs, dict) and not get_default_graph().executing_eagerly:
        pairs.sort(key=lambda pair: pair[0].name)
    for pair in pairs:
        if not isinstance(pair, builtins.tuple) or len(pair) != 2:
            raise TypeError("Each entry in pred_fn_pairs must be a 2-tuple")
        if not isinstance(pair[0], Tensor):
            raise TypeError(f"pred must be of type Tensor, got {pair[0]!r}.")
        if pair[0].dtype is not bool_:
            raise TypeError(f"pred must be Tensor of type bool: {pair[0]!r}")
        if not callable(pair[1]):
            raise TypeError(f"fn for pred {pair[0]!r} must be callable.")
    if default is not None and not callable(default):
        raise TypeError("default must be callable.")
    if not pairs and default is None:
        raise ValueError("case() needs at least one pair of a predicate and a function, or a default.")
    graph = get_default_graph()
    with graph.name_scope(name):
        preds: list[Tensor] = [pred for pred, _ in pairs]
        if default is None:
            default = _check_last(preds, pairs.pop()[1])
        checks = []
        if exclusive and len(preds) > 1:
            few = graph.add("AtMostOneTrue", preds, None, "exclusive").outputs[0]
            checks.append(Assert(few, ["Input error: exclusive=True, but more than one predicate is true:", *preds]))
        result: Callable[[], Any] = default
        for pred, function in reversed(pairs):
            result = partial(cond, pred, true_fn=function, false_fn=result, strict=strict)
        with graph.control_dependencies(checks):
            value = result()
    return value


def switch_case(
    branch_index: TensorLike, branch_fns: Any, default: Callable[[], Any] | None = None, name: str = "switch_case"
) -> Any:
    """The result of the branch function with the number ``branch_index``.

    Args:
      branch_index: a scalar integer tensor.
      branch_fns: a list of functions, or of pairs of a number and a function, or a dict of them. The numbers are those
        from 0 on, in any order.
      default: for numbers that no function has; by default the last function.
      name: of the name scope.

    Raises:
      TypeError: an index that is no integer tensor, or entries that are no functions. ValueError: numbers with gaps.
    """
    if not isinstance(branch_index, Tensor):
        raise TypeError(f"'branch_index' must be a Tensor, got {type(branch_index)}")
    if not branch_index.dtype.is_integer:
        raise TypeError(f"'branch_index' must be an integer Tensor, got {branch_index.dtype!r}")
    functions = _sort_by_number(branch_fns)
    last = functions.pop() if default is None else default
    if not callable(last):
        raise TypeError("default must be callable.")
    chosen = [
        (add_op("Equal", [branch_index, convert_to_tensor(i, branch_index.dtype)]), function)
        for i, function in enumerate(functions)
    ]
    return case(chosen, last, strict=True, name=name) if chosen else last()


def _sort_by_number(branch_fns: object) -> list[Callable[[], Any]]:
    """The branch functions, sorted by number. Raises TypeError or ValueError for any other argument."""
    if not isinstance(branch_fns, dict | list | builtins.tuple):
        raise TypeError("'branch_fns' must be a list, tuple, or dict")
    pairs = list(branch_fns.items()) if isinstance(branch_fns, dict) else list(branch_fns)
    if all(callable(entry) for entry in pairs):
        pairs = list(enumerate(pairs))
    for pair in pairs:
        if not isinstance(pair, builtins.tuple) or len(pair) != 2:
            raise TypeError(f"Each entry in 'branch_fns' must be a 2-tuple. Received {pair}.")
        if not isinstance(pair[0], int) or not callable(pair[1]):
            raise TypeError(f"Each entry in 'branch_fns' must be a Python int and a function. Received {pair}.")
    pairs.sort(key=lambda pair: pair[0])
    numbers = [number for number, _ in pairs]
    if not pairs or numbers != list(range(len(pairs))):
        raise ValueError(
            f"branch indices (keys) must form contiguous range of [0 to {len(pairs)}) but found {{{numbers}}}"
        )
    return [function for _, function in pairs]


def _check_last(preds: Sequence[Tensor], function: Callable[[], Any]) -> Callable[[], Any]:
    """The last function with an ``Assert`` of its predicate, for a ``case`` without a default."""

    def run() -> Any:
        data = ["Input error: None of conditions evaluated as True:", *preds]
        with get_default_graph().control_dependencies([Assert(preds[-1], data)]):
            return function()

    return run


define_op(
    "AtMostOneTrue",
    lambda inputs, attrs: [Signature(bool_, ())],
    lambda *preds: sum((p.astype(jnp.int32) for p in preds[1:]), preds[0].astype(jnp.int32)) <= 1,
    numpy=lambda *preds: sum(preds, np.zeros((), np.int32)) <= 1,
    differentiable=False,
)
