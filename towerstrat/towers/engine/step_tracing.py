"""Step loops: a step function is traced once, and one operation runs it on successive elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.data.iterators.session_iterators import Iterator, iterator_resource
from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import DType, int32, string
from towerstrat.graph.ir.user_lines import user_line
from towerstrat.graph.ops.array.arrays import stack
from towerstrat.graph.ops.control.branches import group
from towerstrat.graph.variables.variables import Variable
from towerstrat.towers.engine.distributed_values import DistributedValues, Mirrored, PerDevice
from towerstrat.towers.engine.step_context import MultiStepContext
from towerstrat.towers.engine.step_summaries import Collected
from towerstrat.towers.engine.strategy_api import StrategyApi


def trace_step_loop(
    surface: StrategyApi,
    axis: Axis | None,
    devices: Sequence[str],
    fn: Callable[..., Any],
    iterator: Iterator,
    iterations: Any,
    initial_loop_values: Any,
    fixed_shapes: bool = False,
    partial: bool = False,
) -> MultiStepContext:
    """Builds a loop of ``fn`` over the elements of an iterator.

    Args:
      surface: says what the step function is given.
      axis: the towers' axis, None for one tower.
      devices: the towers' devices.
      fn: traced once, as ``fn(context, *inputs)``. It returns what every step runs: operations, tensors or a structure.
      iterations: a Python integer or a scalar integer tensor.
      initial_loop_values: the outputs of no step, by name; optional.
      fixed_shapes: whether shapes of elements must be known, as the surface may demand too.
      partial: whether a run whose data ends after some steps gives what these did, and only the next one raises.

    Returns:
      The context that ``fn`` was given, with ``run_op``, the outputs of the last step and those of each step.

    Raises:
      ValueError: element shapes are not known where they must be, or ``iterations`` is no count.
      TypeError: not an iterator of a dataset; ``fn`` returns nothing that could be run.
    """
    types, dims = _checked_elements(surface, iterator, fixed_shapes or surface.fixed_shapes)
    graph = get_default_graph()
    if graph.block is not graph.root:
        raise ValueError(
            f"{surface.loop_method} inside {graph.block.what} (created at {graph.block.line}) is not supported: a step "
            "loop takes its input from the host. Call it at the top level."
        )
    count = _count(iterations)
    context = surface.step_context()
    with graph.body(f"the step function of {surface.loop_method}") as block:
        block.in_steps = True
        elements = [
            graph.add("StepInput", (), {"dtype": t, "dims": d}, "step_input", axis=axis).outputs[0]
            for t, d in zip(types, dims, strict=True)
        ]
        parts = elements if axis is None else [surface.per_tower(t, devices, axis) for t in elements]
        result = fn(context, *surface.step_arguments(nest.pack_sequence_as(iterator.output_types, parts)))
        outputs = nest.flatten(context.last_step_outputs)
        collected = Collected(graph, block)
        tensors = [*(_as_output(o) for o in outputs), *collected.sources]
        every = [_as_output(o) for o in nest.flatten(context.step_outputs)]
        block.finish([*tensors, *every, *_effects(result, graph, surface)])
        block.release()
    initial = _initial(initial_loop_values, tensors[: len(outputs)], 1 if axis is None else axis.size)
    whole = surface.whole_elements or iterator.in_parts
    op = _loop(graph, block, iterator, count, elements, tensors, every, initial, axis, whole, partial)

    def seen(made: Sequence[Tensor]) -> list[Any]:
        return [surface.per_tower(t, devices, axis) if axis is not None and t.varies else t for t in made]

    last, collecting = len(outputs), len(tensors)
    collected.leave(dict(zip(collected.sources, op.outputs[last:collecting], strict=True)), axis)
    context._set_last_step_outputs(nest.pack_sequence_as(context.last_step_outputs, seen(op.outputs[:last])))
    context.step_outputs = nest.pack_sequence_as(context.step_outputs, seen(op.outputs[collecting:]))
    context.run_op = group(op)
    return context


def run_steps_eagerly(
    surface: StrategyApi, fn: Callable[..., Any], take: Callable[[], Any], iterations: Any, initial_loop_values: Any
) -> MultiStepContext:
    """Calls ``fn(context, *inputs)`` with one element after the other, where operations are executed eagerly.

    Args:
      take: returns the next element.
      initial_loop_values: the outputs of no step, a dictionary by name; optional.

    Raises:
      OutOfRangeError: there is no further element; the steps before are done.
    """
    context = surface.step_context()
    steps = int(iterations)
    for _ in range(steps):
        fn(context, *surface.step_arguments(take()))
    outputs = context.last_step_outputs if steps > 0 else initial_loop_values or {}
    if not isinstance(outputs, dict):
        raise ValueError(f"Expected a dictionary of initial_loop_values, got {outputs!r}: no step has named an output.")
    context._set_last_step_outputs(nest.map_structure(_as_value, outputs))
    return context


def _as_value(value: Any) -> Any:
    if isinstance(value, Mirrored) and not isinstance(value, Variable):
        value = value.primary
    return value if isinstance(value, DistributedValues) else convert_to_tensor(value)


def _checked_elements(
    surface: StrategyApi, iterator: Any, fixed_shapes: bool
) -> tuple[Sequence[DType], Sequence[Dims]]:
    """Types and shapes of the components of an iterator's elements, once they can enter a step loop."""
    if not isinstance(iterator, Iterator):
        raise TypeError(
            f"Expected an iterator of a dataset, got {iterator!r}. Make one with dataset.make_one_shot_iterator() or "
            "make_initializable_iterator()."
        )
    types, dims = iterator.structure.dtypes, iterator.structure.dims
    if fixed_shapes and any(d is None or None in d for d in dims):
        raise ValueError(
            f"TPU currently requires fully defined shapes, got {iterator.output_shapes}. Either use set_shape() on the "
            "input tensors or use dataset.batch(..., drop_remainder=True)."
        )
    if string in types:
        raise UnsupportedError(
            f"{surface.loop_method} got elements of types {iterator.output_types}: strings cannot enter a compiled "
            "step. Leave them out, or turn them into numbers, with dataset.map(...)."
        )
    return types, dims


