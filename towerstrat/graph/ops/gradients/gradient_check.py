"""A second opinion on the paths of a gradient: which sources a target depends on, by the plain edges of the graph.

The engine decides in ``gradient_paths`` where gradients flow. This walk shares no code with it, only what the types'
definitions state: it follows operands of operations, and for loops, branches and maps the captures that their bodies'
results depend on. Where it finds a dependence through differentiable operations and the engine has no path, a gradient
would be silently too small, or None: that is an InternalError, which names the first edge that is missing. Here the
engine's ``active`` lacks w:

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default():
...     x, w = tf.constant(2.0, name="x"), tf.constant(3.0, name="w")
...     y = tf.multiply(x, w, name="y")
>>> edges = Dependence({})
>>> edges.operands(y)
(<tf.Tensor 'x:0' shape=() dtype=float32>, <tf.Tensor 'w:0' shape=() dtype=float32>)
>>> check_paths([y], [x, w], stops=(), active={y, x}, recorded=None, captures=(), dependence=edges)
... # doctest: +ELLIPSIS
Traceback (most recent call last):
towerstrat.errors.InternalError: ... y (type Mul, ...) depends on it by way of w:0 ..., where no gradient flows. ...

It costs one walk over the ancestors of the ys per ``tf.gradients``. Third derivatives are not checked. With
``TOWERSTRAT_GRADIENT_CHECK=warn`` the error is a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor
from towerstrat.graph.ir.types import resource
from towerstrat.graph.lowering.gradient_reports import report
from towerstrat.graph.lowering.python_gradients import TracedRule


class Dependence:
    """The edges of the graph that have a gradient.

    Args:
      rules: operation -> its gradient function, traced, of those that have one of their own.
    """

    def __init__(self, rules: Mapping[Operation, TracedRule]):
        self._rules = rules
        self._of_outputs: dict[Tensor, tuple[Tensor, ...]] = {}
        self._of_results: dict[tuple[Block, int], tuple[Tensor, ...]] = {}

    def operands(self, tensor: Tensor) -> Sequence[Tensor]:
        """The tensors of the same region, or of regions around it, that a tensor depends on by one operation."""
        op = tensor.op
        attrs, definition = op.attrs, op.definition
        rule = self._rules.get(op) or attrs.get("_traced_gradient")
        if rule is not None:
            return [t for t, g in zip(op._inputs, rule.grads, strict=False) if g is not None]
        if definition.is_placeholder or not definition.differentiable:
            return ()
        if attrs.get("_gradient_op_type", op.type) != op.type:
            return ()
        if op.type == "CustomGradient":
            return op._inputs[attrs["results"] :]
        if "bodies" in attrs:
            if tensor not in self._of_outputs:
                of = self._of_gradient if op.type == "Gradients" else self._of_structural
                self._of_outputs[tensor] = tuple(dict.fromkeys(of(op, tensor.value_index)))
            return self._of_outputs[tensor]
        if not definition.constants:
            return op._inputs
        return [t for i, t in enumerate(op._inputs) if i not in definition.constants]

    def _of_structural(self, op: Operation, index: int) -> Iterator[Tensor]:
        """The outside tensors that an output of a loop, branch or map depends on."""
        if not op.attrs.get("back_prop", True):
            return
        if op.type == "If":
            for body in op.bodies:
                yield from self._captured(body, index, ())
            return
        body = op.bodies[-1]
        if index >= len(body.results):  # the number of trips
            return
        looping = op.type == "While"
        variables = op.attrs["variables"][1] if looping else op.attrs["variables"]
        places = {variable: i for i, variable in enumerate(variables)}
        stack, seen = [index], {index}
        while stack:
            at = stack.pop()
            if looping:
                yield op._inputs[at]
            for tensor in self._captured(body, at, places):
                position = places.get(tensor)
                if position is None:
                    yield tensor
                elif not looping:
                    yield op._inputs[position]
                elif position not in seen:
                    seen.add(position)
                    stack.append(position)

    def _captured(self, body: Block, index: int, variables: Collection[Tensor]) -> Sequence[Tensor]:
        """The tensors from outside, and of the region's ``variables``, that one of its results depends on."""
        key = (body, index)
        if key not in self._of_results:
            self._of_results[key] = tuple(self._leaves(body, [body.results[index]], variables))
        return self._of_results[key]

    def _leaves(self, body: Block, results: Iterable[Tensor], variables: Collection[Tensor]) -> Iterator[Tensor]:
        stack = [t for t in results if flows(t)]
        seen = set(stack)
        while stack:
            tensor = stack.pop()
            if tensor in variables or (tensor.op.block is not body and not body.encloses(tensor.op.block)):
                yield tensor
                continue
            for operand in self.operands(tensor):
                if operand not in seen and flows(operand):
                    seen.add(operand)
                    stack.append(operand)

    def _of_gradient(self, op: Operation, index: int) -> Iterator[Tensor]:
        """The tensors that one output of a gradient depends on: seeds, and what derivatives on its path use."""
        owners = [x for x, rows in zip(op.attrs["xs"], op.attrs["sparse"], strict=True) for _ in range(1 + bool(rows))]
        path, active, rules = set(op.attrs["path"]), op.attrs["active"], op.attrs["rules"]
        if any(step.type == "Gradients" for step in path):
            return  # which values a second gradient uses is a matter of third derivatives: nothing is claimed
        seeds: dict[Tensor, list[Tensor]] = {}
        for y, seed in zip(op.attrs["ys"], op.attrs["seeds_given"], strict=True):
            if seed is not None:
                seeds.setdefault(y, []).append(seed)
        stack, seen = [owners[index]], {owners[index]}
        while stack:
            tensor = stack.pop()
            yield from seeds.get(tensor, ())
            for step in tensor._consumers:
                if step not in path:
                    continue
                yield from self._used_for(step, tensor, rules.get(step))
                for output in step.outputs:
                    if output in active and output not in seen:
                        seen.add(output)
                        stack.append(output)

    def _used_for(self, step: Operation, operand: Tensor, rule: TracedRule | None) -> Iterator[Tensor]:
        """The tensors that the cotangent of an operation's operand depends on."""
        places = [i for i, t in enumerate(step._inputs) if t is operand]
        if rule is not None:
            grads = [g for i in places if (g := rule.grads[i]) is not None]
            yield from self._leaves(rule.block, [g[0] if isinstance(g, tuple) else g for g in grads], ())
            return
        derivative = step.definition.derivative
        if derivative == "general" or (derivative == "quotient" and places != [0]):
            yield from step._inputs
        elif derivative != "linear":
            yield from (t for i, t in enumerate(step._inputs) if places != [i])


