"""Rules of how batches are divided and how values of replicas are combined, each test named after its rule."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf
from tests.towers.distribute.common import parts, replica_id, steps, strategy
from towerstrat.errors import InvalidArgumentError

SUM, MEAN = tf.distribute.ReduceOp.SUM, tf.distribute.ReduceOp.MEAN


@pytest.fixture(autouse=True)
def as_in_2x(later_behavior):
    """Eagerly, and == compares values."""


@pytest.fixture(params=[False, True], ids=["eagerly", "in a function"])
def carried(request):
    """Calls a function as it is, or traced."""
    return tf.function if request.param else lambda function: function


def here():
    return tf.distribute.get_replica_context()


def rid():
    return tf.cast(replica_id(), tf.float32)


def run(made, function, *args):
    """What ``function``, traced, gives on each replica."""
    return made.run(tf.function(function, autograph=False), args=args)


def values(made, *given):
    """A per-replica value of one array for each replica."""
    return made.experimental_distribute_values_from_function(lambda c: given[c.replica_id_in_sync_group])


# ---- rule 1: a global batch, and each replica its part --------------------------------------------------------------


@pytest.mark.parametrize(
    ("replicas", "count", "batch", "expected"),
    [
        (2, 6, 4, [[[0, 1], [2, 3]], [[4], [5]]]),
        (5, 4, 4, [[[0], [1], [2], [3], []]]),
        (3, 8, 4, [[[0, 1], [2, 3], []], [[4, 5], [6, 7], []]]),
        (1, 6, 4, [[[0, 1, 2, 3]], [[4, 5]]]),
        (8, 3, 3, [[[0], [1], [2], [], [], [], [], []]]),
    ],
)
def test_rule_01_a_global_batch_is_divided(replicas, count, batch, expected):
    made = strategy(replicas)
    dataset = tf.data.Dataset.range(count).batch(batch)
    assert steps(made, made.experimental_distribute_dataset(dataset)) == expected


def test_rule_01_each_component_by_its_own_size():
    made = strategy(2)
    dataset = tf.data.Dataset.from_tensors((np.arange(4), np.arange(3)))
    ((one, two),) = made.experimental_distribute_dataset(dataset)
    assert parts(made, one) == [[0, 1], [2, 3]]
    assert parts(made, two) == [[0, 1], [2]]


def test_rule_01_what_has_no_batch_says_so():
    made = strategy(2)
    dataset = tf.data.Dataset.from_tensors({"x": np.arange(4), "n": 3})
    with pytest.raises(ValueError, match=r"'n'.*scalar.*batch\(global_batch_size\).*distribute_datasets_from_function"):
        made.experimental_distribute_dataset(dataset)
    unknown = tf.data.Dataset.from_generator(lambda: iter([3, 4]), tf.int32)
    with pytest.raises(ValueError, match=r"scalar.*batch\(global_batch_size\)"):
        next(iter(made.experimental_distribute_dataset(unknown)))


def test_rule_01_one_replica_has_everything_as_it_is():
    made = tf.distribute.OneDeviceStrategy("/cpu:0")
    (element,) = made.experimental_distribute_dataset(tf.data.Dataset.from_tensors({"x": [1, 2, 3], "n": 3}))
    assert element["n"].numpy() == 3
    dataset = tf.data.Dataset.range(3)
    assert tf.distribute.get_strategy().experimental_distribute_dataset(dataset) is dataset


# ---- rule 2: no data is a batch of nothing --------------------------------------------------------------------------


def two_two_none(width=2):
    """A strategy of three replicas, and its dataset with a last batch of (2, 2, 0) rows."""
    made = strategy(3)
    rows = np.arange(10 * width, dtype=np.float32).reshape(10, width) / 4
    return made, made.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(rows).batch(6)), rows


def test_rule_02_the_end_is_where_no_replica_has_data():
    made, data, _ = two_two_none()
    iterator = iter(data)
    sizes = [[part.shape[0] for part in made.experimental_local_results(next(iterator))] for _ in range(2)]
    assert sizes == [[2, 2, 2], [2, 2, 0]]
    with pytest.raises(StopIteration):
        next(iterator)
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        iterator.get_next()
    assert not iterator.get_next_as_optional().has_value()


def test_rule_02_a_batch_of_nothing_in_the_middle_is_a_step():
    made = strategy(2)
    sizes = (3, 0, 1)
    dataset = tf.data.Dataset.from_generator(
        lambda: (np.full([size], size) for size in sizes), output_signature=tf.TensorSpec([None], tf.int64)
    )
    data = made.experimental_distribute_dataset(dataset)
    assert steps(made, data) == [[[3, 3], [3]], [[], []], [[1], []]]

    @tf.function
    def total(data):
        sum, count = tf.constant(0, tf.int64), 0
        for x in data:
            sum += made.reduce(SUM, x, axis=0)
            count += 1
        return sum, count

    assert [v.numpy() for v in total(data)] == [10, 3]


def test_rule_02_reductions_and_gather_are_right(carried):
    made, data, rows = two_two_none()
    first, last = data
    for value, batch in ((first, rows[:6]), (last, rows[6:])):
        np.testing.assert_allclose(carried(lambda v: made.reduce(SUM, v, axis=0))(value), batch.sum(0))
        np.testing.assert_allclose(carried(lambda v: made.reduce(MEAN, v, axis=0))(value), batch.mean(0))
        np.testing.assert_allclose(carried(lambda v: made.reduce(MEAN, v, axis=(0, 1)))(value), batch.mean())
        np.testing.assert_array_equal(carried(lambda v: made.gather(v, axis=0))(value), batch)


def test_rule_02_a_mean_over_nothing_is_nan():
    made, data, rows = two_two_none()
    *_, last = data
    means = parts(made, run(made, tf.reduce_mean, last))
    np.testing.assert_allclose(means, [rows[6:8].mean(), rows[8:].mean(), np.nan])
    sums = parts(made, run(made, tf.reduce_sum, last))
    np.testing.assert_allclose(sums, [rows[6:8].sum(), rows[8:].sum(), 0])


@pytest.mark.parametrize("op", [SUM, MEAN])
def test_rule_02_elementwise_over_unequal_shapes_is_refused(carried, op):
    made, data, _ = two_two_none()
    first, last = data
    reduced = carried(lambda v: made.reduce(op, v, axis=None))
    assert reduced(first).shape == (2, 2)
    with pytest.raises(InvalidArgumentError, match=r"replicas, and their shapes differ: \[2, 2\], \[2, 2\], \[0, 2\]"):
        reduced(last)


@pytest.mark.parametrize("loss", [tf.reduce_sum, tf.reduce_mean])
def test_rule_02_gradients_there_are_zero(loss):
    made, data, rows = two_two_none()
    *_, last = data
    with made.scope():
        weights = tf.Variable([1.0, 2.0])

    def local(x):
        with tf.GradientTape() as tape:
            y = loss(x * weights)
        return tape.gradient(y, weights)

    scale = 4.0 if loss is tf.reduce_mean else 1.0
    expected = [rows[6:8].sum(0) / scale, rows[8:].sum(0) / scale, [0, 0]]
    np.testing.assert_allclose(parts(made, run(made, local, last)), expected)


def test_rule_02_copies_stay_equal():
    made, data, rows = two_two_none()
    with made.scope():
        weights = tf.Variable([1.0, 2.0], aggregation=tf.VariableAggregation.SUM)

    def local(x):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.square(x * weights))
        weights.assign_sub(1e-3 * tape.gradient(y, weights))

    @tf.function
    def train(data):
        for x in data:
            made.run(local, args=(x,))

    train(data)
    by_hand = np.float32([1, 2])
    for batch in (rows[:6], rows[6:]):
        by_hand = by_hand - 1e-3 * (2 * batch**2 * by_hand).sum(0)
    copies = [part.numpy() for part in made.experimental_local_results(weights)]
    np.testing.assert_allclose(copies, [by_hand] * 3, rtol=1e-5)
    assert (copies[0] == copies[1]).all()
    assert (copies[0] == copies[2]).all()


def test_rule_02_statistics_of_batch_normalization_are_left_alone():
    made, data, rows = two_two_none()
    with made.scope():
        layer = tf1.layers.BatchNormalization(momentum=0.5)
    normalize = tf.function(lambda x: layer(x, training=True))
    seen = []
    for x in data:
        normalized = made.run(normalize, args=(x,))
        seen.append([part.numpy() for part in made.experimental_local_results(layer.moving_mean)])
    first, last = seen
    np.testing.assert_allclose(first, [rows[i : i + 2].mean(0) / 2 for i in (0, 2, 4)])
    np.testing.assert_allclose(
        last[:2], [(f + rows[i : i + 2].mean(0)) / 2 for f, i in zip(first, (6, 8), strict=False)]
    )
    np.testing.assert_array_equal(last[2], first[2])
    assert made.experimental_local_results(normalized)[2].shape == (0, 2)


@pytest.mark.parametrize("replicas", [2, 3, 8])
def test_rule_02_never_traced_again_and_compiled_once_per_set_of_shapes(replicas, compiled):
    """Three passes over data of two kinds of batches: one trace, two programs."""
    made = strategy(replicas)
    data = made.experimental_distribute_dataset(tf.data.Dataset.range(4 * replicas + 1).batch(2 * replicas))
    traced = []

    @tf.function(input_signature=[data.element_spec])
    def step(x):
        traced.append(x)
        return made.reduce(MEAN, made.run(lambda x: x * 2, args=(x,)), axis=0)

    for _ in range(3):
        found = [step(x).numpy() for x in data]
        assert found[0] == 2 * replicas - 1
        assert found[-1] == 8 * replicas
    assert len(traced) == 1
    assert compiled.count("function") == 2


@pytest.mark.parametrize("replicas", [1, 2, 3])
@pytest.mark.parametrize("given", [iter, lambda data: data], ids=["iterator", "dataset"])
def test_rule_02_a_loop_is_traced_once_for_whole_and_uneven_batches(replicas, given, compiled):
    made = strategy(replicas)
    traced = []

    @tf.function
    def total(elements):
        sum = tf.constant(0, tf.int64)
        for x in elements:
            traced.append(1)
            sum += made.reduce(SUM, x, axis=0)
        return sum

    found = []
    for count in (4 * replicas, 4 * replicas + 1, 6 * replicas + 1, 4 * replicas + 1):
        data = made.experimental_distribute_dataset(tf.data.Dataset.range(count).batch(2 * replicas))
        assert total(given(data)) == count * (count - 1) // 2
        found.append((len(traced), len(compiled)))
    assert len({traces for traces, _ in found}) == 1
    assert found[2] == found[3]


def test_rule_02_static_batches_end_with_the_last_whole_step():
    """Where shapes say that nothing can be missing, a step without data for all is no step."""
    made = strategy(2)
    of_three = made.distribute_datasets_from_function(lambda _: tf.data.Dataset.range(6).batch(2, drop_remainder=True))
    assert steps(made, of_three) == [[[0, 1], [2, 3]]]
    open_ended = made.distribute_datasets_from_function(lambda _: tf.data.Dataset.range(6).batch(2))
    assert steps(made, open_ended) == [[[0, 1], [2, 3]], [[4, 5], []]]


# ---- rule 9: reduce -------------------------------------------------------------------------------------------------


def test_rule_09_the_axis_is_required_in_2x_and_none_in_1x():
    made = strategy(2)
    value = values(made, 1.0, 2.0)
    with pytest.raises(TypeError, match="axis"):
        made.reduce(SUM, value)
    assert made.reduce(SUM, value, axis=None).numpy() == 3
    older = strategy(2, lambda resolver, a: tf1.distribute.experimental.TPUStrategy(resolver, device_assignment=a))
    assert older.reduce(SUM, run(older, lambda: rid() + 1.0)).numpy() == 3


@pytest.mark.parametrize(
    ("op", "axis", "expected"),
    [
        (SUM, None, [[6.0, 8.0], [10.0, 12.0]]),
        (MEAN, None, [[3.0, 4.0], [5.0, 6.0]]),
        ("sum", 0, [16.0, 20.0]),
        ("MEAN", -1, [3.5, 5.5]),
        (MEAN, (0, 1), 4.5),
        (SUM, [1, 0], 36.0),
        (SUM, True, [14.0, 22.0]),
        (SUM, np.int64(1), [14.0, 22.0]),
    ],
)
def test_rule_09_elementwise_or_along_axes_too(carried, op, axis, expected):
    made = strategy(2)
    value = values(made, np.float32([[1, 2], [3, 4]]), np.float32([[5, 6], [7, 8]]))
    np.testing.assert_allclose(carried(lambda v: made.reduce(op, v, axis=axis))(value), expected)


def test_rule_09_a_mean_divides_by_what_there_is(carried):
    made = strategy(2)
    value = values(made, np.float32([1, 2, 3]), np.float32([10]))
    assert carried(lambda v: made.reduce(MEAN, v, axis=0))(value).numpy() == 4
    assert carried(lambda v: made.reduce(SUM, v, axis=0))(value).numpy() == 16


@pytest.mark.parametrize("replicas", [1, 2])
def test_rule_09_what_is_refused(replicas, carried):
    made = strategy(replicas)
    value = values(made, *np.float32([[1, 2]] * replicas))

    def reduced(op, axis=0):
        return carried(lambda v: made.reduce(op, v, axis=axis))(value)

    for op in ("MAX", "MIN", ""):
        with pytest.raises(ValueError, match=f"'{op}' is not a valid ReduceOp.*SUM or MEAN"):
            reduced(op)
    for op in (3, None, tf.reduce_sum, tf.VariableAggregation.SUM):
        for axis in (None, 0):
            with pytest.raises(TypeError, match="Expected reduce_op to be"):
                reduced(op, axis)
    for axis in ("x", 1.5, (0, "x"), tf.constant(0)):
        with pytest.raises(TypeError, match="Expected `axis` to be"):
            reduced(SUM, axis)
    for axis in (1, -2, (0, 1)):
        with pytest.raises(ValueError, match=r"Invalid reduction dimension -?\d for input with 1 dimensions"):
            reduced(MEAN, axis)
    truths = values(made, *[np.array([True, False])] * replicas)
    with pytest.raises(TypeError, match=r"bool.*tf.cast"):
        carried(lambda v: made.reduce(SUM, v, axis=0))(truths)


def test_rule_09_one_value_for_all_replicas(carried):
    """A mean of it is itself; what its sum should be is not known. Along an axis every replica counts."""
    made = strategy(3)
    value = tf.constant([1.0, 2.0])
    np.testing.assert_array_equal(carried(lambda v: made.reduce(MEAN, v, axis=None))(value), value)
    with pytest.raises(ValueError, match="A non-DistributedValues value .* cannot be reduced .* ReduceOp.SUM"):
        carried(lambda v: made.reduce(SUM, v, axis=None))(value)
    assert carried(lambda v: made.reduce(SUM, v, axis=0))(value).numpy() == 9
    assert carried(lambda v: made.reduce(MEAN, v, axis=0))(value).numpy() == 1.5


@pytest.mark.parametrize(
    ("dtype", "mean"),
    [("int32", "float64"), ("int64", "float64"), ("uint8", "float32"), ("float16", "float16"), ("float64", "float64")],
)
@pytest.mark.parametrize("axis", [None, 0])
def test_rule_09_means_of_whole_numbers_are_real(dtype, mean, axis):
    made = strategy(2)
    value = values(made, np.array([1, 2], dtype), np.array([2, 4], dtype))
    found = made.reduce(MEAN, value, axis=axis)
    assert found.dtype == mean
    np.testing.assert_allclose(found, [1.5, 3] if axis is None else 2.25)
    assert made.reduce(SUM, value, axis=axis).dtype == dtype


def test_rule_09_structures_and_variables(carried):
    made = strategy(2)
    with made.scope():
        count = tf.Variable(
            0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM
        )
    run(made, lambda: count.assign(rid() + 1.0))
    given = {"b": values(made, 1.0, 2.0), "a": [values(made, 3.0, 4.0)]}
    found = carried(lambda v: made.reduce(SUM, v, axis=None))(given)
    assert found["b"].numpy() == 3
    assert found["a"][0].numpy() == 7
    assert carried(lambda: made.reduce(SUM, count, axis=None))().numpy() == 3
    assert carried(lambda: made.reduce(MEAN, count, axis=None))().numpy() == 1.5


# ---- rule 11: gather ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_rule_11_values_are_joined_in_the_order_of_replicas(carried, axis):
    made = strategy(3)
    given = [np.full((2, 2), i, np.int32) for i in range(3)]
    found = carried(lambda v: made.gather(v, axis))(values(made, *given))
    np.testing.assert_array_equal(found, np.concatenate(given, axis))


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool", "complex64", "float16"])
def test_rule_11_shapes_may_differ_along_the_axis(carried, dtype):
    made = strategy(4)
    given = [np.ones((size, 2), dtype) * (i % 2) for i, size in enumerate((2, 0, 3, 1))]
    found = carried(lambda v: made.gather(v, 0))(values(made, *(g.astype(dtype) for g in given)))
    np.testing.assert_array_equal(found, np.concatenate(given))
    with pytest.raises(InvalidArgumentError, match="shapes differ in another one"):
        carried(lambda v: made.gather(v, 1))(values(made, *(g.astype(dtype) for g in given)))


def test_rule_11_what_is_refused(carried):
    made = strategy(2)
    with pytest.raises(ValueError, match="dimension 0 to join along"):
        carried(lambda v: made.gather(v, 0))(values(made, 1.0, 2.0))
    for axis, error in ((None, ValueError), ("x", TypeError), (1.0, TypeError), ((0,), TypeError), (1, ValueError)):
        with pytest.raises(error):
            carried(lambda v, axis=axis: made.gather(v, axis))(values(made, [1.0], [2.0]))
    slices = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0]), tf.constant([3, 2]))
    own = run(made, lambda: tf.IndexedSlices(tf.ones([1, 2]), replica_id()[tf.newaxis], tf.constant([3, 2])))
    for value in (slices, own):
        with pytest.raises(NotImplementedError, match="gather does not support IndexedSlices"):
            made.gather(value, 0)
    with pytest.raises(RuntimeError, match="gather method requires cross-replica context.*all_gather"):
        run(made, lambda: made.gather(rid()[tf.newaxis], 0))


def test_rule_11_one_value_is_returned_as_it_is():
    value = tf.constant([1.0, 2.0])
    assert strategy(2).gather(value, axis=0) is value
    assert tf.distribute.OneDeviceStrategy("/cpu:0").gather(value, axis=0) is value


# ---- rule 12: all_reduce --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("replicas", [1, 2, 5])
def test_rule_12_of_structures(replicas):
    made = strategy(replicas)

    def local():
        reduced = here().all_reduce(SUM, {"b": rid(), "a": [tf.stack([rid(), 1.0]), 3]})
        return reduced, here().all_reduce("mean", rid())

    summed, mean = run(made, local)
    total = replicas * (replicas - 1) / 2
    assert parts(made, summed["b"]) == [total] * replicas
    assert parts(made, summed["a"][0]) == [[total, replicas]] * replicas
    assert parts(made, summed["a"][1]) == [3 * replicas] * replicas
    assert parts(made, mean) == [total / replicas] * replicas


def test_rule_12_of_slices():
    made = strategy(2)

    def local():
        rows = tf.IndexedSlices(tf.ones([1, 2]) * (rid() + 1.0), replica_id()[tf.newaxis], tf.constant([3, 2]))
        return tf.convert_to_tensor(here().all_reduce(SUM, rows)), tf.convert_to_tensor(here().all_reduce(MEAN, rows))

    total, mean = run(made, local)
    assert parts(made, total) == [[[1, 1], [2, 2], [0, 0]]] * 2
    assert parts(made, mean) == [[[0.5, 0.5], [1, 1], [0, 0]]] * 2


@pytest.mark.parametrize(
    ("reduced", "expected"),
    [
        (lambda x: here().all_reduce(SUM, x), [3, 3, 3]),
        (lambda x: here().all_reduce(SUM, x) * (rid() + 1.0), [6, 6, 6]),
        (lambda x: here().all_reduce(MEAN, x) * (rid() + 1.0), [2, 2, 2]),
        (lambda x: tf.reduce_sum(here().all_gather(x[tf.newaxis], 0)) * (rid() + 1.0), [6, 6, 6]),
    ],
)
def test_rule_12_its_gradient_is_itself(reduced, expected):
    """Each replica's gradient is the sum (the mean) of what came back to all of them."""
    made = strategy(3)

    def local():
        x = rid() + 2.0
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = reduced(x)
        return tape.gradient(y, x)

    assert parts(made, run(made, local)) == expected


