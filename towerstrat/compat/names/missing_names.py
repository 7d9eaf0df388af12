"""What to say about a name that is not here."""

from __future__ import annotations

import difflib
from functools import cache
from importlib import resources
from typing import Any

from towerstrat import errors
from towerstrat.compat.keras.package_loader import FOLDER
from towerstrat.compat.names import original_modules, public_names, tf_slim

_STRATEGIES = (
    "tf.distribute.MirroredStrategy and TPUStrategy run one replica on every device, OneDeviceStrategy a single one."
)
_STRATEGIES_V1 = "tf.distribute.MirroredStrategy and OneDeviceStrategy are here, and those of tf.contrib.distribute."
_COORDINATED = (
    "Nothing sends work to other processes: tf.distribute.experimental.CentralStorageStrategy keeps variables once for "
    "the replicas on this machine, tf.distribute.MirroredStrategy a copy on each device."
)
_CLUSTERS = "SimpleClusterResolver takes the addresses of the tasks, TFConfigClusterResolver reads TF_CONFIG."
_SERVERS = "A program runs on the devices of its machine: nothing has to be served."
_TRAIN_OPS = "tf.contrib.gan.get_sequential_train_hooks trains in a tf.train.MonitoredTrainingSession."
_OWN_MODEL = "tf.estimator.Estimator takes any model: write its layers, loss and metrics as a model_fn."
_KERAS = (
    "The package keras 2.15 serves tf.keras: pip install 'towerstrat[keras]'; beside another Keras "
    f"pip install --target FOLDER --no-deps 'keras==2.15.*', and {FOLDER}=FOLDER."
)
_MODELS = "Keras models are saved as files NAME.keras or NAME.h5, variables by tf.train.Checkpoint."
_EXPORTS = "No SavedModel is written: checkpoints have the variables, and Estimator.predict gives predictions."
_PROFILE = (
    "tf.RunMetadata has the times and costs of a traced run; tf.train.ProfilerHook writes profiles by jax.profiler."
)
_INFEED = "Pass what the iterator of a dataset gives, or placeholders, to tf.contrib.tpu.shard as inputs."
_STEREOGRAM = "Compute the picture with numpy in tf.py_func."
_MESSAGES = "Parse the messages with their Python classes (protobuf) in tf.data.Dataset.from_generator or tf.py_func."
_OUTFEED = "Return the values from the computation: tf.contrib.tpu.shard joins those of all shards."
_QUANTIZED = "Numbers are not quantized here: compute in floating types."
_COMPILED = (
    "What was compiled for TensorFlow cannot be loaded: write the operation in Python, by tf.py_function or JAX."
)
_QUANTIZED_TYPES = ("qint8", "qint16", "qint32", "quint8", "quint16")
_BOTH = {
    **dict.fromkeys((f"tf.{place}{kind}" for place in ("", "dtypes.") for kind in _QUANTIZED_TYPES), _QUANTIZED),
    **dict.fromkeys(("tf.dtypes.QUANTIZED_DTYPES", "tf.quantization"), _QUANTIZED),
    **dict.fromkeys(("tf.load_library", "tf.load_op_library"), _COMPILED),
    "tf.data.experimental.service": "Each process reads its own data: dataset.shard(number of processes, index).",
    "tf.import_graph_def": "Build the graph by the program that made it; tf.compat.v1.train.Saver restores values.",
    "tf.debugging.enable_check_numerics": "tf.debugging.check_numerics checks one tensor; jax_debug_nans all programs.",
    "tf.debugging.experimental": "tf.print shows values while a program runs; jax.profiler shows its times.",
}
_HINTS_V1 = {
    **_BOTH,
    **dict.fromkeys(
        (
            "tf.QUANTIZED_DTYPES",
            "tf.quantize",
            "tf.quantize_v2",
            "tf.quantized_concat",
            "tf.dequantize",
            *(
                f"tf.fake_quant_with_min_max_{of}{end}"
                for of in ("args", "vars", "vars_per_channel")
                for end in ("", "_gradient")
            ),
        ),
        _QUANTIZED,
    ),
    "tf.load_file_system_library": _COMPILED,
    **dict.fromkeys(
        ("tf.get_session_handle", "tf.get_session_tensor", "tf.delete_session_tensor"),
        "Values stay on the device in variables: keep them in one with trainable=False.",
    ),
    "tf.keras": _KERAS,
    "tf.contrib.keras": _KERAS,
    "tf.keras.experimental": "TensorFlow 2.15 has it no more, nor has keras 2.15, which serves tf.keras.",
    "tf.keras.experimental.export_saved_model": _MODELS,
    "tf.keras.experimental.load_from_saved_model": _MODELS,
    "tf.keras.mixed_precision.experimental": "tf.keras.mixed_precision has what became of it.",
    "tf.keras.utils.HDF5Matrix": "Read the file with h5py, whose data sets are given to models as arrays are.",
    "tf.keras.utils.convert_all_kernels_in_model": "Kernels of Theano have to be flipped with numpy.",
    "tf.keras.wrappers": "scikit-learn takes any class with fit, predict, get_params and set_params.",
    "tf.estimator": _OWN_MODEL,
    "tf.contrib.estimator": _OWN_MODEL,
    **dict.fromkeys(
        ("tf.contrib.estimator.export_all_saved_models", "tf.contrib.estimator.export_saved_model_for_mode"), _EXPORTS
    ),
    "tf.contrib.learn": "tf.estimator has what became of it: Estimator, RunConfig, EstimatorSpec, train_and_evaluate.",
    "tf.contrib.cluster_resolver": _CLUSTERS,
    "tf.distribute.cluster_resolver": _CLUSTERS,
    "tf.distribute.Server": _SERVERS,
    "tf.test.mock": "unittest.mock is the same module.",
    "tf.train.experimental": "Programs compute in the types that they are written with; cast what may be narrow.",
    "tf.contrib.tpu": "tf.contrib.tpu.shard and tf.contrib.distribute.TPUStrategy run functions on every device.",
    **dict.fromkeys(("tf.contrib.tpu.InfeedQueue", "tensorflow.contrib.tpu.python.tpu.tpu_feed"), _INFEED),
    **{
        f"{module}.{feed}_{name}": said
        for module in ("tf.contrib.tpu", *(f"tensorflow.{p}.ops.tpu_ops" for p in ("contrib.tpu.python", "python.tpu")))
        for feed, said in (("infeed", _INFEED), ("outfeed", _OUTFEED))
        for name in ("dequeue", "dequeue_tuple", "enqueue", "enqueue_tuple")
    },
    "tf.contrib.tpu.profiler": _PROFILE,
    "tf.tpu": "tf.tpu.experimental has the topology of the devices, tf.contrib.distribute.TPUStrategy uses them.",
    "tf.contrib.image.single_image_random_dot_stereograms": _STEREOGRAM,
    **dict.fromkeys(("tf.io.decode_proto", "tf.io.encode_proto", "tf.contrib.proto"), _MESSAGES),
    "tf.contrib.layers": "tf.layers has the layers as functions and classes.",
    "tf.contrib.slim": tf_slim.HINT,
    "tf.contrib.distribute": "tf.contrib.distribute.MirroredStrategy, TPUStrategy and OneDeviceStrategy are here.",
    "tf.distribute": _STRATEGIES_V1,
    "tf.profiler": _PROFILE,
    "tf.contrib.tfprof": _PROFILE,
    "tf.contrib.saved_model": _MODELS,
    "tf.saved_model": "session.run(variables) gives values as numpy arrays to save.",
    "tf.feature_column": "Give numeric tensors to the layers; tf.nn.embedding_lookup and tf.one_hot encode ids.",
    "tf.examples": "Load the data with Python and give it to tf.data.Dataset.from_tensor_slices.",
    "tf.contrib": "Its Python is in TensorFlow 1.15's sources, in tensorflow/contrib: copy what the program uses.",
    "tf.contrib.eager": "tf.contrib.eager.defun, Variable, Iterator and Checkpoint are here.",
    "tf.contrib.rnn": "tf.nn.rnn_cell and tf.contrib.rnn have other cells: LSTMBlockCell, UGRNNCell.",
    "tf.contrib.seq2seq": "Write the decoder's steps with tf.while_loop or tf.nn.dynamic_rnn; sequence_loss is here.",
    "tf.contrib.opt": "tf.train has the optimizers, tf.contrib.opt LazyAdam, Nadam, AdamW and other ones.",
    "tf.contrib.distributions": "tf.distributions has common ones, the package tensorflow-probability 0.5 the rest.",
    "tf.contrib.metrics": "tf.metrics has metrics of graphs.",
    "tf.contrib.crf": "Write the recurrence over the tags with tf.scan.",
    "tf.contrib.autograph": "tf.autograph.to_graph and tf.function convert functions.",
    **{
        f"tf.contrib.gan.{name}": _TRAIN_OPS
        for name in (
            "gan_train",
            "get_sequential_train_steps",
        )
    },
}
_HINTS_V2 = {
    **_BOTH,
    "tf.experimental.dtensor": "tf.distribute strategies run one replica on each device; jax.sharding lays arrays out.",
    "tf.distribute.cluster_resolver": _CLUSTERS,
    "tf.distribute.Server": _SERVERS,
    "tf.keras": _KERAS,
    "tf.losses": "tf.nn has the cross entropies, tf.compat.v1.losses more; tf.nn.compute_average_loss averages.",
    "tf.metrics": "tf.compat.v1.metrics has them for graphs; else sum up what tf.reduce_sum gives.",
    "tf.optimizers": "tf.compat.v1.train has the optimizers.",
    "tf.distribute": _STRATEGIES,
    **dict.fromkeys(
        (
            "tf.distribute.ParameterServerStrategy",
            "tf.distribute.coordinator",
            "tf.distribute.experimental.ParameterServerStrategy",
            "tf.distribute.experimental.coordinator",
        ),
        _COORDINATED,
    ),
    "tf.tpu": "tf.tpu.experimental has the topology of the devices, tf.distribute.TPUStrategy uses them.",
    "tf.estimator": _OWN_MODEL,
    "tf.feature_column": "Give numeric tensors to the layers; tf.nn.embedding_lookup and tf.one_hot encode ids.",
    "tf.saved_model": _MODELS,
    "tf.profiler": "Profile with jax.profiler.",
    **dict.fromkeys(
        ("tf.summary.trace_on", "tf.summary.trace_off", "tf.summary.trace_export"),
        "Profile with jax.profiler; tf.summary.graph records a function's graph.",
    ),
    "tf.audio": "Prepare audio with numpy in tf.data.Dataset.from_generator.",
    **dict.fromkeys(
        ("tf.io.decode_proto", "tf.io.encode_proto"),
        "Parse the messages with their Python classes (protobuf), in a dataset from_generator or tf.numpy_function.",
    ),
    "tf.io": "tf.io.gfile is here; read other formats with Python in tf.data.Dataset.from_generator.",
    "tf.strings": "Prepare strings with Python in tf.data.Dataset.from_generator.",
    "tf.lookup": "Look words up with Python in tf.data.Dataset.from_generator.",
    "tf.ragged": "Pad to one length: tf.data.Dataset.padded_batch and tf.sequence_mask.",
    "tf.sparse": "The functions of tf.compat.v1.sparse are here.",
    "tf.raw_ops": "Use the functions of tf, tf.math and tf.nn.",
    "tf.experimental.numpy": "Use jax.numpy, or the functions of tf.",
    "tf.lite": "Programs run on JAX; there is no converter.",
    "tf.nn.RNNCellDropoutWrapper": "Write the recurrence with tf.while_loop.",
    "tf.contrib": "It ended with 1.15: run the program with --api 1, or use tf.compat.v1.contrib.",
}
HINTS = {1: _HINTS_V1, 2: _HINTS_V2}
"""What to use instead, by the dotted beginning of the missing name; the longest that fits is said."""


