"""Modules of the original's inside that programs call while they are imported: rows of ``INTERNALS``."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import LazyName, named

_ARG_SCOPE = named(
    "compat.utilities.arg_scope",
    "add_arg_scope arg_scope arg_scope_func_key arg_scoped_arguments current_arg_scope has_arg_scope",
)

UTILITIES: dict[str, tuple[str, dict[str, LazyName]]] = {
    # The package's names are functions: one has the name of its module.
    "contrib.framework.python.ops": ("tf.contrib.framework", _ARG_SCOPE),
    "contrib.framework.python.ops.arg_scope": ("", _ARG_SCOPE),
    "python.framework.smart_cond": (
        "",
        named("compat.utilities.smart_cond", "smart_case smart_cond smart_constant_value"),
    ),
    "python.layers.utils": (
        "",
        named("compat.utilities.smart_cond", "constant_value=constant_of_variable smart_cond=cond_of_variable"),
    ),
    "python.util.all_util": ("", named("compat.utilities.exports", "make_all remove_undocumented reveal_undocumented")),
    "python.util.compat": ("tf.compat", {}),
    "python.util.decorator_utils": ("", named("compat.utilities.decorators", "get_qualified_name validate_callable")),
    "python.util.deprecation": (
        "",
        named(
            "compat.utilities.deprecation",
            """DeprecatedNamesAlreadySet deprecated deprecated_alias deprecated_arg_values deprecated_args
            deprecated_argument_lookup deprecated_endpoints hide_attribute_from_api rewrite_argument_docstring
            silence""",
        ),
    ),
    "python.util.function_utils": (
        "",
        named("compat.utilities.inspection", "fn_args get_func_code get_func_name has_kwargs"),
    ),
    "python.util.keyword_args": ("", named("compat.utilities.decorators", "keyword_args_only")),
    "python.util.lazy_loader": ("", named("compat.utilities.lazy_loader", "LazyLoader")),
    "python.util.object_identity": (
        "",
        {
            **named(
                "compat.utilities.object_identity",
                """ObjectIdentityDictionary ObjectIdentitySet ObjectIdentityWeakKeyDictionary
                ObjectIdentityWeakSet""",
            ),
            **named("graph.ir.graph_elements", "Reference"),
        },
    ),
    "python.util.tf_contextlib": ("", named("compat.utilities.decorators", "contextmanager")),
    "python.util.tf_decorator": ("", named("compat.utilities.decorators", "TFDecorator make_decorator rewrap unwrap")),
    "python.util.tf_export": (
        "",
        named("compat.keras.package_loader", "get_symbol_from_name")
        | named(
            "compat.utilities.exports",
            """ESTIMATOR_API_NAME KERAS_API_NAME SymbolAlreadyExposedError TENSORFLOW_API_NAME
            api_export estimator_export get_canonical_name get_canonical_name_for_symbol get_v1_names get_v2_names
            keras_export kwarg_only tf_export""",
        ),
    ),
    "python.util.tf_inspect": (
        "",
        named(
            "compat.utilities.inspection",
            """ArgSpec FullArgSpec currentframe getargspec getcallargs getdoc getfile getframeinfo getfullargspec
            getmembers getmodule getmro getsource getsourcefile getsourcelines isbuiltin isclass isframe isfunction
            isgenerator isgeneratorfunction ismethod ismodule isroutine signature stack unwrap""",
        ),
    ),
}
"""See ``internals.INTERNALS``."""
