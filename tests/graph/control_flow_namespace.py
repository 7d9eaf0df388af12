"""The public functions that programs with branches and loops use, without the rest of the package."""

from types import ModuleType, SimpleNamespace

from towerstrat.graph.functions import map_fn as functional
from towerstrat.graph.ir import convert, core, shapes, types
from towerstrat.graph.lowering import gradients
from towerstrat.graph.ops import (
    array,
    assertions,
    checks,
    control_flow,
    host,
    indexing,
    linalg,
    loops,
    math,
    reductions,
    slicing,
    tensor_array,
)
from towerstrat.graph.runtime.session import Session
from towerstrat.graph.tapes import custom_gradients
from towerstrat.graph.variables import variables

_MODULES = (
    convert, core, array, math, reductions, linalg, indexing, slicing, control_flow, loops, functional, tensor_array,
    checks, assertions, host, gradients, custom_gradients, variables,
)  # fmt: skip


def _own(module: ModuleType) -> dict[str, object]:
    found = {k: v for k, v in vars(module).items() if not k.startswith("_")}
    return {k: v for k, v in found.items() if getattr(v, "__module__", module.__name__) == module.__name__}


def _control_dependencies(inputs: object) -> object:
    return core.get_default_graph().control_dependencies(inputs)


def _initializer() -> object:
    return control_flow.group(*(v.initializer for v in core.get_default_graph().get_collection("variables")))


def namespace() -> SimpleNamespace:
    names: dict[str, object] = {t.name: t for t in types.ALL}
    for module in _MODULES:
        names |= _own(module)
    names["print"] = host.print_v2
    return SimpleNamespace(
        **names,
        control_dependencies=_control_dependencies,
        Session=Session,
        TensorShape=shapes.TensorShape,
        global_variables_initializer=_initializer,
    )
