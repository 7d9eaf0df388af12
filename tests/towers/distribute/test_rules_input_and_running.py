"""Rules of input, of running and of contexts of the later surface, each test named after its rule."""

import itertools
import json
import threading
import time

import numpy as np
import pytest

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf
from tests.spread import spread
from tests.towers.distribute.common import parts, replica_id, steps, strategy

SUM, MEAN = tf.distribute.ReduceOp.SUM, tf.distribute.ReduceOp.MEAN
InputOptions, PER_REPLICA = tf.distribute.InputOptions, tf.distribute.InputReplicationMode.PER_REPLICA


@pytest.fixture(autouse=True)
def as_in_2x(later_behavior):
    """Eagerly, and == compares values."""


def run(made, function, *args, **kwargs):
    """What ``function``, traced, gives on each replica."""
    return made.run(tf.function(function), args=args, kwargs=kwargs)


# ---- rule 3: sharding over workers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", list(tf.data.experimental.AutoShardPolicy))
def test_rule_03_one_worker_has_everything_and_nothing_is_said(policy, tmp_path, caplog, capfd):
    """One file is not fewer than one worker, and a dataset without files is sharded over one worker: not at all."""
    (tmp_path / "lines.txt").write_text("a\nb\nc\nd\n")
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = policy
    made = strategy(2)
    for dataset, expected in (
        (tf.data.TextLineDataset(str(tmp_path / "lines.txt")), [[b"a", b"b"], [b"c", b"d"]]),
        (tf.data.Dataset.range(4), [[0, 1], [2, 3]]),
    ):
        data = made.experimental_distribute_dataset(dataset.batch(4).with_options(options))
        assert steps(made, data) == [expected]
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


# ---- rule 4: reading ahead; batches of a function's dataset ---------------------------------------------------------


def counted(rows, batch=2):
    """A dataset of batches, and the list of those that were made."""
    made = []

    def generate():
        for row in range(rows):
            made.append(row)
            yield [row] * batch

    return tf.data.Dataset.from_generator(generate, output_signature=tf.TensorSpec([batch], tf.int32)), made


def test_rule_04_a_distributed_dataset_reads_ahead():
    dataset, made = counted(40)
    iterator = iter(strategy(2).experimental_distribute_dataset(dataset))
    next(iterator)
    deadline = time.monotonic() + 60
    while len(made) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert 2 <= len(made) < 40


@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_rule_04_a_functions_dataset_is_taken_as_it_is(replicas):
    dataset, made = counted(12)
    calls = []

    def dataset_fn(context):
        calls.append(str(context))
        return dataset

    surface = strategy(replicas)
    iterator = iter(surface.distribute_datasets_from_function(dataset_fn))
    for step in range(2):
        taken = np.arange(step * replicas, (step + 1) * replicas)
        assert parts(surface, next(iterator)) == [[n, n] for n in taken]
        assert len(made) == (step + 1) * replicas
    assert calls == ["tf.distribute.InputContext(input pipeline id 0, total: 1)"]


def test_rule_04_per_replica_batch_sizes():
    context = tf.distribute.InputContext(num_input_pipelines=2, input_pipeline_id=1, num_replicas_in_sync=4)
    assert context.get_per_replica_batch_size(8) == 2
    assert context.get_per_replica_batch_size(0) == 0
    for size in (1, 7, 9):
        with pytest.raises(ValueError, match=rf"`global_batch_size` {size} is not divisible by .* 4"):
            context.get_per_replica_batch_size(size)


# ---- rule 5: input in functions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("replicas", [1, 2])
def test_rule_05_break_and_return_in_a_loop_over_a_dataset(replicas):
    """The original refuses both on several replicas; here they mean what they mean over any dataset."""
    made = strategy(replicas)
    data = made.experimental_distribute_dataset(tf.data.Dataset.range(12).batch(4))

    @tf.function
    def until(limit):
        total = tf.constant(0, tf.int64)
        for x in data:
            if total > limit:
                break
            total += made.reduce(SUM, x, axis=0)
        return total

    @tf.function
    def first_over(limit):
        for x in data:
            total = made.reduce(SUM, x, axis=0)
            if total > limit:
                return total
        return tf.constant(-1, tf.int64)

    limits = [0, 6, 28, 100]
    assert [int(until(tf.constant(limit, tf.int64))) for limit in limits] == [6, 28, 66, 66]
    assert [int(first_over(tf.constant(limit, tf.int64))) for limit in limits] == [6, 22, 38, -1]


