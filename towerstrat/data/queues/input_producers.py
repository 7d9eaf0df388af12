"""Input by queues: producers of rows, and batches of single examples.

Source: ``tensorflow/python/training/input.py``. Summaries are not there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from towerstrat.data.elements.sparse_protos import deserialize_many_sparse, serialize_many_sparse, serialize_sparse
from towerstrat.data.queues.queue_runner import QueueRunner, add_queue_runner
from towerstrat.data.queues.queues import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.default_graph import control_dependencies
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.sparse_tensor import SparseTensor
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import int32, int64, string
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.control.branches import cond, no_op
from towerstrat.graph.ops.host.runtime_checks import Assert
from towerstrat.graph.ops.indexing import gather_scatter
from towerstrat.graph.ops.math import arithmetic
from towerstrat.graph.ops.random.stateful import random_shuffle
from towerstrat.graph.ops.text.files import matching_files
from towerstrat.graph.variables.variable_ops import count_up_to
from towerstrat.graph.variables.variables import GraphKeys, Variable

_EAGER = (
    "Input pipelines based on Queues are not supported when eager execution is enabled. Please use tf.data to ingest "
    "data into your model instead."
)


# ---- producers of rows -----------------------------------------------------------------------------------------


def match_filenames_once(pattern: Any, name: str | None = None) -> Variable:
    """The paths of the files that match a pattern, or any of a vector of patterns, found when it is initialized.

    It is a local variable.
    """
    with get_default_graph().name_scope(name or "matching_filenames") as scope:
        return Variable(
            matching_files(pattern), trainable=False, collections=[GraphKeys.LOCAL_VARIABLES], validate_shape=False,
            name=scope,
        )  # fmt: skip


def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Any:
    """``tensor``, which can be evaluated ``num_epochs`` times; the next time raises OutOfRangeError.

    The count is a local variable, ``epochs``.

    Raises:
      ValueError: ``num_epochs`` is not positive.
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with get_default_graph().name_scope(name or "limit_epochs") as scope:
        epochs = Variable(constant(0, int64), name="epochs", trainable=False, collections=[GraphKeys.LOCAL_VARIABLES])
        with control_dependencies([count_up_to(epochs, num_epochs)]):
            return arrays.identity(tensor, name=scope)


def input_producer(
    input_tensor: Any, element_shape: Any = None, num_epochs: int | None = None, shuffle: bool = True,
    seed: int | None = None, capacity: int = 32, shared_name: str | None = None, summary_name: str | None = None,
    name: str | None = None, cancel_op: Any = None,
) -> FIFOQueue:  # fmt: skip
    """A queue of the rows of a tensor, again and again, with a queue runner in ``GraphKeys.QUEUE_RUNNERS``.

    Args:
      element_shape: of a row, where the tensor's is not fully known.
      num_epochs: how often all rows come; then the queue is closed. Default: for ever.
      shuffle: whether their order is random, another one in each epoch.
      seed: of the order.
      capacity, shared_name: of the queue.
      cancel_op: closes the queue and cancels what is pending.

    Raises:
      RuntimeError: eagerly.
      ValueError: the shape of a row is not known.
      UnsupportedError: ``summary_name``, since there are no summaries.
    """
    if get_default_graph().executing_eagerly:
        raise RuntimeError(_EAGER)
    if summary_name is not None:
        raise UnsupportedError("input_producer(summary_name=): summaries are not supported; leave it out.")
    with get_default_graph().name_scope(name or "input_producer"):
        rows = convert_to_tensor(input_tensor, name="input_tensor")
        element = rows.shape[1:].merge_with(element_shape)
        if not element.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must be specified"
            )
        if shuffle:
            rows = random_shuffle(rows, seed=seed)
        rows = limit_epochs(rows, num_epochs)
        queue = FIFOQueue(capacity, [rows.dtype], [element], shared_name=shared_name, name=name or "fifo_queue")
        add_queue_runner(QueueRunner(queue, [queue.enqueue_many([rows])], cancel_op=cancel_op))
        return queue


