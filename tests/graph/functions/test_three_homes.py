"""One function, three homes: called eagerly, inside another function, and in a graph that a session runs."""

import itertools
import json
from pathlib import Path

import pytest

from tests.golden.autograph_cases import CASES
from tests.graph.autograph.common import array, make_tf
from tests.graph.autograph.test_against_original import RAISED, compare
from tests.spread import spread
from towerstrat import errors
from towerstrat.data.api.dataset import Dataset
from towerstrat.graph.eager.mode import eager_mode
from towerstrat.graph.functions.polymorphic import function
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ops.math.equality import disable_tensor_equality, enable_tensor_equality
from towerstrat.graph.variables.variables import Variable

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "autograph.json").read_text())


def eagerly(program, args):
    with eager_mode():
        return values_of(function(program)(*map(convert_to_tensor, args)))


def inside_another(program, args):
    with eager_mode():
        inner = function(program)
        return values_of(function(lambda *given: inner(*given))(*map(convert_to_tensor, args)))


def in_a_graph(program, args):
    tf = make_tf()
    with Graph().as_default() as graph, tf.Session() as session:
        feeds = [tf.placeholder(v.dtype, v.shape) for v in args]
        result = function(program)(*feeds)
        session.run([v.initializer for v in graph.get_collection("variables")])
        tensors = [t for t in nest.flatten(result) if isinstance(t, Tensor)]
        fetched = iter(session.run(tensors, dict(zip(feeds, args, strict=True))))
        leaves = [next(fetched) if isinstance(leaf, Tensor) else leaf for leaf in nest.flatten(result)]
        return nest.pack_sequence_as(result, leaves)


HOMES = [eagerly, inside_another, in_a_graph]


def values_of(structure):
    return nest.map_structure(lambda t: t.numpy() if isinstance(t, Tensor) else t, structure)


class KeptVariables:
    """``tf.Variable`` for programs that make one in each call: a function may make it in the first call only."""

    def __init__(self):
        self.made, self.asked = [], 0

    def __call__(self, *args, **kwargs):
        self.asked += 1
        if self.asked > len(self.made):
            self.made.append(Variable(*args, **kwargs))
        return self.made[self.asked - 1]

    def traced(self, program):
        def again(*args):
            self.asked = 0
            return program(*args)

        return again


@pytest.fixture(autouse=True)
def elementwise_equality():
    enable_tensor_equality()
    yield
    disable_tensor_equality()


@spread(("case", "home"), itertools.product(CASES, HOMES), every=9, ids=lambda value: value.__name__)
def test_as_the_original(home, case):
    runs = case(make_tf())[1]
    for number, wanted in enumerate(GOLDEN[case.__name__]):
        tf = make_tf()
        tf.Variable = kept = KeptVariables()
        program = case(tf)[0]
        args = [array(a) for a in runs[number]]
        if isinstance(wanted, str):
            with pytest.raises(RAISED.get(wanted) or getattr(errors, wanted)):
                home(program, args)
        else:
            compare(home(kept.traced(program), args), wanted)


# ---- effects ---------------------------------------------------------------------------------------------------------


def range_loop(tf, v, data):
    def program():
        for _ in tf.range(3):
            v.assign_add(1.0)
        return tf.constant(0)

    return program, 3.0


def while_loop(tf, v, data):
    def program():
        i = tf.constant(0)
        while i < 3:
            v.assign_add(1.0)
            i += 1
        return i

    return program, 3.0


def branch(tf, v, data):
    def program():
        if tf.constant(1.0) > 0.0:
            v.assign_add(1.0)
        return tf.constant(0)

    return program, 1.0


def branch_in_a_loop(tf, v, data):
    def program():
        for i in tf.range(5):
            if i > 1:
                v.assign_add(2.0)
        return tf.constant(0)

    return program, 6.0


def loop_without_a_result(tf, v, data):
    def program():
        def body(i):
            v.assign_add(1.0)
            return (i + 1,)

        tf.while_loop(lambda i: i < 3, body, [tf.constant(0)])
        return tf.constant(0)

    return program, 3.0


def over_a_dataset(tf, v, data):
    def program():
        for x in data:
            v.assign_add(tf.cast(x, tf.float32))
        return tf.constant(0)

    return program, 3.0


def after_a_loop_over_a_dataset(tf, v, data):
    def program():
        total = tf.constant(0, tf.int64)
        for x in data:
            total += x
        v.assign_add(tf.cast(total, tf.float32))
        return total

    return program, 3.0


def next_in_a_loop(tf, v, data):
    def program():
        iterator = iter(data)
        for _ in tf.range(2):
            v.assign_add(tf.cast(next(iterator), tf.float32) + 1.0)
        return tf.constant(0)

    return program, 3.0


def in_a_nested_function(tf, v, data):
    def program():
        @function
        def inner():
            for _ in tf.range(3):
                v.assign_add(1.0)

        inner()
        inner()
        return tf.constant(0)

    return program, 6.0


def made(case):
    tf = make_tf()
    v = Variable(0.0, use_resource=True)
    program, wanted = case(tf, v, Dataset.range(3))
    return v, program, wanted


EFFECTS = [range_loop, while_loop, branch, branch_in_a_loop, loop_without_a_result, over_a_dataset,
           after_a_loop_over_a_dataset, next_in_a_loop, in_a_nested_function]  # fmt: skip


@pytest.mark.parametrize("nested", [False, True], ids=["called", "called by a function"])
@pytest.mark.parametrize("case", EFFECTS, ids=lambda case: case.__name__)
def test_effects_eagerly(case, nested):
    with eager_mode():
        v, program, wanted = made(case)
        called = function(program)
        (function(lambda: called()) if nested else called)()
        assert v.numpy() == wanted


@pytest.mark.parametrize("nested", [False, True], ids=["called", "called by a function"])
@pytest.mark.parametrize("case", EFFECTS, ids=lambda case: case.__name__)
def test_effects_in_a_session(case, nested):
    tf = make_tf()
    with Graph().as_default(), tf.Session() as session:
        v, program, wanted = made(case)
        called = function(program)
        result = (function(lambda: called()) if nested else called)()
        session.run(v.initializer)
        assert session.run(v) == 0.0
        session.run(result)
        assert session.run(v) == wanted
        session.run(result)
        assert session.run(v) == 2 * wanted
