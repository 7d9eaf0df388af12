"""``Layer``: variables and a computation under one name."""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np

from towerstrat.graph.autograph.calls import like_caller
from towerstrat.graph.eager.mode import refuse_eager
from towerstrat.graph.eager.variable import EagerVariable
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.context_stacks import get_default_session
from towerstrat.graph.ir.default_graph import graph_of
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor, is_tensor
from towerstrat.graph.ir.types import as_dtype
from towerstrat.graph.scopes.variable_scope import VariableScope, get_variable, variable_scope
from towerstrat.graph.variables.containers import AutoTrackable
from towerstrat.graph.variables.partitioned import PartitionedVariable
from towerstrat.graph.variables.trackable import Trackable, no_automatic_dependency_tracking
from towerstrat.graph.variables.variables import (
    GraphKeys,
    VariableAggregation,
    VariableSynchronization,
    trainable_value,
)
from towerstrat.models.layers import layer_arguments

_UNDERSTOOD = ("activity_regularizer", "input_shape", "batch_input_shape", "batch_size", "weights")
COUNTS: WeakKeyDictionary[Graph, dict[tuple[str, str], int]] = WeakKeyDictionary()
"""For each graph how many layers were named after their class, by ("", name). Keras counts here too."""


class InputSpec:
    """What a layer accepts as one input.

    Args:
      dtype, shape, ndim, max_ndim, min_ndim: required element type, shape, exact, greatest and least rank.
      axes: axis -> required size.
    """

    def __init__(
        self,
        dtype: Any = None,
        shape: Any = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: Mapping[int, Any] | None = None,
    ):
        self.dtype = dtype
        self.shape = shape
        self.ndim = len(shape) if shape is not None else ndim
        self.max_ndim = max_ndim
        self.min_ndim = min_ndim
        self.axes = dict(axes or {})

    def check(self, index: int, layer: str, tensor: Any) -> None:
        """Raises ValueError where the tensor is not what the layer accepts."""
        for problem in self._problems(tensor):
            raise ValueError(f"Input {index} of layer {layer} is incompatible with the layer: {problem}.")

    def _problems(self, tensor: Any) -> Iterator[str]:
        dims = tensor.shape.raw
        if dims is None:
            if (self.ndim, self.max_ndim, self.min_ndim) != (None, None, None):
                yield "its rank is undefined, but the layer requires a defined rank; use set_shape"
            return
        rank = len(dims)
        if self.ndim is not None and rank != self.ndim:
            yield f"expected ndim={self.ndim}, found ndim={rank}. Full shape received: {list(dims)}"
        if self.max_ndim is not None and rank > self.max_ndim:
            yield f"expected max_ndim={self.max_ndim}, found ndim={rank}. Full shape received: {list(dims)}"
        if self.min_ndim is not None and rank < self.min_ndim:
            yield f"expected min_ndim={self.min_ndim}, found ndim={rank}. Full shape received: {list(dims)}"
        if self.dtype is not None and tensor.dtype != self.dtype:
            yield f"expected dtype={self.dtype}, found dtype={tensor.dtype.name}"
        for axis, size in self.axes.items():
            size = getattr(size, "value", size)
            if size is not None and dims[axis] not in (size, None):
                yield f"expected axis {axis} of input shape to have value {size} but received shape {list(dims)}"
        for wanted, size in zip(self.shape or (), dims, strict=False):
            if wanted is not None and size is not None and wanted != size:
                yield f"expected shape={self.shape}, found shape={list(dims)}"

    def __repr__(self) -> str:
        fields = ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes")
        return f"InputSpec({', '.join(f'{f}={getattr(self, f)}' for f in fields if getattr(self, f))})"


