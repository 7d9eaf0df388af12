"""``tf.Module``: what it finds and in which order, and its names, against the original."""

import pytest

from tests.graph.later import cases, module, printed
from towerstrat.graph.eager import mode
from towerstrat.graph.functions.polymorphic import function
from towerstrat.graph.variables.module import Module
from towerstrat.graph.variables.variables import Variable, create_variable

TF = module(Module=Module, Variable=Variable)


@pytest.mark.parametrize(("expression", "original"), cases("module"))
def test_against_the_original(expression, original):
    with mode.eager_mode():
        assert printed(expression, TF) == original


class Scale(Module):
    @Module.with_name_scope
    def __call__(self, x):
        if not hasattr(self, "w"):
            self.w = create_variable(initial_value=2.0, name="w")
        return x * self.w


def test_names_in_graphs_are_unique():
    one, two = Scale(), Scale()
    made = one(3.0), two(3.0)
    assert [m.name_scope.name for m in (one, two)] == ["scale/", "scale_1/"]
    assert [v.name for m in (one, two) for v in m.variables] == ["scale/w:0", "scale_1/w:0"]
    assert made[1].name.startswith("scale_1/")
    assert one.__call__.__name__ == "__call__"


def test_in_functions():
    with mode.eager_mode():
        scale = Scale()
        traced = function(scale)
        assert [float(traced(3.0)), float(traced(3.0))] == [6.0, 6.0]
        assert [v.name for v in scale.trainable_variables] == ["scale/w:0"]


def test_attributes_that_cannot_be_searched_are_named():
    holder = Module()
    holder.table = {1: 2, "a": 3}
    with pytest.raises(ValueError, match="Error processing property 'table'"):
        _ = holder.variables