@cache
def _listed(file: str, label: str) -> dict[str, str]:
    """The names that a file lists, and of the modules that hold them, each with the label of its original."""
    found: dict[str, str] = {}
    text = resources.files("towerstrat.compat.names").joinpath(file).read_text(encoding="utf-8")
    for line in text.splitlines():
        module, _, members = line.partition(":")
        parts = module.split(".")
        for name in (
            *(".".join(parts[:i]) for i in range(1, len(parts) + 1)),
            *(f"{module}.{m}" for m in members.split()),
        ):
            found[name] = label
    return found


_INTERNAL = """
    create_c_op record_gradient feature_column feature_column.DenseColumn feature_column.FeatureColumn
    feature_column.FeatureTransformationCache feature_column.SequenceDenseColumn feature_column.StateManager
    feature_column.deserialize_feature_column feature_column.serialize_feature_column saved_model
    saved_model.decode_proto saved_model.load_partial saved_model.parse_saved_model types types.Tensor"""
_UNLISTED = {
    1: dict.fromkeys(
        ("tf.examples", "tf.examples.tutorials", "tf.examples.tutorials.mnist", "tf.test.mock"), "TensorFlow 1.12"
    ),
    2: dict.fromkeys(
        ("tf.__internal__", "tf.raw_ops", *(f"tf.__internal__.{name}" for name in _INTERNAL.split())),
        "TensorFlow 2.15",
    ),
}
"""Modules and names that came with the originals, and are in no list of their public names."""


