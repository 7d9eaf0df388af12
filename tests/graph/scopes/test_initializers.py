"""Initializers: statistics against their formulas, fans, configurations, partitions and bad input."""

import numpy as np
import pytest

from tests.bounds import close
from towerstrat.compat.v2_functions import initializers as v2
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.types import as_dtype
from towerstrat.graph.ops.array.arrays import ones
from towerstrat.graph.runtime.sessions.session import Session
from towerstrat.graph.scopes import initializers as i
from towerstrat.graph.scopes.variable_scope import get_variable
from towerstrat.graph.variables.partitioned import PartitionInfo, fixed_size_partitioner

SHAPE = (4, 3, 60, 90)
FAN_IN, FAN_OUT = 720, 1080
AVERAGE = (FAN_IN + FAN_OUT) / 2
# initializer, standard deviation, largest magnitude (None: unbounded)
STATISTICS = [
    ("i.VarianceScaling()", FAN_IN**-0.5, 2 * FAN_IN**-0.5 / 0.8796),
    ("i.VarianceScaling(2.0, 'fan_out', 'uniform')", (2 / FAN_OUT) ** 0.5, (6 / FAN_OUT) ** 0.5),
    ("i.VarianceScaling(3.0, 'fan_avg', 'untruncated_normal')", (3 / AVERAGE) ** 0.5, None),
    ("i.GlorotUniform()", AVERAGE**-0.5, (3 / AVERAGE) ** 0.5),
    ("i.GlorotNormal()", AVERAGE**-0.5, 2 * AVERAGE**-0.5 / 0.8796),
    ("i.he_normal()", (2 / FAN_IN) ** 0.5, None),
    ("i.he_uniform()", (2 / FAN_IN) ** 0.5, (6 / FAN_IN) ** 0.5),
    ("i.lecun_normal()", FAN_IN**-0.5, None),
    ("i.lecun_uniform()", FAN_IN**-0.5, (3 / FAN_IN) ** 0.5),
    ("i.UniformUnitScaling(1.5)", 1.5 * FAN_IN**-0.5, 1.5 * (3 / FAN_IN) ** 0.5),
    ("i.RandomNormal(0.0, 0.3)", 0.3, None),
    ("i.TruncatedNormal(0.0, 0.3)", 0.3 * 0.8796, 0.6),
    ("i.RandomUniform(-0.5, 0.5)", 12**-0.5, 0.5),
    ("i.xavier_initializer()", AVERAGE**-0.5, (3 / AVERAGE) ** 0.5),
    ("i.xavier_initializer(uniform=False)", (1.3 / AVERAGE) ** 0.5 * 0.8796, None),
    ("i.contrib_variance_scaling_initializer(mode='FAN_OUT')", (2.6 / FAN_OUT) ** 0.5 * 0.8796, None),
    ("v2.VarianceScaling()", FAN_IN**-0.5, None),
    ("v2.GlorotUniform()", AVERAGE**-0.5, (3 / AVERAGE) ** 0.5),
    ("v2.GlorotNormal()", AVERAGE**-0.5, 2 * AVERAGE**-0.5 / 0.8796),
    ("v2.HeUniform()", (2 / FAN_IN) ** 0.5, (6 / FAN_IN) ** 0.5),
    ("v2.HeNormal()", (2 / FAN_IN) ** 0.5, None),
    ("v2.LecunUniform()", FAN_IN**-0.5, (3 / FAN_IN) ** 0.5),
    ("v2.LecunNormal()", FAN_IN**-0.5, None),
    ("v2.RandomUniform()", 0.05 / 3**0.5, 0.05),
    ("v2.RandomNormal()", 0.05, None),
    ("v2.TruncatedNormal()", 0.05 * 0.8796, 0.1),
    ("i.xavier_initializer_conv2d()", AVERAGE**-0.5, (3 / AVERAGE) ** 0.5),
]


