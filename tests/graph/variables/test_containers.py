"""Lists, dictionaries and tuples that are attributes: they look and work as Python's, and what they hold is found."""

import collections
import copy
import json
import pickle

import numpy as np
import pytest

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf
from towerstrat.graph.ir import nest
from towerstrat.graph.variables.containers import AutoTrackable, DictWrapper, List, ListWrapper, Mapping, NoDependency
from towerstrat.graph.variables.trackable import (
    Trackable,
    no_automatic_dependency_tracking,
    no_automatic_dependency_tracking_scope,
    no_manual_dependency_tracking_scope,
)

pytestmark = pytest.mark.usefixtures("later_behavior")
Pair = collections.namedtuple("Pair", "left right")


@pytest.fixture
def holder():
    return AutoTrackable()


def test_attributes_are_dependencies_by_name(holder):
    holder.v, holder.n = tf.Variable(1.0), 3
    holder.parts = [tf.Variable(2.0), [tf.Variable(3.0)], "text"]
    holder.named = {"a": tf.Variable(4.0), "b": {"c": tf.Variable(5.0)}}
    holder.pair = Pair(tf.Variable(6.0), 7)
    holder.sizes = (3, 4)
    holder.free = NoDependency([tf.Variable(8.0)])
    assert list(holder._trackable_children()) == ["v", "parts", "named", "pair"]
    assert list(holder.parts._trackable_children()) == ["0", "1"]
    assert list(holder.named._trackable_children()) == ["a", "b"]
    assert list(holder.pair._trackable_children()) == ["left", "0"]
    assert type(holder.sizes) is tuple
    assert type(holder.free) is list
    assert [float(v) for v in holder.named.variables] == [5.0, 4.0]
    holder.parts.trainable = False
    assert [float(v) for v in holder.parts.trainable_variables] == []
    assert [float(v) for v in holder.parts.non_trainable_variables] == [3.0, 2.0]
    new = holder.v = tf.Variable(9.0)
    assert holder._lookup_dependency("v") is new
    del holder.v
    assert "v" not in holder._trackable_children()


def test_what_assigns_without_tracking(holder):
    class Careful(AutoTrackable):
        @no_automatic_dependency_tracking
        def __init__(self):
            self.hidden = [tf.Variable(1.0)]

    careful = Careful()
    with no_automatic_dependency_tracking_scope(careful):
        careful.v = tf.Variable(1.0)
    with no_manual_dependency_tracking_scope(careful):
        careful._track_trackable(careful.v, "v")
    assert careful._trackable_children() == {}
    assert type(careful.hidden) is list
    with pytest.raises(TypeError, match="objects of type Trackable"):
        holder._track_trackable(3, "three")
    holder._track_trackable(careful, "one")
    with pytest.raises(ValueError, match="Names must be unique"):
        holder._track_trackable(Trackable(), "one")


def test_they_are_what_they_stand_for(holder):
    variable, numbers = tf.Variable(1.0), [3, 1, 2]
    holder.list, holder.dict, holder.pair = numbers, {"b": 1, "a": [2]}, Pair(variable, [1])
    assert isinstance(holder.list, list)
    assert isinstance(holder.dict, dict)
    assert isinstance(holder.pair, Pair)
    assert holder.list == [3, 1, 2] == list(holder.list) == [*holder.list]
    assert holder.dict == {"b": 1, "a": [2]} == {**holder.dict}
    assert (holder.pair.left, holder.pair.right, holder.pair[0]) == (variable, [1], variable)
    assert ([0] + holder.list, holder.list + [0], 2 * holder.list) == ([0, 3, 1, 2], [3, 1, 2, 0], [3, 1, 2, 3, 1, 2])
    assert (holder.dict | {"c": 3}, {"c": 3} | holder.dict) == ({"b": 1, "a": [2], "c": 3},) * 2
    assert (sorted(holder.list), max(holder.list), holder.list.index(2)) == ([1, 2, 3], 3, 2)
    assert holder.list < [4]
    assert json.dumps(holder.list) == "[3, 1, 2]"
    assert np.asarray(holder.list).tolist() == [3, 1, 2]
    assert tf.zeros(holder.list).shape == (3, 1, 2)
    assert nest.flatten([holder.list, holder.dict, holder.pair]) == [3, 1, 2, 2, 1, variable, 1]
    nest.assert_same_structure([holder.list, holder.dict, holder.pair], [[0, 0, 0], {"a": [0], "b": 0}, Pair(0, [0])])
    assert type(nest.map_structure(str, holder.list)) is list
    assert type(nest.map_structure(str, holder.dict)) is dict
    assert type(nest.map_structure(lambda x: 0, holder.pair)) is Pair
    for same in (copy.copy(holder.list), copy.deepcopy(holder.list), pickle.loads(pickle.dumps(holder.list))):
        assert type(same) is ListWrapper
        assert same == numbers
    assert type(pickle.loads(pickle.dumps(holder.dict))) is DictWrapper
    holder.pair = (variable, 1)
    assert hash(holder.pair) == hash((variable, 1))
    with pytest.raises(TypeError, match="unhashable"):
        hash(holder.list)
    numbers.append(4)
    assert holder.list[-1] == 4