def _count(iterations: Any) -> Tensor:
    if isinstance(iterations, (bool, float)):
        raise ValueError(f"Expected a number of iterations, got {iterations!r}.")
    if isinstance(iterations, int) and iterations < 0:
        raise ValueError(f"iterations must be 0 or more, got {iterations}.")
    graph = get_default_graph()
    with graph.outside() if isinstance(iterations, int) else graph.under(None):
        tensor = convert_to_tensor(iterations, None if hasattr(iterations, "dtype") else int32, name="iterations")
    if not tensor.dtype.is_integer or tensor.dims not in ((), None):
        raise ValueError(f"Expected a scalar integer of iterations, got {tensor!r}.")
    return tensor


def _loop(
    graph: Graph, block: Block, source: Iterator, count: Tensor, elements: Sequence[Tensor], tensors: Sequence[Tensor],
    every: Sequence[Tensor], initial: Sequence[Tensor], axis: Axis | None, whole: bool, partial: bool,
) -> Operation:  # fmt: skip
    """The loop's operation: inputs are the count, the initial outputs, the iterator's handles and the captures."""
    captures = list(block.captures())
    attrs = {
        "bodies": (block,),
        "elements": tuple(elements),
        "results": tuple(tensors),
        "every": tuple(every),
        "arguments": 1 + len(initial),
        "handles": len(source.handles()),
        "axis": axis,
        "whole": whole,
        "partial": partial,
        "iterator": source.position,
        "source": iterator_resource,
        "varying_outputs": tuple(t.varies for t in (*tensors, *every)),
    }
    return graph.add("StepLoop", [count, *initial, *source.handles(), *captures], attrs, "step_loop")


def _initial(values: Any, outputs: Sequence[Tensor], towers: int) -> list[Tensor]:
    """Values of the outputs before the first step: one for each, or one for each tower where towers differ."""
    if values is None:
        return []
    flat = [convert_to_tensor(v) for v in nest.flatten(values)]
    if len(flat) == len(outputs):
        return flat
    counts = [towers if t.varies else 1 for t in outputs]
    if len(flat) != sum(counts):
        raise ValueError(f"initial_loop_values has {len(flat)} values, the step sets {len(outputs)} outputs.")
    rest = iter(flat)
    return [
        stack([next(rest) for _ in range(n)]) if t.varies else next(rest) for n, t in zip(counts, outputs, strict=True)
    ]


def _in_tower(value: Any) -> Any:
    """A step function's output or result as the towers see it."""
    if isinstance(value, Variable) or not isinstance(value, DistributedValues):
        return value
    return value.primary if isinstance(value, Mirrored) else value.local


def _as_output(value: Any) -> Tensor:
    """The tensor of a step function's output; of a per-device value one that differs by tower, equal or not."""
    if isinstance(value, PerDevice) and value.is_tensor_like and not isinstance(value, Variable):
        return value._tensors()[0]
    return convert_to_tensor(_in_tower(value))


def _effects(result: Any, graph: Graph, surface: StrategyApi) -> list[Operation]:
    """The operations of a step function's result: of operations, tensors and variables, or of one that it names.

    Raises:
      TypeError: there is none, as where the function returns None.
      KeyError: no operation or tensor has the name.
    """
    found: list[Operation] = []
    for leaf in nest.flatten(graph.as_graph_element(result) if isinstance(result, str) else result):
        leaf = _in_tower(leaf)
        if isinstance(leaf, IndexedSlices):
            leaf = leaf.values
        element = leaf if isinstance(leaf, Operation) else getattr(leaf, "op", None)
        if isinstance(element, Operation) and element.graph is graph:
            found.append(element)
    if not found:
        raise TypeError(
            f"Can not convert {result!r} into a Tensor or Operation: the step function of {surface.loop_method} must "
            "return what every step runs, such as the training operation; several as tf.group(...).\n"
            f"  at: {user_line()}"
        )
    return found
