"""Eager variables: a value from the moment they are made, used by eager operations and by functions.

The value is in the eager session's state, under the handle's state variable, and is dropped when the handle is
collected. An assignment returns the variable itself; in a function that is being traced it returns a copy whose reads
come after the assignment (``_as_written``), so that ``v.assign_add(1.) * 2.`` reads the new value.

>>> from towerstrat.graph.eager import mode
>>> with mode.eager_mode():
...     v = EagerVariable(1.0)
...     float(v.assign_add(2.0))
3.0

Made inside of a function that is traced, a variable is initialized once, outside of the trace; the initial value may
not depend on the function's arguments. A deep copy or a pickle is a new variable of the same value.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from towerstrat.errors import FailedPreconditionError
from towerstrat.graph.eager.tensor import EagerTensor, Handle, shown
from towerstrat.graph.ir.argument_types import ShapeLike, TensorLike
from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.ir.default_graph import init_scope
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.numerics_version import ORIGINAL
from towerstrat.graph.ir.shapes import as_shape
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import DTypeLike, HostArray
from towerstrat.graph.ir.user_lines import UserLine, user_line
from towerstrat.graph.variables import static_shapes
from towerstrat.graph.variables.variables import Variable, VariableAggregation, VariableSynchronization

if TYPE_CHECKING:
    import numpy.typing as npt


class EagerVariable(Variable):
    """A ``Variable`` that has its value from the moment it is made, and whose assignments return it.

    Inside a function that is being traced, the initial value must be a callable or not depend on the arguments: it is
    computed once, eagerly, while the function is traced.

    Raises:
      ValueError: there is no initial value, or it depends on an argument of the function that is traced, or that
        function was traced before and made no variables then.
    """

    _assignment: Operation | None = None

    def __init__(
        self,
        initial_value: TensorLike | None = None,
        trainable: bool = True,
        collections: Iterable[Hashable] | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: DTypeLike | None = None,
        expected_shape: ShapeLike = None,
        import_scope: str | None = None,
        constraint: Callable[..., Any] | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        axis: Axis | None = None,
        combine: str = "first",
        shape: ShapeLike = None,
    ):
        self._line = user_line()
        super().__init__(
            initial_value, trainable, (), validate_shape, caching_device, name, variable_def, dtype, expected_shape,
            import_scope, constraint, synchronization, aggregation, axis, combine, shape,
        )  # fmt: skip

    def _build(
        self, graph: Graph, initial_value: TensorLike, name: str | None, dtype: DTypeLike | None,
        expected_shape: ShapeLike, validate_shape: bool, axis: Axis | None, combine: str, shape: ShapeLike,
    ) -> None:  # fmt: skip
        scope = graph.get_name_scope()
        name = (name or "Variable").removesuffix("/")
        base = f"{scope}/{name}" if scope else name
        graph.check_new_variable(base)
        if isinstance(initial_value, Tensor) and not isinstance(initial_value, EagerTensor):
            # Traced in a function: the value must be computed now, once, and not in each call.
            initial_value = graph.lifted(initial_value, base)
        with init_scope():
            value: TensorLike = initial_value() if callable(initial_value) else initial_value
            initial = convert_to_tensor(value, dtype)
        eager: Any = graph.home
        self._graph = eager
        if not isinstance(initial, EagerTensor):
            raise ValueError(f"The initial value of variable {base} must be known: {initial!r} belongs to a graph.")
        if expected_shape is not None:
            as_shape(expected_shape).assert_is_compatible_with(initial.dims)
        dims = static_shapes.wider(initial.dims if validate_shape else None, shape, base)
        self._cell = StateVariable(base, initial.dtype, dims, axis, combine=combine)
        self._handle = Handle(eager, self._cell, base, self._trainable)
        self._handle.variable = weakref.ref(self)
        self._handle.made_in = graph
        self._handle.op.line = self._line
        eager.assign(self._cell, initial)
        # Functions hold the handle and not the variable, so the value goes when the last of them does.
        weakref.finalize(self._handle, eager.session.state.discard, self._cell).atexit = False
        graph.note_variable(self)

    def _collect(self, graph: Graph, keys: Sequence[Hashable]) -> None:
        """Do nothing: an eager variable lives only as long as the program holds it."""

    # ---- what it is ------------------------------------------------------------------------------------------

    @property
    def op(self) -> Operation:
        """The operation that made it; of what an assignment returned, the assignment."""
        return self._handle.op if self._assignment is None else self._assignment

    @property
    def initializer(self) -> Any:
        """None: the variable is initialized already."""
        return None

    @property
    def initial_value(self) -> Tensor:
        raise RuntimeError("initial_value is not supported in eager mode: a variable has its value from the beginning.")

    @property
    def graph(self) -> Graph:
        return get_default_graph()

    @property
    def line(self) -> UserLine:
        return self._line

    @property
    def created_at(self) -> str:
        return str(self._line)

    def numpy(self) -> Any:
        """A copy of the value.

        Raises:
          NotImplementedError: inside a function that is being traced, where the value is not known yet.
          FailedPreconditionError: the variable has no value.
        """
        if not get_default_graph().executing_eagerly:
            raise NotImplementedError(
                f"numpy() of variable {self.name} is only available when executing eagerly: inside of a function or "
                "graph its value is not known yet. Use the variable itself."
            )
        eager: Any = self._graph
        value = eager.session.value(self._cell)
        if value is None:
            raise FailedPreconditionError(None, self.op, f"Attempting to use uninitialized value {self.name}.")
        array = np.array(eager.read_here(self._cell, value))
        return array if array.ndim else array[()]

    # ---- reading and changing --------------------------------------------------------------------------------

    def initialized_value(self) -> Tensor:
        return self.value()

    def eval(self, session: SessionLike | None = None) -> NoReturn:
        raise NotImplementedError("eval() is not supported when executing eagerly; use variable.numpy().")

    def load(self, value: TensorLike, session: SessionLike | None = None) -> None:
        """Assign a value."""
        self.assign(value)

    def is_initialized(self, name: str | None = None) -> Tensor:
        return get_default_graph().add(self._type("VarIsInitializedOp"), (self._handle,), None, name).outputs[0]

    def _changed(self, op: Operation, read_value: bool) -> Variable | Tensor | Operation | None:
        if get_default_graph().executing_eagerly:
            return self if read_value else None
        return self._as_written(op) if read_value else op

    def _as_written(self, op: Operation) -> Variable | Tensor:
        """The result of an assignment in a function: this variable, with reads that depend on the assignment."""
        written = object.__new__(type(self))
        written.__dict__.update(self.__dict__, _assignment=op)
        return written

    def _read(self) -> Tensor:
        written = self._assignment
        return self._read_after([written] if written and written.block is get_default_graph().block else ())

    # ---- Python ----------------------------------------------------------------------------------------------

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> HostArray:
        return np.asarray(self.numpy(), dtype)

    def __jax_array__(self) -> Any:
        return self.value().device_array()  # type: ignore[attr-defined]

    def __bool__(self) -> bool:
        return bool(self.value())

    def __int__(self) -> int:
        number: int = int(self.value())  # type: ignore[call-overload]
        return number

    def __float__(self) -> float:
        return float(self.value())  # type: ignore[arg-type]

    def __index__(self) -> int:
        number: int = self.value().__index__()  # type: ignore[attr-defined]
        return number

    def __len__(self) -> int:
        return len(self.value())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value())

    def __deepcopy__(self, memo: dict[int, Any]) -> EagerVariable:
        with init_scope():
            return EagerVariable(
                self.value(), self._trainable, name=self._cell.name, constraint=self._constraint,
                synchronization=self._synchronization, aggregation=self._aggregation, shape=self.shape,
            )  # fmt: skip

    def __copy__(self) -> EagerVariable:
        return self.__deepcopy__({}) if ORIGINAL.later else self

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickled variable is loaded as a new one of the same value and name."""
        about = self.numpy(), self._trainable, self._cell.name, self.dtype.name, self.shape.as_list()
        return _loaded, (*about, self._constraint, self._synchronization, self._aggregation)

    def __repr__(self) -> str:
        about = f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}"
        if not get_default_graph().executing_eagerly:
            return f"{about}>"
        return f"{about}, numpy={shown(self.value(), repr)}>"


def _loaded(
    value: TensorLike, trainable: bool, name: str, dtype: str, shape: list[int | None] | None,
    constraint: Callable[..., Any] | None, synchronization: VariableSynchronization, aggregation: VariableAggregation,
) -> EagerVariable:  # fmt: skip
    with init_scope():
        return EagerVariable(
            value, trainable, name=name, dtype=dtype, constraint=constraint, synchronization=synchronization,
            aggregation=aggregation, shape=shape,
        )  # fmt: skip