def flows(tensor: Tensor) -> bool:
    """Whether a tensor of its type has a cotangent; a variable's handle stands for the variable's."""
    return tensor.dtype.is_differentiable or tensor.dtype is resource


def check_paths(
    ys: Sequence[Tensor],
    xs: Sequence[Tensor],
    stops: Collection[Tensor],
    active: Collection[Tensor],
    recorded: Callable[[Operation], bool] | None,
    captures: Iterable[tuple[Tensor, Tensor]],
    dependence: Dependence,
) -> None:
    """Checks that gradients of ``ys`` by ``xs`` go wherever ``ys`` depend on ``xs``.

    Args:
      ys: the tensors that are differentiated.
      xs: those that they are differentiated by.
      stops: tensors that are taken as constants.
      active: the tensors that the engine carries cotangents through.
      recorded: the operations that a tape recorded; None: all count.
      captures: (outside, inside) of functions that are being traced.
      dependence: the edges of the graph that have a gradient.

    Raises:
      InternalError: a dependence is missing; a warning where ``TOWERSTRAT_GRADIENT_CHECK`` is ``warn``.
    """
    outside = {inside: outer for outer, inside in captures}
    users: dict[Tensor, list[Tensor]] = {y: [] for y in ys}
    stack = list(ys)
    while stack:
        tensor = stack.pop()
        operands: Iterable[Tensor] = (outside[tensor],) if tensor in outside else ()
        if tensor not in stops and tensor not in outside and (recorded is None or recorded(tensor.op)):
            operands = dependence.operands(tensor)
        for operand in operands:
            if operand in users:
                users[operand].append(tensor)
            elif flows(operand):
                users[operand] = [tensor]
                stack.append(operand)
    for x in xs:
        _follow(outside.get(x, x), users, active, ys)


def _follow(
    source: Tensor, users: Mapping[Tensor, Sequence[Tensor]], active: Collection[Tensor], ys: Sequence[Tensor]
) -> None:
    """Follow the edges from a source to the ys, and report one that the engine does not follow."""
    stack, seen = [source], {source}
    missing: tuple[Tensor, Tensor] | None = None
    while stack:
        tensor = stack.pop()
        for user in users.get(tensor, ()):
            if tensor not in active or user not in active or not _carries(user, tensor):
                missing = (tensor, user)
                if user in active:  # here the engine, which comes from the other side, left the path
                    _report_missing(source, tensor, user, ys)
                    return
            if user not in seen:
                seen.add(user)
                stack.append(user)
    if missing is not None:
        _report_missing(source, *missing, ys)


def _carries(user: Tensor, tensor: Tensor) -> bool:
    """Whether the operation of ``user`` declares (``flows``) that cotangents reach ``tensor``, or declares nothing."""
    places = user.op.attrs.get("flows")
    return places is None or any(user.op.inputs[i] is tensor for i in places[user.value_index])


def _report_missing(source: Tensor, tensor: Tensor, user: Tensor, ys: Sequence[Tensor]) -> None:
    """Report the first edge at which the engine loses a gradient. Raises InternalError, or logs a warning."""
    report(
        user.op,
        f"The gradient of {ys[0].name} (created at {ys[0].op.line}) with respect to {source.name} (created at "
        f"{source.op.line}) would be wrong: {user.op.name} (type {user.op.type}, created at {user.op.line}) depends on "
        f"it by way of {tensor.name} (created at {tensor.op.line}), where no gradient flows.",
    )
