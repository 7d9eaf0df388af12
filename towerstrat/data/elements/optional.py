"""``tf.experimental.Optional``: an element that may not be there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.data.elements.structure import Structure, flatten, in_parts, map_leaves
from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.composite_values import Argument
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.type_specs import HasTypeSpec, TensorSpec, TypeSpec
from towerstrat.graph.ir.types import bool_
from towerstrat.graph.ops.array.arrays import identity
from towerstrat.graph.ops.host.runtime_checks import Assert

_EMPTY = "The given optional does not have a value."


class Optional(Argument, HasTypeSpec):
    """A value that may not be there: what ``iterator.get_next_as_optional()`` gives.

    Args:
      structure: of the value.
      has_value: a scalar bool tensor.
      components: of the value; where there is none, anything of their types.
    """

    def __init__(self, structure: Structure, has_value: Tensor, components: list[Tensor]):
        self.structure = structure
        self._has_value = has_value
        self._components = components

    def like(self, tensors: Sequence[Tensor]) -> Optional:
        """One over other tensors: whether there is a value, and its components."""
        return Optional(self.structure, tensors[0], list(tensors[1:]))

    def _tensors(self) -> list[Tensor]:
        return [self._has_value, *self._components]

    def _like(self, tensors: Sequence[Tensor]) -> Optional:
        return self.like(tensors)

    def _argument_key(self) -> Any:
        return self.key

    @property
    def _type_spec(self) -> TypeSpec:
        return OptionalSpec(self.element_spec)

    @property
    def key(self) -> Any:
        """What equals that of others alike."""
        return self.structure.key

    def _packed(self, components: Sequence[Tensor]) -> Any:
        return self.structure.values(components)

    @staticmethod
    def empty(element_spec: Any) -> Optional:
        """One without a value.

        Args:
          element_spec: a structure of specifications of dense, sparse and ragged tensors.
        """
        structure = Structure.of_specs(element_spec)
        blanks = [constant(array, dtype) for array, dtype in zip(structure.blank(), structure.dtypes, strict=True)]
        return Optional(structure, constant(False, bool_), blanks)

    @staticmethod
    def none_from_structure(value_structure: Any) -> Optional:
        """``empty``, by its name of 1.12 to 1.15."""
        return Optional.empty(value_structure)

    @staticmethod
    def from_value(value: Any) -> Optional:
        """One with a value, a structure of tensors or what becomes them."""
        tensors = map_leaves(convert_to_tensor, in_parts(value))
        return Optional(Structure.of_tensors(tensors), constant(True, bool_), flatten(tensors))

    def has_value(self, name: str | None = None) -> Tensor:
        """Whether there is a value, as a scalar bool tensor."""
        return identity(self._has_value, name)

    def get_value(self, name: str | None = None) -> Any:
        """The value.

        Raises (in a function: when it runs):
          InvalidArgumentError: there is none.
        """
        graph = get_default_graph()
        if graph.executing_eagerly:
            if not self._has_value:
                raise InvalidArgumentError(None, None, _EMPTY)
            return self._packed(self._components)
        with graph.control_dependencies([Assert(self._has_value, [_EMPTY])]):
            return self._packed([identity(t) for t in self._components])

    @property
    def element_spec(self) -> Any:
        """A ``TensorSpec`` for each component, in the structure of the value."""
        return self.structure.specs

    value_structure = element_spec

    def __repr__(self) -> str:
        shown = f"has_value={bool(self._has_value)}" if hasattr(self._has_value, "numpy") else self._has_value.name
        return f"<{type(self).__name__} {shown}, element_spec={self.element_spec}>"


class OptionalSpec(TypeSpec):
    """What is known of an ``Optional``.

    Args:
      element_spec: a structure of ``TensorSpec``.
    """

    def __init__(self, element_spec: Any):
        self._element_spec = element_spec

    @property
    def value_type(self) -> type[Optional]:
        return Optional

    def _serialize(self) -> tuple[Any, ...]:
        return (self._element_spec,)

    @property
    def _component_specs(self) -> list[Any]:
        return [TensorSpec((), bool_), *flatten(self._element_spec)]

    def _to_components(self, value: Optional) -> list[Tensor]:
        return [value._has_value, *value._components]

    def _from_components(self, components: Any) -> Optional:
        has_value, *tensors = components
        return Optional(Optional.empty(self._element_spec).structure, has_value, tensors)