@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_rule_05_the_end_may_come_between_steps_of_one_function(replicas):
    made = strategy(replicas)
    with made.scope():
        count = tf.Variable(0, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)
    iterator = iter(made.experimental_distribute_dataset(tf.data.Dataset.range(10).batch(4)))

    @tf.function
    def train(iterator, steps):
        for _ in tf.range(steps):
            made.run(lambda x: count.assign_add(1), args=(next(iterator),))

    train(iterator, tf.constant(2))
    assert int(count) == 2
    with pytest.raises(tf.errors.OutOfRangeError):
        train(iterator, tf.constant(3))
    assert int(count) == 3


@spread(("replicas", "in_function"), itertools.product([1, 2, 3], [False, True]), every=5)
def test_rule_05_get_next_as_optional_asks_first(replicas, in_function):
    made = strategy(replicas)
    total_of = tf.function(lambda x: tf.reduce_sum(x))

    def total(iterator):
        total = tf.constant(0, tf.int64)
        element = iterator.get_next_as_optional()
        while element.has_value():
            total += made.reduce(SUM, made.run(total_of, args=(element.get_value(),)), axis=None)
            element = iterator.get_next_as_optional()
        return total

    for rows in (0, 5, 8, 9):
        iterator = iter(made.experimental_distribute_dataset(tf.data.Dataset.range(rows).batch(4)))
        assert int((tf.function(total) if in_function else total)(iterator)) == sum(range(rows))
        assert not bool(iterator.get_next_as_optional().has_value())
        with pytest.raises(tf.errors.InvalidArgumentError):
            iterator.get_next_as_optional().get_value()


def test_rule_05_several_steps_ask_first_in_one_function():
    made = strategy(2)

    @tf.function
    def train(iterator):
        total = tf.constant(0, tf.int64)
        for _ in tf.range(3):
            element = iterator.get_next_as_optional()
            if element.has_value():
                total += made.reduce(SUM, element.get_value(), axis=0)
        return total

    iterator = iter(made.experimental_distribute_dataset(tf.data.Dataset.range(10).batch(2)))
    assert [int(train(iterator)) for _ in range(3)] == [15, 30, 0]


# ---- rule 6: InputOptions -------------------------------------------------------------------------------------------


def test_rule_06_defaults():
    options = InputOptions()
    assert options.experimental_fetch_to_device is True
    assert options.experimental_replication_mode is tf.distribute.InputReplicationMode.PER_WORKER
    assert options.experimental_place_dataset_on_device is False
    assert options.experimental_per_replica_buffer_size == 1
    assert InputOptions(None) == options == (True, options.experimental_replication_mode, False, 1)
    assert options._replace(experimental_fetch_to_device=False) == InputOptions(False)


@pytest.mark.parametrize("options", [
    None, InputOptions(), InputOptions(False), InputOptions(experimental_per_replica_buffer_size=3),
])  # fmt: skip
def test_rule_06_where_elements_wait_changes_no_value(options):
    made = strategy(2)
    expected = [[[0], [1]], [[2], [3]]]
    assert steps(made, made.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2), options)) == expected
    given = made.distribute_datasets_from_function(lambda _: tf.data.Dataset.range(4).batch(1), options)
    assert steps(made, given) == expected


@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_rule_06_a_dataset_for_each_replica(replicas):
    made = strategy(replicas)
    calls = []

    def dataset_fn(context):
        calls.append((context.num_input_pipelines, context.input_pipeline_id, context.num_replicas_in_sync))
        return tf.data.Dataset.range(4).map(lambda x: x + 10 * context.input_pipeline_id)

    options = InputOptions(False, PER_REPLICA)
    found = steps(made, made.distribute_datasets_from_function(dataset_fn, options))
    assert found == [[10 * replica + step for replica in range(replicas)] for step in range(4)]
    assert calls == [(replicas, replica, replicas) for replica in range(replicas)]


