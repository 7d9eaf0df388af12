"""Pipelines by functions of several elements: scans, windows, buckets, choices among datasets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.data.elements.structure import Structure, flatten, flatten_like, in_parts, map_leaves
from towerstrat.data.pipeline import mapping, ordering, sources
from towerstrat.data.pipeline.arguments import padding, predicate_of, scalar
from towerstrat.data.pipeline.batching import Batch, PaddedBatch
from towerstrat.data.pipeline.element_functions import Function
from towerstrat.data.pipeline.nodes import DatasetNode, Seeds
from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.shapes import as_shape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import as_dtype, int64


def counted(start: Any, step: Any, dtype: Any, name: str) -> DatasetNode:
    """``start, start + step, ...`` without end."""
    return sources.Range(scalar(start, name), None, scalar(step, name), as_dtype(dtype))


def random_numbers(seed: Any, again: bool, name: str) -> DatasetNode:
    """Random integers below 2**32, without end."""
    return sources.Random(Seeds(get_default_graph(), None if seed is None else scalar(seed, name)), again)


def unique(node: DatasetNode, name: str) -> DatasetNode:
    """The first of equal elements."""
    dtypes = node.structure.dtypes
    if len(dtypes) != 1 or dtypes[0].name not in ("int32", "int64", "string"):
        raise TypeError(
            f"`{name}` only supports inputs with a single component of type int32, int64 or string, got "
            f"{node.structure.types}."
        )
    return ordering.Unique(node)


def taken_while(node: DatasetNode, predicate: Callable[..., Any]) -> DatasetNode:
    """The elements before the first for which ``predicate`` is false."""
    return mapping.TakeWhile(node, predicate_of(node, predicate, "Dataset.take_while"), node.structure)


def scanned(node: DatasetNode, initial_state: Any, scan_func: Callable[..., Any]) -> DatasetNode:
    """``scan_func(state, element) -> (state, output)`` along the elements; the outputs are the new elements."""
    state = map_leaves(convert_to_tensor, in_parts(initial_state))
    before = Structure.of_tensors(state)
    outer = get_default_graph()
    function = Function(scan_func, [before, node.structure], "scan", outer)
    result = function.value
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError("The scan function must return a pair comprising the new state and the output value.")
    after = Structure.of_tensors(in_parts(result[0]))
    before.check_types(after, "the scan function's new state")
    if any(b is not None and a != b for a, b in zip(after.dims, before.dims, strict=True)):
        before = before.relaxed(after)
        function = Function(scan_func, [before, node.structure], "scan", outer)
    return mapping.Scan(node, function, Structure.of_tensors(in_parts(function.value[1])), flatten(state))


def grouped(
    node: DatasetNode, key_func: Callable[..., Any], reduce_func: Callable[..., Any], window_size: Any,
    window_size_func: Callable[..., Any] | None, kind: Any, make: Callable[[DatasetNode], Any],
) -> DatasetNode:  # fmt: skip
    """Windows of elements of one key, each reduced to a dataset.

    Args:
      kind: the class of datasets.
      make: the dataset of a node that ``reduce_func`` gets.
    """
    if (window_size is None) == (window_size_func is None):
        raise ValueError("Must pass either window_size or window_size_func, and not both.")
    outer, structure = get_default_graph(), node.structure
    key = Function(key_func, [structure], "key_func", outer)
    if key.structure.dtypes != (int64,) or key.structure.dims[0] not in ((), None):
        raise ValueError(f"`key_func` must return a single tf.int64 tensor. Got type={key.structure.types}.")
    scalar_key = Structure(None, [int64], [()])
    reduce = Function(
        lambda k: reduce_func(k, make(mapping.Elements(structure))), [scalar_key], "reduce_func", outer, kind
    )
    if reduce.dataset is None:
        raise TypeError("`reduce_func` must return a `Dataset` object.")
    size: Any
    if window_size_func is None:
        size = scalar(window_size, "group_by_window")
    else:
        size = Function(window_size_func, [scalar_key], "window_size_func", outer)
    return mapping.GroupByWindow(node, key, reduce, reduce.dataset.node, size)


def bucketed(
    node: DatasetNode, length_func: Callable[..., Any], bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Any, padding_values: Any, pad_to_bucket_boundary: bool, no_padding: bool, drop_remainder: bool,
) -> DatasetNode:  # fmt: skip
    """Batches of elements of similar length."""
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        raise ValueError("len(bucket_batch_sizes) must equal len(bucket_boundaries) + 1")
    sizes = [int(n) for n in bucket_batch_sizes]
    boundaries = [int(n) for n in bucket_boundaries]
    structure = node.structure
    length = Function(length_func, [structure], "element_length_func", get_default_graph())
    shapes = structure.shapes if padded_shapes is None else padded_shapes
    given = [as_shape(s).raw for s in flatten_like(structure.template, shapes, "padded_shapes")]

    def batched(number: int) -> DatasetNode:
        window = mapping.Elements(structure)
        if no_padding:
            return Batch(window, sizes[number], drop_remainder)
        dims = given
        if pad_to_bucket_boundary and number < len(boundaries):
            limit = boundaries[number] - 1
            dims = [None if d is None else tuple(limit if n is None else n for n in d) for d in given]
        wanted, fillings = padding(structure, structure.with_dims(dims).shapes, padding_values)
        return PaddedBatch(window, sizes[number], wanted, fillings, drop_remainder)

    windows = [batched(number) for number in range(len(sizes))]
    forbidden = len(boundaries) if pad_to_bucket_boundary and not no_padding else None
    return mapping.Buckets(node, length, boundaries, sizes, windows, forbidden)


def chosen(nodes: Sequence[DatasetNode], choices: DatasetNode, stop: bool) -> DatasetNode:
    """Each element from the pipeline whose number comes next.

    Args:
      stop: the first empty one ends the whole; else it is left out.
    """
    if choices.structure.dtypes != (int64,) or choices.structure.dims != ((),):
        raise TypeError("`choice_dataset` must be a dataset of scalar `tf.int64` tensors.")
    _check_alike(nodes, "choose_from_datasets")
    return mapping.ChooseFrom(nodes, choices, stop)


def sampled(nodes: Sequence[DatasetNode], weights: Any, seed: Any, stop: bool, again: bool) -> DatasetNode:
    """Each element from one of the pipelines, drawn at random."""
    if hasattr(weights, "node") or (isinstance(weights, Tensor) and not hasattr(weights, "numpy")):
        raise UnsupportedError(
            "sample_from_datasets(weights=): only fixed weights are supported; pass a list of numbers."
        )
    if weights is not None and len(weights) != len(nodes):
        raise ValueError("`weights` must be a vector of length `len(datasets)`.")
    _check_alike(nodes, "sample_from_datasets")
    seeds = Seeds(get_default_graph(), None if seed is None else scalar(seed, "sample_from_datasets"))
    chances = [1.0] * len(nodes) if weights is None else [float(w) for w in weights]
    drawn = [(node, chance) for node, chance in zip(nodes, chances, strict=True) if chance]
    if not drawn:
        raise ValueError(f"sample_from_datasets: expected a weight above 0, got {weights}.")
    return mapping.SampleFrom([node for node, _ in drawn], [chance for _, chance in drawn], seeds, stop, again)


def _check_alike(nodes: Sequence[DatasetNode], name: str) -> None:
    if not nodes:
        raise ValueError(f"{name}: expected at least one dataset.")
    for node in nodes:
        node.structure.check_types(nodes[0].structure, "datasets alike")
