"""Cross-tower operations: how values of the towers are reduced and broadcast, as programs choose and extend it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ops.array.arrays import concat
from towerstrat.graph.ops.indexing.segments import add_n
from towerstrat.graph.variables.variables import VariableAggregation
from towerstrat.platform import logs
from towerstrat.towers.engine import tower_contexts
from towerstrat.towers.engine.destinations import devices_match, get_devices_from, validate_destinations
from towerstrat.towers.engine.distributed_values import (
    DistributedValues,
    LazySelections,
    MapOutput,
    Mirrored,
    PerDevice,
)
from towerstrat.towers.engine.distributed_variables import HOW
from towerstrat.towers.engine.tower_reductions import packable, reduced, reduced_together, size_in_bytes


class CrossTowerOps:
    """The base of the ways to reduce and broadcast. A subclass implements ``_reduce`` and ``_batch_reduce``."""

    def __init__(self) -> None:
        pass

    def reduce(self, aggregation: VariableAggregation, per_device_value: Any, destinations: Any) -> Any:
        """The towers' values reduced to one, mirrored on the destinations.

        Args:
          aggregation: SUM or MEAN.
          per_device_value: a per-device value, or a tensor.
          destinations: a distributed value, a variable, a device's name or a list of names.

        Raises:
          ValueError: no destinations, or a list of values.
        """
        value = per_device(per_device_value)
        validate_destinations(destinations)
        return self._reduce(aggregation, value, destinations)

    def batch_reduce(self, aggregation: VariableAggregation, value_destination_pairs: Sequence[Any]) -> list[Any]:
        """``reduce`` of several (value, destinations) pairs together.

        Raises:
          ValueError: no list of pairs, or as of ``reduce``.
        """
        pairs = checked_pairs(value_destination_pairs)
        for _, destinations in pairs:
            validate_destinations(destinations)
        found: list[Any] = self._batch_reduce(aggregation, pairs)
        return found

    def broadcast(self, tensor: Any, destinations: Any) -> Any:
        """A tensor mirrored on destinations. Raises ValueError where there are none."""
        validate_destinations(destinations)
        return self._broadcast(tensor, destinations)

    def _reduce(self, aggregation: VariableAggregation, per_device_value: Any, destinations: Any) -> Any:
        raise NotImplementedError("_reduce method must be implemented in descendants.")

    def _batch_reduce(self, aggregation: VariableAggregation, value_destination_pairs: Sequence[Any]) -> list[Any]:
        raise NotImplementedError("_batch_reduce method must be implemented in descendants.")

    def _broadcast(self, tensor: Any, destinations: Any) -> Any:
        return Mirrored(dict.fromkeys(get_devices_from(destinations), tensor))


class ReductionToOneDeviceCrossTowerOps(CrossTowerOps):
    """Values are reduced one by one.

    Args:
      reduce_to_device: its name. A reduction is one collective here, whichever device adds up.
      accumulation_fn: adds up a list of tensors; None is ``tf.add_n``. Another one is called with each tower's value.
    """

    def __init__(self, reduce_to_device: str | None = None, accumulation_fn: Callable[..., Any] | None = None):
        self.reduce_to_device = reduce_to_device
        self.accumulation_fn = accumulation_fn or add_n
        super().__init__()

    def _reduce(self, aggregation: VariableAggregation, per_device_value: Any, destinations: Any) -> Any:
        value = _simple_reduce(aggregation, per_device_value, self.accumulation_fn)
        return self.broadcast(value, get_devices_from(destinations))

    def _batch_reduce(self, aggregation: VariableAggregation, value_destination_pairs: Sequence[Any]) -> list[Any]:
        return [self._reduce(aggregation, value, d) for value, d in value_destination_pairs]


class AllReduceCrossTowerOps(CrossTowerOps):
    """Values that are reduced together travel in packs: fewer and larger collectives.

    Args:
      all_reduce_alg: ``"nccl"`` or ``"hierarchical_copy"``; the compiler has its own.
      num_packs: values are concatenated and split into so many packs; 0: they are not.
      agg_small_grads_max_bytes, agg_small_grads_max_group: where values are not split into packs, those that follow
        each other and have so many bytes at most are concatenated, so many at most.

    Raises:
      ValueError: a negative ``num_packs``.
    """

    def __init__(
        self, all_reduce_alg: str = "nccl", num_packs: int = 1, agg_small_grads_max_bytes: int = 0,
        agg_small_grads_max_group: int = 10,
    ):  # fmt: skip
        if num_packs < 0:
            raise ValueError(f"{type(self).__name__} takes num_packs from 0, got {num_packs}.")
        self._all_reduce_alg = all_reduce_alg
        self._num_packs = num_packs
        self._agg_small_grads_max_bytes = agg_small_grads_max_bytes
        self._agg_small_grads_max_group = agg_small_grads_max_group
        super().__init__()

    def _reduce(self, aggregation: VariableAggregation, per_device_value: Any, destinations: Any) -> Any:
        if devices_match(per_device_value, destinations) and _tensors([per_device_value]):
            return self._batch_all_reduce(aggregation, [per_device_value])[0]
        value = _simple_reduce(aggregation, per_device_value, add_n)
        return self.broadcast(value, get_devices_from(destinations))

    def _batch_reduce(self, aggregation: VariableAggregation, value_destination_pairs: Sequence[Any]) -> list[Any]:
        values = [value for value, _ in value_destination_pairs]
        if _all_match(value_destination_pairs) and _tensors(values):
            return self._batch_all_reduce(aggregation, values)
        return [self._reduce(aggregation, value, d) for value, d in value_destination_pairs]

    def _batch_all_reduce(self, aggregation: VariableAggregation, per_device_values: Sequence[Any]) -> list[Any]:
        """Values of the same devices, reduced to these."""
        groups = self._groups([value.local for value in per_device_values])
        logs.log_first_n(
            logs.INFO, "%s reduces %d values in %d packs.", 10, type(self).__name__, len(per_device_values),
            sum(max(packs, 1) for _, packs in groups),
        )  # fmt: skip
        return _in_packs(aggregation, per_device_values, groups)

    def _groups(self, locals: Sequence[Any]) -> list[tuple[list[int], int]]:
        """Which values are reduced together, and in how many packs; 0: each as it is."""
        if self._num_packs > 0:
            return [(group, self._num_packs) for group in _of_one_type(locals)]
        largest, most = self._agg_small_grads_max_bytes, self._agg_small_grads_max_group
        if largest > 0 and most > 0:
            return [(group, 1 if len(group) > 1 else 0) for group in _small_together(locals, largest, most)]
        return [([i], 0) for i in range(len(locals))]


def per_device(value: Any) -> DistributedValues:
    """A value as a per-device one; of a tensor, one with a part on its device.

    Raises:
      ValueError: a list, or what is on no device.
    """
    if isinstance(value, PerDevice):
        return value
    if isinstance(value, tuple | list):
        raise ValueError(f"Expected a per-device value or a tensor to reduce, got the list {value!r}.")
    if not hasattr(value, "device"):
        raise ValueError(f"Expected a per-device value or a tensor to reduce, got {value!r}, which has no device.")
    return PerDevice({value.device or "": value})


def checked_pairs(pairs: Any) -> list[tuple[Any, Any]]:
    """Pairs of a per-device value and destinations.

    Raises:
      ValueError: something else.
    """
    if not isinstance(pairs, list | tuple):
        raise ValueError(f"`value_destination_pairs` should be a list or tuple, got {pairs!r}.")
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError(f"Each element of `value_destination_pairs` should be a tuple of size 2, got {pair!r}.")
    return [(per_device(value), destinations) for value, destinations in pairs]


def _simple_reduce(aggregation: VariableAggregation, value: Any, accumulation_fn: Callable[..., Any]) -> Any:
    """The parts of a per-device value as one: by one collective where they are added up."""
    if aggregation not in (VariableAggregation.SUM, VariableAggregation.MEAN):
        raise ValueError(
            f"`aggregation` must be VariableAggregation.SUM or VariableAggregation.MEAN, got {aggregation}."
        )
    if inspect.unwrap(accumulation_fn) is add_n and isinstance(value._index, LazySelections):
        return reduced(HOW[aggregation], value.local, value._index.axis, _own_gradients())
    parts, count = _parts(value)
    total = aggregate(parts, accumulation_fn)
    return divided(total, count) if aggregation == VariableAggregation.MEAN else total


def _own_gradients() -> bool:
    """Whether gradients through what is combined here are the tower's own; see ``Engine.own_gradients``."""
    return tower_contexts.current_engine().own_gradients