@pytest.mark.parametrize(("made", "deviation", "bound"), STATISTICS, ids=[made for made, _, _ in STATISTICS])
def test_statistics(made, deviation, bound):
    value = Session().run(eval(made, {"i": i, "v2": v2})(SHAPE))
    assert value.shape == SHAPE
    assert value.dtype == np.float32
    np.testing.assert_allclose(value.mean(), 0, atol=0.02 * deviation)
    np.testing.assert_allclose(value.std(), deviation, rtol=0.02)
    assert bound is None or 0.95 * bound < np.abs(value).max() <= bound * 1.001


def test_constants_of_2x():
    made = [
        v2.Zeros()([2, 2]), v2.Ones()([2, 2]), v2.Constant(3.0)([2, 2]), v2.ConstantInPlace(4.0)([2, 2]),
        v2.Identity(2.0)([2, 2]), v2.Orthogonal(2.0)([3, 3]),
    ]  # fmt: skip
    *values, orthogonal = Session().run(made)
    wanted = [[[0, 0], [0, 0]], [[1, 1], [1, 1]], [[3, 3], [3, 3]], [[4, 4], [4, 4]], [[2, 0], [0, 2]]]
    assert [v.tolist() for v in values] == wanted
    close(orthogonal @ orthogonal.T, 4 * np.eye(3), 9, 4)


@pytest.mark.parametrize(("shape", "wanted"), [
    ((), (1, 1)), ((5,), (5, 5)), ((5, 7), (5, 7)), ((3, 5, 7), (15, 21)), ((2, 3, 5, 7), (30, 42)),
])  # fmt: skip
def test_fans(shape, wanted):
    assert i.fans(shape) == wanted


def test_constants_of_every_type():
    made = {
        "zeros": i.Zeros()([2, 3]), "false": i.Zeros("bool")([2]), "ones": i.Ones()([2], dtype="int64"),
        "true": i.Ones()([2], "bool"), "number": i.Constant(3)([2, 2]), "list": i.Constant([1, 2])([4], "int32"),
        "array": i.Constant(np.arange(4.0))([2, 2]), "identity": i.Identity(2.0)([2, 3]),
    }  # fmt: skip
    values = Session().run(made)
    assert values["zeros"].dtype == np.float32
    assert not values["zeros"].any()
    assert values["false"].tolist() == [False, False]
    assert values["ones"].dtype == np.int64
    assert values["true"].tolist() == [True, True]
    assert values["number"].tolist() == [[3, 3], [3, 3]]
    assert values["list"].tolist() == [1, 2, 2, 2]
    assert values["array"].tolist() == [[0, 1], [2, 3]]
    assert values["array"].dtype == np.float32
    assert values["identity"].tolist() == [[2, 0, 0], [0, 2, 0]]


def test_orthogonal():
    shapes = [(5, 5), (3, 8), (8, 3), (2, 3, 4, 5)]
    made = [i.Orthogonal(1.5, seed=2)(s) for s in shapes] + [i.ConvolutionDeltaOrthogonal(4.0)((3, 4, 2, 5))]
    *values, delta = Session().run(made)
    for value, shape in zip(values, shapes, strict=True):
        assert value.shape == shape
        matrix = value.reshape(-1, shape[-1]) / 1.5
        gram = matrix @ matrix.T if matrix.shape[0] < matrix.shape[1] else matrix.T @ matrix
        close(gram, np.eye(len(gram)), 2 * matrix.size)
    close(delta[1, 1] @ delta[1, 1].T, 4 * np.eye(2), 2 * delta[1, 1].size)
    delta[1, 1] = 0
    assert not delta.any()


def test_partitions_are_scaled_by_the_whole():
    info = PartitionInfo([400, 30], [100, 0])
    a, b, c = Session().run([
        i.VarianceScaling(distribution="uniform")([100, 30], partition_info=info),
        i.UniformUnitScaling()([100, 30], partition_info=info),
        i.Identity()([2, 3], partition_info=PartitionInfo([4, 3], [1, 0])),
    ])  # fmt: skip
    for value in (a, b):
        assert 0.95 * (3 / 400) ** 0.5 < np.abs(value).max() <= (3 / 400) ** 0.5
    assert c.tolist() == [[0, 1, 0], [0, 0, 1]]


