"""Gradients given by the program: ``tf.custom_gradient``, ``tf.recompute_grad``, ``tf.RegisterGradient``; hessians.

``custom_gradient`` calls the function once and hides its operations from differentiation:

    @custom_gradient
    def log1pexp(x):                        result y = log(1 + exp(x)), grad_fn(dy) = dy / (1 + exp(-x))
    eagerly        the results are copied to new tensors, and one ``_CustomRecord`` with grad_fn goes on the tapes
    in a graph     IdentityN(y, x) -> y' (``CustomGradient``), whose gradient goes from y' past y's operations to x

>>> from towerstrat.graph.eager import mode
>>> with mode.eager_mode(), GradientTape() as tape:
...     tape.watch(x := constant(3.0))
...     y = custom_gradient(lambda x: (x * x, lambda dy: dy * 100.0))(x)
>>> float(y), float(tape.gradient(y, x))
(9.0, 100.0)

In a graph the gradient function is called when a gradient is asked for; inside of a loop, branch or function it must be
traced at once, in that region, since its tensors cannot be made there later (``_add``). Trainable variables that the
function reads, and that are no arguments, are further inputs.

``recompute_grad`` is ``jax.checkpoint``: a custom gradient that calls the function a second time, on inputs behind an
optimization barrier, without which XLA would merge the two computations and keep all values (``_later``).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from jax import lax

from towerstrat.graph.eager.context import Cotangent, Record, context
from towerstrat.graph.eager.tensor import EagerTensor, Handle
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.argument_types import TensorLike
from towerstrat.graph.ir.given_arguments import UnconnectedGradients
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor, place_of
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.lowering.python_gradients import Source, Sources, register_rule
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.control.tensor_array import TensorArray
from towerstrat.graph.ops.control.while_loop import while_loop
from towerstrat.graph.ops.gradients.gradients import gradients
from towerstrat.graph.ops.gradients.rule_tracing import trace_rule
from towerstrat.graph.ops.indexing import slicing  # noqa: F401  (registers the subscript operator)
from towerstrat.graph.ops.math import arithmetic
from towerstrat.graph.tapes.gradient_tape import GradientTape
from towerstrat.graph.variables.variables import Variable


class RegisterGradient:
    """Decorator that registers a gradient function under a name.

    The function takes the operation and the cotangents of its outputs, and returns those of its inputs (None where
    there is none). Operations made inside ``graph.gradient_override_map({"Type": name})`` use it.

    Raises:
      KeyError: the name has a gradient already.
    """

    def __init__(self, op_type: str):
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        register_rule(self._op_type, f)
        return f


def NotDifferentiable(op_type: str) -> None:
    """Register a name for ``gradient_override_map`` through which no gradient flows; KeyError if it is taken."""
    register_rule(op_type, None)


NoGradient = NotDifferentiable


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator that gives a function its own gradient.

    Args:
      f: takes tensors, returns ``(result, grad_fn)``; ``grad_fn(*dresults)`` returns a cotangent for each argument of
        ``f``. If ``f`` reads trainable variables that are no arguments, ``grad_fn`` takes them as ``variables=`` and
        returns ``(dargs, dvariables)``.

    Returns:
      A function of the same arguments that returns ``result``. Keyword arguments work in eager execution only.

    Raises (when it is called):
      TypeError: ``f`` reads variables, and ``grad_fn`` takes none.
      ValueError: the number of cotangents is not that of the arguments, or keyword arguments in a graph.
    """

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        graph = get_default_graph()
        if graph.executing_eagerly:
            return _eagerly(f, args, kwargs)
        if kwargs:
            raise ValueError(
                "The custom_gradient decorator currently supports keywords arguments only when eager execution is "
                f"enabled: got {sorted(kwargs)}. Pass them with functools.partial or a closure."
            )
        return _in_graph(graph, f, args)

    return decorated