def string_input_producer(
    string_tensor: Any, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None,
    capacity: int = 32, shared_name: str | None = None, name: str | None = None, cancel_op: Any = None,
) -> FIFOQueue:  # fmt: skip
    """A queue of strings, such as the names of files. See ``input_producer``.

    Raises:
      ValueError: an empty list.
      InvalidArgumentError: from ``Session.run``: an empty tensor.
    """
    empty = "string_input_producer requires a non-null input tensor"
    if not isinstance(string_tensor, Tensor | Variable) and not len(string_tensor):
        raise ValueError(empty)
    with get_default_graph().name_scope(name or "input_producer") as scope:
        strings = convert_to_tensor(string_tensor, string)
        with control_dependencies([Assert(arithmetic.greater(arrays.size(strings), 0), [empty])]):
            strings = arrays.identity(strings)
        return input_producer(
            strings, [], num_epochs, shuffle, seed, capacity, shared_name, name=scope, cancel_op=cancel_op
        )


def range_input_producer(
    limit: Any, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None, capacity: int = 32,
    shared_name: str | None = None, name: str | None = None,
) -> FIFOQueue:  # fmt: skip
    """A queue of the integers from 0 to ``limit - 1``. See ``input_producer``."""
    with get_default_graph().name_scope(name or "input_producer") as scope:
        return input_producer(arrays.range(limit), [], num_epochs, shuffle, seed, capacity, shared_name, name=scope)


def slice_input_producer(
    tensor_list: Any, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None,
    capacity: int = 32, shared_name: str | None = None, name: str | None = None,
) -> list[Tensor]:  # fmt: skip
    """One row of each tensor at a time, by a queue of their numbers. See ``input_producer``.

    Raises:
      ValueError: no tensors.
    """
    with get_default_graph().name_scope(name or "input_producer"):
        tensors = [convert_to_tensor(t) for t in tensor_list]
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        size = arrays.shape(tensors[0])[0]
        index = range_input_producer(size, num_epochs, shuffle, seed, capacity, shared_name).dequeue()
        return [gather_scatter.gather(t, index) for t in tensors]


# ---- batches ---------------------------------------------------------------------------------------------------


def _as_lists(sets: Sequence[Any]) -> list[list[Any]]:
    """Sets of tensors as lists; dicts in the order of their keys."""
    if not sets:
        raise ValueError("Expected at least one set of tensors")
    if isinstance(sets[0], Mapping):
        keys = sorted(sets[0], key=str)
        if any(set(s) != set(keys) for s in sets):
            raise ValueError("All dictionaries in tensors_list must have the same keys")
        sets = [[s[k] for k in keys] for s in sets]
    lists = [[t if isinstance(t, SparseTensor) else convert_to_tensor(t) for t in s] for s in sets]
    if not lists[0]:
        raise ValueError("Expected at least one tensor in batch().")
    return lists


def _like(given: Any, tensors: Any) -> Any:
    if not isinstance(given, Mapping):
        return tensors
    found = tensors if isinstance(tensors, list) else [tensors]
    return dict(zip(sorted(given, key=str), found, strict=True))


def _component_shapes(lists: Sequence[Sequence[Tensor]], shapes: Any, enqueue_many: bool) -> Any:
    """The shapes of an element's components: as given, or what the tensors have in common."""
    if shapes is not None:
        return shapes
    merged = []
    for component in zip(*lists, strict=True):
        for tensor in component:
            if tensor.shape.ndims is None:
                raise ValueError(f"Cannot infer Tensor's rank: {tensor!r}; pass shapes=.")
        known = [t.shape.with_rank_at_least(1)[1:] if enqueue_many else t.shape for t in component]
        for other in known[1:]:
            known[0].assert_is_compatible_with(other)
        merged.append(known[0])
    return merged


def _kept(keep_input: Any, enqueue_many: bool) -> Tensor:
    """Which examples are kept, a scalar or a vector. Raises ValueError for anything else."""
    keep = convert_to_tensor(keep_input)
    if keep.shape.ndims is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if not enqueue_many and keep.shape.ndims == 1:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    if keep.shape.ndims > 1:
        raise ValueError("`keep_input` must be 0 or 1 dimensions.")
    return keep


def _enqueue(queue: QueueBase, tensors: Sequence[Tensor], keep: Tensor, enqueue_many: bool) -> Any:
    """The operation that adds the tensors that are kept."""
    add: Callable[[Any], Any] = queue.enqueue_many if enqueue_many else queue.enqueue
    if keep.shape.ndims == 1:
        chosen = arithmetic.cast(keep, int32)
        return add([gather_scatter.dynamic_partition(t, chosen, 2)[1] for t in tensors])
    known = constant_value(keep)
    if known is None:
        return cond(keep, partial(add, list(tensors)), no_op)
    return add(list(tensors)) if known else no_op()


