"""The two namespaces: what is in them, and what is said about what is not."""

import importlib
import re
import sys
import types

import pytest

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf2
from towerstrat import errors
from towerstrat.compat.names import missing_names, name_file
from towerstrat.compat.names import public_names as table
from towerstrat.compat.names.stubs import MissingName

TREES = {1: tf1, 2: tf2}
TABLES = {api: table.names(api) for api in TREES}
BOTH = pytest.mark.parametrize("api", TREES)


def resolve(name, api=1):
    found = TREES[api]
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


@BOTH
def test_every_name_of_the_table_is_there(api):
    for name, value in TABLES[api].items():
        if not name.startswith("tf.keras."):  # the package's where it is installed
            assert resolve(name, api) is value, name


@BOTH
def test_every_name_is_one_of_the_original(api):
    own = {"tf.__version__", "tf.__git_version__", "tf.__compiler_version__"}
    own.add("tf.get_tower_context")  # 1.12's page of TPUStrategy calls it so, where 1.12 has tf.contrib.distribute's
    flags = {f"{place}.{name}" for place in ("tf.flags", "tf.app.flags") for name in ("override_value", "set_default")}
    unlisted = ("tf.__internal__.", "tf.__operators__.", "tf.raw_ops.")
    public = {name for name in TABLES[api] if not name.startswith(unlisted)}
    assert public - set(missing_names.original_names(api)) - own - flags == set()


def test_rule_26_two_namespaces_are_one_set_of_functions():
    """Between 1.12 and 2.15 most names keep their arguments: those are one object. Classes are the same in both."""
    kept = [row.name for row in name_file.public(name_file.OURS, 1) if row.is_of(2)]
    for name in kept:
        assert TABLES[2][name] is TABLES[1][name], name
    assert len(kept) > 750
    assert (tf1.Tensor, tf1.TensorShape, tf1.IndexedSlices, tf1.DType) == (
        tf2.Tensor, tf2.TensorShape, tf2.IndexedSlices, tf2.DType)  # fmt: skip
    apart = {f"tf.data.{name}" for name in (
        "FixedLengthRecordDataset", "Iterator", "TFRecordDataset", "TextLineDataset", "experimental.CsvDataset",
        "experimental.SqlDataset")}  # fmt: skip
    apart |= {f"tf.distribute.{name}" for name in (
        "MirroredStrategy", "OneDeviceStrategy", "Strategy", "experimental.CentralStorageStrategy",
        "experimental.MultiWorkerMirroredStrategy", "experimental.ParameterServerStrategy", "experimental.TPUStrategy",
    )}  # fmt: skip
    apart |= {"tf.image.ResizeMethod", "tf.train.Checkpoint"}
    for name, value in TABLES[2].items():
        first = TABLES[1].get(name)
        if isinstance(first, type) and isinstance(value, type) and first is not value:
            assert issubclass(value, first) or issubclass(first, value) or name in apart, name


def test_rule_26_each_namespace_reaches_the_other():
    assert tf1.compat.v2 is tf2
    assert tf2.compat.v1 is tf1
    assert tf1.compat.v1 is tf1
    assert tf2.compat.v2 is tf2
    with tf1.Graph().as_default():
        assert isinstance(tf1.placeholder(tf1.float32), tf2.Tensor)
        assert isinstance(tf2.zeros([2]), tf1.Tensor)
        assert isinstance(tf2.initializers.GlorotUniform(), tf1.initializers.variance_scaling)
        with tf1.Session() as session:
            assert session.run(tf2.reduce_sum(tf1.ones([2, 3]), axis=1)).tolist() == [3.0, 3.0]


