"""``tf.keras.utils.multi_gpu_model``: one model on slices of a batch."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import jax

from towerstrat.graph.ir.default_graph import device, name_scope
from towerstrat.graph.ops.array import arrays
from towerstrat.platform import logs


def multi_gpu_model(model: Any, gpus: Any, cpu_merge: bool = True, cpu_relocation: bool = False) -> Any:
    """A model that gives a model, with the same variables, slices of its batch, and joins what comes out.

    The slices are parts of one program, on one device. ``compile(distribute=...)`` of a strategy trains on several.

    Args:
      model: a model with inputs and outputs, that was called or built.
      gpus: how many slices, at least two and as many as there are devices; or a list of devices' numbers.
      cpu_merge: no value depends on it. cpu_relocation: the result has variables of its own.

    Raises:
      ValueError: a single slice, or devices that are not there.
    """
    keras = sys.modules["keras.api._v1.keras"]
    numbers = _numbers(gpus)
    logs.warning(
        "multi_gpu_model: the %d replicas of the model are parts of one program, which runs on one device; "
        "compile(distribute=tf.contrib.distribute.TPUStrategy(...)) trains on all devices.",
        len(numbers),
    )
    if cpu_relocation:
        model = keras.models.clone_model(model)
    outputs: list[list[Any]] = [[] for _ in model.outputs]
    for i, number in enumerate(numbers):
        with device(f"/gpu:{number}"), name_scope(f"replica_{number}"):
            slices = [_slice(keras, each, i, len(numbers)) for each in model.inputs]
            found = model(slices[0] if len(slices) == 1 else slices)
        for column, output in zip(outputs, found if isinstance(found, list) else [found], strict=True):
            column.append(output)
    with device("/cpu:0" if cpu_merge else f"/gpu:{numbers[0]}"):
        joined = [
            keras.layers.concatenate(column, axis=0, name=name)
            for name, column in zip(model.output_names, outputs, strict=True)
        ]
    return keras.Model(model.inputs, joined)


def _numbers(gpus: Any) -> Sequence[int]:
    """The numbers of devices, which must be there."""
    listed = isinstance(gpus, list | tuple)
    numbers = list(gpus) if listed else list(range(gpus))
    if len(numbers) <= 1:
        raise ValueError(f"multi_gpu_model needs at least two replicas, got gpus={gpus!r}; use the model as it is.")
    there = len(jax.devices())
    missing = [number for number in numbers if not 0 <= number < there]
    if missing:
        raise ValueError(
            f"multi_gpu_model was called with gpus={gpus!r}, but there are {there} devices, 0 to {there - 1}: there is "
            f"no {missing[0]}. Ask for fewer, or run the program with `towerstrat run --towers N`."
        )
    return numbers


def _slice(keras: Any, inputs: Any, i: int, parts: int) -> Any:
    """A layer's output: the i-th part of a batch, the last of which has the rows that are left."""

    def rows(data: Any) -> Any:
        batch = arrays.shape(data)[0]
        step = batch // parts
        return data[i * step :] if i == parts - 1 else data[i * step : (i + 1) * step]

    shape = tuple(inputs.shape.as_list()[1:])
    return keras.layers.Lambda(rows, output_shape=shape)(inputs)
