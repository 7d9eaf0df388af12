"""Names of ``tf.contrib.framework`` and of the modules that offer the same."""

from __future__ import annotations

from types import ModuleType

from towerstrat.compat.utilities import arg_scope, smart_cond

ROWS: tuple[tuple[ModuleType, dict[str, str]], ...] = (
    (arg_scope, {
        "tf.contrib.framework tf.contrib.layers tf.contrib.slim": """
            add_arg_scope arg_scope arg_scoped_arguments current_arg_scope has_arg_scope""",
        "tf.contrib.layers tf.contrib.slim": "arg_scope_func_key",
    }),
    (smart_cond, {"tf.contrib.framework": "smart_case smart_cond smart_constant_value"}),
)  # fmt: skip
