"""What a saver saves: tensors under names, and how each gets its value back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import DType, HostArray
from towerstrat.graph.variables.partitioned import PartitionedVariable
from towerstrat.graph.variables.string_variables import READS
from towerstrat.graph.variables.variables import GraphKeys, Variable


class SaveSpec:
    """One tensor to save.

    Args:
      tensor: the tensor, or a function without arguments that makes it.
      slice_spec: the part of a larger tensor that it is, such as "10 6 0,4:0,6"; "" for a whole one.
      name: under which it is saved. dtype: needed where ``tensor`` is a function.
    """

    def __init__(self, tensor: Any, slice_spec: str, name: str, dtype: DType | None = None):
        self._tensor = tensor
        self.slice_spec = slice_spec
        self.name = name
        self.dtype: DType = tensor.dtype if dtype is None else dtype

    @property
    def tensor(self) -> Any:
        return self._tensor() if callable(self._tensor) else self._tensor


class SaveableObject:
    """Something that is saved as one tensor or several. Programs derive from it; source: ``saveable_object.py``.

    Args:
      op: what is saved: a variable, a tensor, an operation.
      specs: its tensors. name: its own.
    """

    def __init__(self, op: Any, specs: Sequence[SaveSpec], name: str):
        self.op = op
        self.specs = specs
        self.name = name

    @property
    def device(self) -> str:
        return str(getattr(self.specs[0].tensor, "device", ""))

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Any:
        """The operation that sets the state from tensors, one for each of ``specs``.

        Args:
          restored_shapes: for each the shape to give it; None where they are as they were saved.
        """
        raise NotImplementedError(f"{type(self).__name__}.restore: a SaveableObject defines how it is restored.")


class VariableSaveable(SaveableObject):
    """A variable: its value goes from the state to the file without a program, and back.

    Args:
      variable: the ``Variable``. slice_spec: its part of a partitioned one, or "". name: under which it is saved.
    """

    def __init__(self, variable: Variable, slice_spec: str, name: str):
        super().__init__(variable, [SaveSpec(variable.read_value, slice_spec, name, variable.dtype)], name)
        self.variable = variable

    @property
    def device(self) -> str:
        return self.variable.device

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Any:
        value = self.shaped(restored_tensors[0], restored_shapes)
        if get_default_graph().executing_eagerly:
            return self.variable.assign(value)
        return assign_restored([(self.variable, value)])

    def check(self, value: HostArray) -> None:
        """Raises InvalidArgumentError where an array is not of the variable's shape and type."""
        if not self.variable.shape.is_compatible_with(value.shape) or self.variable.dtype.np != value.dtype:
            raise InvalidArgumentError(
                None, None, f"Variable {self.variable.name} is {self.variable.dtype.name} of shape "
                f"{self.variable.shape}, its value in the checkpoint {value.dtype} of shape {list(value.shape)}."
            )  # fmt: skip

    def shaped(self, value: Tensor, shapes: Sequence[Any] | None) -> Tensor:
        """A restored value in the shape that it shall have."""
        if shapes is None:
            return value
        return get_default_graph().add("Reshape", [value, convert_to_tensor(shapes[0])], {}, "Reshape").outputs[0]


def assign_restored(pairs: Sequence[tuple[Variable, Tensor]]) -> Operation:
    """The operation that gives variables the values of tensors: all of them, or none where one does not fit."""
    inputs = [*(variable.handle for variable, _ in pairs), *(value for _, value in pairs)]
    return get_default_graph().add("AssignRestored", inputs, None, "Assign")


def all_saveable_objects(scope: str | None = None) -> list[Any]:
    """What a saver saves by default: the global variables, and what is in ``GraphKeys.SAVEABLE_OBJECTS``."""
    graph = get_default_graph()
    found: list[Any] = graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope)
    return found + graph.get_collection(GraphKeys.SAVEABLE_OBJECTS, scope)


def by_name(objects: Iterable[Any]) -> dict[str, Any]:
    """Name -> what is saved under it; the parts of a partitioned variable are a list.

    Raises:
      TypeError: not a list, tuple or set of variables and saveable objects. ValueError: two of one name.
    """
    if not isinstance(objects, list | tuple | set):
        raise TypeError(f"Variables to save should be passed in a dict or a list: {objects!r}")
    found: dict[str, Any] = {}
    for each in sorted(objects, key=lambda o: str(o.name)):
        variable = _variable_of(each)
        info = variable._save_slice_info if variable is not None else None
        if isinstance(each, SaveableObject):
            found[each.name] = each
        elif info is not None:
            parts = found.setdefault(info.full_name, [])
            if not isinstance(parts, list):
                raise ValueError(f"Mixing slices and non-slices with the same name: {info.full_name}")
            parts.append(variable)
        else:
            name = each.name if isinstance(each, PartitionedVariable) else _required(each, variable)._shared_name
            if name in found:
                raise ValueError(f"At least two variables have the same name: {name}")
            found[name] = each
    return found


def saveables_of(given: Any) -> list[SaveableObject]:
    """The saveable objects of a list of variables or of a dictionary name -> variable, sorted by name.

    Raises:
      TypeError: a name is no string, or there is something that is no variable. ValueError: one variable twice.
    """
    named = given if isinstance(given, Mapping) else by_name(given)
    found: list[SaveableObject] = []
    seen: set[int] = set()
    for name in named:
        if not isinstance(name, str):
            raise TypeError(
                "names_to_saveables must be a dict mapping string names to checkpointable operations. "
                f"Name is not a string: {name!r}"
            )
    for name, each in sorted(named.items()):
        for saveable in _saveables(each, name):
            if id(saveable.op) in seen:
                raise ValueError(f"The same saveable will be restored with two names: {saveable.name}")
            seen.add(id(saveable.op))
            found.append(saveable)
    return found


def _saveables(each: Any, name: str) -> Iterator[SaveableObject]:
    if isinstance(each, SaveableObject):
        yield each
    elif isinstance(each, list | tuple | PartitionedVariable):
        for part in each:
            info = getattr(part, "_save_slice_info", None)
            if info is None:
                raise ValueError(f"Slices must all be slices: {part!r}")
            yield VariableSaveable(part, info.spec, name)
    else:
        yield VariableSaveable(_required(each, _variable_of(each)), "", name)


def _variable_of(each: Any) -> Variable | None:
    """The variable that an object is, or whose value it is as it is read first."""
    if isinstance(each, Variable):
        return each
    if isinstance(each, Tensor) and each.op.type in READS:
        handle = each.op.inputs[0]
        variables = get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES)
        return next((v for v in variables if getattr(v, "handle", None) is handle), None)
    return None


def _required(each: Any, variable: Variable | None) -> Variable:
    if variable is None:
        raise TypeError(f"Variable to save is not a Variable: {each!r}")
    return variable
