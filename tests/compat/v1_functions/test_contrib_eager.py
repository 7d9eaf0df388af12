"""``tf.contrib.eager`` against TensorFlow 1.12."""

import json
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.golden import contrib_eager_cases as cases
from towerstrat.graph.eager.mode import eager_mode

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "contrib_eager.json").read_text())


def plain(value):
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if value is None or isinstance(value, bool | str):
        return value
    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    return {"dtype": array.dtype.name, "value": array.tolist()}


def same(ours, theirs):
    assert type(ours) is type(theirs), (ours, theirs)
    if isinstance(theirs, list):
        for one, other in zip(ours, theirs, strict=True):
            same(one, other)
    elif isinstance(theirs, dict):
        assert ours["dtype"] == theirs["dtype"]
        np.testing.assert_allclose(ours["value"], theirs["value"], rtol=1e-6)
    else:
        assert ours == theirs


@pytest.mark.parametrize("case", cases.CASES)
def test_as_the_original(case):
    tfe = tf.contrib.eager
    with eager_mode():
        names = {"tf": tf, "tfe": tfe, "m": tfe.metrics, "v": tfe.Variable(3.0)}
        try:
            ours = plain(eval(case, vars(cases) | names))
        except Exception as error:
            ours = f"raises {type(error).__name__}"
    same(ours, GOLDEN[case])


def test_metrics_of_ones_own():
    class Largest(tf.contrib.eager.metrics.Metric):
        def build(self, values):
            self.largest = self.add_variable("largest", [], tf.float32, tf.zeros_initializer())

        def call(self, values):
            self.largest.assign(tf.maximum(self.largest, tf.reduce_max(values)))

        def result(self):
            return self.largest.read_value()

    with eager_mode():
        metric, other = Largest(), Largest()
        for values in ([1.0, 5.0], [2.0]):
            metric(tf.constant(values))
        other(tf.constant([3.0]))
        assert float(metric.result()) == 5.0
        metric.aggregate([other])
        assert float(metric.value()()) == 8.0
        metric.init_variables()
        assert float(metric.result()) == 0.0
        with pytest.raises(RuntimeError, match="build"):
            metric.add_variable("more")
        with pytest.raises(TypeError, match="same type"):
            metric.aggregate([tf.contrib.eager.metrics.Mean()])


def test_run(monkeypatch):
    seen = []
    monkeypatch.setattr("towerstrat.graph.eager.mode.enable_eager_execution", lambda: seen.append("eager"))
    with pytest.raises(SystemExit):
        tf.contrib.eager.run(lambda argv: seen.append(argv[1:]), ["program", "x"])
    assert seen == ["eager", ["x"]]


def test_iterators_are_for_eager_execution():
    with pytest.raises(RuntimeError, match="make_one_shot_iterator"):
        tf.contrib.eager.Iterator(tf.data.Dataset.range(2))