def test_rule_06_datasets_of_replicas_that_end_at_different_times():
    made = strategy(2)
    options = InputOptions(experimental_replication_mode=PER_REPLICA)

    def batches(context):
        return tf.data.Dataset.range(3 - context.input_pipeline_id).batch(2)

    assert steps(made, made.distribute_datasets_from_function(batches, options)) == [[[0, 1], [0, 1]], [[2], []]]
    one = made.distribute_datasets_from_function(lambda c: tf.data.Dataset.range(3 - c.input_pipeline_id), options)
    assert steps(made, one) == [[0, 0], [1, 1]]
    with pytest.raises(ValueError, match="datasets of all replicas must have elements of one structure"):
        made.distribute_datasets_from_function(
            lambda c: tf.data.Dataset.range(4).batch(2) if c.input_pipeline_id else tf.data.Dataset.range(4), options
        )


def test_rule_06_a_dataset_on_the_device_needs_a_dataset_for_each_replica():
    made = strategy(2)

    def distribute(options):
        made.distribute_datasets_from_function(lambda c: tf.data.Dataset.range(4), options)

    with pytest.raises(ValueError, match="you must also specify `PER_REPLICA`"):
        distribute(InputOptions(experimental_place_dataset_on_device=True))
    with pytest.raises(ValueError, match="can not be set to True when experimental_fetch_to_device is True"):
        distribute(InputOptions(True, PER_REPLICA, True))
    placed = made.distribute_datasets_from_function(
        lambda c: tf.data.Dataset.range(10 * c.input_pipeline_id, 10 * c.input_pipeline_id + 2),
        InputOptions(False, PER_REPLICA, True),
    )
    assert steps(made, placed) == [[0, 10], [1, 11]]
    with pytest.raises(NotImplementedError, match="only supported in `distribute_datasets_from_function`"):
        made.experimental_distribute_dataset(
            tf.data.Dataset.range(4).batch(2), InputOptions(experimental_replication_mode=PER_REPLICA)
        )


# ---- rule 7: run ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("args", [3, None, "text", {"x": 1}, np.ones(2)], ids=repr)
@pytest.mark.parametrize("replicas", [1, 2, None])
def test_rule_07_args_must_be_a_tuple_or_list(replicas, args):
    made = strategy(replicas) if replicas else tf.distribute.OneDeviceStrategy("/cpu:0")
    with pytest.raises(ValueError, match="positional args must be a list or tuple, got"):
        made.run(tf.function(lambda x: x), args=args)
    for given in ([tf.constant(3)], (tf.constant(3),)):
        assert parts(made, made.run(tf.function(lambda x: x + 1), args=given)) == [4] * made.num_replicas_in_sync


@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_rule_07_results_have_the_functions_structure(replicas):
    made = strategy(replicas)
    result = run(made, lambda x, *, y: {"b": replica_id() + x, "a": (x + y, [replica_id(), None])}, 10, y=5)
    assert list(result) == ["b", "a"]
    assert isinstance(result["a"], tuple)
    assert isinstance(result["a"][1], list)
    assert parts(made, result["b"]) == [10 + i for i in range(replicas)]
    assert parts(made, result["a"][0]) == [15] * replicas
    assert parts(made, result["a"][1][0]) == list(range(replicas))
    assert result["a"][1][1] is None


@pytest.mark.parametrize("options", [None, tf.distribute.RunOptions()], ids=repr)
def test_rule_07_per_replica_arguments_arrive_as_the_replicas_part(options):
    made = strategy(2)
    (x,) = made.experimental_distribute_dataset(tf.data.Dataset.range(3).batch(4))
    step = tf.function(lambda a, b: (a["x"][0] * 10, tf.size(b), a["y"]))
    found = made.run(step, args=({"x": [x], "y": 7},), kwargs={"b": x}, options=options)
    assert [parts(made, value) for value in found[:2]] == [[[0, 10], [20]], [2, 1]]
    assert parts(made, found[2]) == [7, 7]


def test_rule_07_leaves_are_per_replica_values():
    made = strategy(2)
    for result in (run(made, replica_id), run(made, lambda: tf.constant(1.0))):
        assert isinstance(result, tf.distribute.DistributedValues)
    assert isinstance(run(strategy(1), replica_id), tf.Tensor)


