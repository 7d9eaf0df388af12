"""Layers of ``tf.layers`` as layers of Keras, which they were in 1.x.

A layer of ours becomes one of the package's too when a model first meets it: as a part, as an attribute, or by a call
with a symbolic input. It stays the same object, its class is then one made of both. Its variables still come from
``tf.get_variable``, with the names that this gives.
"""

from __future__ import annotations

import sys
import types
from abc import ABCMeta
from collections.abc import Callable, Sequence
from functools import cache, partial, wraps
from types import ModuleType
from typing import Any

from towerstrat.graph.ir import nest
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.scopes.variable_scope import variable_scope
from towerstrat.graph.variables.containers import TrackableDataStructure
from towerstrat.graph.variables.partitioned import PartitionedVariable
from towerstrat.graph.variables.variables import GraphKeys
from towerstrat.models.layers.layer import InputSpec, Layer, collect

_ENGINE = "keras.src.engine"
_OURS = {
    "__call__", "__doc__", "__init__", "__module__", "_session", "_set_scope", "_takes_scope", "add_variable",
    "add_weight", "apply", "build", "call", "from_config", "get_config", "scope_name",
}  # fmt: skip
"""What a layer keeps of ``Layer``; it has all the rest from the package."""
_MADE = {"trainable", "stateful", "_name", "_dtype", "_graph", "_conditional", "input_spec"}
"""Attributes of a layer that the package's constructor makes otherwise."""


class _OfLayers(ABCMeta):
    """The class of the package's layers: layers of ours are instances of their base.

    Answers are not kept, as ``ABCMeta`` keeps them: the package changes bases of its classes.
    """

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or ("adopt" in vars(cls) and isinstance(instance, Layer))

    def __subclasscheck__(cls, subclass: type) -> bool:
        return type.__subclasscheck__(cls, subclass) or ("adopt" in vars(cls) and issubclass(subclass, Layer))


def adopt(layer: Layer) -> None:
    """Makes a layer of ours one of Keras too."""
    if layer.called_by_keras is not None:
        return
    later = sys.modules["keras.src.utils.version_utils"].should_use_v2()
    theirs = sys.modules[f"{_ENGINE}.base_layer" if later else f"{_ENGINE}.base_layer_v1"].Layer
    own = dict(vars(layer))
    vars(layer).clear()
    kind: Any = type(layer)
    object.__setattr__(layer, "__class__", _joined(kind, theirs))
    theirs.__init__(layer, trainable=own["trainable"], name=own["_name"], dtype=own["_dtype"])
    vars(layer).update({name: value for name, value in own.items() if name not in _MADE})
    layer.input_spec = own["input_spec"]
    for variable in (*own["_trainable_weights"], *own["_non_trainable_weights"]):
        _initialize_with_models(variable)


def _initialize_with_models(variable: Any) -> None:
    """Lets the package's session initialize a variable, where nothing else has."""
    for part in _parts(variable):
        sys.modules["keras.src.backend"].track_variable(part)


def _parts(variable: Any) -> list[Any]:
    return list(variable) if isinstance(variable, PartitionedVariable) else [variable]


def _adopt_all(structure: Any) -> None:
    """Adopts the layers of a structure."""
    for part in nest.flatten(structure):
        if isinstance(part, Layer):
            adopt(part)
        elif isinstance(part, TrackableDataStructure):
            _adopt_all(list(part._values))


def _adopt_outside(layer: Layer) -> None:
    """Adopts a layer that is called with a symbolic input, but for one that the ``call`` of another one makes."""
    if not sys.modules[f"{_ENGINE}.base_layer_utils"].call_context().in_call:
        adopt(layer)


