"""The public names of the 2.x namespace: which object each one is. Data.

A name whose arguments are those of 1.x is the object of 1.x (``KEPT``). Where they differ, there is a function in
``towerstrat.compat.v2_functions`` that takes those of 2.x and calls the same implementation.
"""

from __future__ import annotations

from towerstrat.compat.names import (
    v1_estimator,
    v1_keras_datasets,
    v1_ragged,
    v2_images,
    v2_internal,
    v2_records,
    v2_saving,
    v2_sparse,
    v2_summaries,
)
from towerstrat.compat.names.lazy_names import Rows

VERSION = "2.15.1"

KEPT: dict[str, str] = {
    "tf": """
        abs acos acosh add add_n as_dtype as_string asin asinh Assert atan atan2 atanh bfloat16 bitcast bool
        broadcast_dynamic_shape broadcast_static_shape broadcast_to case cast complex
        complex128 complex64 concat control_dependencies cos cosh cumsum custom_gradient divide double DType
        edit_distance
        dynamic_partition dynamic_stitch einsum ensure_shape equal executing_eagerly exp eye float16 float32 float64
        floor foldl foldr Graph greater greater_equal group guarantee_const half histogram_fixed_width
        histogram_fixed_width_bins identity identity_n IndexedSlices init_scope int16 int32 int64 int8 less less_equal
        logical_and logical_not logical_or make_ndarray maximum meshgrid minimum multiply negative
        newaxis no_gradient=tf.NoGradient no_op not_equal one_hot Operation parallel_stack pow range rank realdiv
        register_tensor_conversion_function RegisterGradient required_space_to_batch_paddings reshape resource reverse
        round saturate_cast scan scatter_nd searchsorted sequence_mask shape_n sigmoid sign sin sinh slice
        space_to_batch_nd SparseTensor split sqrt square stack stop_gradient strided_slice string subtract tan tanh
        Tensor TensorArray tensordot TensorShape tile truediv truncatediv truncatemod uint16 uint32 uint64 uint8
        unique unique_with_counts unravel_index unstack variable_creator_scope VariableAggregation
        VariableSynchronization variant""",
    "tf.bitwise": "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift",
    "tf.compat": """
        as_bytes as_str as_text bytes_or_text_types complex_types forward_compatible integral_types path_to_str
        real_types""",
    "tf.data.experimental": """
        copy_to_device dense_to_sparse_batch enumerate_dataset get_single_element group_by_window map_and_batch
        parallel_interleave prefetch_to_device scan shuffle_and_repeat unbatch unique""",
    "tf.debugging": """
        Assert assert_integer assert_proper_iterable assert_same_float_dtype assert_type check_numerics
        is_numeric_tensor""",
    "tf.dtypes": """
        as_dtype bfloat16=tf.bfloat16 bool=tf.bool cast complex complex128=tf.complex128 complex64=tf.complex64
        double=tf.float64 DType float16=tf.float16 float32=tf.float32 float64=tf.float64 half=tf.float16 int16=tf.int16
        int32=tf.int32 int64=tf.int64 int8=tf.int8 resource=tf.resource saturate_cast string=tf.string
        uint16=tf.uint16 uint32=tf.uint32 uint64=tf.uint64 uint8=tf.uint8 variant=tf.variant""",
    "tf.errors": """
        AbortedError AlreadyExistsError CancelledError DataLossError DeadlineExceededError FailedPreconditionError
        InternalError InvalidArgumentError NotFoundError OpError OutOfRangeError PermissionDeniedError
        ResourceExhaustedError UnauthenticatedError UnavailableError UnimplementedError UnknownError""",
    "tf.linalg": """
        adjoint band_part cholesky cholesky_solve cross det eigh eigvalsh einsum expm eye global_norm inv l2_normalize
        logdet lstsq matrix_transpose=tf.matrix_transpose qr slogdet solve svd tensor_diag tensor_diag_part tensordot
        trace triangular_solve""",
    "tf.math": """
        abs accumulate_n acos acosh add add_n asin asinh atan atan2 atanh bessel_i0 bessel_i0e bessel_i1
        bessel_i1e betainc ceil conj cos cosh cumprod cumsum digamma divide divide_no_nan=tf.div_no_nan equal erf erfc
        exp expm1 floor floordiv floormod=tf.floormod greater greater_equal igamma igammac imag invert_permutation
        is_finite=tf.is_finite is_inf=tf.is_inf is_nan=tf.is_nan is_non_decreasing=tf.is_non_decreasing
        is_strictly_increasing=tf.is_strictly_increasing l2_normalize lbeta less less_equal lgamma log log1p
        log_sigmoid logical_and logical_not logical_or logical_xor maximum minimum mod=tf.floormod multiply negative
        not_equal polygamma polyval pow real reciprocal rint round rsqrt segment_max segment_mean segment_min
        segment_prod segment_sum sigmoid sign sin sinh softplus softsign sqrt square squared_difference subtract tan
        tanh truediv unsorted_segment_max unsorted_segment_mean unsorted_segment_min unsorted_segment_prod
        unsorted_segment_sqrt_n unsorted_segment_sum xdivy xlogy zero_fraction zeta""",
    "tf.math.special": """
        bessel_i0=tf.math.bessel_i0 bessel_i0e=tf.math.bessel_i0e bessel_i1=tf.math.bessel_i1
        bessel_i1e=tf.math.bessel_i1e""",
    "tf.nn": """
        atrous_conv2d atrous_conv2d_transpose avg_pool3d batch_normalization bias_add
        depthwise_conv2d_backprop_filter=tf.nn.depthwise_conv2d_native_backprop_filter
        depthwise_conv2d_backprop_input=tf.nn.depthwise_conv2d_native_backprop_input elu l2_loss l2_normalize
        leaky_relu local_response_normalization log_poisson_loss lrn max_pool3d normalize_moments relu relu6 selu
        sigmoid softplus softsign tanh zero_fraction""",
    "tf.random": "gamma normal shuffle truncated_normal uniform",
    "tf.signal": """
        dct=tf.spectral.dct fft2d=tf.fft2d fft3d=tf.fft3d fft=tf.fft idct=tf.spectral.idct ifft2d=tf.ifft2d
        ifft3d=tf.ifft3d ifft=tf.ifft irfft2d=tf.spectral.irfft2d irfft3d=tf.spectral.irfft3d irfft=tf.spectral.irfft
        rfft2d=tf.spectral.rfft2d rfft3d=tf.spectral.rfft3d rfft=tf.spectral.rfft""",
    "tf.test": "Benchmark gpu_device_name is_built_with_cuda is_gpu_available main TestCase",
    "tf.io": """
        decode_base64 decode_compressed decode_json_example encode_base64 FixedLenFeature FixedLenSequenceFeature
        parse_sequence_example parse_single_sequence_example parse_tensor SparseFeature TFRecordOptions TFRecordWriter
        VarLenFeature match_filenames_once=tf.train.match_filenames_once matching_files=tf.matching_files read_file
        write_file""",
    "tf.lookup": "KeyValueTensorInitializer=tf.contrib.lookup.KeyValueTensorInitializer",
    "tf.sparse": v2_sparse.KEPT,
    "tf.strings": """
        as_string=tf.as_string format join regex_full_match regex_replace strip to_hash_bucket_fast
        to_hash_bucket_strong unicode_script""",
    "tf.sets": """
        difference=tf.sets.set_difference intersection=tf.sets.set_intersection size=tf.sets.set_size
        union=tf.sets.set_union""",
    "tf.queue": "FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue",
    "tf.train": """
        BytesList ClusterDef ClusterSpec Coordinator Example ExponentialMovingAverage Feature FeatureList FeatureLists
        Features FloatList Int64List JobDef SequenceExample ServerDef checkpoints_iterator get_checkpoint_state
        latest_checkpoint list_variables load_checkpoint load_variable""",
}
"""By public module, the names whose objects are those of 1.x; ``public=tf.name`` where that has another name there."""

