"""The public names of the 1.x namespace: which object each one is. Data, by the module that defines it."""

from __future__ import annotations

from towerstrat.compat.names import (
    v1_distributions,
    v1_era,
    v1_estimator,
    v1_framework,
    v1_gan,
    v1_hooks,
    v1_images,
    v1_keras_datasets,
    v1_ragged,
    v1_records,
    v1_rnn,
    v1_sampling,
    v1_saving,
    v1_sessions,
    v1_sparse,
    v1_strings,
    v1_summaries,
    v1_tpu,
    v1_training,
)
from towerstrat.compat.names.lazy_names import Rows

VERSION = "1.12.3"

ROWS: Rows = (
    *v1_distributions.ROWS,
    *v1_era.ROWS,
    *v1_estimator.ROWS,
    *v1_framework.ROWS,
    *v1_gan.ROWS,
    *v1_hooks.ROWS,
    *v1_records.ROWS,
    *v1_images.ROWS,
    *v1_keras_datasets.ROWS,
    ("graph.ir.device_spec", {"tf": "DeviceSpec=DeviceSpecV1"}),
    *v1_rnn.ROWS,
    *v1_sampling.ROWS,
    *v1_saving.ROWS,
    *v1_sessions.ROWS,
    *v1_sparse.ROWS,
    *v1_strings.ROWS,
    *v1_summaries.ROWS,
    *v1_tpu.ROWS,
    *v1_training.ROWS,
    ("platform.app", {
        "tf.app": "run",
    }),
    ("platform.coordinator", {"tf.train": "Coordinator LooperThread"}),
    ("platform.files", {
        "tf.gfile": """
            Copy DeleteRecursively Exists FastGFile GFile Glob IsDirectory ListDirectory MakeDirs MkDir Open=GFile
            Remove Rename Stat Walk""",
    }),
    ("platform.logs", {
        "tf.logging": """
            DEBUG ERROR FATAL INFO TaskLevelStatusMessage WARN debug error fatal flush get_verbosity info log
            log_every_n log_first_n log_if set_verbosity vlog warn warning""",
    }),
    ("compat.v1_functions.behavior_switches", {
        "tf": """
            control_flow_v2_enabled disable_control_flow_v2 disable_resource_variables disable_tensor_equality
            disable_v2_behavior disable_v2_tensorshape enable_control_flow_v2 enable_resource_variables
            enable_tensor_equality enable_v2_behavior enable_v2_tensorshape resource_variables_enabled""",
    }),
    ("graph.eager.mode", {
        "tf": """
            disable_eager_execution enable_eager_execution executing_eagerly executing_eagerly_outside_functions""",
        "tf.contrib.eager": "enable_eager_execution executing_eagerly in_eager_mode=executing_eagerly",
    }),
    ("compat.v1_functions.contrib_eager", {
        "tf.contrib.eager": "Iterator list_devices make_template run",
    }),
    ("graph.functions.polymorphic", {
        "tf.contrib.eager": "defun",
    }),
    ("graph.tapes.gradient_functions", {
        "tf.contrib.eager": """
            gradients_function implicit_gradients implicit_value_and_gradients value_and_gradients_function""",
    }),
    ("graph.tapes.gradient_tape", {
        "tf.contrib.eager": "GradientTape",
    }),
    ("graph.tapes.py_function", {
        "tf.contrib.eager": "py_func=py_function",
    }),
    ("graph.ir.type_specs", {
        "tf.contrib.eager": "TensorSpec",
    }),
    ("compat.v1_functions.benchmark", {
        "tf.test": "Benchmark",
    }),
    ("compat.v1_functions.test_case", {
        "tf.test": "TestCase get_temp_dir main",
    }),
    ("platform.local", {
        "tf.test": "gpu_device_name is_built_with_cuda is_gpu_available",
        "tf.contrib.eager": "num_gpus",
    }),
    ("platform.text", {
        "tf.compat": """
            as_bytes as_str as_str_any as_text bytes_or_text_types complex_types forward_compatible integral_types
            path_to_str real_types""",
    }),
    ("platform.flags", {
        "tf.app.flags tf.flags": """
            adopt_module_key_flags ArgumentParser ArgumentSerializer BaseListParser BooleanFlag BooleanParser
            CantOpenFlagFileError CsvListSerializer declare_key_flag DEFINE DEFINE_alias DEFINE_bool DEFINE_boolean
            DEFINE_enum DEFINE_enum_class DEFINE_flag DEFINE_float DEFINE_integer DEFINE_list DEFINE_multi
            DEFINE_multi_enum DEFINE_multi_enum_class DEFINE_multi_float DEFINE_multi_integer DEFINE_multi_string
            DEFINE_spaceseplist DEFINE_string disclaim_key_flags doc_to_help DuplicateFlagError EnumClassFlag
            EnumClassListSerializer EnumClassParser EnumClassSerializer EnumFlag EnumParser Error Flag
            flag_dict_to_args FlagHolder FlagNameConflictsWithMethodError FLAGS FlagValues FloatParser get_help_width
            IllegalFlagValueError IntegerParser ListParser ListSerializer mark_bool_flags_as_mutual_exclusive
            mark_flag_as_required mark_flags_as_mutual_exclusive mark_flags_as_required multi_flags_validator
            MultiEnumClassFlag MultiFlag override_value register_multi_flags_validator register_validator set_default
            text_wrap UnparsedFlagAccessError UnrecognizedFlagError ValidationError validator
            WhitespaceSeparatedListParser""",
    }),
    ("data.api.dataset_v1", {
        "tf.data": """
            Dataset=DatasetV1 get_output_classes get_output_shapes get_output_types make_initializable_iterator
            make_one_shot_iterator""",
    }),
    ("data.api.transforms_v1", {
        "tf.contrib.data": """
            AUTOTUNE assert_element_shape batch_and_drop_remainder padded_batch_and_drop_remainder
            sliding_window_batch sloppy_interleave""",
        "tf.contrib.data tf.data.experimental": """
            Counter RandomDataset bucket_by_sequence_length choose_from_datasets copy_to_device
            dense_to_sparse_batch enumerate_dataset get_single_element group_by_window ignore_errors map_and_batch
            parallel_interleave prefetch_to_device rejection_resample sample_from_datasets scan shuffle_and_repeat
            unbatch unique""",
    }),
    ("data.iterators.session_iterators", {
        "tf.data": "Iterator",
    }),
    ("data.elements.options", {
        "tf.data": "Options=OptionsV1",
    }),
    ("data.queues.input_producers", {
        "tf.io": "match_filenames_once",
        "tf.train": """
            batch batch_join input_producer limit_epochs match_filenames_once maybe_batch maybe_batch_join
            maybe_shuffle_batch maybe_shuffle_batch_join range_input_producer shuffle_batch shuffle_batch_join
            slice_input_producer string_input_producer""",
    }),
    ("data.queues.queue_runner", {
        "tf.train tf.train.queue_runner": "QueueRunner add_queue_runner start_queue_runners",
    }),
    ("data.queues.queues", {
        "tf tf.queue": "FIFOQueue",
        "tf tf.io tf.queue": "PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue",
    }),
    ("data.readers.text_and_record_datasets", {
        "tf.data": """
            FixedLengthRecordDataset=FixedLengthRecordDatasetV1 TFRecordDataset=TFRecordDatasetV1
            TextLineDataset=TextLineDatasetV1""",
    }),
    ("errors", {
        "tf tf.errors": "OpError",
        "tf.errors": """
            AbortedError AlreadyExistsError CancelledError DataLossError DeadlineExceededError
            FailedPreconditionError InternalError InvalidArgumentError NotFoundError OutOfRangeError
            PermissionDeniedError ResourceExhaustedError UnauthenticatedError UnavailableError UnimplementedError
            UnknownError""",
    }),
    ("graph.ir.tensor_conversion", {
        "tf": "constant convert_to_tensor placeholder placeholder_with_default register_tensor_conversion_function",
        "tf.contrib.framework": "is_tensor",
    }),
    ("graph.ir.graph", {
        "tf": "Graph get_default_graph reset_default_graph",
    }),
    ("graph.tapes.custom_gradients", {
        "tf": "NoGradient NotDifferentiable RegisterGradient custom_gradient hessians",
        "tf.contrib.eager": "custom_gradient",
    }),
    ("graph.ir.graph_elements", {
        "tf": "Operation Tensor",
    }),
    ("graph.lowering.gradients", {
        "tf": "gradients",
    }),
    ("platform.messages", {
        "tf": """
            AttrValue ConfigProto GPUOptions GraphDef GraphOptions MetaGraphDef NameAttrList NodeDef OptimizerOptions
            RunMetadata RunOptions""",
        "tf.train": "ClusterDef JobDef SaverDef ServerDef",
    }),
    ("graph.ir.indexed_slices", {
        "tf": "IndexedSlices",
    }),
    ("graph.scopes.initializers", {
        "tf": """
            constant_initializer glorot_normal_initializer glorot_uniform_initializer ones_initializer
            orthogonal_initializer random_normal_initializer random_uniform_initializer
            truncated_normal_initializer uniform_unit_scaling_initializer variance_scaling_initializer
            zeros_initializer""",
        "tf.contrib.framework": "convolutional_delta_orthogonal",
        "tf.contrib.layers tf.contrib.slim": """
            xavier_initializer xavier_initializer_conv2d
            variance_scaling_initializer=contrib_variance_scaling_initializer""",
        "tf.initializers": """
            he_normal he_uniform lecun_normal lecun_uniform glorot_normal=GlorotNormal glorot_uniform=GlorotUniform
            constant=Constant identity=Identity ones=Ones orthogonal=Orthogonal random_normal=RandomNormal
            random_uniform=RandomUniform truncated_normal=TruncatedNormal uniform_unit_scaling=UniformUnitScaling
            variance_scaling=VarianceScaling zeros=Zeros""",
    }),
    ("graph.ir.nest", {
        "tf.contrib.framework.nest": """
            assert_same_structure assert_shallow_structure flatten flatten_dict_items flatten_up_to
            flatten_with_joined_string_paths get_traverse_shallow_structure is_sequence map_structure
            map_structure_up_to map_structure_with_paths pack_sequence_as yield_flat_paths""",
    }),
    ("graph.ops.nn.activations", {
        "tf.math tf.nn": "log_softmax softmax softplus softsign",
        "tf.nn": "crelu elu leaky_relu relu relu6 selu swish",
    }),
    ("graph.ops.array.arrays", {
        "tf": """
            broadcast_dynamic_shape broadcast_static_shape broadcast_to concat ensure_shape expand_dims fill
            guarantee_const identity identity_n lin_space linspace matrix_transpose ones ones_like parallel_stack
            range rank reverse_v2 shape shape_n size slice split squeeze stack stop_gradient transpose unstack
            where zeros zeros_like""",
        "tf tf.manip": "reshape reverse roll tile",
        "tf.linalg": "transpose=matrix_transpose",
    }),
    ("graph.ops.control.assertions", {
        "tf tf.contrib.framework tf.debugging": "assert_same_float_dtype assert_scalar",
        "tf tf.debugging": """
            assert_equal assert_greater assert_greater_equal assert_integer assert_less assert_less_equal
            assert_near assert_negative assert_non_negative assert_non_positive assert_none_equal assert_positive
            assert_proper_iterable assert_rank assert_rank_at_least assert_rank_in assert_type is_non_decreasing
            is_numeric_tensor is_strictly_increasing""",
    }),
    ("graph.ops.host.runtime_checks", {
        "tf": "add_check_numerics_ops verify_tensor_all_finite",
        "tf tf.debugging": "Assert check_numerics",
        "tf.debugging": "assert_all_finite=verify_tensor_all_finite",
    }),
    ("graph.ops.nn.clipping", {
        "tf": "clip_by_average_norm clip_by_global_norm clip_by_norm clip_by_value",
        "tf tf.linalg": "global_norm",
    }),
    ("graph.ops.control.branches", {
        "tf": "case cond group no_op tuple",
    }),
    ("graph.ops.nn.convolution", {
        "tf.nn": """
            atrous_conv2d atrous_conv2d_transpose conv1d conv2d conv2d_backprop_filter conv2d_backprop_input
            conv2d_transpose conv3d conv3d_backprop_filter_v2 conv3d_transpose convolution depthwise_conv2d
            depthwise_conv2d_native depthwise_conv2d_native_backprop_filter depthwise_conv2d_native_backprop_input
            separable_conv2d""",
    }),
    ("graph.ops.nn.cross_entropy", {
        "tf.nn": """
            log_poisson_loss sigmoid_cross_entropy_with_logits softmax_cross_entropy_with_logits
            softmax_cross_entropy_with_logits_v2 sparse_softmax_cross_entropy_with_logits
            weighted_cross_entropy_with_logits""",
    }),
    ("graph.ops.linalg.einsum", {"tf tf.linalg": "einsum"}),
    ("graph.ops.nn.embedding", {
        "tf.nn": "embedding_lookup embedding_lookup_sparse",
    }),
    ("graph.functions.map_fn", {
        "tf": "foldl foldr map_fn scan",
    }),
    ("graph.ops.host.python_calls", {
        "tf": "Print py_func",
    }),
    ("graph.ops.indexing.histograms", {
        "tf": "confusion_matrix histogram_fixed_width histogram_fixed_width_bins searchsorted unravel_index",
        "tf tf.math": "bincount",
    }),
    ("graph.ops.indexing.gather_scatter", {
        "tf": """
            batch_gather boolean_mask dynamic_partition dynamic_stitch gather meshgrid one_hot sequence_mask setdiff1d
            unique unique_with_counts""",
        "tf tf.manip": "gather_nd scatter_nd",
        "tf tf.math": "invert_permutation",
    }),
    ("graph.ops.linalg.products", {
        "tf": "sparse_matmul",
        "tf tf.linalg": "matmul tensordot",
    }),
    ("graph.ops.control.while_loop", {
        "tf": "while_loop",
    }),
    ("graph.ops.math.arithmetic", {
        "tf": """
            div div_no_nan floor_div floormod mod realdiv to_bfloat16 to_complex128 to_complex64 to_double to_float
            to_int32 to_int64 truncatediv truncatemod""",
        "tf tf.debugging": "is_finite is_inf is_nan",
        "tf tf.dtypes": "cast complex saturate_cast",
        "tf tf.math": """
            abs acos acosh add angle asin asinh atan atan2 atanh betainc ceil conj cos cosh digamma divide equal
            erf erfc exp expm1 floor floordiv greater greater_equal igamma igammac imag less less_equal lgamma log
            log1p log_sigmoid logical_and logical_not logical_or logical_xor maximum minimum multiply negative
            not_equal polygamma pow real reciprocal rint round rsqrt scalar_mul sign sin sinh sqrt square
            squared_difference subtract tan truediv zeta""",
        "tf tf.math tf.nn": "sigmoid tanh",
        "tf.bitwise": "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift",
        "tf.math": "bessel_i0 bessel_i0e bessel_i1 bessel_i1e polyval xdivy xlogy",
    }),
    ("graph.ops.linalg.decompositions", {
        "tf": """
            matrix_band_part matrix_determinant matrix_diag matrix_diag_part matrix_inverse matrix_set_diag
            matrix_solve matrix_solve_ls matrix_triangular_solve self_adjoint_eig self_adjoint_eigvals""",
        "tf tf.linalg": "cholesky cholesky_solve cross diag diag_part eye norm qr svd trace",
        "tf tf.math": "lbeta",
        "tf.linalg": """
            adjoint expm logdet slogdet tensor_diag=diag tensor_diag_part=diag_part band_part=matrix_band_part
            det=matrix_determinant eigh=self_adjoint_eig eigvalsh=self_adjoint_eigvals inv=matrix_inverse
            lstsq=matrix_solve_ls set_diag=matrix_set_diag solve=matrix_solve
            triangular_solve=matrix_triangular_solve""",
    }),
    ("graph.ops.nn.misc", {
        "tf.math tf.nn": "in_top_k top_k",
        "tf.nn": "bias_add dropout relu_layer xw_plus_b",
    }),
    ("graph.ops.nn.normalization", {
        "tf.linalg tf.math tf.nn": "l2_normalize",
        "tf.math tf.nn": "zero_fraction",
        "tf.nn": """
            batch_norm_with_global_normalization batch_normalization fused_batch_norm l2_loss moments
            normalize_moments sufficient_statistics weighted_moments""",
    }),
    ("graph.ops.nn.pooling", {
        "tf.nn": """
            avg_pool avg_pool3d dilation2d local_response_normalization lrn=local_response_normalization max_pool
            max_pool3d max_pool_with_argmax pool""",
    }),
    ("graph.ops.random.stateful", {
        "tf": "random_crop random_gamma random_normal random_poisson random_shuffle random_uniform",
        "tf tf.random": "get_seed multinomial set_random_seed truncated_normal",
        "tf.image": "random_crop",
        "tf.random": """
            gamma=random_gamma normal=random_normal poisson=random_poisson shuffle=random_shuffle
            uniform=random_uniform""",
    }),
    ("graph.ops.math.reductions", {
        "tf": "arg_max arg_min",
        "tf tf.math": """
            argmax argmin count_nonzero cumprod cumsum reduce_all reduce_any reduce_logsumexp reduce_max
            reduce_mean reduce_min reduce_prod reduce_sum""",
    }),
    ("graph.ops.indexing.segments", {
        "tf": "sparse_segment_mean sparse_segment_sqrt_n sparse_segment_sum",
        "tf tf.math": """
            accumulate_n add_n segment_max segment_mean segment_min segment_prod segment_sum unsorted_segment_max
            unsorted_segment_mean unsorted_segment_min unsorted_segment_prod unsorted_segment_sqrt_n
            unsorted_segment_sum""",
        "tf.sparse": """
            segment_mean=sparse_segment_mean segment_sqrt_n=sparse_segment_sqrt_n segment_sum=sparse_segment_sum""",
    }),
    ("graph.ops.indexing.slicing", {
        "tf": "newaxis strided_slice",
    }),
    ("graph.ops.array.padding", {
        "tf": "batch_to_space bitcast pad required_space_to_batch_paddings reverse_sequence",
        "tf tf.manip": "batch_to_space_nd space_to_batch_nd",
        "tf tf.nn": "depth_to_space space_to_batch space_to_depth",
    }),
    ("graph.ops.math.fourier", {
        "tf tf.spectral": "fft fft2d fft3d ifft ifft2d ifft3d",
        "tf.spectral": "dct idct irfft irfft2d irfft3d rfft rfft2d rfft3d",
    }),
    ("graph.ops.control.tensor_array", {
        "tf": "TensorArray",
    }),
    ("graph.variables.partitioned", {
        "tf": "fixed_size_partitioner min_max_variable_partitioner variable_axis_size_partitioner",
    }),
    ("graph.ir.default_graph", {
        "tf": """
            add_to_collection add_to_collections colocate_with container control_dependencies device get_collection
            get_collection_ref init_scope name_scope op_scope""",
    }),
    ("graph.runtime.sessions.session", {
        "tf": "InteractiveSession Session",
    }),
    ("graph.ir.shapes", {
        "tf": "Dimension TensorShape",
    }),
    ("graph.ir.context_stacks", {
        "tf": "get_default_session",
    }),
    ("graph.ir.types", {
        "tf": """
            bfloat16 bool=bool_ complex128 complex64 double=float64 float16 float32 float64 half=float16 int16
            int32 int64 int8 resource string uint16 uint32 uint64 uint8 variant""",
        "tf tf.dtypes": "DType as_dtype",
    }),
    ("graph.variables.variable_ops", {
        "tf": """
            all_variables assert_variables_initialized assign assign_add assign_sub count_up_to global_variables
            global_variables_initializer initialize_all_variables initialize_local_variables initialize_variables
            is_variable_initialized local_variables local_variables_initializer model_variables
            moving_average_variables report_uninitialized_variables scatter_add scatter_div scatter_max scatter_min
            scatter_mul scatter_nd_add scatter_nd_sub scatter_nd_update scatter_sub scatter_update
            trainable_variables variables_initializer""",
        "tf.initializers": """
            global_variables=global_variables_initializer local_variables=local_variables_initializer
            variables=variables_initializer""",
    }),
    ("graph.scopes.template", {"tf": "make_template"}),
    ("graph.scopes.variable_scope", {
        "tf": """
            VariableScope create_partitioned_variables get_local_variable get_variable get_variable_scope
            no_regularizer variable_op_scope variable_scope""",
    }),
    ("graph.scopes.variable_store", {
        "tf": "AUTO_REUSE",
        "tf.contrib.eager": "EagerVariableStore",
    }),
    ("graph.variables.variables", {
        "tf": "GraphKeys Variable VariableAggregation VariableSynchronization variable_creator_scope",
        "tf.contrib.eager": "Variable",
    }),
    ("towers.cluster.connection", {
        "tf.contrib.eager": "connect_to_remote_host=experimental_connect_to_host",
    }),
    ("towers.cluster.device_assignment", {
        "tf.contrib.tpu": "DeviceAssignment device_assignment",
    }),
    ("towers.cluster.cluster_resolvers", {
        "tf.contrib.cluster_resolver": "ClusterResolver SimpleClusterResolver UnionClusterResolver",
    }),
    ("towers.cluster.server", {
        "tf.train": "Server",
    }),
    ("towers.cluster.cluster_spec", {
        "tf.train": "ClusterSpec",
    }),
    ("towers.cluster.topology", {
        "tf.contrib.tpu": "Topology",
    }),
    ("towers.cluster.tpu_system", {
        "tf.contrib.cluster_resolver": "TPUClusterResolver=ContribTPUClusterResolver",
    }),
    ("towers.engine.tower_contexts", {
        "tf.contrib.distribute": """
            TowerContext UpdateContext get_loss_reduction has_distribution_strategy require_tower_context""",
    }),
    ("towers.contrib.current_strategy", {
        "tf.contrib.distribute": "get_cross_tower_context get_distribution_strategy get_tower_context",
    }),
    ("towers.contrib.step_objects", {
        "tf.contrib.distribute": "Monitor StandardInputStep StandardSingleLossStep Step",
    }),
    ("towers.contrib.distribution_strategy", {
        "tf.contrib.distribute": "DistributionStrategy",
    }),
    ("towers.contrib_late.strategies", {
        "tf.contrib.distribute": """
            CollectiveAllReduceStrategy MirroredStrategy OneDeviceStrategy ParameterServerStrategy TPUStrategy""",
    }),
)  # fmt: skip
"""A module, and for the public modules (one or more) that have them its names; ``public=own`` where they differ."""

