"""Decide which operations lie on differentiable paths, as ``tensorflow/python/ops/gradients_impl.py`` does.

``find_path`` walks forward from the xs and backward from the ys; what both reach is the path. A tensor carries a
gradient if it is floating or complex, or a variable's handle; an operation passes one if its type is differentiable, or
its own gradient function gives a cotangent. An integer does not:

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default() as graph:
...     x, i = tf.constant(2.0), tf.constant(3)
...     y = x * tf.cast(i, tf.float32) + tf.stop_gradient(x)
...     path, active = find_path([y], [x, i], set(), {}, None, Captures(graph))
>>> [op.type for op in path], x in active, i in active
(['Cast', 'Mul', 'Add'], True, False)

Gradient functions in Python are traced on the way (``rules``). The file also decides

* which values a gradient depends on, for gradients of gradients: of a product the other factor, of a sum none
  (``OpDef.derivative``); ``used_by`` is the ``sources`` of a ``Gradients`` operation;
* whose cotangents are sparse, as IndexedSlices: a variable that is read by row lookups only (``Rowwise``).

``gradient_check`` repeats the decision by another way and compares.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor, dependencies
from towerstrat.graph.ir.types import DType, int32, int64, resource
from towerstrat.graph.lowering.differentiability import (
    carries_gradient,
    differentiable_leaves,
    floats_before,
    get_zeros,
    sources_of,
)
from towerstrat.graph.lowering.python_gradients import TracedRule, passes_gradient, rule_of
from towerstrat.graph.lowering.row_cotangents import index_type_of, looks_up_rows, lookups_in, passes_rows
from towerstrat.graph.ops.gradients.rule_tracing import trace_rule

Use = tuple[Operation, Tensor]
"""An operation, and a tensor whose value its gradient uses; of a given cotangent the gradient operation."""

Recorded = Callable[[Operation], bool]
"""True of the operations that a ``tf.GradientTape`` recorded."""


class Captures:
    """Captures of functions that are being traced: (outside, inside) pairs; gradients pass as if inlined."""

    def __init__(self, graph: Graph) -> None:
        self._inner: dict[Tensor, list[Tensor]] = {}
        self.outer: dict[Tensor, Tensor] = {}
        for outside, inside in graph.captures():
            self._inner.setdefault(outside, []).append(inside)
            self.outer[inside] = outside

    def same(self, tensor: Tensor) -> list[Tensor]:
        """The tensors that are one value: a captured tensor and its placeholders in functions being traced."""
        tensor = self.outer.get(tensor, tensor)
        return [tensor, *self._inner.get(tensor, ())]


def reached_from(xs: Sequence[Tensor], recorded: Recorded | None = None) -> set[Tensor]:
    """The tensors that depend differentiably on ``xs``, through recorded operations only; None: through all."""
    return _reached(xs, recorded, Captures(get_default_graph()))[0]


def _reached(
    xs: Sequence[Tensor], recorded: Recorded | None, captures: Captures, within: Container[Operation] | None = None
) -> tuple[set[Tensor], set[Operation]]:
    """The tensors that depend differentiably on ``xs``, and the operations that such paths go through.

    Args:
      xs: the tensors to start from.
      recorded: only through operations that a tape recorded; None: through all.
      captures: of functions being traced: an outside tensor and its placeholders count as one.
      within: only through these operations; None: through all.
    """
    stack = [t for x in xs for t in captures.same(x)]
    reached: set[Tensor] = set(stack)
    forward: set[Operation] = set()
    while stack:
        tensor = stack.pop()
        for op in tensor._consumers:
            if within is not None and op not in within:
                continue
            flows: Sequence[frozenset[int]] | None = op.attrs.get("flows")
            if (flows is None and op in forward) or not passes_gradient(op):
                continue
            if recorded is not None and not recorded(op):
                continue
            forward.add(op)
            places = {i for i, t in enumerate(op.inputs) if t is tensor}
            for index, out in enumerate(op.outputs):
                if carries_gradient(out) and out not in reached and (flows is None or places & flows[index]):
                    same = captures.same(out)
                    reached.update(same)
                    stack += same
    return reached, forward


def _needed_by(ys: Sequence[Tensor], captures: Captures) -> set[Operation]:
    """The ancestors of ``ys``, to which the walk from the xs is confined, however large the graph is."""
    ancestors: set[Operation] = set()
    stack = [y.op for y in ys]
    while stack:
        op = stack.pop()
        if op not in ancestors:
            ancestors.add(op)
            stack += dependencies(op)
            stack += [captures.outer[t].op for t in op.outputs if t in captures.outer]
    return ancestors


def _through_floats(ys: Sequence[Tensor], captures: Captures) -> set[Tensor]:
    """The tensors that ``ys`` depend on through floats alone, differentiably or not."""
    tensors: set[Tensor] = set()
    stack = [*ys]
    while stack:
        tensor = stack.pop()
        if tensor not in tensors and carries_gradient(tensor):
            tensors.add(tensor)
            stack += floats_before(tensor)
            stack += [captures.outer[tensor]] if tensor in captures.outer else []
    return tensors


def find_path(
    ys: Sequence[Tensor],
    xs: Sequence[Tensor],
    stops: set[Tensor],
    rules: dict[Operation, TracedRule],
    recorded: Recorded | None,
    captures: Captures,
) -> tuple[list[Operation], set[Tensor]]:
    """The operations (in order of creation) and tensors on differentiable paths from ``xs`` to ``ys``.

    Traces the gradient functions of operations on the paths into ``rules``.
    """
    reached, forward = _reached(xs, recorded, captures, _needed_by(ys, captures))
    active: set[Tensor] = set()
    on_path: dict[Operation, None] = {}
    backward = [y for y in ys if y in reached]
    while backward or (backward := [*get_zeros(active, lambda: reached & _through_floats(ys, captures))]):
        tensor = backward.pop()
        if tensor in active:
            continue
        active.add(tensor)
        op = tensor.op
        if tensor in captures.outer:
            backward.append(captures.outer[tensor])
        if tensor in stops or op not in forward:
            continue
        on_path[op] = None
        if op.type == "Gradients":
            # It walks its own path, all of which has to be evaluated with it.
            on_path.update(dict.fromkeys(op.attrs["path"]))
        function = rule_of(op)
        sources = sources_of(tensor, op)
        if function is not None:
            if op not in rules:
                rules[op] = trace_rule(op, function)
            # The function decides which inputs get a cotangent: paths through the others end here.
            sources = tuple(t for t, g in zip(op.inputs, rules[op].grads, strict=True) if g is not None)
        backward += [t for t in sources if t in reached and t not in active and carries_gradient(t)]
    for op in on_path:
        if op not in rules:
            for body in op.bodies:
                _trace_within(body, rules)
        if op.type == "Gradients":
            # Its own gradient differentiates what its rules do: the rules of operations there, one level at a time.
            inner: Mapping[Operation, TracedRule] = op.attrs["rules"]
            for step, rule in inner.items():
                if step not in on_path:
                    rules.setdefault(step, rule)
                _trace_within(rule.block, rules)
    return sorted(on_path, key=lambda op: op.index), active


def _trace_within(body: Block, rules: dict[Operation, TracedRule]) -> None:
    """Trace the gradient functions of operations in a region, bodies of loops and branches included."""
    for inner in body.needed:
        function = rule_of(inner)
        if function is not None and inner not in rules:
            rules[inner] = trace_rule(inner, function, inner.block)
        for nested in inner.bodies:
            _trace_within(nested, rules)


def used_by(gradient: Operation, position: int) -> list[Tensor]:
    """The tensors whose values one output of a gradient operation depends on.

    These are cotangents that were given, and what the gradients of operations between its x and the ys use.
    """
    return list(dict.fromkeys(tensor for _, tensor in _uses(gradient, position)))


def _uses(gradient: Operation, position: int) -> set[Use]:
    """The (operation, tensor) pairs of values that one output of a gradient operation uses."""
    attrs = gradient.attrs
    kinds = zip(attrs["xs"], attrs["sparse"], strict=True)
    owners: list[Tensor] = [x for x, index_type in kinds for _ in range(1 if index_type is None else 2)]
    path: set[Operation] = set(attrs["path"])
    active: frozenset[Tensor] = attrs["active"]
    rules: Mapping[Operation, TracedRule] = attrs["rules"]
    inner = [(t, _uses(op, i)) for op in path if op.type == "Gradients" for i, t in enumerate(op.outputs)]
    uses: set[Use] = set()
    seen = {owners[position]}
    stack = [owners[position]]
    while stack:
        tensor = stack.pop()
        seeds = zip(attrs["ys"], attrs["seeds_given"], strict=True)
        uses.update((gradient, seed) for y, seed in seeds if y is tensor and seed is not None)
        reached: list[Tensor] = []
        for op in tensor._consumers:
            if op in path and op.type != "Gradients" and not active.isdisjoint(op.outputs):
                uses.update((op, t) for t in _used_in(op, tensor, rules.get(op)))
                reached += op.outputs
        for output, its in inner:
            of_tensor = [use for use in its if use[1] is tensor]
            if of_tensor and output in active:
                # What is used once, in a product, is what the derivative by it does not depend on.
                uses |= its.difference(of_tensor if len(of_tensor) == 1 and _is_factor(*of_tensor[0]) else ())
                reached.append(output)
        stack += [t for t in reached if t in active and t not in seen]
        seen.update(reached)
    return uses


def _is_factor(op: Operation, tensor: Tensor) -> bool:
    """Whether a gradient is linear in a tensor that it uses: a seed, or a factor of a product."""
    return op.definition.derivative == "bilinear" or op.type == "Gradients"


def _used_in(op: Operation, tensor: Tensor, rule: TracedRule | None) -> Iterator[Tensor]:
    """The tensors that an operation's cotangent for one of its inputs depends on."""
    places = [i for i, t in enumerate(op.inputs) if t is tensor]
    if rule is not None:
        for i in places:
            grad = rule.grads[i]
            yield from differentiable_leaves(grad if isinstance(grad, tuple) else [grad], rule.block)
        return
    derivative = op.definition.derivative
    if derivative == "bilinear" or (derivative == "quotient" and places == [0]):
        yield from (t for i, t in enumerate(op.inputs) if places != [i])
    elif derivative != "linear":
        yield from op.inputs