ROWS: Rows = (
    *v1_estimator.V2_ROWS,
    *v2_records.ROWS,
    *v2_images.ROWS,
    *v2_internal.ROWS,
    *v1_keras_datasets.ROWS,
    *v1_ragged.ROWS,
    *v2_saving.ROWS,
    *v2_sparse.ROWS,
    *v2_summaries.ROWS,
    ("compat.v1_functions.benchmark", {
        "tf.test": "benchmark_config",
    }),
    ("compat.v2_functions.tensor_queries", {"tf": "make_tensor_proto"}),
    ("errors", {
        "tf.errors": "OperatorNotAllowedInGraphError",
    }),
    ("compat.v2_functions.arrays", {
        "tf": """
            batch_to_space boolean_mask constant convert_to_tensor device expand_dims fill linspace name_scope ones
            ones_like pad reverse_sequence roll shape size space_to_batch squeeze transpose tuple zeros zeros_like""",
        "tf.linalg": "diag diag_part set_diag",
        "tf.nn": "depth_to_space space_to_batch space_to_depth",
    }),
    ("compat.v2_functions.assertions", {
        "tf tf.debugging": "assert_equal assert_greater assert_less assert_rank",
        "tf.debugging": """
            assert_all_finite assert_greater_equal assert_less_equal assert_near assert_negative assert_non_negative
            assert_non_positive assert_none_equal assert_positive assert_rank_at_least assert_rank_in assert_scalar
            assert_shapes""",
    }),
    ("compat.v2_functions.gfile", {
        "tf.io.gfile": """
            copy exists get_registered_schemes glob isdir join listdir makedirs mkdir remove rename rmtree stat walk""",
    }),
    ("compat.v2_functions.control_flow", {
        "tf": """
            cond gradients=gradients_ hessians map_fn while_loop""",
    }),
    ("compat.v2_functions.initializers", {
        "tf": """
            constant_initializer=ConstantInPlace ones_initializer=Ones random_normal_initializer=RandomNormal
            random_uniform_initializer=RandomUniform zeros_initializer=Zeros""",
        "tf.initializers": """
            Constant constant=Constant GlorotNormal glorot_normal=GlorotNormal GlorotUniform
            glorot_uniform=GlorotUniform HeNormal he_normal=HeNormal HeUniform he_uniform=HeUniform Identity
            identity=Identity Initializer=Later LecunNormal lecun_normal=LecunNormal LecunUniform
            lecun_uniform=LecunUniform Ones ones=Ones Orthogonal orthogonal=Orthogonal RandomNormal
            random_normal=RandomNormal RandomUniform random_uniform=RandomUniform TruncatedNormal
            truncated_normal=TruncatedNormal VarianceScaling variance_scaling=VarianceScaling Zeros zeros=Zeros""",
    }),
    ("compat.v2_functions.math", {
        "tf tf.linalg": "matmul norm",
        "tf tf.math": """
            argmax argmin reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod
            reduce_sum scalar_mul""",
        "tf.math": "angle confusion_matrix count_nonzero",
        "tf.math tf.nn": "in_top_k top_k",
        "tf.random": "poisson",
        "tf.sparse": "segment_mean segment_sqrt_n segment_sum",
    }),
    ("compat.v2_functions.nn", {
        "tf.math tf.nn": "log_softmax softmax",
        "tf.nn": """
            avg_pool1d avg_pool2d batch_norm_with_global_normalization conv1d conv1d_transpose conv2d conv2d_transpose
            conv3d conv3d_transpose conv_transpose convolution=convolution_ crelu depthwise_conv2d dilation2d dropout
            embedding_lookup embedding_lookup_sparse max_pool1d max_pool2d max_pool_with_argmax moments pool
            separable_conv2d
            sigmoid_cross_entropy_with_logits softmax_cross_entropy_with_logits
            sparse_softmax_cross_entropy_with_logits sufficient_statistics weighted_cross_entropy_with_logits
            weighted_moments""",
    }),
    ("compat.v2_functions.strings", {
        "tf.lookup.experimental": "DenseHashTable MutableHashTable",
        "tf.strings": "length reduce_join substr to_hash_bucket to_number",
    }),
    ("compat.v2_functions.tensor_queries", {
        "tf": "get_current_name_scope get_static_value inside_function is_symbolic_tensor",
        "tf.compat": "as_str_any dimension_at_index dimension_value",
        "tf.test": "is_built_with_gpu_support",
    }),
    ("data.api.dataset", {
        "tf.data": "Dataset DatasetSpec",
        "tf.data tf.data.experimental": "AUTOTUNE INFINITE_CARDINALITY UNKNOWN_CARDINALITY",
    }),
    ("data.api.transforms_v2", {
        "tf.data.experimental": """
            Counter RandomDataset assert_cardinality at bucket_by_sequence_length cardinality choose_from_datasets
            from_list from_variant get_next_as_optional get_structure ignore_errors load
            pad_to_cardinality sample_from_datasets save SHARD_HINT snapshot take_while to_variant""",
    }),
    ("data.elements.optional", {
        "tf": "OptionalSpec",
        "tf.data.experimental tf.experimental": "Optional",
    }),
    ("data.elements.options", {
        "tf.data": "Options",
        "tf.data tf.data.experimental": "ThreadingOptions",
        "tf.data.experimental": """
            AutoShardPolicy AutotuneAlgorithm AutotuneOptions DistributeOptions ExternalStatePolicy
            OptimizationOptions""",
    }),
    ("data.iterators.python_iterators", {
        "tf.data": "Iterator=IteratorBase IteratorSpec NumpyIterator",
    }),
    ("data.readers.text_and_record_datasets", {
        "tf.data": "FixedLengthRecordDataset TFRecordDataset TextLineDataset",
    }),
    ("graph.ir.tensor_conversion", {
        "tf": "is_tensor",
    }),
    ("graph.ir.type_specs", {
        "tf": "IndexedSlicesSpec TensorSpec TypeSpec type_spec_from_value",
    }),
    ("graph.ir.nest_v2", {
        "tf.nest": "assert_same_structure flatten is_nested map_structure pack_sequence_as",
    }),
    ("graph.autograph.api", {
        "tf.autograph": "set_verbosity to_code to_graph trace",
        "tf.autograph.experimental": "Feature do_not_convert set_loop_options",
    }),
    ("graph.functions.eagerly", {
        "tf.config": "functions_run_eagerly run_functions_eagerly",
    }),
    ("graph.tapes.custom_gradients", {
        "tf": "grad_pass_through recompute_grad",
    }),
    ("graph.tapes.vectorized", {
        "tf": "vectorized_map",
    }),
    ("graph.ops.control.branches", {
        "tf": "switch_case",
    }),
    ("graph.tapes.gradient_tape", {
        "tf": "UnconnectedGradients",
        "tf tf.autodiff": "GradientTape",
    }),
    ("graph.functions.polymorphic", {
        "tf": "function",
    }),
    ("graph.scopes.generator", {
        "tf.random tf.random.experimental": "Generator create_rng_state get_global_generator set_global_generator",
    }),
    ("graph.scopes.module", {
        "tf": "Module",
    }),
    ("graph.variables.variables", {
        "tf": "Variable=VariableV2",
    }),
    ("graph.ops.nn.activations", {
        "tf.nn": "gelu silu swish=silu",
    }),
    ("graph.ops.array.arrays", {
        "tf": "repeat where=where_v2",
    }),
    ("graph.ops.host.python_calls", {
        "tf": "numpy_function print=print_v2",
    }),
    ("graph.tapes.py_function", {
        "tf": "py_function",
    }),
    ("graph.ops.nn.clipping", {
        "tf": """
            clip_by_global_norm=clip_by_global_norm_v2 clip_by_norm=clip_by_norm_v2
            clip_by_value=clip_by_value_v2""",
    }),
    ("graph.ops.indexing.gather_scatter", {
        "tf": """
            gather=gather_v2 gather_nd=gather_nd_v2 tensor_scatter_nd_add tensor_scatter_nd_sub
            tensor_scatter_nd_update""",
    }),
    ("graph.ops.linalg.products", {
        "tf.linalg": "matvec",
    }),
    ("graph.ops.math.arithmetic", {
        "tf.math": "erfcinv erfinv multiply_no_nan ndtri reciprocal_no_nan xlog1py",
    }),
    ("graph.ops.linalg.decompositions", {
        "tf.linalg": "normalize",
    }),
    ("graph.ops.nn.pooling", {
        "tf.nn": "avg_pool=avg_pool_v2 max_pool=max_pool_v2",
    }),
    ("graph.ops.random.stateful", {
        "tf.image": "random_crop",
        "tf.random": "categorical set_seed=set_random_seed",
    }),
    ("graph.ops.math.reductions", {
        "tf.math": "cumulative_logsumexp reduce_euclidean_norm reduce_std reduce_variance",
    }),
    ("graph.ops.indexing.sorting", {
        "tf": "argsort sort",
    }),
    ("graph.ops.tables.table_classes", {
        "tf.lookup": "StaticHashTable TextFileIndex TextFileInitializer",
    }),
    ("graph.ops.ragged.string_rows", {
        "tf.strings": "split=string_split",
    }),
    ("graph.ops.text.strings", {
        "tf.io": "decode_raw=decode_raw_v2",
        "tf.strings": "lower=string_lower unsorted_segment_join upper=string_upper",
    }),
    ("graph.ops.tables.vocabulary_tables", {
        "tf.lookup": "StaticVocabularyTable",
    }),
    ("graph.ops.random.stateless", {
        "tf.random": """
            fold_in split stateless_binomial stateless_categorical stateless_gamma stateless_normal
            stateless_parameterized_truncated_normal stateless_poisson stateless_truncated_normal stateless_uniform""",
        "tf.random tf.random.experimental": "Algorithm",
        "tf.random.experimental": "stateless_fold_in=fold_in stateless_shuffle stateless_split=split",
    }),
    ("platform.config", {
        "tf.config": """
            LogicalDevice LogicalDeviceConfiguration PhysicalDevice get_logical_device_configuration
            get_soft_device_placement get_visible_devices list_logical_devices list_physical_devices
            set_logical_device_configuration set_soft_device_placement set_visible_devices""",
        "tf.config.experimental": """
            VirtualDeviceConfiguration=LogicalDeviceConfiguration enable_op_determinism
            enable_tensor_float_32_execution get_device_details get_device_policy get_memory_growth get_memory_info
            get_memory_usage get_synchronous_execution
            get_virtual_device_configuration=get_logical_device_configuration get_visible_devices list_logical_devices
            list_physical_devices set_device_policy set_memory_growth set_synchronous_execution
            set_virtual_device_configuration=set_logical_device_configuration set_visible_devices
            tensor_float_32_execution_enabled""",
        "tf.config.optimizer": "get_experimental_options get_jit set_experimental_options set_jit",
        "tf.config.threading": """
            get_inter_op_parallelism_threads get_intra_op_parallelism_threads set_inter_op_parallelism_threads
            set_intra_op_parallelism_threads""",
        "tf.debugging": "get_log_device_placement set_log_device_placement",
    }),
    ("platform.files", {
        "tf.io.gfile": "GFile",
    }),
    ("platform.logs", {
        "tf": "get_logger",
    }),
    ("towers.cluster.connection", {
        "tf.config": "experimental_connect_to_cluster experimental_connect_to_host",
    }),
    ("towers.cluster.device_assignment", {
        "tf.tpu.experimental": "DeviceAssignment DeviceOrderMode",
    }),
    ("towers.cluster.cluster_resolvers", {
        "tf.distribute.cluster_resolver": """
            ClusterResolver SimpleClusterResolver TFConfigClusterResolver UnionResolver=UnionClusterResolver""",
    }),
    ("towers.cluster.topology", {
        "tf.tpu.experimental": "Topology",
    }),
    ("towers.cluster.tpu_system", {
        "tf.distribute.cluster_resolver": "TPUClusterResolver",
        "tf.tpu.experimental": "TPUSystemMetadata initialize_tpu_system shutdown_tpu_system",
    }),
    ("towers.distribute.replica_context", {
        "tf.distribute": "ReplicaContext",
    }),
    ("towers.distribute.current_strategy", {
        "tf.distribute": """
            experimental_set_strategy get_replica_context get_strategy has_strategy in_cross_replica_context""",
    }),
    ("towers.distribute.distributed_dataset", {
        "tf.distribute": "DistributedDataset DistributedIterator",
    }),
    ("towers.distribute.strategy_extended", {
        "tf.distribute": "StrategyExtended",
    }),
    ("towers.distribute.input_distribution", {
        "tf.distribute": "InputContext InputOptions InputReplicationMode",
        "tf.distribute.experimental": "ValueContext",
    }),
    ("towers.distribute.central_storage_strategy", {
        "tf.distribute.experimental": "CentralStorageStrategy",
    }),
    ("towers.distribute.multi_worker_strategy", {
        "tf.distribute": "MultiWorkerMirroredStrategy",
        "tf.distribute.experimental": "MultiWorkerMirroredStrategy=ExperimentalMultiWorkerMirroredStrategy",
    }),
    ("towers.distribute.mirrored_strategy", {
        "tf.distribute": "MirroredStrategy",
    }),
    ("towers.distribute.one_device_strategy", {
        "tf.distribute": "OneDeviceStrategy",
    }),
    ("towers.distribute.communication_options", {
        "tf.distribute": "RunOptions",
        "tf.distribute.experimental": """
            CollectiveCommunication=CommunicationImplementation CollectiveHints CommunicationImplementation
            CommunicationOptions""",
    }),
    ("towers.distribute.reduce_op", {
        "tf.distribute": "ReduceOp",
    }),
    ("towers.distribute.strategy", {
        "tf.distribute": "Strategy",
    }),
    ("towers.distribute.tpu_strategy", {
        "tf.distribute": "TPUStrategy",
        "tf.distribute.experimental": "TPUStrategy=ExperimentalTPUStrategy",
    }),
    ("towers.distribute.cross_device_ops", {
        "tf.distribute": "CrossDeviceOps HierarchicalCopyAllReduce NcclAllReduce ReductionToOneDevice",
    }),
    ("towers.engine.distributed_values", {
        "tf.distribute": "DistributedValues",
    }),
    ("models.replica_losses", {
        "tf.nn": "compute_average_loss scale_regularization_loss",
    }),
)  # fmt: skip
"""A module, and for the public modules (one or more) that have them its names; ``public=own`` where they differ."""
