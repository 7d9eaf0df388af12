"""Helpers of tests in ``tf.test``."""

import os
import types

import pytest

import towerstrat.compat.v1 as tf
from towerstrat.compat.names import missing_names


class Base:
    kept = 1


class Derived(Base):
    own = 2


def test_attributes_are_replaced_and_put_back():
    module = types.ModuleType("module")
    module.value = 1
    with tf.test.StubOutForTesting() as stubs:
        stubs.Set(module, "value", 2)
        stubs.Set(module, "value", 3)
        stubs.SmartSet(Derived, "kept", 4)
        stubs.SmartSet(Derived, "own", 5)
        assert (module.value, Derived.kept, Derived.own, Base.kept) == (3, 4, 5, 1)
        stubs.UnsetAll()
        assert (module.value, Derived.kept) == (1, 4)
        with pytest.raises(AttributeError):
            stubs.Set(module, "nothing", 1)
    assert (Derived.kept, Derived.own) == (1, 2)
    assert "kept" not in vars(Derived)


def graph(*names, value=1.0):
    with tf.Graph().as_default() as made:
        for name in names:
            tf.constant(value, name=name)
        return made.as_graph_def()


def test_graphs_are_equal_in_their_nodes():
    tf.test.assert_equal_graph_def(graph("a", "b"), graph("b", "a"))
    for other, message in ((graph("a"), "Did not expect the node 'b'"), (graph("a", "b", "c"), "Did not find .* 'c'"),
                           (graph("a", "b", value=2.0), "Nodes named 'a' differ")):  # fmt: skip
        with pytest.raises(AssertionError, match=message):
            tf.test.assert_equal_graph_def(graph("a", "b"), other)
    with pytest.raises(TypeError, match="for expected, got Graph"):
        tf.test.assert_equal_graph_def(graph("a"), tf.Graph())


def test_paths():
    assert tf.test.test_src_dir_path("tests/file") == os.path.join(os.getcwd(), "tests/file")


def test_mock_is_pythons():
    # Importing it takes as long as a tenth of JAX, so it is not imported for all.
    assert missing_names.describe("tf.test.mock").endswith("unittest.mock is the same module.")
