"""What is exported takes the arguments of the originals: names, order and defaults.

The golden files are written by ``scripts/original_api.py``.
"""

import inspect
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from towerstrat.compat.names import public_names as table
from towerstrat.data.api.dataset_v1 import DatasetV1
from towerstrat.data.elements.options import _Settings
from towerstrat.graph.variables.variables import Variable, _by_name
from towerstrat.models.layers import Layer

GOLDEN = Path(__file__).parents[2] / "golden"

LATER_RESOLVER = "the class of 2.x, which takes more"
READER = "the class of the reader is ours"
RELATIVE = "save_relative_paths is of the function inside that Keras calls"
_ERRORS = (
    "AbortedError", "AlreadyExistsError", "CancelledError", "DataLossError", "DeadlineExceededError",
    "FailedPreconditionError", "InternalError", "InvalidArgumentError", "NotFoundError", "OutOfRangeError",
    "PermissionDeniedError", "ResourceExhaustedError", "UnauthenticatedError", "UnavailableError",
    "UnimplementedError")  # fmt: skip
_OPTIMIZERS_V2 = ("Adadelta", "Adagrad", "Adam", "GradientDescent", "Momentum", "RMSProp")
DEVIATIONS = {
    **{f"tf.contrib.optimizer_v2.{name}.{member}": "scale_loss_by_num_replicas came with 1.13"
       for name in (*(f"{name}Optimizer" for name in _OPTIMIZERS_V2), "OptimizerV2")
       for member in ("compute_gradients", "minimize")},
    **{f"tf.errors.{name}": "more arguments came with 2.x" for name in _ERRORS},
    "tf.DType": "programs take the types that are there",
    "tf.dtypes.DType": "programs take the types that are there",
    "tf.Operation": "Graph.add makes operations",
    "tf.Tensor": "operations make tensors, with their static shape",
    "tf.Variable": "calls go through the creators in scope (see test_variables_take_the_same_arguments)",
    **{f"tf.contrib.eager.{name}": "tf.Variable as it is everywhere" for name in (
        "Variable", "Variable.assign", "Variable.assign_add", "Variable.assign_sub")},
    "tf.contrib.eager.py_func": "arguments got their defaults later",
    "tf.contrib.data.make_batched_features_dataset": READER,
    "tf.contrib.data.read_batch_features": READER,
    "tf.data.experimental.make_batched_features_dataset": READER,
    "tf.contrib.data.RandomDataset": "a function that returns a Dataset",
    "tf.data.experimental.RandomDataset": "a function that returns a Dataset",
    **{f"tf.contrib.cluster_resolver.{name}": LATER_RESOLVER for name in (
        "ClusterResolver.master", "SimpleClusterResolver.master", "TPUClusterResolver.master",
        "UnionClusterResolver", "UnionClusterResolver.master")},
    "tf.nn.fused_batch_norm": "exponential_avg_factor came with 1.15",
    "tf.train.update_checkpoint_state": RELATIVE,
    **{f"tf.contrib.distribute.{name}": "those of 1.13 to 1.15 too" for name in ("MirroredStrategy", "TPUStrategy")},
    **{f"tf.contrib.distribute.{name}.reduce": "reduce(reduce_op, value, axis) of 1.13 to 1.15 too" for name in (
        "CollectiveAllReduceStrategy", "MirroredStrategy", "OneDeviceStrategy", "ParameterServerStrategy",
        "TPUStrategy")},
    "tf.contrib.distribute.ReductionToOneDeviceCrossTowerOps": "accumulation_fn=None is add_n, as later",
    "tf.contrib.seq2seq.sequence_loss": "sum_over_timesteps and sum_over_batch came with 1.15",
    "tf.contrib.tpu.bfloat16_scope": "name came with 2.x",
    "tf.contrib.framework.nest.map_structure": "its one keyword by name",
    "tf.contrib.rnn.GRUBlockCell.call": "the state is called as in GRUCell",
    "tf.contrib.rnn.GRUBlockCellV2.call": "the state is called as in GRUCell",
    "tf.contrib.rnn.LSTMBlockCell.build": "the shape is called as in LSTMCell",
    **{f"tf.{name}CheckpointSaverHook": "save_graph_def came with 2.x" for name in ("train.", "contrib.tpu.Async")},
    "tf.train.export_meta_graph": "what it does not know is refused",
    "tf.train.MonitoredTrainingSession": "save_graph_def came with 2.x",
    "tf.train.Scaffold": "local_init_feed_dict came with 2.x",
    "tf.train.SessionManager": "local_init_feed_dict came with 2.x",
    "tf.train.MonitoredSession.StepContext": "a class, which the list shows as a method",
    "tf.train.SingularMonitoredSession.StepContext": "a class, which the list shows as a method",
    "tf.contrib.opt.MovingAverageOptimizer.get_slot": "passed on to the optimizer inside",
    "tf.contrib.opt.MovingAverageOptimizer.get_slot_names": "passed on to the optimizer inside",
    "tf.contrib.lookup.InitializableLookupTableBase": "HashTable makes tables, of no reference",
    "tf.contrib.lookup.TextFileInitializer": "value_index_offset came with 2.x",
    "tf.data.Dataset": "the constructors are its class methods",
    "tf.contrib.summary.SummaryWriter": "create_file_writer makes them",
    **{f"tf.contrib.summary.SummaryWriter.{name}": "step came with 2.x" for name in ("as_default", "set_as_default")},
    "tf.image.ssim": "those of 1.13 to 2.x too",
    "tf.layers.Layer.call": "a layer may take more than one positional argument",
    **dict.fromkeys(("tf.linalg.diag", "tf.linalg.diag_part", "tf.linalg.set_diag", "tf.matrix_diag",
                     "tf.matrix_diag_part", "tf.matrix_set_diag"), "operations are called as in 1.12"),
    "tf.nn.max_pool_with_argmax": "what came later is behind what 1.12 has",
    "tf.contrib.data.bucket_by_sequence_length": "tf.data.experimental's, with drop_remainder",
    "tf.contrib.data.make_csv_dataset": "tf.data.experimental's, with ignore_errors",
    "tf.contrib.checkpoint.split_dependency": "1.15's device, which no place needs",
    "tf.contrib.distribute.CollectiveAllReduceStrategy": "the default is ours",
    "tf.contrib.lookup.MutableDenseHashTable": "deleted_key is behind what 1.12 has",
    "tf.contrib.rnn.LSTMBlockCell": "dtype is behind what 1.12 has",
}  # fmt: skip
"""A name, or a name and a member, whose arguments differ, and why."""