def _parts(value: Any) -> tuple[list[Any], int]:
    """The value of each device, and how many values they are made of: of ``map`` there are several on a device."""
    parts, count = [], 0
    for device in value.devices:
        part = value.get(device)
        if not isinstance(part, MapOutput):
            parts.append(part)
            count += 1
        elif part.get():
            parts.append(aggregate(part.get(), add_n))
            count += len(part.get())
    if not parts:
        raise ValueError(f"Expected values to reduce, got {value!r}, which has none.")
    return parts, count


def aggregate(values: Sequence[Any], accumulation_fn: Callable[..., Any] = add_n) -> Any:
    """The sum of tensors by ``accumulation_fn``, or of ``IndexedSlices``: their rows one after the other."""
    if any(isinstance(v, IndexedSlices) for v in values):
        rows, indices = (concat([getattr(v, name) for v in values], 0) for name in ("values", "indices"))
        return IndexedSlices(rows, indices, values[0].dense_shape)
    return accumulation_fn(list(values))


def divided(value: Any, count: int) -> Any:
    """A tensor or ``IndexedSlices`` divided by a number."""
    if isinstance(value, IndexedSlices):
        return IndexedSlices(value.values / count, value.indices, value.dense_shape)
    return value / count


def contains_indexed_slices(value: Any) -> bool:
    """Whether there are ``IndexedSlices`` in a value, a per-device value or a list of such."""
    if isinstance(value, list | tuple) and not isinstance(value, IndexedSlices):
        return any(contains_indexed_slices(v) for v in value)
    if isinstance(value, PerDevice):
        return contains_indexed_slices(list(value._index.values()) if value.local is None else value.local)
    return isinstance(value, IndexedSlices)


