"""Errors of a lowering: requests for values that it has to know, and refusals of what cannot be compiled.

The runtime catches two of them. After ``NeedsStatic`` it compiles again with the value as a constant, or runs operation
by operation; after ``NeedsTripCount`` it runs the loop without derivatives to count its iterations. The others reach
the user: they name the operation, the line that created it, and a way out.

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default():
...     x = tf.placeholder(tf.float32, [None, 3], name="x")
...     reshape = tf.reshape(x, tf.placeholder(tf.int32, [2], name="sizes"), name="table").op
>>> print(unfed(x.op).message)                              # doctest: +ELLIPSIS
You must feed a value for placeholder tensor 'x' with dtype float32 and shape (?, 3)...
>>> request = NeedsStatic(reshape, 1)
>>> str(request), request.tensor.name
('table needs input 1 while lowering', 'sizes:0')
"""

from __future__ import annotations

from collections.abc import Sequence

from towerstrat.errors import FailedPreconditionError, InvalidArgumentError, UnsupportedError
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.state import StateVariable


class NeedsStatic(Exception):
    """An operation needs the value of an input that is a tracer; the caller may specialise the program on it.

    Attributes:
      op, tensor: the operation, and the input.
    """

    def __init__(self, op: Operation, position: int):
        super().__init__(f"{op.name} needs input {position} while lowering")
        self.op = op
        self.tensor = op.inputs[position]


class NeedsTripCount(UnsupportedError):
    """The gradient of a loop needs a static bound on its number of iterations; the caller may learn it from a run."""

    def __init__(self, op: Operation):
        super().__init__(
            f"The gradient of the loop {op.name} (created at {op.line}) needs a bound on its number of iterations: "
            "pass maximum_iterations= to tf.while_loop."
        )
        self.op = op


def not_one_value(tensor: Tensor, axis: str) -> UnsupportedError:
    """The error for a tensor that is stored or fetched as one value, and differs by tower."""
    return UnsupportedError(
        f"{tensor!r} (created at {tensor.op.line}) differs by {axis} and cannot be stored or fetched as one value. "
        "Combine it first (distribution.reduce in a merge_call), or unwrap it."
    )


def changed_shape(
    cell: StateVariable, op: Operation, before: tuple[int, ...], now: tuple[int, ...]
) -> UnsupportedError:
    """The error for a gradient by a variable whose shape a branch or loop changes before it reads it."""
    return UnsupportedError(
        f"{op.name} (created at {op.line}) reads variable {cell.name} with shape {now}, and the gradient by it "
        f"has the shape {before}, which the variable had before the branch or loop around. Keep its shape there, or "
        "read it outside."
    )


def unfed(op: Operation) -> InvalidArgumentError:
    """The error of a placeholder that was not fed."""
    tensor = op.outputs[0]
    return InvalidArgumentError(
        None,
        op,
        f"You must feed a value for placeholder tensor '{op.name}' with dtype {tensor.dtype.name} and shape "
        f"{tensor.shape}: session.run(..., feed_dict={{{op.name}: value}}).",
    )


def varying_shape(op: Operation) -> UnsupportedError:
    """The error for an operation with a result of unknown size, where everything has to be compiled."""
    return UnsupportedError(
        f"{op.name} (type {op.type}, created at {op.line}) has a result whose shape depends on values; that cannot "
        "be compiled for several towers or steps. Use a form of fixed size (tf.where of three arguments, a mask)."
    )


def uninitialized(cell: StateVariable, op: Operation) -> FailedPreconditionError:
    """The error for an operation that reads a variable without a value; names the initializer to run."""
    local = op.graph.get_collection("local_variables")
    kind = "local" if any(v.name.rpartition(":")[0] == cell.name for v in local) else "global"
    return FailedPreconditionError(
        None,
        op,
        f"Attempting to use uninitialized value {cell.name}. Run its initializer first, for example "
        f"session.run(tf.{kind}_variables_initializer()).",
    )


def on_host(op: Operation) -> UnsupportedError:
    """The error for an operation that runs on the host, where everything has to be compiled."""
    return UnsupportedError(
        f"{op.name} (type {op.type}, created at {op.line}) runs on the host: it cannot be part of a tower, step, loop "
        "or branch, nor lie on a gradient's path through towers. Call it outside and pass its result in."
    )


def combines_inside(op: Operation) -> UnsupportedError:
    """The error for a collective inside an operation that is evaluated per shard class."""
    return UnsupportedError(
        f"{op.name} (type {op.type}, created at {op.line}) combines values of all towers inside of a branch, loop or "
        "derivative of a derivative in which shapes differ by tower (an uneven batch): towers would wait for each "
        "other there. Combine outside of it, or use batches of one size (drop_remainder=True)."
    )


def sums_differ(op: Operation) -> UnsupportedError:
    """The error for a gradient whose towers, which do different operations, do not add up the same."""
    return UnsupportedError(
        f"{op.name} (type {op.type}, created at {op.line}) differentiates what towers did by different operations and "
        "adds up over the towers what not all of them use, or in another order. Take the gradient of each tower's own "
        "result in the function of the towers, and add up the gradients."
    )


class DifferentShapes(UnsupportedError):
    """Tensors that are to become one varying tensor have different shapes.

    Args:
      instead: an advice; default that for tensors of the input.
    """

    def __init__(self, op: Operation, shapes: Sequence[tuple[int, ...]], instead: str | None = None):
        listed = ", ".join(str(list(shape)) for shape in shapes[:8])
        super().__init__(
            f"{op.name} (created at {op.line}) gives each tower another tensor, and their shapes differ: {listed}. "
            f"{instead or 'Use tensors of one shape, such as batches of one size (drop_remainder=True).'}"
        )


ONE_SIZE = (
    "One program for all towers has one shape for all: use the largest size, and a mask (tf.sequence_mask, tf.where), "
    "or a part of one size that begins elsewhere on each tower (tf.slice(x, [tower_id], [2])). Towers of "
    "MirroredStrategy may differ where the shape follows from the tower's number alone."
)
"""The advice where a shape depends on the axis index."""
