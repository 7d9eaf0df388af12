"""``tf.contrib.framework.variable`` and ``model_variable``: ``arg_scope`` gives them defaults."""

from __future__ import annotations

from towerstrat.compat.utilities.arg_scope import add_arg_scope
from towerstrat.training import model_variables

variable = add_arg_scope(model_variables.variable)
model_variable = add_arg_scope(model_variables.model_variable)
