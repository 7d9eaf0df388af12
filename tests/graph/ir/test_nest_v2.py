"""``tf.nest`` of the later surface, against the original."""

from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import pytest

from tests.graph.later import cases, module, printed
from towerstrat.graph.ir import nest_v2
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.tensor_conversion import constant
from towerstrat.graph.runtime.sessions.session import Session

TF = module(nest=nest_v2, constant=constant, TensorShape=TensorShape)


@pytest.mark.parametrize(("expression", "original"), cases("nest"))
def test_against_the_original(expression, original):
    assert printed(expression, TF) == original


class Attrs:
    """What the attrs package makes of a class with two fields."""

    __attrs_attrs__ = (SimpleNamespace(name="a"), SimpleNamespace(name="b"))

    def __init__(self, a, b):
        self.a, self.b = a, b


def test_attrs_objects_are_structures():
    assert nest_v2.flatten(Attrs(1, [2, 3])) == [1, 2, 3]
    made = nest_v2.map_structure(lambda x: x + 1, Attrs(1, [2]))
    assert (type(made), made.a, made.b) == (Attrs, 2, [3])


def test_default_factories_are_kept():
    made = nest_v2.map_structure(lambda x: x, defaultdict(list, a=1))
    assert made["new"] == []


def test_composites_are_taken_apart_where_asked():
    slices = IndexedSlices(constant([[1.0], [2.0]]), constant([0, 2]), constant([3, 1]))
    assert nest_v2.flatten([slices, 1]) == [slices, 1]
    assert nest_v2.flatten([slices, 1], True) == [slices.values, slices.indices, slices.dense_shape, 1]
    made = nest_v2.map_structure(lambda x: x, {"g": slices}, expand_composites=True)["g"]
    assert isinstance(made, IndexedSlices)
    with Session() as session:
        np.testing.assert_array_equal(session.run(made.indices), [0, 2])
    with pytest.raises(ValueError, match="Expected 4 leaves"):
        nest_v2.pack_sequence_as([slices, 1], [1, 2], expand_composites=True)


def test_composites_of_other_kinds_are_not_the_same():
    float_rows = IndexedSlices(constant([[1.0]]), constant([0]))
    integer_rows = IndexedSlices(constant([[1]]), constant([0]))
    nest_v2.assert_same_structure([float_rows], [integer_rows])
    with pytest.raises(ValueError, match="different kinds"):
        nest_v2.assert_same_structure([float_rows], [integer_rows], expand_composites=True)
    with pytest.raises(TypeError, match="types of their leaves"):
        nest_v2.assert_same_structure([float_rows], [1.0], expand_composites=True)