@cache
def _joined(own: Any, theirs: Any) -> type:
    """A class that is both: methods that ``own`` has of ``Layer`` itself are those of the package."""
    between = own.__mro__[: own.__mro__.index(Layer)]
    taken = [name for name in vars(Layer) if name not in _OURS and not any(name in vars(each) for each in between)]
    inherited = {name: _inherited(theirs, name) for name in taken if hasattr(theirs, name)}
    spec = sys.modules[f"{_ENGINE}.input_spec"].InputSpec

    def make(cls: type, *args: Any, **kwargs: Any) -> Any:
        return own(*args, **kwargs)

    def called(self: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        return _called(theirs, self, inputs, *args, **kwargs)

    def add_weight(self: Any, *args: Any, **kwargs: Any) -> Any:
        variable = own.add_weight(self, *args, **kwargs)
        _initialize_with_models(variable)
        return variable

    def specify(self: Any, value: Any) -> None:
        _inherited(theirs, "input_spec").fset(self, nest.map_structure(partial(_specified, spec), value))

    def add_loss(self: Any, losses: Any, inputs: Any = None) -> None:
        _add_loss(theirs, self, losses)

    def regularize(self: Any, name: str, variable: Any, regularizer: Any, before: Sequence[Any]) -> None:
        for loss in _regularized(name, variable, regularizer, before):
            theirs.add_loss(self, loss)
            if not get_default_graph().executing_eagerly and not get_default_graph().building_function:
                collect([loss()], GraphKeys.REGULARIZATION_LOSSES)

    def add_update(self: Any, updates: Any, inputs: Any = None) -> None:
        if not get_default_graph().executing_eagerly:
            theirs.add_update(self, updates)

    members = {
        **inherited,
        "__new__": make, "__module__": own.__module__, "__qualname__": own.__qualname__, "__doc__": own.__doc__,
        "called_by_keras": called, "add_weight": add_weight, "add_loss": add_loss, "add_update": add_update,
        "input_spec": property(_inherited(theirs, "input_spec").fget, specify), "_regularize": regularize,
        "_name_scope": Layer._name_scope,
    }  # fmt: skip
    return types.new_class(own.__name__, (own, theirs), exec_body=lambda body: body.update(members))


def _inherited(theirs: type, name: str) -> Any:
    return next(vars(each)[name] for each in theirs.__mro__ if name in vars(each))


def _specified(kind: Any, spec: Any) -> Any:
    """What a layer accepts, as an object of the package."""
    if not isinstance(spec, InputSpec):
        return spec
    shape = None if spec.shape is None else list(spec.shape)
    return kind(spec.dtype, shape, spec.ndim, spec.max_ndim, spec.min_ndim, spec.axes)


def _called(theirs: Any, layer: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
    """The package's call of a layer, in the layer's variable scope."""
    layer._set_scope(kwargs.pop("scope", None))
    reuse = True if layer.built else layer._reuse
    with variable_scope(layer._scope, reuse=reuse, auxiliary_name_scope=False) as scope:
        layer._current_scope = scope
        if layer._takes_scope:
            kwargs["scope"] = scope
        outputs = theirs.__call__(layer, inputs, *args, **kwargs)
    if not get_default_graph().executing_eagerly and not get_default_graph().building_function:
        collect(layer.updates, GraphKeys.UPDATE_OPS)
    return outputs


def _add_loss(theirs: Any, layer: Any, losses: Any) -> None:
    known = [*layer._losses]
    theirs.add_loss(layer, losses)
    if not get_default_graph().executing_eagerly:
        collect([each for each in layer._losses if not any(each is k for k in known)], GraphKeys.REGULARIZATION_LOSSES)


def _regularized(name: str, variable: Any, regularizer: Any, before: Sequence[Any]) -> list[Callable[[], Any]]:
    """What adds a regularizer's value of each part of a variable, but of one that was there before."""
    parts = _parts(variable)
    shared = any(part is known for part in parts for known in before)
    return [] if shared else [partial(_value, f"{name}/Regularizer", regularizer, part) for part in parts]


def _value(scope: str, regularizer: Callable[[Any], Any], variable: Any) -> Any:
    with get_default_graph().name_scope(scope):
        return regularizer(variable)


def tell_kinds(module: ModuleType) -> None:
    """Makes what the package's ``Layer`` derives from one of ``_OfLayers``.

    Args:
      module: ``version_utils``.
    """
    base = vars(module)["LayerVersionSelector"]
    members = {name: value for name, value in vars(base).items() if name not in ("__dict__", "__weakref__")}
    # Not a class derived from it: its methods ask for their class by this name.
    vars(module)["LayerVersionSelector"] = _OfLayers(base.__name__, base.__bases__, members)


def take_layers(module: ModuleType) -> None:
    """Makes the package's ``Layer`` take layers of ours: as attributes, by calls, and for ``isinstance``.

    Args:
      module: ``base_layer``, or ``base_layer_v1``.
    """
    kind = vars(module)["Layer"]
    set_attribute = kind.__setattr__

    @wraps(set_attribute)
    def assign(self: Any, name: str, value: Any) -> None:
        if not name.startswith("_"):
            _adopt_all(value)
        set_attribute(self, name, value)

    kind.__setattr__, kind.adopt = assign, staticmethod(_adopt_outside)
    if "_flatten_modules" in vars(kind):
        kind._flatten_modules = _finding(kind._flatten_modules)


def _finding(flatten_modules: Any) -> Any:
    """``_flatten_modules`` after lists among the attributes have got further layers."""

    @wraps(flatten_modules)
    def flatten(self: Any, *args: Any, **kwargs: Any) -> Any:
        parts = self.__dict__.get("_self_tracked_trackables", ())
        _adopt_all([each for each in parts if isinstance(each, TrackableDataStructure)])
        return flatten_modules(self, *args, **kwargs)

    return flatten


def take_parts(module: ModuleType) -> None:
    """Makes ``Sequential.add`` take layers of ours."""
    kind = vars(module)["Sequential"]
    add = kind.add

    @wraps(add)
    def add_layer(self: Any, layer: Any) -> None:
        _adopt_all([layer])
        add(self, layer)

    kind.add = add_layer