CROSS = ("CrossDeviceOps", "NcclAllReduce", "HierarchicalCopyAllReduce", "ReductionToOneDevice")
ERRORS = "payloads of the original's runtime, which nothing here has"
SETS = "the arguments of 1.x"
DEVIATIONS_V2 = {
    **{name: why for name, why in DEVIATIONS.items() if name in {"tf.DType", "tf.dtypes.DType"}},
    **{f"tf.errors.{name}": ERRORS for name in ("OpError", "UnknownError")},
    **{f"tf.{version}distribute.{name}.{member}": "1.13 to 2.0 had no options" for version in ("", "compat.v1.")
       for name in CROSS for member in ("batch_reduce_implementation", "reduce_implementation")},
    "tf.custom_gradient": SETS,
    **{f"tf.{name}RaggedTensor": "its class methods make it" for name in ("", "compat.v1.")},
    **{f"tf.{name}_initializer.__call__": "dtype=None is float32, as the other initializers have it"
       for name in ("ones", "zeros", "random_normal", "random_uniform")},
    "tf.compat.v1.train.update_checkpoint_state": RELATIVE,
    "tf.test.Benchmark": "it is made as any object",
    "tf.compat.v1.tpu.initialize_system": "chips are closed by nobody",
    **{f"tf.compat.v1.tpu.{name}": "those of 1.15" for name in ("batch_parallel", "replicate", "rewrite", "shard")},
    "tf.test.TestCase.assertRaisesIncompatibleShapesError": "its default is the class, which is shown by its module",
    **{f"tf.test.TestCase.{name}": SETS
       for name in ("assertNotAllClose", "assertProtoEquals", "assertProtoEqualsVersion", "assertShapeEqual",
                    "cached_session", "session", "test_session")},
}  # fmt: skip
"""The same for 2.x."""