@pytest.mark.parametrize("replicas", [1, 2])
def test_rule_07_one_object_of_all_replicas_is_that_object(replicas):
    made = strategy(replicas)
    with made.scope():
        variable = tf.Variable(1.0)
    marker, found = object(), []

    @tf.function
    def outer():
        found.append(made.run(lambda: (marker, None, "text", 5, variable, made)))
        return tf.constant(0)

    outer()
    one, nothing, text, five, kept, strategy_ = found[0]
    assert one is marker
    assert (nothing, text, five) == (None, "text", 5)
    assert kept is variable
    assert strategy_ is made


def test_rule_07_the_function_may_be_traced_again_and_means_the_same():
    made = strategy(3)
    traced = []

    @tf.function
    def step(x):
        traced.append(x.shape)
        return tf.reduce_sum(x) + tf.cast(tf.size(x), tf.int64)

    data = made.experimental_distribute_dataset(tf.data.Dataset.range(11).batch(6))
    assert [parts(made, made.run(step, args=(x,))) for x in data] == [[3, 7, 11], [15, 19, 11]]
    assert traced


# ---- rule 8: eager run; variables as arguments ----------------------------------------------------------------------


@pytest.mark.parametrize("replicas", [1, 2])
def test_rule_08_functions_and_plain_functions_run_eagerly(replicas):
    """TensorFlow refuses plain ones; here they are executed for one replica after the other."""
    made, seen = strategy(replicas), []
    plain = made.run(lambda: seen.append(int(replica_id())) or 1 + replica_id())
    assert parts(made, plain) == list(range(1, replicas + 1))
    assert seen == list(range(replicas))
    assert parts(made, made.run(tf.function(lambda: 1 + replica_id()))) == list(range(1, replicas + 1))
    inside = tf.function(lambda: made.run(lambda: 1 + replica_id()))
    assert parts(made, inside()) == list(range(1, replicas + 1))


def test_rule_08_strategies_of_one_device_run_plain_functions():
    assert int(tf.distribute.OneDeviceStrategy("/cpu:0").run(lambda x: x + 1, args=(tf.constant(1),))) == 2
    assert int(tf.distribute.get_strategy().run(lambda x: x + 1, args=(tf.constant(1),))) == 2


@pytest.mark.parametrize("replicas", [1, 2])
def test_rule_08_variables_are_arguments_by_name(replicas):
    made = strategy(replicas)
    with made.scope():
        v = tf.Variable(1.0, aggregation=tf.VariableAggregation.MEAN)
        w = tf.Variable(10.0, aggregation=tf.VariableAggregation.MEAN)

    def add(x, variable, others=None):
        variable.assign_add(x)
        return variable + sum(others or [])

    calls = [
        lambda fn: made.run(fn, args=(2.0, v)),
        lambda fn: made.run(fn, args=(2.0,), kwargs={"variable": v}),
        lambda fn: made.run(fn, kwargs={"x": 2.0, "variable": v, "others": [w, w]}),
        lambda fn: made.run(fn, args=[2.0, v, [w]]),
    ]
    expected = 1.0
    for i, call in enumerate(calls):
        for fn in (tf.function(add), None):
            expected += 2.0
            result = call(fn) if fn else tf.function(lambda call=call: call(add))()
            assert parts(made, result) == [expected + (0, 0, 20.0, 10.0)[i]] * replicas
    assert float(v) == expected


def positional(x, /, y):
    return x + y


@pytest.mark.parametrize("replicas", [1, 2])
def test_rule_08_variables_need_a_name(replicas):
    made = strategy(replicas)
    with made.scope():
        v = tf.Variable(1.0, name="mine")
    with pytest.raises(ValueError, match=r"takes variables by the names of arguments, and .*mine.* `xs`.*Name the arg"):
        run(made, lambda *xs: xs[1] + 1, 2.0, v)
    with pytest.raises(ValueError, match=r"positional-only argument `x`"):
        run(made, positional, v, 2.0)
    assert parts(made, run(made, positional, 2.0, v)) == [3.0] * replicas
    assert parts(made, run(made, lambda *xs: xs[0] + v, 2.0)) == [3.0] * replicas


# ---- rule 10: experimental_local_results ----------------------------------------------------------------------------