class Layer(AutoTrackable):
    """Variables and a computation on inputs. Subclasses define ``build`` (makes the variables) and ``call``.

    The variables live in a variable scope named as the layer, opened at the first call: ``dense/kernel``,
    ``dense_1/kernel``, ...

    Args:
      trainable: False keeps the variables out of ``GraphKeys.TRAINABLE_VARIABLES``, and drops the layer's updates.
      name: default the class's name in snake case.
      dtype: of the variables; default the first input's.
      activity_regularizer: ``f(output)`` is added to the losses at each call; not for layers made eagerly.

    Attributes:
      called_by_keras: calls a layer that is a part of a model of Keras; None of others.
    """

    called_by_keras: Callable[..., Any] | None = None

    @no_automatic_dependency_tracking
    def __init__(self, trainable: bool = True, name: Any = None, dtype: Any = None, **kwargs: Any):
        scope = kwargs.pop("_scope", None)
        self._reuse = kwargs.pop("_reuse", None)
        for key in kwargs:
            if key not in _UNDERSTOOD:
                raise TypeError(f"{type(self).__name__} does not understand the keyword argument {key!r}.")
        self.trainable = trainable
        self.stateful = False
        self.built = False
        self.input_spec: Any = None
        self.supports_masking = False
        self._activity_regularizer = layer_arguments.regularizer(kwargs.get("activity_regularizer"))
        if self._activity_regularizer is not None and get_default_graph().executing_eagerly:
            raise ValueError(
                "Activity regularization is not supported when executing eagerly; add the regularizer's value of the "
                f"layer's output to the loss. Got activity_regularizer={kwargs['activity_regularizer']!r}."
            )
        self._dtype = None if dtype is None else as_dtype(dtype).name
        self._trainable_weights: list[Any] = []
        self._non_trainable_weights: list[Any] = []
        self._updates: list[Any] = []
        self._losses: list[Any] = []
        self._conditional: set[Any] = set()
        self._graph: Graph | None = None
        self._initial_weights = kwargs.get("weights")
        self._set_input_shape(kwargs)
        self._set_name(name)
        self._scope: VariableScope | None = None
        self._current_scope: VariableScope | None = None
        if scope:
            with variable_scope(scope) as captured:
                self._scope = captured

    def _set_input_shape(self, kwargs: Mapping[str, Any]) -> None:
        if "batch_input_shape" in kwargs:
            self._batch_input_shape = tuple(kwargs["batch_input_shape"])
        elif "input_shape" in kwargs:
            self._batch_input_shape = (kwargs.get("batch_size"), *kwargs["input_shape"])

    def _set_name(self, name: Any) -> None:
        if isinstance(name, VariableScope):
            self._name = self._base_name = name.name
        elif name:
            self._name = self._base_name = name
        else:
            self._base_name = _snake_case(type(self).__name__)
            counts = COUNTS.setdefault(get_default_graph().home, defaultdict(int))
            counts["", self._base_name] += 1
            self._name = f"{self._base_name}_{counts['', self._base_name]}"

    # ---- what it is ------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtype(self) -> str | None:
        """The name of the variables' element type; None before the first call where none was given."""
        return self._dtype

    @property
    def graph(self) -> Graph | None:
        """The graph of its inputs; None before the first call. Raises RuntimeError eagerly."""
        refuse_eager("Layer.graph", "There is no graph.")
        return self._graph

    @property
    def scope_name(self) -> str:
        """The name of its variable scope. Raises ValueError before the first call."""
        if self._scope is None:
            raise ValueError(
                f"Layer {self._name} has no variable scope yet: it is opened by the first call. Call the layer first."
            )
        return self._scope.name

    @property
    def activity_regularizer(self) -> Callable[..., Any] | None:
        return self._activity_regularizer

    @activity_regularizer.setter
    def activity_regularizer(self, regularizer: Any) -> None:
        self._activity_regularizer = layer_arguments.regularizer(regularizer)

    @property
    def trainable_weights(self) -> list[Any]:
        return list(self._trainable_weights) if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        return ([] if self.trainable else self._trainable_weights) + self._non_trainable_weights

    @property
    def weights(self) -> list[Any]:
        return self.trainable_weights + self.non_trainable_weights

    @property
    def trainable_variables(self) -> list[Any]:
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Any]:
        return self.non_trainable_weights

    @property
    def variables(self) -> list[Any]:
        return self.weights

    def count_params(self) -> int:
        """The number of elements of all variables. Raises ValueError before the variables are made."""
        if not self.built:
            raise ValueError(
                f"Layer {self._name} has no variables yet; call it, or {self._name}.build(input_shape), first."
            )
        return sum(int(np.prod(w.shape.as_list())) for w in self.weights)

    def get_weights(self) -> list[np.ndarray[Any, Any]]:
        """The variables' values, eagerly or in the default session."""
        if get_default_graph().executing_eagerly:
            return [w.numpy() for w in self.weights]
        return list(self._session("get_weights").run(self.weights)) if self.weights else []

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Stores values in the variables, eagerly or in the default session.

        Raises:
          ValueError: another number of values than variables, or a value of another shape.
        """
        if len(weights) != len(self.weights):
            raise ValueError(f"Layer {self._name} has {len(self.weights)} weights, got {len(weights)} values.")
        for variable, value in zip(self.weights, weights, strict=True):
            if not variable.shape.is_compatible_with(np.shape(value)):
                raise ValueError(f"{variable.name} has shape {variable.shape}, got a value of shape {np.shape(value)}.")
        session = None if get_default_graph().executing_eagerly else self._session("set_weights")
        for variable, value in zip(self.weights, weights, strict=True):
            variable.load(value, session)

    def _session(self, what: str) -> Any:
        session = get_default_session()
        if session is None:
            raise ValueError(f"{what}() needs a default session: use it inside `with sess.as_default():`.")
        return session

    def get_config(self) -> dict[str, Any]:
        """The arguments that make a layer like this one: ``type(layer).from_config(layer.get_config())``."""
        config: dict[str, Any] = {"name": self.name, "trainable": self.trainable}
        if hasattr(self, "_batch_input_shape"):
            config["batch_input_shape"] = self._batch_input_shape
        config["dtype"] = self.dtype
        return config

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        return cls(**config)

    # ---- losses and updates ----------------------------------------------------------------------------------

    @property
    def losses(self) -> list[Any]:
        """What regularizers and ``add_loss`` add to the loss; those of variables made eagerly have the value of now."""
        return [x() if callable(x) else x for x in _seen_here(self._losses)]

    @property
    def updates(self) -> list[Any]:
        """Operations to run with each training step. Raises RuntimeError eagerly, where they have run already."""
        refuse_eager("Layer.updates", "Updates have run when the layer was called.")
        return _seen_here(self._updates) if self.trainable or self.stateful else []

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Adds losses (tensors, or functions that make them) to this layer's and ``GraphKeys.REGULARIZATION_LOSSES``.

        Args:
          inputs: the tensors they depend on, or None where they depend on none.

        Raises:
          RuntimeError: eagerly, a loss that is no function or that depends on inputs.
        """
        if get_default_graph().executing_eagerly:
            self._add_eagerly(losses if isinstance(losses, list | tuple) else [losses], inputs)
            return
        found = []
        for loss in losses if isinstance(losses, list | tuple) else [losses]:
            loss = loss() if callable(loss) and not is_tensor(loss) else loss
            if loss is not None:
                found.append(loss if is_tensor(loss) else convert_to_tensor(loss, "float32"))
        self._losses[:] = [*_seen_here(self._losses), *found]
        if inputs is not None:
            self._conditional.update(found)
        collect(found, GraphKeys.REGULARIZATION_LOSSES)

    def _add_eagerly(self, losses: Sequence[Any], inputs: Any) -> None:
        if inputs is not None or not all(callable(loss) for loss in losses):
            raise RuntimeError(
                f"Layer {self._name}: losses of inputs, and losses that are no functions, are not supported when "
                "executing eagerly: their value is that of one call. Pass a function without arguments, or add the "
                "value to the loss where the layer is called."
            )
        self._losses += losses

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Adds operations that must run with each training step; after the call they are in ``GraphKeys.UPDATE_OPS``.

        Eagerly they have run already, and nothing is added; in functions all updates run.

        Args:
          inputs: the tensors they depend on, or None where they depend on none.
        """
        if get_default_graph().executing_eagerly:
            return
        given = updates if isinstance(updates, list | tuple) else [updates]
        ops = [u if isinstance(u, Operation) else getattr(u, "op", u) for u in given]
        self._updates[:] = [*_seen_here(self._updates), *ops]
        if inputs is not None:
            self._conditional.update(ops)

    def get_losses_for(self, inputs: Any) -> list[Any]:
        """The losses that depend on ``inputs``; for None, those that depend on none. Raises RuntimeError eagerly."""
        refuse_eager("Layer.get_losses_for", "Use Layer.losses.")
        if inputs is None:
            return [x for x in self.losses if x not in self._conditional]
        reachable = _reachable(nest.flatten(inputs))
        return [x for x in self.losses if x in reachable]

    def get_updates_for(self, inputs: Any) -> list[Any]:
        """The updates that depend on ``inputs``; for None, those that depend on none. Raises RuntimeError eagerly."""
        refuse_eager("Layer.get_updates_for", "Updates have run when the layer was called.")
        if inputs is None:
            return [x for x in self.updates if x not in self._conditional]
        reachable = _reachable(nest.flatten(inputs))
        return [x for x in self.updates if x in reachable]

    # ---- variables -------------------------------------------------------------------------------------------

    def build(self, input_shape: Any) -> None:
        """Makes the variables, from the shape (or shapes) of the inputs."""
        self.built = True

    def add_variable(self, *args: Any, **kwargs: Any) -> Any:
        """``add_weight`` by its older name."""
        return self.add_weight(*args, **kwargs)

    def add_weight(
        self,
        name: str,
        shape: Any,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Callable[..., Any] | None = None,
        trainable: bool | None = None,
        constraint: Callable[..., Any] | None = None,
        use_resource: bool | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        partitioner: Callable[..., Any] | None = None,
    ) -> Any:
        """A variable below this layer's scope, by ``tf.get_variable``; arguments as there.

        Args:
          dtype: default the layer's, else float32.
          regularizer: ``f(variable)`` is added to the losses, once for a variable that is shared.
          trainable: default True, but False with ``synchronization=ON_READ``.
        """
        trainable = trainable_value(synchronization, trainable)
        kind = as_dtype(dtype or self._dtype or "float32")
        regularizer = layer_arguments.regularizer(regularizer)
        self._set_scope(None)
        graph = get_default_graph()
        known = len(graph.get_collection_ref(GraphKeys.GLOBAL_VARIABLES))
        reuse = True if self.built else self._reuse
        with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as scope:
            self._current_scope = scope
            with graph.name_scope(self._name_scope()):
                initializer = layer_arguments.initializer(initializer)
                variable = get_variable(
                    name,
                    shape=shape,
                    dtype=kind,
                    initializer=initializer,
                    constraint=layer_arguments.constraint(constraint),
                    trainable=trainable and self.trainable,
                    partitioner=partitioner,
                    use_resource=use_resource,
                    synchronization=synchronization,
                    aggregation=aggregation,
                )
                if regularizer is not None:
                    self._regularize(name, variable, regularizer, graph.get_collection_ref("variables")[:known])
        if isinstance(variable, Trackable):  # a getter may return a tensor
            self._track_trackable(variable, name, overwrite=True)
        kept = trainable and (getattr(variable, "trainable", False) or not self.trainable)
        (self._trainable_weights if kept else self._non_trainable_weights).append(variable)
        return variable

    def _regularize(self, name: str, variable: Any, regularizer: Callable[..., Any], before: Sequence[Any]) -> None:
        parts = list(variable) if isinstance(variable, PartitionedVariable) else [variable]
        if any(part is known for part in parts for known in before):
            return
        for part in parts:
            if isinstance(part, EagerVariable):
                self._losses.append(partial(regularizer, part))
            if not get_default_graph().executing_eagerly:
                with get_default_graph().name_scope(f"{name}/Regularizer"):
                    loss = regularizer(part)
                if isinstance(part, EagerVariable):
                    collect([loss], GraphKeys.REGULARIZATION_LOSSES)
                else:
                    self.add_loss(loss)

    # ---- calling ---------------------------------------------------------------------------------------------

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The computation. Subclasses override it; arguments after ``inputs`` come from the call of the layer."""
        return inputs

    @cached_property
    def _takes_scope(self) -> bool:
        return "scope" in inspect.signature(self.call).parameters

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The layer's output; makes its variables at the first call.

        Raises:
          ValueError: inputs that the layer does not accept, or of another graph than in earlier calls.
        """
        model = next((t._keras_history.layer for t in nest.flatten(inputs) if hasattr(t, "_keras_history")), None)
        if model is not None:
            model.adopt(self)
        if self.called_by_keras is not None:
            return self.called_by_keras(inputs, *args, **kwargs)
        self._set_scope(kwargs.pop("scope", None))
        inputs = nest.map_structure(_as_tensor, inputs)
        flat = nest.flatten(inputs)
        graph = graph_of(flat).home
        if self._graph is not None and graph is not self._graph:
            raise ValueError(f"Input graph and Layer graph are not the same: layer {self._name} was used in another.")
        self._graph = graph
        reuse = True if self.built else self._reuse
        with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as scope:
            self._current_scope = scope
            if self._takes_scope:
                kwargs["scope"] = scope
            with self._under_name():
                outputs = self._run(inputs, flat, args, kwargs)
        if self._initial_weights is not None:
            weights, self._initial_weights = self._initial_weights, None
            self.set_weights(weights)
        if not get_default_graph().executing_eagerly:
            collect(self.updates, GraphKeys.UPDATE_OPS)
        return outputs

    def _run(self, inputs: Any, flat: Sequence[Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if not self.built:
            self._check(flat)
            if self._dtype is None and flat:
                self._dtype = flat[0].dtype.name
            self.build(nest.map_structure(lambda t: t.shape, inputs))
            self.built = True
        self._check(flat)
        outputs = like_caller(self.call)(inputs, *args, **kwargs)
        if outputs is None:
            raise ValueError(f"The call method of layer {self._name} returned None; it must return its output.")
        if self._activity_regularizer is not None:
            for output in nest.flatten(outputs):
                with get_default_graph().name_scope("ActivityRegularizer"):
                    loss = self._activity_regularizer(output)
                self.add_loss(loss, inputs=inputs)
        return outputs

    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        return self(inputs, *args, **kwargs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The output's shape for a shape of the input, as far as it is known."""
        raise NotImplementedError(f"{type(self).__name__} does not define compute_output_shape.")

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        if not self.supports_masking:
            if any(m is not None for m in nest.flatten(mask)):
                raise TypeError(f"Layer {self._name} does not support masking, but was passed the mask {mask!r}.")
            return None
        return mask

    @contextmanager
    def _under_name(self) -> Iterator[None]:
        with get_default_graph().name_scope(self._name_scope()):
            yield

    def _name_scope(self) -> str:
        assert self._current_scope is not None
        return self._current_scope.original_name_scope

    def _set_scope(self, scope: Any) -> None:
        if self._scope is not None:
            return
        if self._reuse:
            with variable_scope(self._base_name if scope is None else scope) as captured:
                self._scope = captured
        else:
            with variable_scope(scope, default_name=self._base_name) as captured:
                self._scope = captured

    def _check(self, flat: Sequence[Any]) -> None:
        if not self.input_spec:
            return
        specs = self.input_spec if isinstance(self.input_spec, list | tuple) else [self.input_spec]
        if len(specs) != len(flat):
            raise ValueError(
                f"Layer {self._name} expects {len(specs)} inputs, but it received {len(flat)}: {list(flat)}."
            )
        for i, (spec, tensor) in enumerate(zip(specs, flat, strict=True)):
            if spec is not None:
                spec.check(i, self._name, tensor)


