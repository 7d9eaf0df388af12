"""``tf.contrib.framework.variable`` and ``model_variable``: ``arg_scope`` gives them defaults."""

from __future__ import annotations

from towerstrat.compat.utilities.arg_scope import add_arg_scope
from towerstrat.models import variable_collections

variable = add_arg_scope(variable_collections.variable)
model_variable = add_arg_scope(variable_collections.model_variable)
