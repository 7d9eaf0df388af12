"""Scopes that are open in a graph: names and variable creators by thread, those of new operations, of variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from towerstrat.graph.ir.device_names import merge_device
from towerstrat.graph.ir.device_spec import DeviceLike
from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor
from towerstrat.platform.threads import ThreadState


class ThreadScopes(ThreadState):
    """The scopes of a graph that each thread has for itself.

    Attributes:
      name: the current name scope, without a slash at its end.
      creators: the variable creators in scope, the outermost first.
    """

    def __init__(self) -> None:
        self.name = ""
        self.creators: list[Callable[..., Any]] = []


class ControlScope:
    """One ``control_dependencies`` scope.

    Attributes:
      block: the region that it was entered in; operations of that region and of those inside run after ``controls``.
      made: the operations made in it so far. What uses their outputs comes after ``controls`` by itself.
    """

    def __init__(self, block: Block, controls: Sequence[Operation]) -> None:
        self.block = block
        self.controls = controls
        self.made: set[Operation] = set()


class OperationScopes:
    """The scopes that decide what a new operation of a graph gets beside its inputs.

    Attributes:
      controls: the ``control_dependencies`` scopes; None forgets those below it.
      devices: the ``device`` scopes.
      colocation: the operations of the ``colocate_with`` scopes.
      gradient_overrides: operation type -> name of its gradient, by ``gradient_override_map``.
    """

    __slots__ = ("colocation", "controls", "devices", "gradient_overrides")

    def __init__(self) -> None:
        self.controls: list[ControlScope | None] = []
        self.devices: list[DeviceLike] = []
        self.colocation: list[Operation] = []
        self.gradient_overrides: dict[str, str] = {}

    def for_thread(self) -> OperationScopes:
        """The scopes that another thread begins with: those here, but for control dependencies."""
        scopes = OperationScopes()
        scopes.devices, scopes.colocation = list(self.devices), list(self.colocation)
        scopes.gradient_overrides = self.gradient_overrides
        return scopes

    def place(self, op: Operation) -> None:
        """Set the device and the colocation group of an operation."""
        for device in reversed(self.devices):
            if device is None:
                break
            # What is set already, further inside, goes before a name; a function sees it and decides itself.
            op.device = str(device(op) or "") if callable(device) else merge_device(merge_device("", device), op.device)
        if self.colocation:
            first = self.colocation[-1]
            op.device = op.device or first.device
            op._colocation = tuple(b"loc:@" + o.name.encode() for o in self.colocation)

    def controls_of(self, inputs: Sequence[Tensor], block: Block, further: Iterable[Operation]) -> list[Operation]:
        """The control inputs of an operation with these inputs in a region, except those that an input implies.

        ``further`` are added to them.
        """
        if not self.controls:
            return list(dict.fromkeys(further))
        controls: dict[Operation, None] = {}
        makers = {tensor.op for tensor in inputs}
        for scope in reversed(self.controls):
            if scope is None:
                break
            if scope.block.encloses(block) and scope.made.isdisjoint(makers):
                controls |= {control: None for control in scope.controls if control not in makers}
        controls |= dict.fromkeys(further)
        return list(controls)

    def note(self, op: Operation) -> None:
        """Enter a new operation in the ``control_dependencies`` scopes: what uses its outputs comes after them."""
        for scope in reversed(self.controls):
            if scope is None:
                break
            if scope.block.encloses(op.block):
                scope.made.add(op)

    @contextmanager
    def without_controls(self) -> Iterator[None]:
        """Operations made inside have no control inputs from the scopes around."""
        outer, self.controls = self.controls, []
        try:
            yield
        finally:
            self.controls = outer

    @contextmanager
    def colocate(self, operations: list[Operation]) -> Iterator[None]:
        """Operations made inside take the device of the last of these, and no other."""
        outer = self.colocation, self.devices
        self.colocation, self.devices = operations, []
        try:
            yield
        finally:
            self.colocation, self.devices = outer


VariableMaker = Callable[..., Any]
"""A variable creator at the end of those in scope: it makes the variable."""


@dataclass
class VariableScopes:
    """The store and the maker of a graph's variables.

    Attributes:
      maker: the innermost creator if a strategy makes variables of a class of its own; None: ``tf.Variable``'s.
      store: the variable store of the graph's variable scopes; None before the first use.
    """

    maker: VariableMaker | None = None
    store: Any = None