def _tensors(values: Sequence[Any]) -> bool:
    """Whether values are those of towers, and have no rows of a table."""
    return all(isinstance(v._index, LazySelections) and not contains_indexed_slices(v) for v in values)


def _all_match(pairs: Sequence[Any]) -> bool:
    first = pairs[0][0] if pairs else None
    return all(devices_match(v, d) and devices_match(v, first) for v, d in pairs)


def _of_one_type(locals: Sequence[Any]) -> list[list[int]]:
    """Positions of values that can be concatenated; the others are alone."""
    groups: dict[Any, list[int]] = {}
    for i, local in enumerate(locals):
        alone = not isinstance(local, Tensor) or not packable(local)
        groups.setdefault(i if alone else local.dtype, []).append(i)
    return list(groups.values())


def _small_together(locals: Sequence[Any], largest: int, most: int) -> list[list[int]]:
    """Positions of values that follow each other, have one type and ``largest`` bytes at most; ``most`` at most."""
    groups: list[list[int]] = []
    previous = None
    for i, local in enumerate(locals):
        small = isinstance(local, Tensor) and packable(local) and size_in_bytes(local) <= largest
        kind = local.dtype if small else None
        if small and kind is previous and len(groups[-1]) < most:
            groups[-1].append(i)
        else:
            groups.append([i])
        previous = kind
    return groups


def _in_packs(
    aggregation: VariableAggregation, values: Sequence[Any], groups: Sequence[tuple[list[int], int]]
) -> list[Any]:
    """Per-device values reduced to their devices, group by group."""
    how = HOW[aggregation]
    found: dict[int, Any] = {}
    for group, packs in groups:
        axis = values[group[0]]._index.axis
        locals = [values[i].local for i in group]
        if packs > 0 and packable(convert_to_tensor(locals[0])):
            found.update(zip(group, reduced_together(how, locals, axis, _own_gradients(), packs), strict=True))
        else:
            found.update(
                {i: reduced(how, local, axis, _own_gradients()) for i, local in zip(group, locals, strict=True)}
            )
    return [Mirrored(dict.fromkeys(value.devices, found[i])) for i, value in enumerate(values)]
