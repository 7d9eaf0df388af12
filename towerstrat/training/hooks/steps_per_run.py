"""The variable that says how many steps a run makes."""

from __future__ import annotations

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.types import int32
from towerstrat.graph.scopes.initializers import ones_initializer
from towerstrat.graph.scopes.variable_scope import get_variable, variable_scope
from towerstrat.graph.scopes.variable_store import AUTO_REUSE
from towerstrat.graph.variables.variables import GraphKeys, Variable

_COLLECTION = "hooks_steps_per_run"


def get_or_create_steps_per_run_variable() -> Variable:
    """The variable ``hooks/steps_per_run`` of the default graph: an int32 scalar, local, 1 at first.

    Raises:
      RuntimeError: there are several.
    """
    found = get_default_graph().get_collection(_COLLECTION)
    if len(found) > 1:
        raise RuntimeError("Multiple steps_per_run_var in collection.")
    if found:
        return found[0]
    with variable_scope("hooks", reuse=AUTO_REUSE):
        return get_variable(
            "steps_per_run",
            initializer=ones_initializer(),
            shape=[],
            dtype=int32,
            trainable=False,
            collections=[_COLLECTION, GraphKeys.LOCAL_VARIABLES],
            use_resource=True,
        )