def test_rule_12_only_sum_and_mean():
    made = strategy(2)
    for op in ("MAX", "MIN"):
        with pytest.raises(ValueError, match=f"'{op}' is not a valid ReduceOp"):
            run(made, lambda op=op: here().all_reduce(op, rid()))
    for op in (3, None, tf.reduce_sum):
        with pytest.raises(ValueError, match="`reduce_op` must be Reduce.SUM or Reduce.MEAN"):
            run(made, lambda op=op: here().all_reduce(op, rid()))
    with pytest.raises(ValueError, match="None values not supported"):
        run(made, lambda: here().all_reduce(SUM, [rid(), None]))
    with pytest.raises(TypeError, match=r"bool.*tf.cast"):
        run(made, lambda: here().all_reduce(SUM, rid() > 0))


@pytest.mark.parametrize("sizes", [(2, 2, 0), (1, 3, 2)])
def test_rule_12_of_unequal_shapes(sizes):
    made = strategy(3)
    value = values(made, *(np.full([n], i, np.float32) for i, n in enumerate(sizes)))
    with pytest.raises(InvalidArgumentError, match="replicas, and their shapes differ"):
        run(made, lambda x: here().all_reduce(SUM, x), value)
    gathered = run(made, lambda x: here().all_gather(x, 0), value)
    assert parts(made, gathered) == [np.repeat([0, 1, 2], sizes).tolist()] * 3