NO_PROTO = "there are no protocol buffers of graphs"
IS_ALIVE = "Python's threads have is_alive alone since 3.9"
NO_NODES = "layers keep no record of their calls"
NO_HANDLE = "operations know their table"
MISSING = {
    "tf.Graph.create_op": "functions make operations",
    "tf.Graph.switch_to_thread_local": "default graphs are per thread",
    "tf.Operation.traceback_with_start_lines": "traceback has the program's line",
    "tf.TensorShape.as_proto": NO_PROTO,
    "tf.Variable.SaveSliceInfo": "made by partitioned variables",
    "tf.contrib.eager.TensorSpec.is_bounded": "a TensorSpec has no bounds",
    "tf.contrib.eager.TensorSpec.is_continuous": "dtype.is_floating says it",
    "tf.contrib.eager.TensorSpec.is_discrete": "dtype.is_integer says it",
    **{f"tf.contrib.eager.Variable.{member}": "tf.Variable as it is everywhere" for member in (
        "SaveSliceInfo", "create", "numpy")},
    **{f"tf.contrib.lookup.{table}.table_ref": NO_HANDLE for table in (
        "HashTable", "IdTableWithHashBuckets", "InitializableLookupTableBase")},
    "tf.train.LooperThread.isAlive": IS_ALIVE,
    **{f"Layer.{member}": NO_NODES for member in (
        "get_input_at", "get_input_mask_at", "get_input_shape_at", "get_output_at", "get_output_mask_at",
        "get_output_shape_at", "inbound_nodes", "input", "input_mask", "input_shape", "outbound_nodes", "output",
        "output_mask", "output_shape")},
}  # fmt: skip
"""Members of exported classes that are not there, and why; those of every layer under ``Layer``."""

TYPES = "an element type is no type of values for tracing"
MISSING_V2 = {
    **{name: why for name, why in MISSING.items()
       if name.startswith(("tf.Graph", "tf.train.", "tf.TensorShape")) and why is not IS_ALIVE},
    **{f"{name}.{member}": TYPES for name in ("tf.DType", "tf.dtypes.DType", "tf.TensorShape")
       for member in ("is_subtype_of", "most_specific_common_supertype")},
    **{f"tf.Graph.{member}": "the original's C++ graph" for member in (
        "Dismantle", "get", "new_operations", "num_operations", "op_def_for_type")},
    **{f"tf.lookup.{table}.resource_handle": NO_HANDLE for table in (
        "StaticHashTable", "StaticVocabularyTable", "experimental.DenseHashTable", "experimental.MutableHashTable")},
    **dict.fromkeys(("tf.SparseTensor.set_shape", "tf.sparse.SparseTensor.set_shape"), "dense_shape says it"),
    "tf.OptionalSpec.from_value": "tf.type_spec_from_value is there",
    "tf.data.experimental.OptionalStructure.from_value": "tf.type_spec_from_value is there",
    "tf.RaggedTensorSpec.flat_values_spec": "flat values are tensors",
    "tf.data.NumpyIterator.restore": "start the iteration anew",
    "tf.data.NumpyIterator.save": "start the iteration anew",
    "tf.Operation.experimental_set_type": NO_PROTO,
    "tf.Operation.from_node_def": NO_PROTO,
    **dict.fromkeys((
        "tf.IndexedSlices.consumers", "tf.IndexedSlices.shape",
    ), "1.12 has none of them"),
    **dict.fromkeys((
        "tf.Variable.SaveSliceInfo", "tf.Variable.batch_scatter_update",
    ), "assign what tf.tensor_scatter_nd_update and its kin compute"),
    **{f"tf.errors.{name}.experimental_payloads": ERRORS for name in (*_ERRORS, "OpError", "UnknownError")},
}  # fmt: skip
"""The same for 2.x."""


