"""The public functions that programs with branches and loops use, without the rest of the package."""

from types import ModuleType, SimpleNamespace

from towerstrat.graph.functions import map_fn as functional
from towerstrat.graph.ir import graph, shapes, tensor_conversion, types
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.control import assertions, branches, tensor_array, while_loop
from towerstrat.graph.ops.gradients import gradients
from towerstrat.graph.ops.host import python_calls, runtime_checks
from towerstrat.graph.ops.indexing import gather_scatter, slicing
from towerstrat.graph.ops.linalg import products
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.runtime.sessions.session import Session
from towerstrat.graph.tapes import custom_gradients
from towerstrat.graph.variables import variables

_MODULES = (
    tensor_conversion, graph, arrays, arithmetic, reductions, products, gather_scatter, slicing, branches, while_loop,
        functional, tensor_array,
    runtime_checks, assertions, python_calls, gradients, custom_gradients, variables,
)  # fmt: skip


def _own(module: ModuleType) -> dict[str, object]:
    found = {k: v for k, v in vars(module).items() if not k.startswith("_")}
    return {k: v for k, v in found.items() if getattr(v, "__module__", module.__name__) == module.__name__}


def _control_dependencies(inputs: object) -> object:
    return graph.get_default_graph().control_dependencies(inputs)


def _initializer() -> object:
    return branches.group(*(v.initializer for v in graph.get_default_graph().get_collection("variables")))


def namespace() -> SimpleNamespace:
    names: dict[str, object] = {t.name: t for t in types.ALL}
    for module in _MODULES:
        names |= _own(module)
    names["print"] = python_calls.print_v2
    return SimpleNamespace(
        **names,
        control_dependencies=_control_dependencies,
        Session=Session,
        TensorShape=shapes.TensorShape,
        global_variables_initializer=_initializer,
    )
