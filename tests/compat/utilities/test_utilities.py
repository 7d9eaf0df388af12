"""Helper modules of the inside that only originals after 1.12 have, or that speak of what is here."""

import gc
import importlib

import pytest

import towerstrat.compat.v1 as tf
from towerstrat.compat import importer
from towerstrat.compat.utilities import decorators, doc_controls, exports, object_identity


def plain(a, b=2):
    return a, b


def twice(target):
    def wrapper(*args, **kwargs):
        return wrapper.__wrapped__(*args, **kwargs), wrapper.__wrapped__(*args, **kwargs)

    return decorators.make_decorator(target, wrapper)


class Holder:
    def method(self, x):
        return x

    decorated = twice(method)


def test_rewrap_replaces_what_is_decorated():
    assert decorators.rewrap(twice(plain), plain, len)([1, 2]) == (2, 2)
    outer = twice(twice(plain))
    assert decorators.rewrap(outer, plain, len)([1]) == ((1, 1), (1, 1))
    assert decorators.unwrap(outer)[1] is len
    assert decorators.rewrap(plain, plain, len) is len
    bound = Holder().decorated
    decorators.rewrap(bound, Holder.method, lambda self, x: -x)
    assert Holder().decorated(3) == (-3, -3)


def test_functions_that_take_keywords_only():
    assert exports.kwarg_only(plain)(a=1) == (1, 2)
    with pytest.raises(TypeError, match=r"plain only takes keyword args \(possible keys: \['a', 'b'\]\)"):
        exports.kwarg_only(plain)(1)


def test_names_of_a_symbol():
    @exports.tf_export("nn.mine", "mine", v1=["mine_v1"])
    def mine():
        pass

    @exports.tf_export(v1=["old"])
    def old():
        pass

    assert (exports.get_v1_names(mine), exports.get_v2_names(mine)) == (["mine_v1"], ["nn.mine", "mine"])
    assert exports.get_canonical_name_for_symbol(twice(mine)) == "nn.mine"
    assert exports.get_canonical_name_for_symbol(old) == "old"
    assert exports.get_canonical_name_for_symbol(old, add_prefix_to_v1_names=True) == "compat.v1.old"
    assert exports.get_canonical_name_for_symbol(plain) is None


def test_dictionaries_by_identity():
    one, same = [1], [1]
    found = object_identity.ObjectIdentityDictionary([(one, "one")])
    found[same] = "same"
    assert len(found) == 2
    assert (found[one], found[same]) == ("one", "same")
    assert [key is one for key in found] == [True, False]
    del found[one]
    assert one not in found
    assert same in found
    for use in (found.__getitem__, found.__delitem__):
        with pytest.raises(KeyError):
            use(one)


def test_sets_by_identity():
    one, same, other = [1], [1], [2]
    found = object_identity.ObjectIdentitySet([one, other, one])
    assert len(found) == 2
    assert same not in found
    assert [item is one for item in found.intersection([one, same])] == [True]
    assert [item is other for item in found.difference([one, same])] == [True]
    found.discard(other)
    assert [item is one for item in found] == [True]
    found.update([same])
    assert len(found | object_identity.ObjectIdentitySet([other])) == 3


@pytest.mark.parametrize("kind", ["ObjectIdentityWeakKeyDictionary", "ObjectIdentityWeakSet"])
def test_weak_ones_let_go(kind):
    kept, gone = Holder(), Holder()
    found = getattr(object_identity, kind)()
    for item in (kept, gone):
        found.add(item) if kind.endswith("Set") else found.__setitem__(item, 1)
    assert len(found) == 2
    del item, gone
    gc.collect()
    assert [item is kept for item in found] == [True]
    assert len(found) == 1


@pytest.mark.parametrize(
    ("mark", "name", "value"),
    [
        (doc_controls.do_not_generate_docs, "_tf_docs_do_not_document", None),
        (doc_controls.do_not_doc_inheritable, "_tf_docs_do_not_doc_inheritable", None),
        (doc_controls.for_subclass_implementers, "_tf_docs_tools_for_subclass_implementers", None),
        (doc_controls.inheritable_header("Words."), "_tf_docs_inheritable_header", "Words."),
    ],
)
def test_marks_for_pages_are_those_of_the_original(mark, name, value):
    class Described:
        pass

    assert mark(Described) is Described
    assert {key: each for key, each in vars(Described).items() if key.startswith("_tf_docs")} == {name: value}


def test_the_package_of_arg_scope_has_functions_of_its_modules_names():
    with importer.names_installed():
        ops = importlib.import_module("tensorflow.contrib.framework.python.ops")
        assert ops.arg_scope is tf.contrib.framework.arg_scope
        assert ops.add_arg_scope is tf.contrib.layers.add_arg_scope
