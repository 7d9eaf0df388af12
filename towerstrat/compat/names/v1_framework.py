"""The public names of ``tf.contrib.framework``, ``training``, ``util`` and ``cloud``. Data, by module."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import Rows

ROWS: Rows = (
    ("compat.utilities.arg_scope", {
        "tf.contrib.framework tf.contrib.layers tf.contrib.slim": """
            add_arg_scope arg_scope arg_scoped_arguments current_arg_scope has_arg_scope""",
        "tf.contrib.layers tf.contrib.slim": "arg_scope_func_key",
    }),
    ("compat.utilities.smart_cond", {"tf.contrib.framework": "smart_case smart_cond smart_constant_value"}),
    ("compat.v1_functions.cloud_storage", {
        "tf.contrib.cloud": "BlockCacheParams configure_colab_session configure_gcs",
    }),
    ("training.base.tensor_expectations", {
        "tf.contrib.framework": """
            assert_or_get_global_step assert_scalar_int get_graph_from_inputs
            get_name_scope get_placeholders reduce_sum_n remove_squeezable_dimensions
            with_same_shape with_shape""",
        "tf.contrib.slim": "assert_or_get_global_step",
    }),
    ("training.base.hparams", {
        "tf.contrib.training": "HParams parse_values",
    }),
    ("models.variable_collections", {
        "tf.contrib.framework": "global_variable",
        "tf.contrib.framework tf.contrib.slim": """
            VariableDeviceChooser add_model_variable assign_from_values assign_from_values_fn filter_variables
            get_local_variables get_model_variables get_trainable_variables get_unique_variable
            get_variable_full_name get_variables get_variables_by_name get_variables_by_suffix
            get_variables_to_restore local_variable""",
    }),
    ("compat.v1_functions.model_variable_scopes", {
        "tf.contrib.framework tf.contrib.slim": "model_variable variable",
    }),
    ("training.base.parameter_placement", {
        "tf.contrib.training": "GreedyLoadBalancingStrategy RandomStrategy byte_size_load_fn",
    }),
    ("training.base.device_setter", {
        "tf.train": "replica_device_setter",
    }),
    ("graph.ir.tensor_proto", {
        "tf.contrib.util": "constant_value",
        "tf tf.contrib.util": "make_ndarray make_tensor_proto",
    }),
)  # fmt: skip