@pytest.mark.parametrize("replicas", [1, 2, 8])
def test_rule_10_local_results_are_a_tuple_in_the_order_of_replicas(replicas):
    made = strategy(replicas)
    with made.scope():
        v = tf.Variable(3.0)
    result = made.experimental_local_results(run(made, replica_id))
    assert isinstance(result, tuple)
    assert [int(r) for r in result] == list(range(replicas))
    assert [copy.numpy() for copy in made.experimental_local_results(v)] == [3.0] * replicas
    for value in (5, None, "text", tf.constant(1)):
        assert made.experimental_local_results(value) == (value,)
    assert made.experimental_local_results([1, 2]) == ([1, 2],) * replicas
    assert made.experimental_local_results(()) == ((),) * replicas


def test_rule_10_local_results_in_a_function_and_of_a_dataset():
    made = strategy(3)
    (element,) = made.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(6))
    assert [r.numpy().tolist() for r in made.experimental_local_results(element)] == [[0, 1], [2, 3], []]
    first, _, last = tf.function(lambda: made.experimental_local_results(made.run(replica_id)))()
    assert (int(first), int(last)) == (0, 2)


def test_rule_10_local_results_of_branches_and_loops_that_take_elements():
    made = strategy(2)
    data = made.experimental_distribute_dataset(tf.data.Dataset.range(9).batch(4))

    @tf.function
    def of_one(iterator, first):
        if first:
            result = made.experimental_local_results(next(iterator))[0]
        else:
            result = made.experimental_local_results(next(iterator))[1]
        return result

    @tf.function
    def weighed(data):
        total = tf.constant(0, tf.int64)
        for x in data:
            first, second = made.experimental_local_results(x)
            total += tf.reduce_sum(first) + 10 * tf.reduce_sum(second)
        return total

    assert of_one(iter(data), tf.constant(True)).numpy().tolist() == [0, 1]
    assert of_one(iter(data), tf.constant(False)).numpy().tolist() == [2, 3]
    assert int(weighed(data)) == (0 + 1 + 4 + 5 + 8) + 10 * (2 + 3 + 6 + 7)


# ---- rule 13: contexts ----------------------------------------------------------------------------------------------


def where(made):
    """Which of the contexts is current, by all four questions."""
    context, current = tf.distribute.get_replica_context(), tf.distribute.get_strategy()
    has, cross = tf.distribute.has_strategy(), tf.distribute.in_cross_replica_context()
    if context is None:
        assert (current is made, has, cross) == (True, True, True)
        return "cross"
    assert isinstance(context, tf.distribute.ReplicaContext)
    assert context.strategy is current
    assert not cross
    if has:
        assert current is made
        assert context.num_replicas_in_sync == made.num_replicas_in_sync
        return "replica"
    assert int(context.replica_id_in_sync_group) == 0
    assert context.num_replicas_in_sync == 1
    return "default"


@pytest.mark.parametrize("replicas", [1, 2])
def test_rule_13_the_context_of_every_place(replicas):
    made = strategy(replicas)
    with made.scope():
        v = tf.Variable(1.0)
    seen = []

    def note(*_):
        seen.append(where(made))

    def outcome(call):
        seen.clear()
        call()
        (found,) = set(seen)
        return found

    def scoped(call):
        with made.scope():
            call()

    def merge():
        tf.distribute.get_replica_context().merge_call(note)

    assert outcome(note) == "default"
    assert outcome(lambda: scoped(note)) == "cross"
    assert outcome(tf.function(note)) == "default"
    assert outcome(lambda: scoped(tf.function(note))) == "cross"
    assert outcome(lambda: run(made, note)) == "replica"
    assert outcome(lambda: scoped(lambda: run(made, note))) == "replica"
    assert outcome(tf.function(lambda: made.run(note))) == "replica"
    assert outcome(lambda: run(made, merge)) == "cross"
    assert outcome(tf.function(lambda: made.run(merge))) == "cross"
    assert outcome(lambda: made.extended.update(v, note)) == "cross"
    assert outcome(lambda: made.distribute_datasets_from_function(lambda _: note() or tf.data.Dataset.range(2))) == (
        "default"
    )
    assert where(made) == "default"