class _Watcher:
    """A tape that records no operations, only which trainable variables are read."""

    def __init__(self) -> None:
        self.read: dict[Handle, Variable] = {}

    def access(self, handle: Handle) -> None:
        self.read[handle] = handle.variable()

    def follows(self, tensors: Iterable[Tensor]) -> bool:
        return False

    def record(self, record: Record) -> None:
        """Nothing is recorded."""


class _CustomRecord(Record):
    """A call of a function with its own gradient.

    Attributes:
      rule: cotangents of the outputs -> cotangents of the inputs, as the user returned them.
    """

    __slots__ = ("rule",)

    def __init__(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor], rule: Callable[..., Sequence[Any]]):
        super().__init__(inputs, outputs)
        self.rule = rule

    def backward(self, requested: Sequence[bool], cotangents: Sequence[Tensor | None]) -> Sequence[Cotangent]:
        grads = [arrays.zeros_like(t) if c is None else c for t, c in zip(self.outputs, cotangents, strict=True)]
        return [g if g is None or isinstance(g, IndexedSlices) else convert_to_tensor(g) for g in self.rule(*grads)]


def _eagerly(f: Callable[..., Any], args: Sequence[object], kwargs: Mapping[str, object]) -> Any:
    """Call ``f`` eagerly and record the call as one operation, instead of the operations inside."""
    eager = context()
    watcher = _Watcher()
    eager.tapes.active.append(watcher)
    try:
        result, grad_fn = f(*args, **kwargs)
    finally:
        eager.tapes.active.remove(watcher)
    arguments = nest.flatten(list(args))
    read = {h: v for h, v in watcher.read.items() if all(v is not a for a in arguments)}
    variables = list(read.values())
    _check_takes(grad_fn, variables)

    def rule(*grads: Tensor) -> list[Any]:
        cotangents = _cotangents(grad_fn, variables, grads)
        count = len(cotangents) - len(variables)
        of_arguments, of_variables = cotangents[:count], cotangents[count:]
        if len(of_arguments) not in (len(arguments), len(arguments) + len(kwargs)):
            raise ValueError(
                f"custom_gradient function expected to return {len(arguments)} gradients, but returned "
                f"{len(of_arguments)} instead."
            )
        return [*of_arguments[: len(arguments)], *of_variables]

    # New tensors: the operations of f were recorded too, and gradients must not go through those.
    flat = [convert_to_tensor(r) for r in nest.flatten(result)]
    outputs = [eager.tensor(t.array, t.dtype) for t in flat if isinstance(t, EagerTensor)]
    if eager.tapes.active:
        for tape in eager.tapes.active:
            for handle in read:
                tape.access(handle)
        eager.record(_CustomRecord([*(convert_to_tensor(a) for a in arguments), *read], outputs, rule))
    return nest.pack_sequence_as(result, outputs) if nest.is_sequence(result) else outputs[0]


def _check_takes(grad_fn: Callable[..., Any], variables: Sequence[Variable | Tensor]) -> None:
    """Raise TypeError where ``f`` reads variables and ``grad_fn`` has no parameter ``variables``."""
    names = inspect.getfullargspec(grad_fn)
    if variables and "variables" not in (*names.args, *names.kwonlyargs) and names.varkw is None:
        raise TypeError(
            "If using @custom_gradient with a function that uses variables, then grad_fn must accept a keyword "
            f"argument 'variables'. It uses: {', '.join(v.op.name for v in variables)}."
        )


def _cotangents(
    grad_fn: Callable[..., Any], variables: Sequence[Variable | Tensor], grads: Sequence[Tensor]
) -> list[Any]:
    """Call a gradient function; return the cotangents of the arguments, then those of the variables."""
    if not variables:
        return nest.flatten(grad_fn(*grads))
    of_inputs, of_variables = grad_fn(*grads, variables=variables)
    if len(of_variables) != len(variables):
        raise ValueError("Must return gradient for each variable from @custom_gradient grad_fn.")
    return [*nest.flatten(of_inputs), *of_variables]