def test_initializers_are_told_of_partitions_if_they_ask():
    told = []

    def plain(shape, dtype):
        told.append(None)
        return ones(shape, dtype)

    def asking(shape, dtype, partition_info):
        told.append(partition_info)
        return ones(shape, dtype)

    def taking(shape, **more):
        told.append(sorted(more))
        return ones(shape, more["dtype"])

    for name, initializer in (("a", plain), ("b", asking), ("c", taking)):
        get_variable(name, [2], initializer=initializer)
    assert told == [None, None, ["dtype"]]
    get_variable("d", [4], initializer=asking, partitioner=fixed_size_partitioner(2))
    assert [info.var_offset for info in told[3:]] == [[0], [2]]


CONFIGS = [
    (i.zeros_initializer, {"dtype": "float64"}),
    (i.ones_initializer, {"dtype": "int32"}),
    (i.constant_initializer, {"value": 4, "dtype": "float32"}),
    (i.random_uniform_initializer, {"minval": -1, "maxval": 2, "seed": 3, "dtype": "float32"}),
    (i.random_normal_initializer, {"mean": 1.0, "stddev": 2.0, "seed": 3, "dtype": "float32"}),
    (i.truncated_normal_initializer, {"mean": 1.0, "stddev": 2.0, "seed": 3, "dtype": "float64"}),
    (i.uniform_unit_scaling_initializer, {"factor": 2.0, "seed": None, "dtype": "float32"}),
    (i.variance_scaling_initializer,
     {"scale": 2.0, "mode": "fan_out", "distribution": "uniform", "seed": 1, "dtype": "float32"}),
    (i.glorot_uniform_initializer, {"seed": 1, "dtype": "float32"}),
    (i.glorot_normal_initializer, {"seed": 1, "dtype": "float32"}),
    (i.orthogonal_initializer, {"gain": 2.0, "seed": 1, "dtype": "float32"}),
    (i.identity_initializer, {"gain": 2.0, "dtype": "float32"}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "config"), CONFIGS)
def test_configurations_come_back(kind, config):
    made = kind.from_config(config)
    assert made.get_config() == config
    tensor = made([2, 2])
    assert isinstance(tensor, Tensor)
    assert tensor.dtype is as_dtype(config["dtype"])
    assert tensor.shape.as_list() == [2, 2]


BAD = [
    (lambda: i.VarianceScaling(0.0), ValueError, "positive"),
    (lambda: i.VarianceScaling(mode="fan"), ValueError, "fan_avg"),
    (lambda: i.VarianceScaling(distribution="gauss"), ValueError, "distribution"),
    (lambda: i.RandomNormal(dtype="int32"), ValueError, "floating"),
    (lambda: i.Orthogonal()([3]), ValueError, "two-dimensional"),
    (lambda: i.Identity()([3, 3, 3]), ValueError, "2D"),
    (lambda: i.ConvolutionDeltaOrthogonal()([3, 5, 4]), ValueError, "In_filters"),
    (lambda: i.Constant(object()), TypeError, "object"),
    (lambda: i.Constant([1, 2, 3])([2]), ValueError, "Too many elements"),
    (lambda: i.Constant([1, 2, 3], verify_shape=True)([4]), TypeError, "Expected Tensor's shape"),
    (lambda: i.contrib_variance_scaling_initializer(mode="fan_in"), TypeError, "FAN_IN"),
    (lambda: i.xavier_initializer(dtype="int32"), TypeError, "int32"),
]


@pytest.mark.parametrize(("build", "kind", "words"), BAD)
def test_refused(build, kind, words):
    with pytest.raises(kind, match=words):
        build()
