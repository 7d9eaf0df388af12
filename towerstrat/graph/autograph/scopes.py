"""The scope around the body of each converted function: options of its calls, and a check of its return value.

A function with a return in a staged branch sets ``do_return``, a tensor. At its end ``ret`` demands that this is True
on every path (``_is_certain``), as the original does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from towerstrat.graph.autograph.options import Options
from towerstrat.graph.autograph.variables import UndefinedReturnValue
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.user_lines import user_line


class FunctionScope:
    """A call of a converted function.

    Attributes:
      options: options of the conversion of the functions that it calls.
    """

    __slots__ = ("function_name", "options")

    def __init__(self, function_name: str, scope_name: str, options: Options):
        self.function_name = function_name
        self.options = options

    def __enter__(self) -> FunctionScope:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def ret(self, value: Any, did_return: Any) -> Any:
        """The value that the function returns.

        Raises:
          ValueError: the path is decided when the program runs, and one of the paths has no return statement.
        """
        if isinstance(value, UndefinedReturnValue):
            return None
        if value is not None and isinstance(did_return, Tensor) and not _is_certain(did_return, frozenset()):
            raise ValueError(
                f"{self.function_name} returns a value on some paths only (at {user_line()}): the else branch must "
                "also have a return statement. End the function with one."
            )
        return value


def with_function_scope(body: Callable[[FunctionScope], Any], scope_name: str, options: Options) -> Any:
    """Run a lambda's body in a scope of its own."""
    return body(FunctionScope("<lambda>", scope_name, options))


def _is_certain(tensor: Tensor, true: frozenset[Tensor]) -> bool:
    """Whether a bool tensor is True on every path, given conditions that are."""
    if tensor in true:
        return True
    known = constant_value(tensor)
    if known is not None:
        return bool(known)
    if tensor.op.type != "Merge":
        return False
    branch, which = tensor.op.inputs[0].op, tensor.op.inputs[0].value_index
    if branch.type != "If":
        return False
    pred, (main, other) = branch.inputs[0], branch.bodies
    negated = frozenset(pred.op.inputs) if pred.op.type == "LogicalNot" else frozenset()
    return _is_certain(main.results[which], true | {pred}) and _is_certain(other.results[which], true | negated)
