"""``tpu.repeat`` and ``tpu.while_loop``: loops that run on the device, in one program with what surrounds them.

Source: ``tensorflow/contrib/tpu/python/tpu/training_loop.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.graph.ir.argument_types import TensorLike
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import DType
from towerstrat.graph.ir.user_lines import user_line
from towerstrat.graph.ops.control import branches
from towerstrat.graph.ops.control import while_loop as loops
from towerstrat.towers.shards.tpu_context import check_function_argument_count, refuse_infeed


def while_loop(
    condition: Callable[..., Any],
    body: Callable[..., Any],
    inputs: Sequence[TensorLike] | None = None,
    infeed_queue: None = None,
    name: str | None = None,
) -> Any:
    """Runs ``values = body(*values)`` while ``condition(*values)`` is true.

    Args:
      condition: returns a scalar bool tensor.
      body: returns tensors of the inputs' types and shapes, then operations, which every iteration runs.
      inputs: the values before the first iteration; None: none.
      name: changes nothing, as in the original.

    Returns:
      The values after the last iteration: a list, of a single one the tensor. Without inputs a tensor that runs the
      loop when it is fetched.

    Raises:
      TypeError: a function that takes another number of arguments; a body that returns other types or another number.
      ValueError: tensors after operations; shapes that change.
      UnsupportedError: ``infeed_queue``.
    """
    refuse_infeed(infeed_queue)
    values = [convert_to_tensor(x) for x in ([] if inputs is None else inputs)]
    _check_arity("body function", "body", body, values)
    _check_arity("condition function", "condition", condition, values)
    types = [v.dtype for v in values]

    def carried(arguments: Sequence[Tensor]) -> Sequence[Tensor]:
        return arguments if values else ()  # a loop without inputs carries a number that nobody sees

    def step(*arguments: Tensor) -> list[Tensor]:
        tensors, operations = _separated(body(*carried(arguments)), types)
        return branches.tuple(tensors or list(arguments), control_inputs=operations)

    return loops.while_loop(
        lambda *arguments: condition(*carried(arguments)), step, values or [convert_to_tensor(0)], name=""
    )


def repeat(
    n: TensorLike,
    body: Callable[..., Any],
    inputs: Sequence[TensorLike] | TensorLike | None = None,
    infeed_queue: None = None,
    name: str | None = None,
) -> Any:
    """Runs ``values = body(*values)`` n times.

    Args:
      n: the number of iterations, a Python integer or a scalar int32 tensor.
      body, name: as of ``while_loop``.
      inputs: the values before the first iteration, or a single one; None: none.

    Returns:
      A list of the values after the last iteration; without inputs the operation that runs the loop.

    Raises:
      TypeError, ValueError, UnsupportedError: as ``while_loop``.
    """

    def step(i: Tensor, *values: Tensor) -> list[Any]:
        return [i + 1, *_listed(body(*values))]

    initial = [0, *([] if inputs is None else _listed(inputs))]
    outputs = while_loop(lambda i, *values: i < n, step, initial, infeed_queue)
    return outputs[1:] if isinstance(outputs, list) else getattr(outputs, "op", None)


def _listed(values: Any) -> list[Any]:
    return list(values) if isinstance(values, list | tuple) else [values]


def _check_arity(what: str, short: str, function: Callable[..., Any], values: Sequence[Tensor]) -> None:
    error = check_function_argument_count(function, len(values), None)
    if error is not None:
        raise TypeError(
            f"Supplied loop {what} cannot be called with the specified inputs. You specified {len(values)} inputs: "
            f"{[v.name for v in values]}, but the loop {short} needs {error}.\n  at: {user_line()}"
        )


def _separated(result: Any, types: Sequence[DType]) -> tuple[list[Tensor], list[Operation]]:
    """The tensors that a body returned, and the operations after them."""
    outputs = [o if isinstance(o, Operation) else convert_to_tensor(o) for o in _listed(result)]
    tensors = [o for o in outputs if not isinstance(o, Operation)]
    operations = [o for o in outputs if isinstance(o, Operation)]
    if any(isinstance(output, Operation) for output in outputs[: len(tensors)]):
        raise ValueError(
            "TPU training loop body must return zero or more Tensor values followed by zero or more Operations, got "
            f"{result!r}.\n  at: {user_line()}"
        )
    found = [t.dtype for t in tensors]
    if found != list(types):
        raise TypeError(
            f"Mismatch between input types and output types for training loop body: {list(types)} vs {found}.\n"
            f"  at: {user_line()}"
        )
    return tensors, operations