def test_rule_13_the_replica_id_is_a_tensor():
    made = strategy(2)
    seen = []

    def step():
        number = replica_id()
        seen.append((isinstance(number, tf.Tensor), number.dtype, number.shape.as_list()))
        if number == 0:
            return tf.constant(10)
        else:
            return 20 + number

    assert parts(made, run(made, step)) == [10, 21]
    assert set(map(str, seen)) == {str((True, tf.int32, []))}


def test_rule_13_contexts_are_the_threads_own():
    made = strategy(2)
    seen = []
    with made.scope():
        thread = threading.Thread(target=lambda: seen.append(tf.distribute.has_strategy()))
        thread.start()
        thread.join()
    assert seen == [False]


# ---- rule 14: errors that name the way out --------------------------------------------------------------------------


IN_REPLICA = "Method requires being in cross-replica context, use get_replica_context().merge_call()"


@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize("call", [
    lambda made: made.run(lambda: 1),
    lambda made: made.reduce(SUM, 1.0, axis=None),
    lambda made: made.scope().__enter__(),
    lambda made: made.extended.reduce_to(SUM, 1.0, "/cpu:0"),
    lambda made: made.extended.batch_reduce_to(SUM, [(1.0, "/cpu:0")]),
], ids=["run", "reduce", "scope", "reduce_to", "batch_reduce_to"])  # fmt: skip
def test_rule_14_in_a_replica_what_is_for_all_of_them(replicas, call):
    made = strategy(replicas)
    with pytest.raises(RuntimeError) as caught:
        run(made, lambda: call(made))
    assert str(caught.value).startswith(IN_REPLICA)
    assert not tf.distribute.has_strategy()


@pytest.mark.parametrize("replicas", [1, 2])
def test_rule_14_gather_in_a_replica_is_all_gather(replicas):
    made = strategy(replicas)
    with pytest.raises(
        RuntimeError, match=r"cross-replica context, use get_replica_context\(\).all_gather\(\) instead"
    ):
        run(made, lambda: made.gather(tf.ones([1]), axis=0))
    gathered = run(made, lambda: tf.distribute.get_replica_context().all_gather(tf.ones([1]), axis=0))
    assert parts(made, gathered) == [[1.0] * replicas] * replicas


def test_rule_14_outside_of_the_scope_what_belongs_in_it():
    made = strategy(2)
    with made.scope():
        v = tf.Variable(1.0)
    with pytest.raises(RuntimeError, match=r'Need to be inside "with strategy.scope\(\)" for <TPUStrategy'):
        made.extended.colocate_vars_with(v)
    with pytest.raises(RuntimeError, match=r'Need to be inside "with strategy.scope\(\)" for <TPUStrategy'):
        tf.distribute.get_replica_context().merge_call(lambda _: made.reduce(SUM, 1.0, axis=None))


@pytest.mark.parametrize("call", [
    lambda other, v: other.scope().__enter__(),
    lambda other, v: run(other, lambda: 1),
    lambda other, v: other.reduce(SUM, 1.0, axis=None),
    lambda other, v: other.gather(tf.ones([1]), axis=0),
    lambda other, v: other.extended.colocate_vars_with(v),
    lambda other, v: other.extended.update(v, lambda w: w),
], ids=["scope", "run", "reduce", "gather", "colocate_vars_with", "update"])  # fmt: skip
def test_rule_14_two_strategies_do_not_mix(call):
    made, other = strategy(2), strategy(3)
    with other.scope():
        v = tf.Variable(1.0)
    with made.scope():
        with pytest.raises(
            RuntimeError, match=r"Mixing different tf.distribute.Strategy objects: <.* 2 .*> is not <.* 3"
        ):
            call(other, v)
        assert tf.distribute.get_strategy() is made
    with pytest.raises(RuntimeError, match="Mixing different tf.distribute.Strategy objects"):
        run(made, lambda: call(other, v))


def test_rule_14_a_context_that_is_over():
    made, kept = strategy(2), []
    run(made, lambda: kept.append(tf.distribute.get_replica_context()))
    with pytest.raises(RuntimeError, match=r"Mismatching tf.distribute.Strategy objects: .* is not <TPUStrategy"):
        kept[0].merge_call(lambda _: 1)
    with made.scope(), pytest.raises(RuntimeError, match=r"Need to be inside `call_for_each_replica\(\)`"):
        kept[0].all_reduce(SUM, 1.0)