@cache
def original_names(api: int = 1) -> dict[str, str]:
    """Every public name of the original with the version that has it: TensorFlow 1.12, 1.15 or 2.15."""
    both = _listed("original_names_v2.txt", "TensorFlow 2.15")
    inner = "tf.compat.v1"
    if api == 2:
        return {n: label for n, label in both.items() if not n.startswith(f"{inner}.")} | _UNLISTED[2]
    later = {f"tf{name.removeprefix(inner)}": "TensorFlow 1.15" for name in both if name.startswith(f"{inner}.")}
    later |= dict.fromkeys(tf_slim.NAMES, "TensorFlow 1.12")
    between = _listed("original_names_v1_15.txt", "TensorFlow 1.15")
    return between | later | _listed("original_names.txt", "TensorFlow 1.12") | _UNLISTED[1]


_LABELS = {1: "TensorFlow 1.12", 2: "TensorFlow 2.15"}
_CONTRIB = "tf.contrib."


@cache
def _modules(api: int) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in original_names(api):
        module, _, last = name.rpartition(".")
        found.setdefault(module, []).append(last)
    return found


def _path_inside(name: str) -> str | None:
    """The path below ``tensorflow`` of a name that the lists of the inside may have; None for other public names."""
    return name.partition(".")[2] if name.startswith(("tensorflow.", _CONTRIB)) else None


