"""TypeSpec, TensorSpec and IndexedSlicesSpec: what they print and answer, against the original."""

import pickle

import pytest

from tests.graph.later import cases, module, printed
from towerstrat.graph.ir import type_specs, types
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.tensor_conversion import constant, placeholder
from towerstrat.graph.ir.type_specs import HasTypeSpec, IndexedSlicesSpec, TensorSpec, type_spec_from_value
from towerstrat.graph.ops.array.arrays import zeros

TF = module(
    TensorSpec=TensorSpec,
    TypeSpec=type_specs.TypeSpec,
    IndexedSlicesSpec=IndexedSlicesSpec,
    IndexedSlices=IndexedSlices,
    type_spec_from_value=type_spec_from_value,
    constant=constant,
    zeros=zeros,
    float32=types.float32,
    int32=types.int32,
)


@pytest.mark.parametrize(("expression", "original"), cases("specs"))
def test_against_the_original(expression, original):
    assert printed(expression, TF) == original


def test_a_graph_tensor_gives_its_name():
    x = placeholder(types.float32, [None, 2], name="x")
    assert TensorSpec.from_tensor(x) == TensorSpec([None, 2], types.float32, "x")
    assert TensorSpec.from_tensor(x, name="y").name == "y"
    assert type_spec_from_value(x) == TensorSpec([None, 2])


def test_components_make_the_value_again():
    slices = IndexedSlices(zeros([2, 3]), constant([0, 1]), constant([5, 3]))
    spec = type_spec_from_value(slices)
    made = spec._from_components(spec._to_components(slices))
    assert (made.values, made.indices, made.dense_shape) == (slices.values, slices.indices, slices.dense_shape)
    with pytest.raises(ValueError, match=r"Expected a value of TensorSpec"):
        TensorSpec([3])._to_components(zeros([4]))


@pytest.mark.parametrize("spec", [TensorSpec([None, 3], types.int32, "x"), IndexedSlicesSpec([4, 2])])
def test_pickles(spec):
    assert pickle.loads(pickle.dumps(spec)) == spec


def test_types_that_describe_themselves():
    class Rows(HasTypeSpec):
        @property
        def _type_spec(self):
            return TensorSpec([2])

    assert type_spec_from_value(Rows()) == TensorSpec([2])