class Rowwise:
    """Decides which gradients are sparse: of what is only looked up by rows, or seeded with IndexedSlices.

    Args:
      path: the operations on the paths.
      ys: the tensors that are differentiated.
      indices: y -> the rows of its seed, for those whose seed is an IndexedSlices.
    """

    def __init__(
        self, path: set[Operation], ys: Sequence[Tensor], indices: Mapping[Tensor, Tensor], captures: Captures
    ) -> None:
        self._path = path
        self._ys = set(ys)
        self._indices = indices
        self._captures = captures

    def index_type(self, x: Tensor) -> DType | None:
        """The element type of the rows' indices; None where the cotangent is dense."""
        kinds: set[DType | None] = set()
        same = self._captures.same(x)
        for tensor in same:
            if tensor in self._ys:
                kinds.add(self._indices[tensor].dtype if tensor in self._indices else None)
            kinds |= {kind for op in tensor._consumers if op in self._path for kind in self._through(op, tensor)}
            if self._replayed(tensor):
                kinds.add(None)
        if not kinds or None in kinds:
            return None
        return int64 if int64 in kinds else int32

    def _replayed(self, tensor: Tensor) -> bool:
        """Whether a gradient on the path depends on it: its own gradient is that of a replay, which is dense."""
        paths: Iterator[Sequence[Operation]] = (op.attrs["path"] for op in self._path if op.type == "Gradients")
        return any(tensor in set(step.inputs) for path in paths for step in path if not step.definition.reads_value)

    def _through(self, op: Operation, tensor: Tensor) -> set[DType | None]:
        """The index types of one consumer's cotangent of a tensor; None in it where it is dense."""
        enters_towers = get_default_graph().axis is None and op.axis is not None and tensor.op.axis is None
        if enters_towers or rule_of(op) is not None:
            return {None}  # what enters the towers gets the sum over them
        if op.type == "ResourceGather" or looks_up_rows(op):
            return {index_type_of(op)}
        if op.bodies and tensor.dtype is resource:
            inside = lookups_in(op, tensor)
            return {None} if inside is None else {index_type_of(lookup) for lookup in inside}
        return {self.index_type(op.outputs[0]) if passes_rows(op) else None}