def test_what_is_written_under_a_public_name_is_public():
    values = [value for table in TABLES.values() for value in table.values()]
    public = {id(value) for value in (*values, *(getattr(value, "__wrapped__", None) for value in values))}
    original = {name.rpartition(".")[2] for name, label in missing_names.original_names().items()
                if label == "TensorFlow 1.12" and name.count(".") <= 2
                and not name.startswith(("tf.gfile.", "tf.app.", "tf.test."))}  # fmt: skip
    helpers = {f"towerstrat.graph.{name}" for name in (
        "autograph.options", "ops.building.op_builder", "ops.collectives.all_reduce",
        "ops.math.elementwise_gradients", "ops.building.numpy_kernels", "ops.images.box_kernels",
        "ops.images.gif_bmp", "ops.images.color_kernels", "ops.images.jpeg", "ops.images.png",
        "ops.images.resize_kernels", "ops.images.resize_weights", "ops.linalg.decomposition_gradients",
        "ops.math.polygamma", "ops.nn.pooling_kernels", "ops.text.string_kernels", "ir.op_registry", "ir.shapes",
        "ir.state", "lowering.tape")}  # fmt: skip
    hidden = set()
    for module in list(sys.modules.values()):
        name = getattr(module, "__name__", "")
        floors = ("towerstrat.graph", "towerstrat.towers", "towerstrat.models", "towerstrat.training")
        if name in helpers or not name.startswith(floors):
            continue
        for key, value in vars(module).items():
            made_here = getattr(value, "__module__", None) == name and not key.startswith("_")
            if made_here and callable(value) and key in original and id(value) not in public:
                hidden.add(f"{name.removeprefix('towerstrat.')}.{key}")
    assert hidden == set()


@pytest.mark.parametrize(("api", "modules"), [
    (1, "nn train layers data contrib.distribute app.flags"), (2, "nn math data io.gfile random"),
])  # fmt: skip
def test_the_modules_can_be_imported_by_name(api, modules):
    for name in modules.split():
        module = importlib.import_module(f"towerstrat.compat.v{api}.{name}")
        assert module is resolve(f"tf.{name}", api)
        assert isinstance(module, types.ModuleType)


def test_names_can_be_imported_from_the_modules():
    from towerstrat.compat.v1.nn import relu
    from towerstrat.compat.v2.nn import gelu

    assert relu is tf1.nn.relu is tf2.nn.relu
    assert gelu is tf2.nn.gelu


@BOTH
def test_listing_shows_the_names_and_nothing_else(api):
    tf = TREES[api]
    assert {"nn", "compat", "Tensor", "float32"} <= set(dir(tf))
    assert not [name for name in dir(tf) if name.startswith("_")]
    assert "sys" not in vars(tf)
    assert {"v1", "v2"} <= set(dir(tf.compat))
    assert tf.lite.TFLiteConverter is tf.lite.TFLiteConverter
    assert "lite" not in dir(tf)


def test_version():
    assert tf1.__version__ == tf1.VERSION == tf1.version.VERSION == "1.12.3"
    assert tf2.__version__ == tf2.version.VERSION == "2.15.1"
    assert not hasattr(tf2, "VERSION")


@pytest.mark.parametrize(("api", "name", "hint"), [
    (1, "keras", "pip install"), (1, "estimator.DNNClassifier", "model_fn"), 
    (2, "keras", "TOWERSTRAT_KERAS"), (2, "distribute.ParameterServerStrategy", "MirroredStrategy"),
    (2, "saved_model.load", "train.Checkpoint"), (2, "summary.trace_on", "profiler"), (2, "audio.decode_wav", "numpy"),
    (2, "io.decode_png", "from_generator"), (2, "estimator.DNNClassifier", "model_fn"),
])  # fmt: skip
def test_a_name_of_the_original_that_is_missing(api, name, hint):
    with pytest.raises(errors.UnknownSymbolError, match=rf"tf\.{re.escape(name)}.* name of TensorFlow .*{hint}"):
        raise missing_names.missing(f"tf.{name}", api)
    assert missing_names.origin(f"tf.{name}", api)