def is_module(name: str, api: int) -> bool:
    """Whether an original has a module ``tf.keras.layers``, or ``tensorflow.python.ops.rnn`` of its inside."""
    path = _path_inside(name)
    return name in _modules(api) or (path is not None and original_modules.is_module(path, api))


def exported(name: str, api: int) -> Any:
    """The object here that a name of an original's inside has in public; None where it has none, or none is here."""
    if not name.startswith("tensorflow.") and ".python." not in name:
        return None
    module, _, last = name.partition(".")[2].rpartition(".")
    public = original_modules.names(module, api).get(last, ())
    # Where a value has several names, those of one public name here can be two objects: the same name is the nearest.
    for place in sorted(public, key=lambda place: place.rpartition(".")[2] != last):
        first = place.removeprefix("compat.v1.")
        found = public_names.entries(1 if first != place else api).get(f"tf.{first}")
        if found is not None:
            return public_names.value(found)
    return None


def members(module: str, api: int) -> list[str]:
    """The names that an original's module has."""
    path = _path_inside(module)
    further = () if path is None else original_modules.names(path, api)
    return [*_modules(api).get(module, ()), *(name for name in further if not name.startswith("_"))]


def origin(name: str, api: int) -> str | None:
    """The original that has ``name``, or the class that ``name`` is a member of; None where no original has it.

    Whether a class has the member is not asked.
    """
    label = original_names(api).get(name)
    if label is not None:
        return label
    owner, _, last = name.rpartition(".")
    path = _path_inside(name)
    if path is not None and (
        original_modules.is_module(path, api) or last in original_modules.names(path.rpartition(".")[0], api)
    ):
        return _LABELS[api]
    return origin(owner, api) if "." in owner and not is_module(owner, api) else None


