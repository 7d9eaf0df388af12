"""``run_steps_on_dataset``: builds the step once and hands it to the step loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.data.iterators import Iterator, iterator_resource
from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.convert import convert_to_tensor
from towerstrat.graph.ir.core import Graph, get_default_graph
from towerstrat.graph.ir.elements import Block, Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.types import int32, string
from towerstrat.graph.ops.array import stack
from towerstrat.graph.ops.control_flow import group
from towerstrat.graph.variables.variables import Variable, VariableAggregation
from towerstrat.towers.engine import contexts
from towerstrat.towers.engine.inputs import PerDeviceDataIterator, flat_signature
from towerstrat.towers.engine.values import DistributedValues, Mirrored, per_device


class MultiStepContext:
    """What a step function uses to give outputs out of the loop.

    Attributes:
      run_op: the operation that runs all iterations.
    """

    def __init__(self) -> None:
        self.run_op: Operation | None = None
        self._last_step_outputs: dict[str, Any] = {}
        self._last_step_outputs_aggregations: dict[str, VariableAggregation] = {}
        self._non_tensor_outputs: dict[str, Any] = {}

    @property
    def last_step_outputs(self) -> dict[str, Any]:
        """Name -> tensor after the last step: one value where it was aggregated, else per-device."""
        return self._last_step_outputs

    def _set_last_step_outputs(self, outputs: dict[str, Any]) -> None:
        if not isinstance(outputs, dict):
            raise ValueError("Need a dictionary to set last_step_outputs.")
        self._last_step_outputs = outputs

    def set_last_step_output(
        self, name: str, output: Any, aggregation: VariableAggregation = VariableAggregation.NONE
    ) -> None:
        """Makes ``output`` available after the last step.

        Args:
          name: its key in ``last_step_outputs``.
          output: a tensor or per-device value.
          aggregation: how the towers' values become one. Required in tower context; NONE in cross-tower context keeps
            the value as it is.

        Raises:
          ValueError: no aggregation in tower context.
        """
        if contexts.get_cross_tower_context() is not None:
            self._last_step_outputs_aggregations[name] = aggregation
            if aggregation is not VariableAggregation.NONE:
                strategy = contexts.get_distribution_strategy()
                output = strategy.reduce(aggregation, output, destinations="/device:CPU:0")
            self._last_step_outputs[name] = output
            return
        if aggregation is VariableAggregation.NONE:
            raise ValueError(
                f"set_last_step_output({name!r}) in tower context needs an aggregation: pass aggregation="
                "tf.VariableAggregation.MEAN (or SUM, ONLY_FIRST_TOWER), or call it in cross-tower context."
            )

        def merge_fn(distribution: Any, value: Any) -> None:
            reduced = distribution.reduce(aggregation, value, destinations="/device:CPU:0")
            self._last_step_outputs[name] = reduced
            self._last_step_outputs_aggregations[name] = aggregation

        contexts.get_tower_context().merge_call(merge_fn, output)

    @property
    def non_tensor_outputs(self) -> dict[str, Any]:
        """Name -> what ``set_non_tensor_output`` was given; from tower context a list of its parts."""
        return self._non_tensor_outputs

    def set_non_tensor_output(self, name: str, output: Any) -> None:
        """Keeps any Python value."""
        if contexts.get_cross_tower_context() is not None:
            self._non_tensor_outputs[name] = output
            return

        def merge_fn(distribution: Any, value: Any) -> None:
            self._non_tensor_outputs[name] = distribution.unwrap(value)

        contexts.get_tower_context().merge_call(merge_fn, output)


class Surface:
    """How a step function sees its loop.

    Attributes:
      method: what the program calls.
      context: makes the context that the step function gets.
      whole: whether the source's elements have a part for every tower already, rather than being one tower's.
    """

    method = "run_steps_on_dataset"
    context: Callable[[], MultiStepContext] = MultiStepContext
    whole = False

    def per_position(self, tensor: Tensor, devices: Sequence[str], axis: Axis) -> Any:
        """What a tensor is on every tower, as one value."""
        return per_device(tensor, devices, axis)

    def arguments(self, element: Any) -> tuple[Any, ...]:
        """What an element is to the step function, after its context."""
        return element if isinstance(element, tuple) and not hasattr(element, "_fields") else (element,)


def run_steps(
    axis: Axis | None,
    devices: Sequence[str],
    fn: Callable[..., Any],
    iterator: Any,
    iterations: Any,
    initial_loop_values: Any,
    fixed_shapes: bool = False,
    surface: Surface | None = None,
) -> MultiStepContext:
    """Builds a loop of ``fn`` over the elements of an iterator.

    Args:
      fixed_shapes: whether shapes of elements must be known.
      surface: how the step function sees its loop, where it is not written for towers.

    Raises:
      ValueError: element shapes are not known (where the strategy needs them), or ``iterations`` is no count.
    """
    surface = surface or Surface()
    source = iterator.iterator if isinstance(iterator, PerDeviceDataIterator) else iterator
    if not isinstance(source, Iterator):
        raise TypeError(
            f"Expected an iterator of a dataset, got {iterator!r}. Make one with dataset.make_one_shot_iterator() or "
            "make_initializable_iterator()."
        )
    types, dims = flat_signature(source)
    if fixed_shapes and any(d is None or None in d for d in dims):
        raise ValueError(
            f"TPU currently requires fully defined shapes, got {source.output_shapes}. Either use set_shape() on the "
            "input tensors or use dataset.batch(..., drop_remainder=True)."
        )
    if string in types:
        raise UnsupportedError(
            f"{surface.method} got elements of types {source.output_types}: strings cannot enter a compiled step. "
            "Leave them out, or turn them into numbers, with dataset.map(...)."
        )
    graph = get_default_graph()
    if graph.block is not graph.root:
        raise ValueError(
            f"{surface.method} inside {graph.block.what} (created at {graph.block.line}) is not supported: a step "
            "loop takes its input from the host. Call it at the top level."
        )
    count = _count(iterations)
    context = surface.context()
    with graph.body(f"the step function of {surface.method}") as block:
        elements = [
            graph.add("StepInput", (), {"dtype": t, "dims": d}, "step_input", axis=axis).outputs[0]
            for t, d in zip(types, dims, strict=True)
        ]
        parts = elements if axis is None else [surface.per_position(t, devices, axis) for t in elements]
        result = fn(context, *surface.arguments(nest.pack_sequence_as(source.output_types, parts)))
        outputs = nest.flatten(context.last_step_outputs)
        tensors = [_local(o) for o in outputs]
        block.finish([*tensors, *_effects(result, graph)])
    op = _loop(graph, block, source, count, elements, tensors, context, initial_loop_values, axis, surface.whole)
    after = [
        surface.per_position(t, devices, axis) if axis is not None and _has_parts(o, t) else t
        for o, t in zip(outputs, op.outputs, strict=True)
    ]
    context._set_last_step_outputs(nest.pack_sequence_as(context.last_step_outputs, after))
    context.run_op = group(op)
    return context


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
    graph: Graph, block: Block, source: Any, count: Tensor, elements: Sequence[Tensor], tensors: Sequence[Tensor],
    context: MultiStepContext, initial_loop_values: Any, axis: Axis | None, whole: bool,
) -> Operation:  # fmt: skip
    initial = _initial(initial_loop_values, tensors, 1 if axis is None else axis.size)
    captures = list(block.captures())
    attrs = {
        "bodies": (block,),
        "elements": tuple(elements),
        "results": tuple(tensors),
        "arguments": 1 + len(initial),
        "handles": len(source.handles()),
        "axis": axis,
        "whole": whole,
        "iterator": source.position,
        "source": iterator_resource,
        "varying_outputs": tuple(t.varies for t in tensors),
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


def _local(value: Any) -> Tensor:
    if isinstance(value, Variable):
        return value.value()
    if isinstance(value, Mirrored):
        return convert_to_tensor(value.primary)
    if isinstance(value, DistributedValues):
        return convert_to_tensor(value.local)
    return convert_to_tensor(value)


def _has_parts(before: Any, tensor: Tensor) -> bool:
    """Whether the loop's output has a part on every tower: the step's output had."""
    tensor.varies |= isinstance(before, DistributedValues) and not isinstance(before, Mirrored)
    return tensor.varies


def _effects(result: Any, graph: Graph) -> list[Any]:
    """What the step function returned: run in every step."""
    found: list[Any] = []
    for leaf in nest.flatten(result):
        if isinstance(leaf, DistributedValues) and not isinstance(leaf, Variable):
            leaf = leaf.primary if isinstance(leaf, Mirrored) else leaf.local
        if isinstance(leaf, IndexedSlices):
            leaf = leaf.values
        if leaf is None or isinstance(leaf, str | int | float):
            continue
        element = leaf if isinstance(leaf, Operation | Tensor) else getattr(leaf, "op", None)
        if isinstance(element, Tensor):
            element = element.op
        if isinstance(element, Operation) and element.graph is graph:
            found.append(element)
    return found
