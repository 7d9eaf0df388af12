"""Modules of the original's inside that programs call while they are imported: rows of ``INTERNALS``."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

from towerstrat.compat.utilities import (
    arg_scope,
    decorators,
    deprecation,
    exports,
    inspection,
    lazy_loader,
    object_identity,
    smart_cond,
    tpu_function,
)
from towerstrat.graph.ir import convert
from towerstrat.graph.ir.elements import Reference
from towerstrat.graph.runtime import conversions


def _of(module: ModuleType, names: str) -> dict[str, Any]:
    found = {}
    for entry in names.split():
        public, _, own = entry.partition("=")
        found[public] = getattr(module, own or public)
    return found


_INSPECT = {
    **_of(inspect, inspection.PLAIN),
    **inspection.SEEING_THROUGH,
    **_of(inspection, "ArgSpec currentframe getargspec getcallargs getdoc getfullargspec"),
}
_ARG_SCOPE = _of(
    arg_scope, "add_arg_scope arg_scope arg_scope_func_key arg_scoped_arguments current_arg_scope has_arg_scope"
)
_TPU_FUNCTION = _of(tpu_function, "TpuContext get_tpu_context on_device_training_loop tpu_shard_context")

UTILITIES: dict[str, tuple[str, dict[str, Any]]] = {
    # The package's names are functions: one has the name of its module.
    "contrib.framework.python.ops": ("tf.contrib.framework", _ARG_SCOPE),
    "contrib.framework.python.ops.arg_scope": ("", _ARG_SCOPE),
    "contrib.tpu.python.tpu.tpu_function": ("", _TPU_FUNCTION),
    "python.framework.smart_cond": ("", _of(smart_cond, "smart_case smart_cond smart_constant_value")),
    "python.layers.utils": (
        "",
        _of(smart_cond, "constant_value=constant_of_variable smart_cond=cond_of_variable"),
    ),
    "python.tpu.tpu_function": ("", _TPU_FUNCTION),
    "python.util.all_util": ("", _of(exports, "make_all remove_undocumented reveal_undocumented")),
    "python.util.compat": ("tf.compat", {}),
    "python.util.decorator_utils": ("", _of(decorators, "get_qualified_name validate_callable")),
    "python.util.deprecation": (
        "",
        _of(
            deprecation,
            """DeprecatedNamesAlreadySet deprecated deprecated_alias deprecated_arg_values deprecated_args
            deprecated_argument_lookup deprecated_endpoints rewrite_argument_docstring silence""",
        ),
    ),
    "python.util.function_utils": ("", _of(inspection, "fn_args get_func_code get_func_name has_kwargs")),
    "python.util.keyword_args": ("", _of(decorators, "keyword_args_only")),
    "python.util.lazy_loader": ("", _of(lazy_loader, "LazyLoader")),
    "python.util.object_identity": (
        "",
        {
            **_of(
                object_identity,
                """ObjectIdentityDictionary ObjectIdentitySet ObjectIdentityWeakKeyDictionary
                ObjectIdentityWeakSet""",
            ),
            "Reference": Reference,
        },
    ),
    "python.util.tf_contextlib": ("", _of(decorators, "contextmanager")),
    "python.util.tf_decorator": ("", _of(decorators, "TFDecorator make_decorator rewrap unwrap")),
    "python.util.tf_export": (
        "",
        _of(
            exports,
            """ESTIMATOR_API_NAME KERAS_API_NAME SymbolAlreadyExposedError TENSORFLOW_API_NAME
            api_export estimator_export get_canonical_name get_canonical_name_for_symbol get_v1_names get_v2_names
            keras_export kwarg_only tf_export""",
        ),
    ),
    "python.util.tf_inspect": ("", _INSPECT),
}
"""See ``internals.INTERNALS``."""

CONVERSIONS = _of(convert, "is_dense_tensor_like register_dense_tensor_like_type")
SESSION = _of(conversions, "register_session_run_conversion_functions")
