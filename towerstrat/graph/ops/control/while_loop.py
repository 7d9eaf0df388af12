"""``tf.while_loop``: builds the condition and the body of a loop as regions of one ``While`` operation.

    while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s * w), [0, x])

    inputs       0, x, then maximum_iterations if given, then the captures n, w
    condition    region of variables (i, s): Less(i, n)
    body         region of variables (i, s): Add(i, 1), Mul(s, w)
    outputs      i, s, number of iterations (int32)

A structure of loop variables is flattened to leaves, a leaf to tensors (a TensorArray to its flow). Dtypes must stay,
and shapes within their invariants. Three fixpoints over the body tell what lowering needs: which outputs vary along the
axis (``_while_variance``), which inputs get a cotangent of which output (``_flows``), and which loop variables a pruned
loop still needs (``_narrow_while``). Eagerly a loop is Python's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any

from towerstrat.graph.ir import nest
from towerstrat.graph.ir.argument_types import TensorLike
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.op_registry import Attrs, Signature, Unrolling, define_op
from towerstrat.graph.ir.output_pruning import captured_by, prune, prune_block
from towerstrat.graph.ir.shapes import Dims, TensorShape, as_shape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import bool_, int32
from towerstrat.graph.lowering.differentiability import differentiable_leaves
from towerstrat.graph.ops.control.regions import (
    EndOfLoop,
    by_position,
    captures_of,
    check_under_varying,
    flows_of,
    flows_through,
    parts_of,
    rebuilt,
    remark,
)
from towerstrat.graph.ops.control.tensor_array import TensorArray
from towerstrat.graph.ops.control.while_lowering import lower_while

_FLOWS = ("flows", "reach")
"""Attributes with the inputs of each output: those that get a cotangent of it, and all by way of floats."""


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: TensorLike | None = None,
    return_same_structure: bool = False,
) -> Any:
    """Repeat ``loop_vars = body(*loop_vars)`` while ``cond(*loop_vars)`` is true; return the final ``loop_vars``.

    Eagerly it is Python's ``while``: shapes and element types may change, and ``shape_invariants`` is not checked.

    Args:
      cond: a function that builds a scalar bool tensor.
      body: a function that builds values like ``loop_vars``.
      loop_vars: a list or tuple of tensors, TensorArrays, IndexedSlices and structures of them.
      shape_invariants: for each tensor a partially known shape that it has in every iteration; default that of the
        initial value. A loop whose shapes change is unrolled where the number of its iterations is known, and else runs
        operation by operation; not inside towers.
      parallel_iterations: scheduling of the original; changes no value, and must be positive.
      back_prop: whether gradients go through it.
      swap_memory: scheduling of the original; changes no value.
      name: of the name scope; by default "while".
      maximum_iterations: an upper bound of the number of iterations. The gradient of a loop whose number of iterations
        depends on values needs it inside towers; elsewhere the loop then runs twice, the first time to count.
      return_same_structure: return a list or tuple of one as such.

    Raises:
      TypeError, ValueError: the functions are not callable, or ``body`` returns something unlike ``loop_vars``.
    """
    graph = get_default_graph()
    with graph.name_scope("while" if name is None else name):
        if not loop_vars:
            raise ValueError("No loop variables provided")
        if not callable(cond):
            raise TypeError("cond must be callable.")
        if not callable(body):
            raise TypeError("body must be callable.")
        if parallel_iterations < 1:
            raise TypeError("parallel_iterations must be a positive integer.")
        bound = _maximum(maximum_iterations)
        if graph.executing_eagerly:
            return _eagerly(cond, body, loop_vars, bound, return_same_structure)
        if shape_invariants is not None:
            nest.assert_same_structure(list(loop_vars), list(shape_invariants))
        leaves = nest.flatten(loop_vars)
        inits = [parts_of(leaf) for leaf in leaves]
        flat = [t for parts in inits for t in parts]
        dims = _invariants(leaves, inits, shape_invariants)
        regions = _Regions(graph, loop_vars, leaves, flat, dims)
        regions.condition(cond)
        regions.step(body)
        op = _add(graph, regions, flat, bound, back_prop)
        outputs = iter([graph.add("Exit", [t], None, "Exit").outputs[0] for t in op.outputs[: len(flat)]])
        final = [rebuilt(leaf, outputs) for leaf in regions.last]
        # The original's graphs give what the body returns, a list or a tuple; its functions what they were given.
        packed = nest.pack_sequence_as(loop_vars if graph.building_function else regions.result, final)
        single = len(loop_vars) == 1 if bound is not None else len(flat) == 1 and not return_same_structure
        return next(nest.children(packed)) if single else packed


def _eagerly(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    bound: Tensor | None,
    return_same_structure: bool,
) -> Any:
    """Run the loop in Python."""
    values, single, left = loop_vars, False, None if bound is None else int(bound)  # type: ignore[call-overload]
    while (left is None or left > 0) and cond(*values):
        results = body(*values)
        single = len(loop_vars) == 1 and not isinstance(results, list | tuple)
        values = [results] if single else results
        nest.assert_same_structure(list(loop_vars), list(values))
        left = None if left is None else left - 1
    values = nest.pack_sequence_as(values, [_as_value(leaf) for leaf in nest.flatten(values)])
    return next(nest.children(values)) if single and not return_same_structure else values


def _as_value(leaf: Any) -> Any:
    """A leaf of the result: numbers, arrays and variables are converted to tensors."""
    return leaf if isinstance(leaf, TensorArray | IndexedSlices) else convert_to_tensor(leaf)


def _maximum(value: TensorLike | None) -> Tensor | None:
    """``maximum_iterations`` as a scalar integer tensor. Raises ValueError or TypeError where it is none."""
    if value is None:
        return None
    tensor = convert_to_tensor(value, name="maximum_iterations")
    if tensor.dims not in (None, ()):
        raise ValueError(f"maximum_iterations must be a scalar, saw shape: {tensor.shape}")
    if not tensor.dtype.is_integer:
        raise TypeError(f"maximum_iterations must be an integer, got {tensor!r}.")
    return tensor


def _invariants(leaves: Sequence[object], inits: Sequence[Sequence[Tensor]], shape_invariants: Any) -> list[Dims]:
    """The partially known shape that each loop variable has in every iteration.

    Args:
      leaves: the loop variables.
      inits: the tensors of each.
      shape_invariants: as of ``while_loop``, or None.

    Raises:
      ValueError: an initial value does not fit its invariant.
    """
    invariants = [None] * len(leaves) if shape_invariants is None else nest.flatten(shape_invariants)
    result: list[Dims] = []
    for leaf, parts, invariant in zip(leaves, inits, invariants, strict=True):
        if isinstance(leaf, TensorArray):
            result.append(None)
        elif len(parts) > 1:
            result += [None if t.dims is None else (None,) * len(t.dims) for t in parts]
        elif shape_invariants is None:
            result.append(parts[0].dims)
        else:
            shape = as_shape(invariant)
            if not _at_most(parts[0].dims, shape.raw):
                raise ValueError(
                    f"The shape invariant specified for {parts[0].name} is not compatible with the initial shape of "
                    f"the loop variable. It enters the loop with shape {parts[0].shape}, but the specified shape "
                    f"invariant is {shape}."
                )
            result.append(shape.raw)
    return result


def _at_most(dims: Dims, bound: Dims) -> bool:
    """Whether ``bound`` covers ``dims``: every shape that fits ``dims`` fits it too."""
    if bound is None:
        return True
    if dims is None or len(dims) != len(bound):
        return False
    return all(b is None or d == b for d, b in zip(dims, bound, strict=True))


class _Regions:
    """The condition and the body of a loop while they are built.

    Args:
      leaves: the loop variables, flattened.
      inits: their initial tensors; a leaf may have several.
      dims: the shape of each tensor in every iteration.

    Attributes:
      cond, body: the finished regions; ``cond_vars`` and ``body_vars`` are the loop variables inside.
      result, last: the structure that the body returned, and its leaves.
    """

    def __init__(
        self, graph: Graph, loop_vars: Any, leaves: Sequence[Any], inits: Sequence[Tensor], dims: Sequence[Dims]
    ):
        self.graph = graph
        self.loop_vars = loop_vars
        self.leaves = leaves
        self.inits = inits
        self.dims = dims
        self.result: Any = None
        self.last: list[Any] = []
        self.cond: Block
        self.body: Block
        self.cond_vars: list[Tensor] = []
        self.body_vars: list[Tensor] = []

    def _enter(self, kind: str) -> tuple[list[Tensor], Any]:
        """Add the loop variables of a region; return their tensors, and ``loop_vars`` made of these."""
        tensors = []
        for init, dims in zip(self.inits, self.dims, strict=True):
            added = self.graph.add("LoopVariable", (), {"_dtype": init.dtype, "_dims": dims}, kind)
            tensor = self.graph.own(added.outputs[0])
            tensor.varies = init.varies
            tensors.append(tensor)
        parts = iter(tensors)
        return tensors, nest.pack_sequence_as(self.loop_vars, [rebuilt(leaf, parts) for leaf in self.leaves])

    def condition(self, function: Callable[..., Any]) -> None:
        """Build the condition. Raises TypeError or ValueError unless it is a scalar bool."""
        with self.graph.body(f"the condition of {self.graph.scope_name}") as self.cond:
            self.cond_vars, values = self._enter("Merge")
            result = convert_to_tensor(function(*values))
            if result.dtype is not bool_:
                raise TypeError(f"cond must return a bool tensor, got {result!r}.")
            if not result.shape.is_compatible_with(()) and not result.shape.is_compatible_with((1,)):
                raise ValueError(f"cond must return a scalar, got {result!r}.")
            self.cond.finish([result])

    def step(self, function: Callable[..., Any]) -> None:
        """Build the body. Raises TypeError or ValueError where its results are unlike the loop variables."""
        with self.graph.body(f"the body of {self.graph.scope_name}") as self.body:
            self.body.predicate = self.cond.results[0]
            self.body_vars, values = self._enter("Identity")
            result = function(*values)
            if not nest.is_sequence(result):
                result = [result]
            self.result = result
            nest.assert_same_structure(list(values), list(nest.children(result)))
            self.last = nest.flatten(result)
            results = [t for leaf in self.last for t in parts_of(leaf)]
            if len(results) != len(self.inits):
                raise ValueError(
                    f"Number of inputs and outputs of body must match loop_vars: {len(self.inits)}, {len(results)}"
                )
            for leaf, first in zip(self.last, self.leaves, strict=True):
                if isinstance(leaf, TensorArray) != isinstance(first, TensorArray):
                    raise TypeError(
                        f"The body of {self.graph.scope_name} returns {leaf!r} for the loop variable {first!r}."
                    )
            self._check(results)
            self.body.finish(results)

    def _check(self, results: Sequence[Tensor]) -> None:
        """Raise TypeError or ValueError where a result has another dtype or shape than its loop variable."""
        for result, variable, init, dims in zip(results, self.body_vars, self.inits, self.dims, strict=True):
            if result.dtype is not variable.dtype:
                raise TypeError(
                    f"The loop variable {init.name} enters the loop with dtype {init.dtype.name}, but has dtype "
                    f"{result.dtype.name} after one iteration ({result.name}, created at {result.op.line}). "
                    "Use tf.cast."
                )
            if not _at_most(result.dims, dims):
                raise ValueError(
                    f"The shape for {init.name} is not an invariant for the loop. It enters the loop with shape "
                    f"{TensorShape(dims)}, but has shape {result.shape} after one iteration ({result.name}, created at "
                    f"{result.op.line}). Provide shape invariants using either the `shape_invariants` argument of "
                    "tf.while_loop or set_shape() on the loop variables."
                )


def _add(graph: Graph, regions: _Regions, inits: Sequence[Tensor], bound: Tensor | None, back_prop: bool) -> Operation:
    blocks = (regions.cond, regions.body)
    first = [*inits] if bound is None else [*inits, bound]
    inputs = [*first, *captures_of(blocks, but=first)]
    flows, reach = _flows(regions, inputs)
    attrs = {
        "bodies": blocks,
        "variables": (tuple(regions.cond_vars), tuple(regions.body_vars)),
        "bounded": bound is not None,
        "back_prop": back_prop,
        "flows": flows if back_prop else (frozenset(),) * len(flows),
        "reach": reach,
    }
    return graph.add("While", inputs, attrs, "While")


def _flows(
    regions: _Regions, inputs: Sequence[Tensor]
) -> tuple[tuple[frozenset[int], ...], tuple[frozenset[int], ...]]:
    """For each output the indices of the inputs that get a cotangent of it, through any number of iterations.

    As in the original, a loop variable that an output depends on through ``stop_gradient`` alone has a cotangent of
    zeros, not None; so have all that this variable depends on.

    Returns:
      These indices, and those of all inputs that it depends on through floats alone, differentiably or not.
    """
    differentiable, reached = _sources(regions, stopped=False), _sources(regions, stopped=True)
    of = dict(zip(regions.body_vars, differentiable, strict=True))
    flows = [
        sources.union(*(of[t] for t in dependences if t in of))
        for sources, dependences in zip(differentiable, reached, strict=True)
    ]
    of_flows, of_reach = (flows_of(sets, inputs, regions.body_vars) for sets in (flows, reached))
    return (*of_flows, frozenset()), (*of_reach, frozenset())


def _sources(regions: _Regions, stopped: bool) -> list[set[Tensor]]:
    """For each loop variable those, and the captures, that it depends on at last: a fixpoint over the body."""
    direct = [differentiable_leaves([result], regions.body, stopped) for result in regions.body.results]
    index_of = {t: i for i, t in enumerate(regions.body_vars)}
    all_sources: list[set[Tensor]] = [{variable, *d} for variable, d in zip(regions.body_vars, direct, strict=True)]
    changed = True
    while changed:
        changed = False
        for sources in all_sources:
            inherited = {t for s in tuple(sources) if s in index_of for t in all_sources[index_of[s]]}
            changed |= not inherited <= sources
            sources |= inherited
    return all_sources


def _while_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    variables: Sequence[Tensor] = attrs["variables"][1]
    return [*(Signature(v.dtype, v.dims) for v in variables), Signature(int32, ())]


def _while_variance(op: Operation) -> list[bool]:
    """Whether each output varies: the least fixpoint over the body, starting from the initial values that vary.

    Where the condition varies, replicas make different numbers of iterations, so that all that changes varies.
    """
    cond, body = op.bodies
    cond_vars, body_vars = op.attrs["variables"]
    varying = [t.varies for t in op.inputs[: len(body_vars)]]
    bound = op.inputs[len(body_vars)].varies if op.attrs["bounded"] else False
    while True:
        for i, varies in enumerate(varying):
            cond_vars[i].varies |= varies
            body_vars[i].varies |= varies
        remark(cond)
        remark(body)
        ends = cond.results[0].varies or bound
        new = [
            v if result is variable else v or ends or result.varies
            for v, result, variable in zip(varying, body.results, body_vars, strict=True)
        ]
        if new == varying:
            break
        varying = new
    if ends:
        check_under_varying(op, cond.results[0])
    return [*varying, ends]


define_op(
    "LoopVariable",
    lambda inputs, attrs: [Signature(attrs["_dtype"], attrs["_dims"])],
    lower=lambda lowering, op: [lowering.value(op.outputs[0])],
    is_placeholder=True,
    hidden=("_dtype", "_dims"),
)


def _unroll_while(unrolling: Unrolling, op: Operation) -> None:
    """Execute the iterations one after the other, operation by operation."""
    cond, body = op.bodies
    cond_vars, body_vars = op.attrs["variables"]
    values = [unrolling.tensors[t] for t in op.inputs[: len(body_vars)]]
    limit = int(unrolling.tensors[op.inputs[len(body_vars)]]) if op.attrs["bounded"] else None
    count = 0
    while limit is None or count < limit:
        test = unrolling.inner(dict(zip(cond_vars, values, strict=True)))
        test.copy(cond.needed)
        if not bool(test.tensors[cond.results[0]]):
            break
        step = unrolling.inner(dict(zip(body_vars, values, strict=True)))
        try:
            step.copy(body.needed)
        except EndOfLoop:
            break
        values = [step.tensors[t] for t in body.results]
        count += 1
    kind = op.outputs[-1].dtype
    counts = unrolling.execute("Const", (), {"value": kind.np.type(count), "dtype": kind})
    unrolling.tensors.update(zip(op.outputs, [*values, *counts], strict=True))


def _narrow_while(op: Operation, used: Set[Tensor]) -> Operation:
    """Prune a loop to the outputs that are used: the least set of loop variables that compute these."""
    cond, body = op.bodies
    cond_vars, body_vars = op.attrs["variables"]
    cond = prune_block(cond, cond.results)
    needed = {t for t, output in zip(body_vars, op.outputs, strict=False) if output in used}
    condition = captured_by([cond])
    needed |= {b for c, b in zip(cond_vars, body_vars, strict=True) if c in condition}
    while True:
        places = [i for i, t in enumerate(body_vars) if t in needed]
        step = prune_block(body, [body.results[i] for i in places])
        captured = captured_by([step]).intersection(body_vars)
        if captured <= needed:
            break
        needed |= captured
    if cond is op.bodies[0] and step is body:
        return op
    size = len(body_vars)
    first = [*(op.inputs[i] for i in places), *(op.inputs[size : size + 1] if op.attrs["bounded"] else ())]
    inputs = [*first, *captures_of((cond, step), but=first)]
    attrs = {
        "bodies": (cond, step),
        "variables": (tuple(cond_vars[i] for i in places), tuple(body_vars[i] for i in places)),
        **{kind: flows_through([op.attrs[kind][i] for i in (*places, size)], op.inputs, inputs) for kind in _FLOWS},
    }
    return prune(op, inputs, [op.outputs[i] for i in (*places, size)], attrs)


define_op(
    "While",
    _while_rule,
    lower=by_position(lower_while),
    varying=_while_variance,
    stage="loop",
    unroll=_unroll_while,
    narrow=_narrow_while,
    hidden=("bodies", "variables", "bounded", "back_prop", *_FLOWS),
)
__all__ = ["while_loop"]