def _batches(
    what: str, sets: Sequence[Any], make: Callable[[Any, Any], QueueBase], batch_size: Any, keep_input: Any,
    threads: int, enqueue_many: bool, shapes: Any, smaller: bool, name: str | None,
) -> Any:  # fmt: skip
    """Batches of single examples, of which each of ``sets`` brings some.

    Args:
      make: the queue between, for dtypes and shapes.
      threads: how many each set gets.
    """
    if get_default_graph().executing_eagerly:
        raise ValueError(_EAGER)
    with get_default_graph().name_scope(name or what) as scope:
        lists = _as_lists(sets)
        keep = _kept(keep_input, enqueue_many)
        if any([t.dtype for t in tensors] != [t.dtype for t in lists[0]] for tensors in lists):
            said = " vs. ".join(", ".join(t.dtype.name for t in tensors) for tensors in lists)
            raise TypeError(f"Expected types to be consistent: {said}.")
        kinds = [[isinstance(t, SparseTensor) for t in tensors] for tensors in lists]
        if any(each != kinds[0] for each in kinds):
            raise ValueError(f"Expected sparse tensors at the same places of all sets: {lists[0]} vs. {lists[1:]}.")
        stored = [[_stored(t, enqueue_many) for t in tensors] for tensors in lists]
        if shapes is not None:
            shapes = [[3] if sparse else shape for sparse, shape in zip(kinds[0], shapes, strict=True)]
        queue = make([t.dtype for t in stored[0]], _component_shapes(stored, shapes, enqueue_many))
        ops = [op for tensors in stored for op in [_enqueue(queue, tensors, keep, enqueue_many)] * threads]
        add_queue_runner(QueueRunner(queue, ops))
        taken = (queue.dequeue_up_to if smaller else queue.dequeue_many)(batch_size, name=scope)
        if not any(kinds[0]):
            return _like(sets[0], taken)
        parts = taken if isinstance(taken, list) else [taken]
        restored = [_restored(t, like, enqueue_many) for t, like in zip(parts, lists[0], strict=True)]
        return _like(sets[0], restored if len(restored) > 1 else restored[0])


def _stored(value: Any, enqueue_many: bool) -> Tensor:
    """A component as queues hold it: the three strings of a SparseTensor, with ``enqueue_many`` those of each row."""
    if not isinstance(value, SparseTensor):
        tensor: Tensor = value
        return tensor
    return serialize_many_sparse(value) if enqueue_many else serialize_sparse(value)


def _restored(taken: Tensor, like: Any, enqueue_many: bool) -> Any:
    """A component of a batch, like one of the examples."""
    if not isinstance(like, SparseTensor):
        return taken
    rank = like.dense_shape.shape[0]
    known = getattr(rank, "value", rank)
    return deserialize_many_sparse(taken, like.dtype, None if known is None else known + (not enqueue_many))


def _plain(dynamic_pad: bool, capacity: int, shared_name: str | None) -> Callable[[Any, Any], QueueBase]:
    kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    return lambda types, shapes: kind(capacity, types, shapes, shared_name=shared_name)


def _shuffled(capacity: int, least: int, seed: int | None, shared_name: str | None) -> Callable[[Any, Any], QueueBase]:
    if capacity <= least:
        raise ValueError(f"capacity {capacity} must be bigger than min_after_dequeue {least}.")
    return lambda types, shapes: RandomShuffleQueue(capacity, least, types, shapes, seed=seed, shared_name=shared_name)