def is_additive(rule: TracedRule) -> bool:
    """Whether a gradient function is linear in its cotangents, as far as its operations tell."""
    follows = set(rule.cotangents)
    for op in rule.block.needed:
        places = [i for i, t in enumerate(op._inputs) if t in follows]
        if op.type in ("Shape", "Size", "Rank"):
            continue
        if op.type == "IdentityN":
            follows.update(op.outputs[i] for i in places)
            continue
        if places and not _is_linear_in(op, places):
            return False
        follows.update(op.outputs if places else ())
    return True


def check_rules(path: Sequence[Operation]) -> None:
    """Refuse second gradients that would call a gradient function in a branch or loop once for each of two summands.

    Raises:
      UnsupportedError: that function is not linear in its cotangents, so that it should get their sum.
    """
    for step in (o for o in path if o.type == "Gradients"):
        outside: set[Operation] = set(step.attrs["path"])
        rules: Mapping[Operation, TracedRule] = step.attrs["rules"]
        for op, rule in rules.items():
            if op not in outside and not is_additive(rule):
                raise UnsupportedError(
                    f"The gradient function of {op.name} (created at {op.line}), in {op.block.what}, is not linear in "
                    "the gradients that it gets, as far as is seen, and a second gradient through it needs their "
                    "sum. Call what has it outside of the branch, loop or map, or take gradients once."
                )


def _is_linear_in(op: Operation, places: Sequence[int]) -> bool:
    """Whether an operation is linear in its inputs at these places, taken together."""
    if op.type == "Gradients":
        return not op.attrs["rules"] and {op._inputs[i] for i in places} <= set(op.attrs["seeds_given"])
    definition = op.definition
    if definition.derivative in ("bilinear", "quotient"):
        return len(places) == 1 and (definition.derivative == "bilinear" or places == [0])
    numbers = [i for i, t in enumerate(op._inputs) if t.dtype.is_differentiable]
    return definition.additive and numbers == list(places) and all(t.dtype.is_differentiable for t in op.outputs)