def hint(name: str, api: int = 1) -> str:
    """What to use instead of ``name``, a sentence, or ''."""
    if api == 1 and name in tf_slim.NAMES:
        return tf_slim.HINT
    said = _said(name, api)
    if said:
        return said
    near = _elsewhere(name.rpartition(".")[2], api) if origin(name, api) else nearest(name, api)
    return f"The nearest name here is {near}." if near else ""


def _said(name: str, api: int) -> str | None:
    """What ``HINTS`` says of the longest dotted beginning of ``name`` that it has."""
    parts = name.split(".")
    beginnings = (".".join(parts[:length]) for length in range(len(parts), 1, -1))
    return next((HINTS[api][beginning] for beginning in beginnings if beginning in HINTS[api]), None)


def nearest(name: str, api: int = 1) -> str | None:
    """The name here that is most like ``name``: the same last part elsewhere, or a similar spelling."""
    module, _, last = name.rpartition(".")
    if last.startswith("_"):
        return None  # none is private; who asks looks at whatever object it meets, such as a mock
    same = _elsewhere(last, api)
    if same:
        return same
    here = public_names.entries(api)
    beside = [n for n in here if n.rpartition(".")[0] == module]
    for candidates, cutoff in ((beside, 0.6), (sorted(here), 0.75)):
        close = difflib.get_close_matches(name, candidates, n=1, cutoff=cutoff)
        if close and difflib.SequenceMatcher(None, close[0].rpartition(".")[2], last).ratio() >= 0.5:
            return close[0]
    return None


def _elsewhere(last: str, api: int) -> str | None:
    """The shortest name here that ends in ``last``."""
    return _by_last_part(api).get(last)


@cache
def _by_last_part(api: int) -> dict[str, str]:
    longest_first = sorted(public_names.entries(api), key=lambda n: (n.count("."), n), reverse=True)
    return {name.rpartition(".")[2]: name for name in longest_first}


def place(name: str, mount: str) -> str:
    """What a program calls a name: below ``mount`` where it is public, below ``tf`` where it is of the inside."""
    return f"tf.{name.partition('.')[2]}" if name.startswith("tensorflow.") else mount + name.removeprefix("tf")


def describe(name: str, api: int = 1, mount: str = "tf") -> str:
    """What is known about a missing ``name``, and what to use instead.

    Args:
      api: 1 for the namespace of 1.x, 2 for that of 2.x.
      mount: what the program calls that namespace, such as ``tf.compat.v1``.
    """
    if not name.startswith("tf."):
        public = _elsewhere(name.rpartition(".")[2], api)
        said = _said(name, api) or f"Use {public or 'the public names, tf.*'} instead."
        return f"{name} is inside TensorFlow and not here. {said}"
    shown = place(name, mount)
    label = origin(name, api)
    if label:
        return f"{shown} is a name of {label} that towerstrat does not have. {hint(name, api)}".rstrip()
    other = 3 - api
    if name in public_names.entries(other):
        there = f"tf.compat.v{other}{name.removeprefix('tf')}"
        return f"{shown} is a name of {_LABELS[other]}, not of {_LABELS[api]}: use {there}, or run with --api {other}."
    if name in original_names(other):
        return f"{shown} is a name of {_LABELS[other]}, not of {_LABELS[api]}. {hint(name, api)}".rstrip()
    return f"Neither towerstrat nor {_LABELS[api]} has the name {shown}. {hint(name, api)}".rstrip()


def missing(name: str, api: int = 1, mount: str = "tf") -> AttributeError:
    """The error for a missing ``name``: UnknownSymbolError where the original has it, else a plain AttributeError."""
    kind = errors.UnknownSymbolError if origin(name, api) else AttributeError
    # With a name and an object of its own Python adds no suggestion after ours.
    return kind(describe(name, api, mount), name=name.rpartition(".")[2], obj=None)
