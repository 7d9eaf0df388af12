"""Sums, exchanges and permutations among shards, and their gradients, against ``jax.lax`` under ``shard_map``."""

import jax
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh, PartitionSpec

import towerstrat.compat.v1 as tf
from tests.spread import spread
from tests.towers.common import run
from towerstrat.errors import UnsupportedError
from towerstrat.towers.shards.collectives import all_to_all, collective_permute

tpu = tf.contrib.tpu
SHARDS = 4
VALUES = np.random.RandomState(0).randn(SHARDS * 4, 3, 8).astype(np.float32)
WEIGHTS = np.random.RandomState(1).randn(*VALUES.shape).astype(np.float32)
GROUPS = [[0, 2], [3, 1]]


def members(groups):
    """The group of each shard, as a matrix [shards, shards] of ones and zeros."""
    return np.array([[float(any(i in g and j in g for g in groups)) for j in range(SHARDS)] for i in range(SHARDS)])


def twin(function):
    """A function of one shard under ``shard_map``, of all rows."""
    mesh = Mesh(np.array(jax.devices()[:SHARDS]), ("shard",))
    rows = PartitionSpec("shard")
    return jax.jit(jax.shard_map(function, mesh=mesh, in_specs=rows, out_specs=rows))


CASES = {
    "exchange in groups": (
        lambda x: all_to_all(x, 1, 2, 2, np.array(GROUPS)),
        lambda x: lax.all_to_all(x, "shard", 2, 1, axis_index_groups=GROUPS, tiled=True),
    ),
    "sum": (lambda x: tpu.cross_replica_sum(x), lambda x: lax.pcast(lax.psum(x, "shard"), "shard", to="varying")),
    "groups": (
        lambda x: tpu.cross_replica_sum(x, GROUPS),
        lambda x: lax.all_gather(x, "shard", axis_index_groups=GROUPS).sum(0),
    ),
    "permutation": (
        lambda x: collective_permute(x, [[0, 1], [1, 2], [2, 3]]),
        lambda x: lax.ppermute(x, "shard", [(0, 1), (1, 2), (2, 3)]),
    ),
    "exchange": (lambda x: all_to_all(x, 2, 0, 4), lambda x: lax.all_to_all(x, "shard", 0, 2, tiled=True)),
    "reversal": (
        lambda x: collective_permute(x, tf.constant([[0, 3], [3, 0], [1, 2], [2, 1]])),
        lambda x: lax.ppermute(x, "shard", [(0, 3), (3, 0), (1, 2), (2, 1)]),
    ),
}


@spread("name", CASES, every=3)
def test_values_and_gradients(name):
    """A gradient that is taken inside sums what each shard's own loss says, as the original's registered ones do."""
    ours, theirs = CASES[name]

    def computation(x):
        y = ours(x)
        weights = tf.reshape(tf.range(1.0, 1.0 + y.shape.num_elements()), y.shape)
        return y, tf.gradients(tf.reduce_sum(y * weights), x)[0]

    value, gradient = run(tpu.shard(computation, [VALUES], SHARDS))
    wanted = twin(theirs)(VALUES)
    np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-5)
    shape = (wanted.shape[0] // SHARDS, *wanted.shape[1:])
    weights = np.tile(np.arange(1.0, 1.0 + np.prod(shape), dtype=np.float32).reshape(shape), (SHARDS, 1, 1))
    backward = jax.vjp(twin(theirs), VALUES)[1](weights)[0]
    np.testing.assert_allclose(gradient, backward, rtol=1e-5)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.long
def test_the_gradient_of_the_whole(name):
    """A gradient that is taken outside is the derivative of all shards' outputs."""
    ours, theirs = CASES[name]
    x = tf.constant(VALUES)
    (y,) = tpu.shard(ours, [x], SHARDS)
    weights = np.resize(WEIGHTS, y.shape.as_list())
    found = run(tf.gradients(tf.reduce_sum(y * weights), x)[0])
    np.testing.assert_allclose(found, jax.vjp(twin(theirs), VALUES)[1](weights)[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("how", ["mean", "sum"])
def test_groups_train_values_of_their_own(how):
    """Two groups of two shards; the first group's value is seen outside."""
    w = tf.get_variable("w", initializer=0.0)
    optimizer = tpu.CrossShardOptimizer(
        tf.train.MomentumOptimizer(0.5, 0.9), f"weighted_{how}", group_assignment=[[0, 3], [1, 2]]
    )

    def computation(x):
        with tf.control_dependencies([optimizer.minimize(w * tf.reduce_sum(x))]):
            return w.read_value()

    out = tpu.shard(computation, [np.float32([1, 10, 100, 1000])], SHARDS)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        own = np.array([1001, 110, 110, 1001]) * (-0.25 if how == "mean" else -0.5)
        np.testing.assert_allclose(session.run(out)[0], own, rtol=1e-6)
        assert session.run(w) == own[0]
        np.testing.assert_allclose(session.run(out)[0], own * 2.9, rtol=1e-6)


@pytest.mark.parametrize("shards", [1, 4])
def test_one_shard_is_alone(shards):
    """Sums of equal values, of integers and flags; what one shard sends itself, and what nobody sends."""
    none = collective_permute(tf.ones([2]), [[0, 0]]), collective_permute(tf.ones([2]), np.zeros([0, 2], np.int32))
    same = tpu.replicate(
        lambda: (
            tpu.cross_replica_sum(3),
            tpu.cross_replica_sum([True, False]),
            all_to_all(tf.ones([4]), 0, 0, shards),
        ),
        [[]] * shards,
    )
    kept, empty = run(none)
    np.testing.assert_array_equal([kept, empty], [[1, 1], [0, 0]])
    for three, flags, ones in run(same):
        assert three == 3 * shards
        np.testing.assert_array_equal(flags, [True, False])
        np.testing.assert_array_equal(ones, np.ones(4))


def test_what_cannot_be():
    def inside(function):
        return tpu.shard(function, [VALUES], SHARDS)

    for groups in ([[0, 1], [2]], [[0, 1], [2, 2]], [[0, 1]], [[0, 1, 2, 3, 4]]):
        with pytest.raises(ValueError, match="each of 4 shards once, in groups of one size"):
            inside(lambda x, groups=groups: tpu.cross_replica_sum(x, groups))
    with pytest.raises(ValueError, match="each of 1 shards once"):
        tpu.cross_replica_sum(1.0, [[0, 1]])
    with pytest.raises(ValueError, match="number of shards in a group, which is 4"):
        inside(lambda x: all_to_all(x, 0, 0, 2))
    with pytest.raises(ValueError, match="does not divide among groups of 4"):
        inside(lambda x: all_to_all(x, 0, 1, 4))
    with pytest.raises(ValueError, match="concat_dimension=3 is no dimension"):
        inside(lambda x: all_to_all(x, 3, 0, 4))
    for pairs in ([[0, 1], [0, 2]], [[0, 1], [2, 1]], [[0, 4]]):
        with pytest.raises(ValueError, match="each of 4 shards may be the source of one pair"):
            inside(lambda x, pairs=pairs: collective_permute(x, pairs))
    with pytest.raises(ValueError, match="must be known while the graph is built"):
        inside(lambda x: collective_permute(x, tf.placeholder(tf.int32, [1, 2])))
    index = tf.placeholder(tf.float32, [])
    with pytest.raises(UnsupportedError, match="towers would wait"):
        inside(lambda x: tf.cond(x[0, 0, 0] > index, lambda: collective_permute(x, [[0, 1]]), lambda: x))
