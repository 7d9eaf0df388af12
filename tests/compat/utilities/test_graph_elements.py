"""Conversions of collections to messages, and names with and without a scope."""

import pytest

from towerstrat.compat.utilities import collection_protos
from towerstrat.compat.utilities.scope_names import prepend_name_scope, strip_name_scope


@pytest.mark.parametrize(
    ("name", "scope", "stripped", "prepended"),
    [
        ("a/b", "a", "b", "a/a/b"),
        ("^a/b", "a/", "^b", "^a/a/b"),
        ("loc:@a/b", "a", "loc:@b", "loc:@a/a/b"),
        ("a/a/b:0", "a", "a/b:0", "a/a/a/b:0"),
        ("a/b", "x", "a/b", "x/a/b"),
        ("a.c/b", "a.", "a.c/b", "a./a.c/b"),
        (b"a/b", "a", "b", "a/a/b"),
        ("a/b", None, "a/b", "a/b"),
    ],
)
def test_names_without_a_scope_and_with_one(name, scope, stripped, prepended):
    assert strip_name_scope(name, scope) == stripped
    assert prepend_name_scope(name, scope) == prepended


def test_conversions_of_a_collection(monkeypatch):
    monkeypatch.setattr(collection_protos, "_REGISTERED", {})
    collection_protos.register_proto_function("mine", int, str, float)
    assert collection_protos.get_collection_proto_type("mine") is int
    assert collection_protos.get_to_proto_function("mine")(1) == "1"
    assert collection_protos.get_from_proto_function("mine")("2") == 2.0
    assert collection_protos.get_to_proto_function("other") is None
    with pytest.raises(KeyError, match="Registering two proto_functions with name 'mine'"):
        collection_protos.register_proto_function("mine")
    with pytest.raises(TypeError, match="to_proto must be callable"):
        collection_protos.register_proto_function("other", to_proto=1)
