"""The 1.x namespace: what is in it, and what is said about what is not."""

import importlib
import re
import sys
import types

import pytest

import towerstrat.compat.v1 as tf
from towerstrat import errors
from towerstrat.compat import known, names
from towerstrat.compat.internals import INTERNALS

TABLE = names.table()


def resolve(name):
    found = tf
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def test_every_name_of_the_table_is_there():
    for name, value in TABLE.items():
        assert resolve(name) is value, name


def test_every_name_is_one_of_the_original():
    own = {"tf.__version__", "tf.__git_version__", "tf.__compiler_version__"}
    flags = {f"{place}.{name}" for place in ("tf.flags", "tf.app.flags") for name in ("override_value", "set_default")}
    assert set(TABLE) - known.original_names() - own - flags == set()


def test_what_is_written_under_a_public_name_is_public():
    public = {id(value) for value in TABLE.values()}
    original = {name.rpartition(".")[2] for name in known.original_names()
                if name.count(".") <= 2 and not name.startswith(("tf.gfile.", "tf.app.", "tf.test."))}  # fmt: skip
    helpers = {f"towerstrat.graph.{name}" for name in (
        "ops.build", "ops.collectives", "ops.pool_kernels", "registry", "shapes", "state", "tape")}  # fmt: skip
    hidden = set()
    for module in list(sys.modules.values()):
        name = getattr(module, "__name__", "")
        if name in helpers or not name.startswith(("towerstrat.graph", "towerstrat.towers", "towerstrat.training")):
            continue
        for key, value in vars(module).items():
            made_here = getattr(value, "__module__", None) == name and not key.startswith("_")
            if made_here and callable(value) and key in original and id(value) not in public:
                hidden.add(f"{name.removeprefix('towerstrat.')}.{key}")
    assert hidden == set()


def test_the_modules_can_be_imported_by_name():
    for name in ("nn", "train", "layers", "data", "contrib.distribute", "app.flags"):
        module = importlib.import_module(f"towerstrat.compat.v1.{name}")
        assert module is resolve(f"tf.{name}")
        assert isinstance(module, types.ModuleType)
    from towerstrat.compat.v1.nn import relu

    assert relu is tf.nn.relu


def test_listing_shows_the_names_and_nothing_else():
    assert {"nn", "train", "Session", "float32"} <= set(dir(tf))
    assert not [name for name in dir(tf) if name.startswith("_")]
    assert "sys" not in vars(tf)
    assert set(tf.nn.__all__) == set(dir(tf.nn))


def test_version():
    assert tf.__version__ == tf.VERSION == "1.12.3"


def test_a_name_of_the_original_that_is_missing():
    for name, hint in (("keras", "tf.layers"), ("estimator", "run_steps_on_dataset"), ("contrib.slim", "tf.layers")):
        with pytest.raises(errors.UnknownSymbolError, match=rf"tf\.{name}.*{hint}"):
            resolve(f"tf.{name}.conv2d")
    assert not hasattr(tf, "keras")
    assert getattr(tf.train, "Saver", None) is None
    with pytest.raises(errors.UnsupportedError):
        _ = tf.train.Supervisor


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


def test_no_look_alike_is_offered_for_a_known_name():
    with pytest.raises(errors.UnknownSymbolError, match=r"does not have\.$"):
        _ = tf.extract_image_patches


def test_a_name_like_nothing():
    with pytest.raises(AttributeError, match=r"has the name tf\.qqqqzzzz\.$"):
        _ = tf.qqqqzzzz


def test_hints_are_about_names_of_the_original_and_send_to_names_that_are_here():
    later = {"tf.tpu", "tf.distribute", "tf.examples"}
    assert set(known.HINTS) - known.original_names() <= later
    for name, hint in known.HINTS.items():
        assert name not in TABLE, name
        for mentioned in re.findall(r"tf\.[A-Za-z_.0-9]*[A-Za-z_0-9]", hint):
            resolve(mentioned)


def test_internal_paths_offer_public_modules():
    for path, (sources, own) in INTERNALS.items():
        assert sources or own, path
        for source in sources.split():
            assert isinstance(resolve(source), types.ModuleType), (path, source)