DEVIATIONS_BETWEEN = {
    "tf.contrib.distribute.ReplicaContext.all_reduce": "options came with 2.x",
    **{f"tf.contrib.distribute.{name}.{member}": "options came with 2.x"
       for name in ("AllReduceCrossDeviceOps", "CrossDeviceOps", "MultiWorkerAllReduce")
       for member in ("batch_reduce", "batch_reduce_implementation", "reduce", "reduce_implementation")},
}  # fmt: skip
MISSING_BETWEEN: dict[str, str] = {}
"""The same for what 1.13 to 1.15 alone had."""


def read(file):
    """``(name, arguments)`` and, for members, ``(name, member, arguments or 'property')``."""
    symbols, members = [], []
    for line in (GOLDEN / file).read_text().splitlines():
        head, _, arguments = line.removesuffix(")").partition("(")
        listed = arguments.split("; ") if arguments else []
        if line.startswith("    "):
            name, _, kind = head.strip().partition(": ")
            members.append((symbols[-1][0], name, kind or listed))
        else:
            symbols.append((head.removeprefix("class "), listed))
    return symbols, members


CHANGED = dict(read("signatures_changed.txt")[0])
"""Name, or name and member, to the arguments of 1.15, of what 1.12 has with others."""
_CALLED_ALIKE = "the one argument of its place"
_BASE = "the base of 1.12's strategies; tf.distribute has that of 1.15"
_LEAVES = "composite values are leaves, but in tf.nest"
_CELLS = ("BasicLSTMCell", "BasicRNNCell", "GRUCell", "LSTMCell")
_WRAPPERS = ("DeviceWrapper", "DropoutWrapper", "ResidualWrapper")
_CELL_MODULES = ("tf.nn.rnn_cell", "tf.contrib.rnn")
NOT_TAKEN = {
    "tf.contrib.checkpoint.UniqueNameTracker.track": ("trackable", _CALLED_ALIKE),
    "tf.contrib.checkpoint.list_objects": ("root_trackable", _CALLED_ALIKE),
    "tf.contrib.distribute.DistributionStrategy": ("extended", _BASE),
    "tf.contrib.distribute.DistributionStrategy.reduce": ("axis reduce_op", _BASE),
    "tf.contrib.eager.Variable": ("distribute_strategy", "variables know the strategy in whose scope they are made"),
    "tf.contrib.framework.nest.assert_shallow_structure": ("check_subtrees_length expand_composites", _LEAVES),
    "tf.contrib.framework.nest.flatten": ("expand_composites structure", _LEAVES),
    "tf.contrib.framework.nest.flatten_up_to": ("check_subtrees_length check_types expand_composites", _LEAVES),
    **{f"tf.contrib.framework.nest.{name}": ("expand_composites", _LEAVES) for name in (
        "assert_same_structure", "flatten_with_joined_string_paths", "get_traverse_shallow_structure",
        "pack_sequence_as", "yield_flat_paths")},
    **{f"{module}.{name}.build": ("instance", "what wraps the method there calls self so")
       for module in _CELL_MODULES for name in _CELLS},
    **{f"{module}.{name}.from_config": ("custom_objects", "a wrapper's configuration does not have its cell")
       for module in _CELL_MODULES for name in _WRAPPERS},
}  # fmt: skip
"""Of what 1.12 has, the arguments that came with 1.13 to 1.15 and are not taken, and why; it only gets shorter."""
RENAMED = {
    "bytes": "input_bytes", "delimiter": "sep", "source": "input", "targets": "labels",
    "thresh": "threshold",
}  # fmt: skip
"""Arguments of 1.12 in whose place 1.15 has the new name."""