def test_a_missing_name_is_an_attribute_that_cannot_be_used():
    assert hasattr(tf1, "keras")
    with pytest.raises(errors.UnsupportedError):
        tf1.contrib.opt.AGNOptimizer()


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("tf.Sesion", "tf.Session"),
        ("tf.reduce_sums", "tf.reduce_sum"),
        ("tf.relu", "tf.nn.relu"),
        ("tf.nn.zeros_like", "tf.zeros_like"),
        ("tf.train.AdamOptimiser", "tf.train.AdamOptimizer"),
    ],
)
def test_a_misspelt_name(name, nearest):
    with pytest.raises(AttributeError, match=rf"{re.escape(name)}\. The nearest name here is {re.escape(nearest)}\."
                       ) as caught:  # fmt: skip
        resolve(name)
    assert not isinstance(caught.value, errors.UnknownSymbolError)


@pytest.mark.parametrize(("api", "name", "message"), [
    (2, "tf.placeholder", r"TensorFlow 1.12, not of TensorFlow 2.15: use tf\.compat\.v1\.placeholder.*--api 1"),
    (2, "tf.contrib", r"not of TensorFlow 2.15\. .*--api 1"),
    (2, "tf.math.sines", r"Neither towerstrat nor TensorFlow 2.15 has the name tf\.math\.sines"),
    (1, "tf.random.set_seed", r"TensorFlow 2.15, not of TensorFlow 1.12: use tf\.compat\.v2\.random\.set_seed"),
])  # fmt: skip
def test_a_name_of_the_other_namespace(api, name, message):
    with pytest.raises(AttributeError, match=message) as caught:
        resolve(name, api)
    assert not isinstance(caught.value, errors.UnknownSymbolError)


def test_names_that_1_15_added_are_of_1_15():
    with pytest.raises(errors.UnknownSymbolError, match=r"tf\.io\.gfile\.get_registered_schemes .*TensorFlow 1\.15"):
        tf1.io.gfile.get_registered_schemes()
    assert tf1.math.reduce_std is tf2.math.reduce_std


def test_no_look_alike_is_offered_for_a_known_name():
    with pytest.raises(errors.UnknownSymbolError, match=r"does not have\.$"):
        tf1.matrix_square_root([])


def test_a_name_like_nothing():
    with pytest.raises(AttributeError, match=r"has the name tf\.qqqqzzzz\.$"):
        _ = tf1.qqqqzzzz


@BOTH
def test_hints_are_about_names_of_the_original_and_send_to_names_that_are_here(api):
    others = {"tf.contrib"} if api == 2 else set()
    inside = {name for name in missing_names.HINTS[api] if name.startswith("tensorflow.")}
    assert all(missing_names.origin(name, api) for name in inside)
    assert set(missing_names.HINTS[api]) - inside - set(missing_names.original_names(api)) <= others
    for name, hint in missing_names.HINTS[api].items():
        assert name not in TABLES[api], name
        for mentioned in re.findall(r"tf\.[A-Za-z_.0-9]*[A-Za-z_0-9]", hint):
            assert not isinstance(resolve(mentioned, api), MissingName), mentioned


def test_internal_paths_offer_public_modules():
    offers = [row for rows in name_file.inside().values() for row in rows if row.attribute == "*"]
    assert len(offers) > 100
    for row in offers:
        assert row.name.endswith(".*"), row
        for source in row.module.split():
            assert isinstance(resolve(source), types.ModuleType), row


def test_programs_loop_over_the_names_of_a_module():
    optimizers = {v for v in vars(tf1.train).values() if isinstance(v, type) and issubclass(v, tf1.train.Optimizer)}
    assert {tf1.train.AdamOptimizer, tf1.train.FtrlOptimizer, tf1.train.SyncReplicasOptimizer} <= optimizers
    assert tf1.logging.__dict__["INFO"] == 20
    for module in (tf1.losses, tf1.layers, tf1.nn, tf1.contrib.opt, tf1.errors, tf2.nn, tf2.math):
        assert set(dir(module)) <= set(vars(module)), module


def test_a_private_name_that_only_raises_is_imported_but_not_found_by_hasattr():
    module = tf1.contrib.rnn.python.ops.core_rnn_cell
    assert isinstance(module._Linear, MissingName)
    assert not hasattr(module, "_Linear")
    assert getattr(module, "_Linear", None) is None