def test_rule_12_of_variables():
    """A replica's own copy; of one that all replicas share the value, once for each."""
    made = strategy(2)
    with made.scope():
        own = tf.Variable(
            0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM
        )
        shared = tf.Variable(3.0)
    run(made, lambda: own.assign(rid() + 1.0))
    found = run(made, lambda: (here().all_reduce(SUM, own), here().all_reduce(SUM, shared)))
    assert [parts(made, v) for v in found] == [[3, 3], [6, 6]]


# ---- rule 22: losses ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("replicas", [1, 2, 4])
def test_rule_22_average_losses_divide_by_the_global_batch(replicas):
    made = strategy(replicas)

    def local():
        losses = tf.stack([rid(), rid() + 1.0])
        return tf.nn.compute_average_loss(losses), tf.nn.compute_average_loss(losses, global_batch_size=8 * replicas)

    for found, scale in zip(run(made, local), (1, 4), strict=True):
        expected = [(2 * i + 1) / (2 * replicas * scale) for i in range(replicas)]
        np.testing.assert_allclose(parts(made, found), expected)
    assert parts(made, run(made, lambda: tf.nn.scale_regularization_loss([6.0, 2.0]))) == [8 / replicas] * replicas


@pytest.mark.parametrize("size", [None, 4])
def test_rule_22_an_empty_batch_gives_no_nan(size):
    made, data, rows = two_two_none()
    *_, last = data
    found = run(made, lambda x: tf.nn.compute_average_loss(x[:, 0], global_batch_size=size), last)
    divisor = 4 if size else 6
    np.testing.assert_allclose(parts(made, found), [rows[6:8, 0].sum() / divisor, rows[8:, 0].sum() / divisor, 0])