def batch(
    tensors: Any, batch_size: Any, num_threads: int = 1, capacity: int = 32, enqueue_many: bool = False,
    shapes: Any = None, dynamic_pad: bool = False, allow_smaller_final_batch: bool = False,
    shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Batches of single examples, by a queue that a queue runner in ``GraphKeys.QUEUE_RUNNERS`` fills.

    Args:
      tensors: a list or dict of tensors, sparse ones too: one example, or with ``enqueue_many`` several along the first
        dimension.
      batch_size: examples in a batch.
      num_threads: how many evaluate ``tensors`` at a time; with one their order is kept.
      capacity: examples in the queue.
      shapes: of one example's tensors; default their static ones.
      dynamic_pad: whether sizes may differ; they are padded with zeros in a batch.
      allow_smaller_final_batch: whether the last batch may be smaller; else what is left is dropped.
      shared_name: of the queue.

    Returns:
      Tensors ``[batch_size, ...]``, in a structure like ``tensors``. OutOfRangeError from ``Session.run`` is the end.

    Raises:
      ValueError: the rank of a tensor is not known; eagerly.
    """
    return maybe_batch(
        tensors, True, batch_size, num_threads, capacity, enqueue_many, shapes, dynamic_pad,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def maybe_batch(
    tensors: Any, keep_input: Any, batch_size: Any, num_threads: int = 1, capacity: int = 32,
    enqueue_many: bool = False, shapes: Any = None, dynamic_pad: bool = False, allow_smaller_final_batch: bool = False,
    shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """``batch`` of the examples for which ``keep_input`` is true: a scalar, or a vector with ``enqueue_many``."""
    make = _plain(dynamic_pad, capacity, shared_name)
    return _batches("batch", [tensors], make, batch_size, keep_input, num_threads, enqueue_many, shapes,
                    allow_smaller_final_batch, name)  # fmt: skip


def batch_join(
    tensors_list: Any, batch_size: Any, capacity: int = 32, enqueue_many: bool = False, shapes: Any = None,
    dynamic_pad: bool = False, allow_smaller_final_batch: bool = False, shared_name: str | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """``batch`` of examples from several sets of tensors, a thread for each."""
    return maybe_batch_join(
        tensors_list, True, batch_size, capacity, enqueue_many, shapes, dynamic_pad, allow_smaller_final_batch,
        shared_name, name,
    )  # fmt: skip


def maybe_batch_join(
    tensors_list: Any, keep_input: Any, batch_size: Any, capacity: int = 32, enqueue_many: bool = False,
    shapes: Any = None, dynamic_pad: bool = False, allow_smaller_final_batch: bool = False,
    shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """``batch_join`` of the examples for which ``keep_input`` is true."""
    make = _plain(dynamic_pad, capacity, shared_name)
    return _batches("batch_join", tensors_list, make, batch_size, keep_input, 1, enqueue_many, shapes,
                    allow_smaller_final_batch, name)  # fmt: skip


def shuffle_batch(
    tensors: Any, batch_size: Any, capacity: int, min_after_dequeue: int, num_threads: int = 1,
    seed: int | None = None, enqueue_many: bool = False, shapes: Any = None, allow_smaller_final_batch: bool = False,
    shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """``batch`` in random order: of ``min_after_dequeue`` examples and more that are in the queue."""
    return maybe_shuffle_batch(
        tensors, batch_size, capacity, min_after_dequeue, True, num_threads, seed, enqueue_many, shapes,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def maybe_shuffle_batch(
    tensors: Any, batch_size: Any, capacity: int, min_after_dequeue: int, keep_input: Any, num_threads: int = 1,
    seed: int | None = None, enqueue_many: bool = False, shapes: Any = None, allow_smaller_final_batch: bool = False,
    shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """``shuffle_batch`` of the examples for which ``keep_input`` is true."""
    make = _shuffled(capacity, min_after_dequeue, seed, shared_name)
    return _batches("shuffle_batch", [tensors], make, batch_size, keep_input, num_threads, enqueue_many, shapes,
                    allow_smaller_final_batch, name)  # fmt: skip


def shuffle_batch_join(
    tensors_list: Any, batch_size: Any, capacity: int, min_after_dequeue: int, seed: int | None = None,
    enqueue_many: bool = False, shapes: Any = None, allow_smaller_final_batch: bool = False,
    shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """``shuffle_batch`` of examples from several sets of tensors, a thread for each."""
    return maybe_shuffle_batch_join(
        tensors_list, batch_size, capacity, min_after_dequeue, True, seed, enqueue_many, shapes,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def maybe_shuffle_batch_join(
    tensors_list: Any, batch_size: Any, capacity: int, min_after_dequeue: int, keep_input: Any,
    seed: int | None = None, enqueue_many: bool = False, shapes: Any = None, allow_smaller_final_batch: bool = False,
    shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """``shuffle_batch_join`` of the examples for which ``keep_input`` is true."""
    make = _shuffled(capacity, min_after_dequeue, seed, shared_name)
    return _batches("shuffle_batch_join", tensors_list, make, batch_size, keep_input, 1, enqueue_many, shapes,
                    allow_smaller_final_batch, name)  # fmt: skip