def _in_graph(graph: Graph, f: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Call ``f`` in a graph and pass its results through a ``CustomGradient`` operation."""
    flat_args = [convert_to_tensor(a) for a in nest.flatten(list(args))]
    first = graph.version
    result, grad_fn = f(*nest.pack_sequence_as(list(args), flat_args))
    read = _variables_read(graph, first)
    variables = list(read.values())
    _check_takes(grad_fn, variables)
    flat = [convert_to_tensor(r) for r in nest.flatten(result)]
    outputs = _add(
        graph,
        flat,
        [*(graph.own(a) for a in flat_args), *read],
        lambda op, *grads: _cotangents(grad_fn, variables, grads),
    )
    return nest.pack_sequence_as(result, outputs) if nest.is_sequence(result) else outputs[0]


def _add(graph: Graph, results: Sequence[Tensor], sources: Sequence[Tensor], rule: Callable[..., Any]) -> list[Tensor]:
    """Add the ``CustomGradient`` operation: an identity of ``results`` whose gradient goes to ``sources``.

    At the top level of a plain graph the rule is called when a gradient is asked for. In a loop, branch or function
    it is traced at once, since its tensors must be made there, and tensors that it captures become inputs.
    """
    attrs: dict[str, Any] = {
        "results": len(results),
        "flows": (frozenset(range(len(results), len(results) + len(sources))),) * len(results),
        "_gradient_function": rule,
        "_gradient_places": (len(results), len(results) + len(sources)),
    }
    op = graph.add("CustomGradient", [*results, *sources], attrs, "IdentityN")
    if graph.block is graph.root and not graph.building_function:
        return op.outputs
    traced = trace_rule(op, rule)
    # What the rule captures is known once it is traced: the operation is made again, with these as inputs.
    captured = [t for t in traced.block.captures() if t.op is not op and place_of(t, op.inputs) is None]
    again = graph.add("CustomGradient", [*results, *sources, *captured], attrs, "IdentityN")
    again.attrs["_traced_gradient"] = traced._replace(grads=(*traced.grads, *(None for _ in captured)))
    return again.outputs


def _variables_read(graph: Graph, first: int) -> dict[Tensor, Variable | Tensor]:
    """Handle -> variable, of the trainable variables read by operations added from graph version ``first`` on.

    A handle whose variable is not known stands for itself.
    """
    ops = (op for op in graph.carried_out() if graph.time_of(op) >= first)
    read = dict.fromkeys(op.inputs[0] for op in ops if op.definition.reads_value)
    variables = {h: graph.variable_of(h) for h in read}
    return {h: h if v is None else v for h, v in variables.items() if getattr(v, "trainable", True)}


define_op(
    "CustomGradient",
    lambda inputs, attrs: [Signature(t.dtype, t.dims) for t in inputs[: attrs["results"]]],
    lower=lambda lowering, op: [lowering.value(t) for t in op.inputs[: op.attrs["results"]]],
    hidden=("flows",),
)


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """``f`` with the gradient of the identity (a straight-through estimator). Variables that ``f`` reads get none."""

    def forward(*args: Any, **kwargs: Any) -> Any:
        def grad(*dys: Tensor, variables: Sequence[Variable] | None = None) -> Any:
            return dys if variables is None else (dys, [None] * len(variables))

        return f(*args, **kwargs), grad

    return custom_gradient(forward)


# ---- recomputing ------------------------------------------------------------------------------------------------


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """``f`` with rematerialization, as ``jax.checkpoint``: only its arguments are kept for its gradient.

    Gradients go to tensors, arrays and variables among the positional arguments, and to variables that ``f`` reads.
    Other values and keyword arguments are passed to ``f`` as they are. As ``tf.recompute_grad`` in 2.x's
    ``custom_gradient.py``.
    """

    @functools.wraps(f)
    def recomputed(*args: Any, **kwargs: Any) -> Any:
        leaves = nest.flatten(list(args))
        indices = [i for i, a in enumerate(leaves) if hasattr(a, "dtype") and hasattr(a, "shape")]

        def call(tensors: Sequence[TensorLike]) -> Any:
            by_index = dict(zip(indices, tensors, strict=True))
            values = [by_index.get(i, a) for i, a in enumerate(leaves)]
            return f(*nest.pack_sequence_as(list(args), values), **kwargs)

        @custom_gradient
        def forward(*tensors: TensorLike) -> Any:
            with _pause_tapes():
                result = call(tensors)

            def grad(*dresults: Tensor, variables: Sequence[Variable] = ()) -> Any:
                inputs, seeds = _later(tensors, dresults)
                with GradientTape() as tape:
                    tape.watch([inputs, list(variables)])
                    again = call(inputs)
                sources: list[Source] = [*inputs, *variables]
                cotangents = tape.gradient(nest.flatten(again), sources, seeds, UnconnectedGradients.ZERO)
                cotangents = cotangents[: len(inputs)], cotangents[len(inputs) :]
                return cotangents if variables else cotangents[0]

            return result, grad

        return forward(*(leaves[i] for i in indices))

    return recomputed


@contextmanager
def _pause_tapes() -> Iterator[None]:
    """Pause all tapes but watchers: no operation inside is kept for gradients."""
    active = context().tapes.active
    saved = list(active)
    active[:] = [t for t in saved if isinstance(t, _Watcher)]
    try:
        yield
    finally:
        active[:] = saved


def _later(inputs: Sequence[TensorLike], cotangents: Sequence[TensorLike]) -> tuple[list[Tensor], list[Tensor]]:
    """Inputs and cotangents behind an optimization barrier, so that the recomputation depends on the cotangents.

    Without it the compiler would merge the second computation with the first one (common subexpressions) and keep the
    intermediate values after all.
    """
    tensors = [convert_to_tensor(t) for t in (*inputs, *cotangents)]
    graph = get_default_graph()
    if graph.executing_eagerly:
        # No compiler merges what is executed: new tensors are enough.
        tensors = [arrays.identity(t) for t in tensors]
    else:
        tensors = graph.add("OptimizationBarrier", tensors).outputs
    return tensors[: len(inputs)], tensors[len(inputs) :]


define_op(
    "OptimizationBarrier",
    lambda inputs, attrs: [Signature(t.dtype, t.dims) for t in inputs],
    lambda *values: lax.optimization_barrier(values),
)


def hessians(
    ys: Sources,
    xs: Source | Sequence[Source],
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool | int = False,
    aggregation_method: int | None = None,
) -> list[Tensor]:
    """Second derivatives of the sum of ``ys``: for each x a tensor of shape ``[*x.shape, *x.shape]``.

    ``colocate_gradients_with_ops``, ``gate_gradients``, ``aggregation_method``: scheduling of the original; they change
    no value.
    """
    graph = get_default_graph()
    if graph.executing_eagerly:
        raise RuntimeError("tf.hessians is not supported when eager execution is enabled. Use tf.GradientTape instead.")
    each: Sequence[Source] = list(xs) if isinstance(xs, list | tuple) else [xs]
    results = []
    with graph.name_scope(name):
        for first, x in zip(gradients(ys, each), each, strict=True):
            if first is None:
                raise ValueError(f"{x!r} has no second derivative: ys do not depend on it.")
            results.append(_rows(arrays.reshape(first, [-1]), x))
    return results


def _rows(flat: Tensor, x: Source) -> Tensor:
    """The Jacobian of a vector by ``x``, one row per loop iteration: ``[*x.shape, *x.shape]``."""
    value = convert_to_tensor(x)
    count = arrays.size(value)

    def compute(j: Tensor, rows: TensorArray) -> Any:
        (row,) = gradients(flat[j], x)
        if row is None:
            raise ValueError(f"{x!r} has no second derivative: the first one does not depend on it.")
        return arithmetic.add(j, 1), rows.write(j, convert_to_tensor(row))

    rows = TensorArray(value.dtype, size=count)
    _, rows = while_loop(lambda j, _: arithmetic.less(j, count), compute, [constant(0), rows])
    shape = arrays.shape(value)
    result = arrays.reshape(rows.stack(), arrays.concat([shape, shape], 0))
    if value.dims is not None:
        result.set_shape((*value.dims, *value.dims))
    return result