@pytest.mark.parametrize(("change", "saved"), [
    (lambda x: x.append(tf.Variable(1.0)), True), (lambda x: x.extend([1, tf.Variable(1.0)]), True),
    (lambda x: x.__setitem__(0, tf.Variable(1.0)), True), (lambda x: x.__imul__(2), True),
    (lambda x: x.insert(3, 5), True), (lambda x: x.pop(), True), (lambda x: x.__setitem__(slice(0, 1), [4]), True),
    (lambda x: x.insert(0, 5), False), (lambda x: x.pop(0), False), (lambda x: x.reverse(), True),
    (lambda x: x.__setitem__(1, 5), False), (lambda x: x.__setitem__(slice(0, 1), [4, 4]), False),
    (lambda x: x.clear(), False), (lambda x: x.__imul__(0), False),
])  # fmt: skip
def test_lists_that_lose_the_place_of_a_variable_are_not_saved(holder, change, saved):
    plain = [1, tf.Variable(1.0), 3]
    holder.list = list(plain)
    change(holder.list)
    if saved:
        found = {int(name): ref for name, ref in holder.list._trackable_children().items()}
        assert found == {i: v for i, v in enumerate(holder.list) if isinstance(v, tf.Variable)}
    else:
        with pytest.raises(ValueError, match="element was replaced"):
            holder.list._trackable_children()


def test_what_is_changed_behind_its_back_is_not_saved(holder):
    plain, named = [1], {"a": 1}
    holder.list, holder.dict = plain, named
    plain.append(2)
    named["b"] = 2
    for each in (holder.list, holder.dict):
        with pytest.raises(ValueError, match="modified outside the wrapper"):
            each._trackable_children()
    holder.odd = {1: tf.Variable(1.0)}
    with pytest.raises(ValueError, match="non-string key"):
        holder.odd._trackable_children()
    holder.named = {"a": tf.Variable(1.0)}
    holder.named["a"] = replaced = tf.Variable(2.0)
    holder.named.update(b=tf.Variable(3.0), c=4)
    assert holder.named.pop("b") is not None
    assert holder.named._trackable_children() == {"a": replaced}


def test_lists_and_mappings_that_only_grow():
    first, second = tf.Variable(1.0), tf.Variable(2.0)
    grown = List([first])
    grown += [second]
    assert grown._trackable_children() == {"0": first, "1": second}
    with pytest.raises(ValueError, match="Only trackable objects"):
        grown.append(3)
    named = Mapping(a=first)
    named["b"] = second
    named["b"] = second
    assert dict(named) == named._trackable_children() == {"a": first, "b": second}
    with pytest.raises(ValueError, match="append-only"):
        named["a"] = second
    with pytest.raises(TypeError, match="only string keys"):
        named[1] = second


def test_sessions_and_functions_give_what_they_stand_for(holder):
    holder.named, holder.pair = {"a": [1.0], "b": 2.0}, Pair(tf.Variable(3.0), [4.0])
    found = tf.function(lambda: tf.cond(tf.constant(True), lambda: [holder.named, holder.pair], lambda: [{
        "a": [0.0], "b": 0.0}, Pair(0.0, [0.0])]))()  # fmt: skip
    assert [type(each) for each in found] == [dict, Pair]
    assert [float(leaf) for leaf in nest.flatten(found)] == [1.0, 2.0, 3.0, 4.0]
    with tf1.Graph().as_default(), tf1.Session() as session:
        holder.named, holder.feeds = {"a": [tf.constant(1.0)]}, {tf1.placeholder(tf.float32): 2.0}
        found = session.run([holder.named, list(holder.feeds)], holder.feeds)
        assert found == [{"a": [1.0]}, [2.0]]
        assert [type(each) for each in found] == [dict, list]


def test_modules_find_variables_in_them():
    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.parts = [tf.Variable(1.0), {"a": (tf.Variable(2.0),)}]

    net = Net()
    assert [float(v) for v in net.variables] == [1.0, 2.0]
    assert [float(v) for v in copy.deepcopy(net).variables] == [1.0, 2.0]
    assert [path for path, _ in net._flatten(with_path=True)] == [
        ("_name",), ("_scope_name",), ("parts", 0), ("parts", 1, "a", 0)]  # fmt: skip