LATER_ROWS: Rows = (
    *v1_era.LATER_ROWS,
    *v1_tpu.LATER_ROWS,
    *v1_images.LATER_ROWS,
    *v1_ragged.LATER_ROWS,
    *v1_saving.LATER_ROWS,
    *v1_summaries.LATER_ROWS,
    ("towers.distribute.strategy_extended", {
        "tf.distribute": "StrategyExtended=StrategyExtendedV1",
    }),
    ("towers.distribute.mirrored_strategy", {
        "tf.distribute": "MirroredStrategy=MirroredStrategyV1",
    }),
    ("towers.distribute.one_device_strategy", {
        "tf.distribute": "OneDeviceStrategy=OneDeviceStrategyV1",
    }),
    ("towers.distribute.strategy", {
        "tf.distribute": "Strategy=StrategyV1",
    }),
    ("towers.distribute.tpu_strategy", {
        "tf.distribute.experimental": "TPUStrategy=TPUStrategyV1",
    }),
    ("towers.distribute.reduce_op", {
        "tf.distribute": "get_loss_reduction",
    }),
)  # fmt: skip
"""Likewise, the names that 1.13 to 1.15 added and 2.x has otherwise or not at all."""

LATER: dict[str, str] = {
    "tf": """
        argsort dimension_at_index=tf.compat.dimension_at_index dimension_value=tf.compat.dimension_value function
        get_logger get_static_value grad_pass_through GradientTape IndexedSlicesSpec is_symbolic_tensor is_tensor
        Module no_gradient numpy_function OptionalSpec print py_function recompute_grad repeat sort switch_case
        tensor_scatter_add=tf.tensor_scatter_nd_add tensor_scatter_nd_add tensor_scatter_nd_sub
        tensor_scatter_nd_update tensor_scatter_sub=tf.tensor_scatter_nd_sub
        tensor_scatter_update=tf.tensor_scatter_nd_update TensorSpec type_spec_from_value TypeSpec
        UnconnectedGradients vectorized_map where_v2=tf.where""",
    "tf.autograph": "set_verbosity trace",
    "tf.autograph.experimental": "do_not_convert Feature set_loop_options",
    "tf.compat": "dimension_at_index dimension_value",
    "tf.config": """
        experimental_connect_to_cluster experimental_connect_to_host functions_run_eagerly
        get_logical_device_configuration get_soft_device_placement get_visible_devices
        list_logical_devices list_physical_devices LogicalDevice LogicalDeviceConfiguration PhysicalDevice
        run_functions_eagerly set_logical_device_configuration set_soft_device_placement set_visible_devices""",
    "tf.config.experimental": """
        enable_tensor_float_32_execution get_device_details get_device_policy get_memory_growth get_memory_info
        get_memory_usage get_synchronous_execution get_virtual_device_configuration get_visible_devices
        list_logical_devices list_physical_devices set_device_policy set_memory_growth set_synchronous_execution
        set_virtual_device_configuration set_visible_devices tensor_float_32_execution_enabled
        VirtualDeviceConfiguration""",
    "tf.config.optimizer": "get_experimental_options get_jit set_experimental_options set_jit",
    "tf.config.threading": """
        get_inter_op_parallelism_threads get_intra_op_parallelism_threads set_inter_op_parallelism_threads
        set_intra_op_parallelism_threads""",
    "tf.data": "DatasetSpec ThreadingOptions",
    "tf.data.experimental": """
        assert_cardinality AutoShardPolicy AutotuneAlgorithm AutotuneOptions cardinality
        DatasetStructure=tf.data.DatasetSpec DistributeOptions ExternalStatePolicy from_list get_next_as_optional
        get_structure OptimizationOptions Optional OptionalStructure=tf.OptionalSpec take_while ThreadingOptions""",
    "tf.debugging": "assert_shapes get_log_device_placement set_log_device_placement",
    "tf.distribute": """
        experimental_set_strategy get_replica_context get_strategy has_strategy in_cross_replica_context InputContext
        InputReplicationMode ReduceOp ReplicaContext RunOptions""",
    "tf.distribute.cluster_resolver": """
        ClusterResolver SimpleClusterResolver TFConfigClusterResolver TPUClusterResolver UnionResolver""",
    "tf.distribute.experimental": """
        CollectiveCommunication CollectiveHints CommunicationImplementation CommunicationOptions""",
    "tf.dtypes": """
        bfloat16 bool complex128 complex64 double float16 float32 float64 half int16 int32 int64 int8 resource string
        uint16 uint32 uint64 uint8 variant""",
    "tf.experimental": "Optional",
    "tf.io.gfile": "copy exists GFile glob isdir join listdir makedirs mkdir remove rename rmtree stat walk",
    "tf.linalg": "matrix_transpose matvec normalize",
    "tf.lookup": "KeyValueTensorInitializer StaticHashTable StaticVocabularyTable TextFileIndex TextFileInitializer",
    "tf.lookup.experimental": "DenseHashTable MutableHashTable",
    "tf.math": """
        cumulative_logsumexp divide_no_nan erfcinv erfinv floormod is_finite is_inf is_nan is_non_decreasing
        is_strictly_increasing mod multiply_no_nan ndtri reciprocal_no_nan reduce_euclidean_norm reduce_std
        reduce_variance xlog1py""",
    "tf.math.special": "bessel_i0 bessel_i0e bessel_i1 bessel_i1e",
    "tf.nest": "assert_same_structure flatten is_nested map_structure pack_sequence_as",
    "tf.nn": """
        avg_pool1d avg_pool_v2=tf.nn.avg_pool compute_average_loss conv1d_transpose conv_transpose
        depthwise_conv2d_backprop_filter depthwise_conv2d_backprop_input max_pool1d max_pool2d
        max_pool_v2=tf.nn.max_pool scale_regularization_loss silu""",
    "tf.random": """
        Algorithm categorical create_rng_state fold_in Generator get_global_generator set_global_generator split
        stateless_binomial stateless_categorical stateless_gamma stateless_normal
        stateless_parameterized_truncated_normal stateless_poisson stateless_truncated_normal stateless_uniform""",
    "tf.random.experimental": """
        Algorithm create_rng_state Generator get_global_generator set_global_generator stateless_fold_in
        stateless_shuffle stateless_split""",
    "tf.signal": "dct fft fft2d fft3d idct ifft ifft2d ifft3d irfft irfft2d irfft3d rfft rfft2d rfft3d",
    "tf.strings": "as_string lower unsorted_segment_join upper",
    "tf.test": "benchmark_config is_built_with_gpu_support",
    "tf.tpu.experimental": """
        DeviceAssignment DeviceOrderMode initialize_tpu_system shutdown_tpu_system Topology TPUSystemMetadata""",
}
"""What 1.13 to 1.15 added: by public module, names whose objects are those of 2.x; ``public=tf.name`` where that has
another name there."""