def test_rule_22_optimizers_sum_gradients():
    made = strategy(2)
    with made.scope():
        weight = tf.Variable(1.0)
        optimizer = tf1.train.GradientDescentOptimizer(0.1)
    run(made, lambda: (optimizer.minimize(lambda: weight * (rid() + 1.0)), None)[1])
    assert parts(made, weight) == [pytest.approx(0.7)] * 2


def test_rule_22_in_cross_replica_context():
    made = strategy(2)
    with made.scope():
        assert tf.nn.compute_average_loss([2.0, 4.0], global_batch_size=4).numpy() == 1.5
        with pytest.raises(RuntimeError, match="You are calling `compute_average_loss` in cross replica context"):
            tf.nn.compute_average_loss([2.0, 4.0])
        with pytest.raises(RuntimeError, match="You are calling `scale_regularization_loss` in cross replica context"):
            tf.nn.scale_regularization_loss(2.0)


# ---- values with a part on every replica ----------------------------------------------------------------------------


def test_rule_09_parts_are_no_tensor_outside(carried):
    made = strategy(2)
    value = values(made, 1.0, 2.0)
    assert [part.numpy() for part in value.values] == [1, 2]
    for use in (tf.sqrt, tf.convert_to_tensor, lambda v: tf.constant(1.0) + v, tf.Variable):
        with pytest.raises((ValueError, TypeError), match="not inside a replica context.*strategy.run|PerReplica"):
            carried(lambda use=use: use(value))()
    with pytest.raises(ValueError, match="It looks like you are using a PerReplica object while not inside a replica"):
        tf.sqrt(value)


def test_rule_09_parts_are_taken_where_replicas_run():
    """Also of a value that the function did not get as an argument."""
    made = strategy(2)
    value = values(made, 1.0, 4.0)
    assert parts(made, run(made, lambda: tf.sqrt(value) + 1.0)) == [2, 3]
    assert parts(made, run(made, lambda x: tf.sqrt(x) + 1.0, value)) == [2, 3]


def test_rule_09_how_parts_are_shown():
    value = values(strategy(2), 1.0, 2.0)
    first, second = value.values
    assert repr(value) == f"PerReplica:{{\n  0: {first!r},\n  1: {second!r}\n}}"
    assert str(value) == f"PerReplica:{{\n  0: {first!s},\n  1: {second!s}\n}}"


@pytest.mark.parametrize("sizes", [(2, 2), (2, 1)])
def test_rule_23_what_only_prints_prints_on_every_replica(sizes, capfd):
    made = strategy(2)
    value = values(made, *(np.full([n], i, np.int32) for i, n in enumerate(sizes)))
    assert run(made, lambda x: tf.print("has", tf.size(x)), value) is None
    printed = capfd.readouterr().err
    assert sorted(line for line in printed.splitlines() if "has" in line) == sorted(f"has {n}" for n in sizes)