# ---- rule 15: scope -------------------------------------------------------------------------------------------------


def test_rule_15_scope_alone_distributes_nothing():
    made = strategy(2)
    calls = []

    def step():
        calls.append(tf.distribute.in_cross_replica_context())
        return tf.constant(1.0) + 1.0

    with made.scope():
        assert isinstance(step(), tf.Tensor)
        assert isinstance(tf.function(step)(), tf.Tensor)
        assert calls == [True, True]
        assert len(list(tf.data.Dataset.range(4).batch(2))) == 2
    outside = tf.Variable(1.0)
    assert not isinstance(outside, tf.distribute.DistributedValues)


@pytest.mark.parametrize("replicas", [1, 2])
def test_rule_15_variables_remember_their_strategy(replicas):
    made = strategy(replicas)
    with made.scope():
        v = tf.Variable(1.0, aggregation=tf.VariableAggregation.SUM)
    assert v.distribute_strategy is made
    assert float(v) == 1.0
    v.assign(2.0)
    v.assign_add(3.0)
    assert float(v + 1.0) == 6.0
    assert parts(made, v) == [5.0] * replicas
    assert float(tf.function(lambda: v * 2.0)()) == 10.0
    tf.function(lambda: v.assign_sub(1.0))()
    assert parts(made, v) == [4.0] * replicas
    assert isinstance(v, tf.Variable)


def test_rule_15_run_and_reduce_enter_the_scope():
    made = strategy(2)
    seen = []

    def step():
        seen.append(tf.distribute.get_strategy() is made)
        return tf.constant(1.0)

    value = run(made, step)
    assert seen == [True]
    assert not tf.distribute.has_strategy()
    assert float(made.reduce(SUM, value, axis=None)) == 2.0
    assert made.gather(run(made, lambda: tf.ones([1])), axis=0).shape == (2,)
    with made.scope(), made.scope():
        assert float(made.reduce(MEAN, value, axis=None)) == 1.0
    assert not tf.distribute.has_strategy()


def test_rule_15_an_error_leaves_the_scope():
    made = strategy(2)
    with pytest.raises(KeyError), made.scope():
        raise KeyError("left")
    with pytest.raises(ZeroDivisionError):
        run(made, lambda: 1 / 0)
    assert not tf.distribute.has_strategy()


# ---- rule 19: cluster_resolver --------------------------------------------------------------------------------------


def test_rule_19_single_worker_strategies_have_none():
    assert tf.distribute.get_strategy().cluster_resolver is None
    assert tf.distribute.OneDeviceStrategy("/cpu:0").cluster_resolver is None
    assert tf1.distribute.OneDeviceStrategy("/cpu:0").cluster_resolver is None


def test_rule_19_tpu_strategies_return_theirs():
    given = tf.distribute.cluster_resolver.TPUClusterResolver("")
    assert tf.distribute.TPUStrategy(given).cluster_resolver is given
    assert tf.distribute.experimental.TPUStrategy(given).cluster_resolver is given
    assert tf1.distribute.experimental.TPUStrategy(given).cluster_resolver is given
    default = tf.distribute.TPUStrategy().cluster_resolver
    assert isinstance(default, tf.distribute.cluster_resolver.TPUClusterResolver)
    assert (default.task_type, default.task_id) == ("worker", 0)


@pytest.mark.parametrize(("config", "expected"), [
    (None, (None, None, {})),
    ({}, (None, None, {})),
    ({"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 1}},
     ("worker", 1, {"worker": ["a:1", "b:2"]})),
    ({"cluster": {"worker": ["a:1"], "ps": ["c:3"]}, "task": {"type": "ps", "index": "0"}},
     ("ps", 0, {"worker": ["a:1"], "ps": ["c:3"]})),
])  # fmt: skip
def test_rule_19_what_tf_config_says(monkeypatch, config, expected):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    if config is not None:
        monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    assert (resolver.task_type, resolver.task_id, resolver.cluster_spec().as_dict()) == expected
    assert tf.distribute.TPUStrategy().cluster_resolver.task_id == 0