def _as_tensor(value: Any) -> Any:
    return convert_to_tensor(value) if isinstance(value, np.ndarray | np.generic | int | float) else value


def _snake_case(name: str) -> str:
    words = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    snake = re.sub(r"([a-z])([A-Z])", r"\1_\2", words).lower()
    return f"private{snake}" if snake.startswith("_") else snake


def collect(elements: Sequence[Any], key: str) -> None:
    """Adds to a collection of the default graph what is not in it."""
    collection = get_default_graph().get_collection_ref(key)
    for element in elements:
        if not any(element is e for e in collection):
            collection.append(element)


def _seen_here(items: Sequence[Any]) -> list[Any]:
    """Without the tensors and operations of functions, but for the one that is being traced."""
    here = get_default_graph()
    graphs = [getattr(x, "graph", here) for x in items]
    return [x for x, graph in zip(items, graphs, strict=True) if graph is here or not graph.building_function]


def _reachable(inputs: Sequence[Any]) -> set[Any]:
    """The tensors, and the operations that make them, that depend on ``inputs``."""
    found: set[Any] = set()
    stack = [t for t in inputs if isinstance(t, Tensor)]
    while stack:
        for op in stack.pop().consumers():
            if op not in found:
                found.add(op)
                found.update(op.outputs)
                stack += op.outputs
    return found
