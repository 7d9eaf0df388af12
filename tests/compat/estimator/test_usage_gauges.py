"""Gauges: one value for each combination of labels, of as many labels as the gauge has."""

import pytest

from towerstrat.compat.estimator.usage_gauges import BoolGauge, StringGauge


def test_a_value_for_each_combination_of_labels():
    gauge = StringGauge("/used", "which way is used", "where", "how")
    gauge.get_cell("a", "b").set("c")
    assert gauge.get_cell("a", "b").value() == "c"
    assert gauge.get_cell("b", "a").value() == ""
    assert BoolGauge("/used", "whether it is used").get_cell().value() is False


@pytest.mark.parametrize("labels", [(), ("a",), ("a", "b", "c")])
def test_another_number_of_labels_is_refused(labels):
    gauge = BoolGauge("/used", "whether it is used", "where", "how")
    with pytest.raises(ValueError, match=f"/used expects 2 labels, got {len(labels)}"):
        gauge.get_cell(*labels)
