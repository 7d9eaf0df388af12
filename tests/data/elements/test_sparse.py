"""Sparse tensors as elements of datasets, against TensorFlow 1.12."""

import json
from pathlib import Path

import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.golden import sparse_data_cases
from towerstrat.graph.eager.mode import eager_mode

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "sparse_data.json").read_text())


@pytest.mark.parametrize("case", sparse_data_cases.CASES, ids=lambda case: case.__name__)
def test_case(case):
    with tf.Graph().as_default(), tf.Session() as session:
        assert json.loads(json.dumps(case(tf, session))) == GOLDEN[case.__name__]


def test_elements_are_sparse_eagerly_and_in_functions():
    with eager_mode():
        data = tf2.data.Dataset.from_tensor_slices((tf2.SparseTensor(*sparse_data_cases.X), [1, 2, 3])).batch(2)
        spec = data.element_spec
        assert spec[0] == tf2.SparseTensorSpec([None, None], tf2.float32)
        sums = [float(tf2.sparse.reduce_sum(x)) for x, _ in data]
        assert sums == [-0.5, 4.0]

        @tf2.function
        def total(some):
            result = tf2.constant(0.0)
            for x, _ in some:
                result += tf2.reduce_sum(x.values)
            return result

        assert float(total(data)) == 3.5


def test_numpy_elements_are_sparse_values_and_what_is_not_supported_is_refused():
    with eager_mode():
        data = tf2.data.Dataset.from_tensor_slices(tf2.SparseTensor(*sparse_data_cases.X))
        first = next(data.as_numpy_iterator())
        assert isinstance(first, tf.SparseTensorValue)
        assert [part.tolist() for part in first] == [[[1], [3]], [1.5, -2.0], [4]]
        with pytest.raises(TypeError, match="sparse tensors"):
            data.padded_batch(2)