class Golden(NamedTuple):
    """What one original has, and our table of the same names."""

    table: dict
    symbols: list
    members: list
    deviations: dict
    missing: dict

    @classmethod
    def of(cls, table, file, deviations, missing):
        symbols, members = read(file)
        members = [(name, member, kind) for name, member, kind in members if inspect.isclass(table[name])]
        return cls(table, symbols, members, deviations, missing)


FIRST = Golden.of(table.names(1), "signatures.txt", DEVIATIONS, MISSING)
LATER = {f"tf.compat.v1{name.removeprefix('tf')}": value for name, value in table.names(1).items()}
SECOND = Golden.of({**table.names(2), **LATER}, "signatures_v2.txt", DEVIATIONS_V2, MISSING_V2)
BETWEEN = Golden.of(table.names(1), "signatures_v1_15.txt", DEVIATIONS_BETWEEN, MISSING_BETWEEN)
ALL = {"1.12": FIRST, "1.15": BETWEEN, "2.15": SECOND}
EACH = pytest.mark.parametrize("golden", ALL.values(), ids=ALL)
SYMBOLS = [(golden, *symbol) for golden in ALL.values() for symbol in golden.symbols]


def shown(parameter):
    """A parameter in the golden file's way of writing."""
    if parameter.kind is parameter.VAR_POSITIONAL:
        return f"*{parameter.name}"
    if parameter.kind is parameter.VAR_KEYWORD:
        return f"**{parameter.name}"
    if parameter.default is parameter.empty:
        return parameter.name
    default = parameter.default
    written = type(default).__name__ if " at 0x" in repr(default) else repr(default)
    return f"{parameter.name}={written}"


def parameters(function):
    return [shown(p) for p in inspect.signature(function).parameters.values()]


def constructor(cls):
    """The arguments of making an instance, ``self`` first."""
    return parameters(cls.__init__)


@cache
def source_of(cls):
    return inspect.getsource(cls)


def has(cls, member):
    """Whether instances have it: of the class, or set when one is made."""
    sources = (source_of(c) for c in cls.__mro__ if c.__module__.startswith("towerstrat"))
    if issubclass(cls, _Settings):
        return hasattr(cls(), member)
    return hasattr(cls, member) or any(f"self.{member} = " in source for source in sources)


def is_free(arguments):
    """Whether the original took anything: wrapped functions and protocol messages."""
    return [a for a in arguments if a != "self"] in (["*args", "**kwargs"], ["*args", "**kwds"])


@pytest.mark.parametrize(("golden", "name", "arguments"), SYMBOLS, ids=[name for _, name, _ in SYMBOLS])
def test_arguments(golden, name, arguments):
    if is_free(arguments):
        return
    found = arguments_of(name, golden.table)
    known = [arguments, CHANGED.get(name)] if golden is FIRST else [arguments]
    if name in golden.deviations:
        assert found not in known, f"{name} agrees: take it off the list"
    else:
        assert found in known


def arguments_of(name, names):
    value = names[name]
    return constructor(value) if inspect.isclass(value) else parameters(value)


def arguments_here(name):
    """Of a name, or a name and a member, of 1.x; None where there is no such member or it is no function."""
    if name in FIRST.table:
        return arguments_of(name, FIRST.table)
    owner, _, member = name.rpartition(".")
    value = inspect.getattr_static(FIRST.table[owner], member, None)
    function = getattr(value, "__func__", value)
    return parameters(function) if callable(function) else None


def names_of(arguments):
    return [argument.partition("=")[0] for argument in arguments]


def test_arguments_of_1_15_are_taken():
    """A program may follow any version from 1.12 to 1.15: functions take what each of them takes."""
    before = dict(FIRST.symbols) | {f"{name}.{member}": kind for name, member, kind in FIRST.members}
    missing = {}
    for name, arguments in CHANGED.items():
        here = arguments_here(name)
        added = {*names_of(arguments)} - {*names_of(before[name])}
        absent = sorted(a for a in added - {*names_of(here or arguments)} if not a.startswith("*"))
        if absent:
            missing[name] = " ".join(absent)
    assert missing == {name: names for name, (names, _) in NOT_TAKEN.items()}


def test_calls_of_1_12_are_taken():
    refused_places = {"tf.nn.softmax_cross_entropy_with_logits_v2"}  # whose first argument was there to refuse them
    wrong = []
    for name, arguments in FIRST.symbols:
        if name not in CHANGED or name in DEVIATIONS or name in refused_places:
            continue
        wanted, here = names_of(arguments), names_of(arguments_here(name))
        places = zip(wanted, here, strict=False)
        moved = [new for old, new in places if new not in (old, RENAMED.get(old)) and not new.startswith("*")]
        lost = [old for old in wanted if old not in here and not old.startswith("*")]
        wrong += [name] * bool(moved or lost)
    assert wrong == []


def test_variables_take_the_same_arguments():
    arguments = dict(FIRST.symbols)["tf.Variable"][1:]
    order = [argument.partition("=")[0] for argument in arguments]
    assert list(_by_name(order, {})) == order
    defaults = {p.name: p for p in inspect.signature(Variable.__init__).parameters.values()}
    for argument, name in zip(arguments, order, strict=True):
        assert name == "use_resource" or shown(defaults[name]) == argument


@EACH
def test_members_are_there(golden):
    missing = {
        f"{'Layer' if issubclass(golden.table[name], Layer) else name}.{member}".replace("tf.compat.v1.", "tf.")
        for name, member, _ in golden.members
        if not has(golden.table[name], member)
    }
    assert missing == set(golden.missing)


@EACH
def test_members_take_the_same_arguments(golden):
    wrong = {}
    for name, member, arguments in golden.members:
        value = inspect.getattr_static(golden.table[name], member, None)
        inherited = value is inspect.getattr_static(Layer, member, None)
        if value is None or f"{'tf.layers.Layer' if inherited else name}.{member}" in golden.deviations:
            continue
        if arguments == "property":
            if callable(value) and not isinstance(value, type):
                wrong[f"{name}.{member}"] = "expected a property, got a method"
            continue
        if is_free(arguments) or not arguments:
            continue
        function = getattr(value, "__func__", value)
        found = parameters(function) if callable(function) else "a property"
        if isinstance(value, classmethod) and arguments[0] != "cls":
            found = found[1:]  # a static method of the original, which is called alike
        if issubclass(golden.table[name], DatasetV1):  # those of 1.x take what came later too
            lists = found[: len(arguments)], arguments
            found, arguments = ([a.partition("=")[0] for a in each] for each in lists)
        if found != arguments and (golden is not FIRST or found != CHANGED.get(f"{name}.{member}")):
            wrong[f"{name}.{member}"] = f"expected {arguments}, got {found}"
    assert wrong == {}


def test_the_golden_files_cover_the_tables():
    covered = {name for golden in (FIRST, BETWEEN) for name, _ in golden.symbols}
    later = {name.replace("tf.compat.v1.", "tf.") for name, _ in SECOND.symbols}
    for api in (1, 2):
        functions = {n for n, v in table.names(api).items() if inspect.isfunction(v) or inspect.isclass(v)}
        held = covered | later if api == 1 else later
        objects = {id(value) for name, value in table.names(api).items() if name in held}
        uncovered = {name for name in functions - held if id(table.names(api)[name]) not in objects}
        unlisted = ("tf.flags.", "tf.app.flags.", "tf.__internal__.", "tf.__operators__.", "tf.raw_ops.")
        assert {n for n in uncovered if not n.startswith(unlisted)} == set()
