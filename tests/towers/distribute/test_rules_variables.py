"""Rules of variables, of losses and of logical devices of the later surface, each test named after its rule."""

import copy
import gc
import logging
import weakref

import jax
import numpy as np
import pytest

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf
from tests.towers.distribute.common import parts, replica_id, strategy
from towerstrat.errors import UnsupportedError
from towerstrat.graph.eager import mode
from towerstrat.graph.eager.context import context
from towerstrat.graph.variables.variables import VariableAggregation, VariableSynchronization

NONE, SUM, MEAN, FIRST = (getattr(VariableAggregation, a) for a in ("NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA"))
AUTO, ON_WRITE, ON_READ = (getattr(VariableSynchronization, s) for s in ("AUTO", "ON_WRITE", "ON_READ"))


@pytest.fixture(autouse=True)
def as_in_2x(later_behavior):
    """Eagerly, and == compares values."""


def run(made, function, *args):
    """What ``function``, traced, gives on each replica."""
    return made.run(tf.function(function), args=args)


def variable(made, value=0.0, aggregation=NONE, synchronization=AUTO, **kwargs):
    with made.scope():
        return tf.Variable(value, aggregation=aggregation, synchronization=synchronization, **kwargs)


def own(offset=1.0):
    """A number that each replica has for itself: 1, 2, ..."""
    return tf.cast(replica_id(), tf.float32) + offset


def per_replica(made):
    return made.experimental_distribute_values_from_function(lambda c: tf.constant(c.replica_id_in_sync_group + 1.0))


# ---- rule 13: contexts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_replicas", [False, True])
def test_rule_13_in_update_all_replicas_are_spoken_for(in_replicas):
    made, found = strategy(2), []
    v = variable(made)

    def update(w, x):
        found.append((tf.distribute.get_replica_context(), tf.distribute.in_cross_replica_context()))
        w.assign_add(x)

    if in_replicas:
        run(made, lambda: tf.distribute.get_replica_context().merge_call(
            lambda s, x: s.extended.update(v, update, args=(x,)), args=(own(),)
        ))  # fmt: skip
    else:
        with made.scope():
            made.extended.update(v, update, args=(per_replica(made),))
    assert set(found) == {(None, True)}
    assert parts(made, v) == [1.0, 2.0]


# ---- rule 14: which strategy a variable belongs to ------------------------------------------------------------------


def test_rule_14_another_strategys_variable_is_read_and_not_written():
    made, other = strategy(2), strategy(3)
    v = variable(other, 1.0, name="theirs")
    assert parts(made, run(made, lambda: v + own())) == [2.0, 3.0]
    message = (
        r"Mixing different tf.distribute.Strategy objects: <TPUStrategy of 2 replicas> is not <TPUStrategy of 3 "
        r"replicas>. Variable theirs:0 \(made at .*test_rules_variables.py:\d+ in variable.*\) belongs to the latter"
    )
    for change in (lambda: v.assign(2.0), lambda: v.assign_add(own()), lambda: v.scatter_nd_update([[0]], [1.0])):
        with pytest.raises(RuntimeError, match=message):
            run(made, change)
    with pytest.raises(RuntimeError, match=message), made.scope():
        v.assign(2.0)
    v.assign(2.0)
    assert v.numpy() == 2.0


def test_rule_14_a_variable_of_no_strategy_is_added_to_by_each_replica():
    """The original's replicas write it one after the other."""
    made, v = strategy(3), tf.Variable(1.0)

    def add():
        v.assign_add(own())
        return v.assign_sub(1.0)

    assert parts(made, run(made, add)) == [1.0 + 6 - 3] * 3
    assert v.numpy() == 4.0
    run(made, lambda: v.assign(9.0))
    assert v.numpy() == 9.0
    with pytest.raises(ValueError, match=r"Replicas assign different values to variable Variable:0 \(made at .*no str"):
        run(made, lambda: v.assign(own()))


# ---- rule 16: variables that are kept equal -------------------------------------------------------------------------


@pytest.mark.parametrize("replicas", [1, 2, 8])
@pytest.mark.parametrize("synchronization", [AUTO, ON_WRITE])
def test_rule_16_auto_is_on_write(replicas, synchronization):
    made = strategy(replicas)
    v = variable(made, 1.0, synchronization=synchronization, name="v")
    assert v.synchronization is ON_WRITE
    assert repr(v).startswith("MirroredVariable:{\n  0: <tf.Variable 'v:0' shape=() dtype=float32, numpy=1.0>")
    assert [c.name for c in v.values] == ["v:0", *(f"v/replica_{i}:0" for i in range(1, replicas))]
    assert [c.numpy() for c in v.values] == [1.0] * replicas
    assert len({c.device for c in v.values}) == replicas


@pytest.mark.parametrize(("aggregation", "copies"), [
    (NONE, [1.0, 2.0, 3.0]), (SUM, [6.0] * 3), (MEAN, [2.0] * 3), (FIRST, [1.0] * 3),
])  # fmt: skip
@pytest.mark.parametrize("method", ["assign", "assign_add", "assign_sub"])
def test_rule_16_an_assignment_of_replicas_follows_the_aggregation(method, aggregation, copies):
    made = strategy(3)
    v = variable(made, 10.0, aggregation)
    given = run(made, lambda: getattr(v, method)(own()))
    expected = {"assign": copies, "assign_add": [10 + c for c in copies], "assign_sub": [10 - c for c in copies]}[
        method
    ]
    assert parts(made, v) == parts(made, given) == expected
    assert v.numpy() == tf.identity(v).numpy() == expected[0]
    v.assign(7.0)
    assert parts(made, v) == [7.0] * 3
    v.assign_add(1.0)
    assert parts(made, v) == [8.0] * 3


@pytest.mark.parametrize("aggregation", [SUM, MEAN])
def test_rule_16_a_python_number_is_one_value_for_all_replicas(aggregation):
    made = strategy(2)
    v = variable(made, 1.0, aggregation)
    if aggregation is MEAN:
        run(made, lambda: v.assign_add(2.0))
        assert parts(made, v) == [3.0, 3.0]
        return
    with pytest.raises(
        ValueError, match="A non-DistributedValues value 2.0 cannot be reduced with the given reduce op"
    ):
        run(made, lambda: v.assign_add(2.0))
    other = variable(made, 5.0, name="other")
    with pytest.raises(ValueError, match=r"other:0 \(made at .*\) has one value for all replicas"):
        run(made, lambda: v.assign(other))


def test_rule_16_a_mean_of_whole_numbers_is_refused():
    made = strategy(2)
    for synchronization in (AUTO, ON_READ):
        with pytest.raises(ValueError, match=r"aggregation=MEAN and a non-floating dtype is not supported.*v is int32"):
            variable(made, 1, MEAN, synchronization, name="v")


@pytest.mark.parametrize("kind", [tf1.train.GradientDescentOptimizer, tf1.train.AdamOptimizer])
def test_rule_16_optimizers_change_copies_that_differ(kind):
    made, optimizer = strategy(2), kind(0.5)
    v = variable(made)
    v.assign(per_replica(made))

    def step():
        with tf.GradientTape() as tape:
            loss = v * 0.5
        optimizer.apply_gradients([(tape.gradient(loss, v), v)])

    run(made, step)
    np.testing.assert_allclose(parts(made, v), [0.5, 1.5], rtol=1e-5)
    assert v.assign(per_replica(made), read_value=False) is None


@pytest.mark.parametrize("in_function", [False, True])
@pytest.mark.parametrize("aggregation", [NONE, SUM, MEAN, FIRST])
def test_rule_16_across_replicas_a_per_replica_value_gives_each_copy_its_part(aggregation, in_function):
    made = strategy(2)
    v, p = variable(made, 10.0, aggregation), per_replica(made)

    def write():
        with made.scope():
            v.assign(p)
            v.assign_add(p)

    tf.function(write)() if in_function else write()
    assert parts(made, v) == [2.0, 4.0]
    assert v.numpy() == 2.0


def test_rule_16_copies_come_apart_in_loops_branches_and_functions():
    made = strategy(2)
    v, w, u = (variable(made) for _ in range(3))

    @tf.function
    def add(x):
        u.assign_add(x)
        return u + 0.0

    def step():
        x = tf.constant(0.0)
        for _ in tf.range(3):
            v.assign(x)
            x = x + own()
        if replica_id() == 1:
            w.assign(5.0)
        add(own())
        return add(1.0)

    found = run(made, step)
    assert [parts(made, x) for x in (v, w, u, found)] == [[2.0, 4.0], [0.0, 5.0], [2.0, 3.0], [2.0, 3.0]]
    found = run(made, lambda: v + w + u)
    assert parts(made, found) == [4.0, 12.0]


@pytest.mark.parametrize("in_loop", [False, True])
def test_rule_16_what_was_read_before_the_copies_came_apart(in_loop):
    """Across replicas the first copy is seen, in whichever order a function reads and writes."""
    made = strategy(2)
    v = variable(made)

    @tf.function
    def step():
        before, seen = v + 0.0, tf.constant(0.0)
        for _ in tf.range(2) if in_loop else range(2):
            seen += v
            made.run(lambda: v.assign_add(own()))
        return before, seen, v + 0.0

    assert [x.numpy() for x in step()] == [0.0, 1.0, 2.0]
    assert [x.numpy() for x in step()] == [2.0, 5.0, 4.0]
    assert parts(made, v) == [4.0, 8.0]


def test_rule_16_a_branch_or_loop_that_read_before_the_copies_came_apart():
    made = strategy(2)
    v, chosen = variable(made), tf.Variable(True)

    def step():
        read = tf.cond(chosen, lambda: v + 1.0, lambda: v + 0.0)
        total = tf.constant(0.0)
        for _ in tf.range(2):
            total += v
        v.assign_add(own())
        return read, total

    step = tf.function(step)
    for expected in ([[1.0, 1.0], [0.0, 0.0]], [[2.0, 3.0], [2.0, 4.0]]):
        found = made.run(step)
        assert [parts(made, x) for x in found] == expected
        assert made.reduce("SUM", found[0], axis=None).numpy() == sum(expected[0])


def test_rule_16_gradients_of_copies_that_differ_are_their_own():
    made = strategy(2)
    v = variable(made, 2.0)

    def step():
        with tf.GradientTape() as tape:
            loss = v * v * own()
        gradient = tape.gradient(loss, v)
        v.assign_sub(0.25 * gradient)
        return gradient

    assert parts(made, run(made, step)) == [4.0, 8.0]
    assert parts(made, v) == [1.0, 0.0]
    assert parts(made, run(made, step)) == [2.0, 0.0]


@pytest.mark.parametrize("synchronization", [AUTO, ON_READ])
def test_rule_16_a_copied_variable_is_of_the_same_strategy(synchronization):
    made = strategy(2)
    v = variable(made, 1.0, FIRST if synchronization is ON_READ else NONE, synchronization, name="v")
    run(made, lambda: v.assign(own()))
    copied = copy.deepcopy(v)
    assert (type(copied), copied.name, copied.distribute_strategy) == (type(v), "v:0", made)
    run(made, lambda: copied.assign_add(own()))
    assert (parts(made, v), parts(made, copied)) == ([1.0, 2.0], [2.0, 4.0])


def test_rule_16_a_functions_argument_may_differ_by_replica():
    made = strategy(2)
    v = variable(made)
    assert parts(made, run(made, lambda x: v.assign_add(x), per_replica(made))) == [1.0, 2.0]
    assert parts(made, v) == [1.0, 2.0]


def test_rule_16_modes_that_do_not_exist():
    made = strategy(2)
    for where in (made.scope, tf.distribute.get_strategy().scope):
        for mode_of in ("synchronization", "aggregation"):
            with pytest.raises(ValueError, match=f"Invalid variable {mode_of} mode: SUM for variable: v"), where():
                tf.Variable(1.0, name="v", **{mode_of: "SUM"})
    with pytest.raises(ValueError, match="`NONE` variable synchronization mode is not supported"):
        variable(made, synchronization=VariableSynchronization.NONE)


def test_rule_16_a_creator_sees_all_arguments_of_a_variable():
    """One from outside of the scope those of each copy."""
    made, seen = strategy(2), []

    def creator(next_creator, **kwargs):
        seen.append(kwargs)
        return next_creator(**{**kwargs, "name": "renamed"})

    with tf.variable_creator_scope(creator):
        v = variable(made, 1.0)
    with made.scope(), tf.variable_creator_scope(creator):
        tf.Variable(2.0, trainable=False)
    assert v.name == "renamed:0"
    assert type(v).__name__ == "MirroredVariable"
    assert [(k["trainable"], k["aggregation"], k["initial_value"]) for k in seen] == [
        (None, NONE, 1.0), (None, NONE, 1.0), (False, NONE, 2.0)
    ]  # fmt: skip


def test_rule_16_modules_and_gradients_see_one_variable():
    made = strategy(2)

    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable([1.0, 2.0], name="w")
            self.count = tf.Variable(0.0, synchronization=ON_READ, aggregation=SUM, name="count")

    with made.scope():
        model = Model()
    assert [v.name for v in model.trainable_variables] == ["w:0"]
    assert {v.name for v in model.variables} == {"w:0", "count:0"}

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model.w) * own() * (model.count + 1.0)
        return tape.gradient(loss, [model.w, model.count])

    of_w, of_count = run(made, step)
    assert parts(made, of_w) == [[1.0, 1.0], [2.0, 2.0]]
    assert of_count is None
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model.w * model.w)
    assert tape.gradient(loss, model.w).numpy().tolist() == [2.0, 4.0]


@pytest.mark.parametrize("synchronization", [AUTO, ON_READ])
def test_rule_16_a_variable_that_nobody_holds_is_gone(synchronization):
    made = strategy(2)
    v = variable(made, 1.0, SUM, synchronization)
    assert [c.numpy() for c in v.values] == [1.0, 1.0]
    cell, gone = v.cell, weakref.ref(v)
    assert cell in context().session.state
    del v
    assert gone() is None
    gc.collect()
    assert cell not in context().session.state


# ---- rule 17: variables that are combined when read -----------------------------------------------------------------


@pytest.mark.parametrize(("aggregation", "seen"), [(SUM, 6.0), (MEAN, 2.0), (FIRST, 1.0)])
@pytest.mark.parametrize("in_function", [False, True])
def test_rule_17_written_locally_and_combined_when_read(aggregation, seen, in_function):
    made = strategy(3)
    v = variable(made, 0.0, aggregation, ON_READ)
    found = run(made, lambda: v.assign_add(own()) + 0.0)
    assert parts(made, found) == parts(made, v) == [1.0, 2.0, 3.0]
    assert not v.trainable
    assert repr(v).startswith(
        "SyncOnReadVariable:{\n  0: <tf.Variable 'Variable:0' shape=() dtype=float32, numpy=1.0>,"
    )

    def read():
        return [v.read_value(), tf.identity(v), v + 0.0, tf.convert_to_tensor(v)]

    found = tf.function(read)() if in_function else [*read(), v]
    assert [x.numpy() for x in found] == [seen] * len(found)


@pytest.mark.parametrize("in_function", [False, True])
@pytest.mark.parametrize(("aggregation", "copies"), [(SUM, 2.0), (MEAN, 6.0), (FIRST, 6.0), (NONE, 6.0)])
def test_rule_17_across_replicas_a_sum_is_divided(aggregation, copies, in_function):
    """So is one that is restored: what is saved is the value as read, what is restored is assigned."""
    made = strategy(3)
    v = variable(made, 1.0, aggregation, ON_READ)

    def restore():
        found = v.assign(6.0)
        return found if aggregation is not NONE else tf.constant(6.0)

    assert (tf.function(restore)() if in_function else restore()).numpy() == 6.0
    assert parts(made, v) == [copies] * 3
    if aggregation is not NONE:
        assert v.numpy() == 6.0


@pytest.mark.parametrize(("given", "copy"), [(7, 2), (-7, -2), (9, 3)])
def test_rule_17_whole_sums_lose_their_remainder(given, copy):
    made = strategy(3)
    v = variable(made, 0, SUM, ON_READ)
    v.assign(given)
    assert parts(made, v) == [copy] * 3


@pytest.mark.parametrize("in_function", [False, True])
@pytest.mark.parametrize("method", ["assign_add", "assign_sub"])
def test_rule_17_nothing_is_added_to_a_sum_across_replicas(method, in_function):
    made = strategy(2)
    v, mean = (variable(made, 4.0, a, ON_READ, name="v") for a in (SUM, MEAN))
    change = getattr(v, method)
    with pytest.raises(
        ValueError, match=rf"SyncOnReadVariable does not support `{method}` in cross-replica.*v:0 \(made"
    ):
        tf.function(lambda: change(1.0))() if in_function else change(1.0)
    assert getattr(mean, method)(1.0).numpy() == mean.numpy() == (5.0 if method == "assign_add" else 3.0)


def test_rule_17_without_an_aggregation_there_is_no_value_across_replicas():
    made = strategy(2)
    v = variable(made, 4.0, NONE, ON_READ, name="v")
    for read in (v.numpy, v.read_value, lambda: v + 1.0, tf.function(lambda: v + 1.0), lambda: tf.gather([v], 0)):
        with pytest.raises(ValueError, match=r"Could not convert from `tf.VariableAggregation`.* v:0 \(made at"):
            read()
    assert parts(made, run(made, lambda: v + own())) == [5.0, 6.0]


def test_rule_17_no_strings_that_differ():
    with pytest.raises(UnsupportedError, match="Variable v holds strings"):
        variable(strategy(2), "a", FIRST, ON_READ, name="v")
    v = variable(strategy(2), "a")
    v.assign("b")
    assert v.numpy() == b"b"


@pytest.mark.parametrize("synchronization", [AUTO, ON_READ])
def test_rule_17_rows_of_copies_that_differ(synchronization):
    made = strategy(2)
    v = variable(made, [[1.0], [2.0]], FIRST if synchronization is ON_READ else NONE, synchronization)
    found = run(made, lambda: tf.gather(v.assign_add([[1.0], [1.0]] * own()), [1]))
    assert parts(made, found) == [[[3.0]], [[4.0]]]
    assert tf.gather(v, [1]).numpy().tolist() == v.sparse_read([1]).numpy().tolist() == [[3.0]]
    assert parts(made, run(made, lambda: v.sparse_read([0]))) == [[[2.0]], [[3.0]]]


# ---- rule 18: rows --------------------------------------------------------------------------------------------------


def slices(value):
    return tf.IndexedSlices(tf.reshape(value, [1]), tf.constant([1]))


@pytest.mark.parametrize(("aggregation", "copies"), [
    (NONE, [21.0, 22.0]), (SUM, [23.0] * 2), (MEAN, [21.5] * 2), (FIRST, [21.0] * 2),
])  # fmt: skip
def test_rule_18_rows_that_replicas_add_are_combined_first(aggregation, copies):
    made = strategy(2)
    v = variable(made, [10.0, 20.0], aggregation)
    run(made, lambda: v.scatter_add(slices(own())))
    assert parts(made, v) == [[10.0, c] for c in copies]
    v.scatter_sub(slices(tf.constant(20.0)))
    assert parts(made, v) == [[10.0, c - 20.0] for c in copies]


def test_rule_18_rows_are_multiplied_and_divided_by_each_replicas_value():
    made = strategy(2)
    v = variable(made, [10.0, 24.0], SUM)
    run(made, lambda: v.scatter_mul(slices(own())))
    assert parts(made, v) == [[10.0, 48.0]] * 2
    run(made, lambda: v.scatter_div(slices(own(2.0))))
    assert parts(made, v) == [[10.0, 8.0]] * 2


@pytest.mark.parametrize("method", ["scatter_update", "scatter_max", "scatter_min"])
@pytest.mark.parametrize("aggregation", [NONE, SUM, MEAN, FIRST])
def test_rule_18_rows_that_do_not_add_up_need_no_sum(method, aggregation):
    made = strategy(2)
    v = variable(made, [10.0, 20.0], aggregation, name="v")
    change = getattr(v, method)
    if aggregation in (SUM, MEAN):
        message = (
            rf"{method} is only supported for mirrored variable .* got: .*{aggregation.name}. Variable v:0 was made"
        )
        for attempt in (lambda: run(made, lambda: change(slices(own()))), lambda: change(slices(tf.constant(1.0)))):
            with pytest.raises(NotImplementedError, match=message):
                attempt()
    else:
        run(made, lambda: change(slices(own(30.0))))
        high = [20.0, 20.0] if method == "scatter_min" else [30.0, 31.0 if aggregation is NONE else 30.0]
        assert parts(made, v) == [[10.0, h] for h in high]


def test_rule_18_no_rows_of_what_is_combined_when_read():
    made = strategy(2)
    v = variable(made, [10.0, 20.0], SUM, ON_READ)
    for method in ("scatter_update", "scatter_add", "scatter_sub", "scatter_mul", "scatter_div", "scatter_max"):
        change = getattr(v, method)
        for attempt in (lambda c=change: run(made, lambda: c(slices(own()))), lambda c=change: c(slices(own(1.0)))):
            with pytest.raises(NotImplementedError, match=rf"`synchronization=ON_READ` doesn't support `{method}`"):
                attempt()
    with made.scope():
        made.extended.update(v, lambda w: w.scatter_add(slices(tf.constant(1.0))))
    assert parts(made, v) == [[10.0, 21.0]] * 2


def test_rule_18_a_partitioner_is_dropped_with_one_warning(caplog):
    made = strategy(2)
    with caplog.at_level(logging.WARNING), made.scope():
        for name in ("a", "b"):
            v = tf1.get_variable(name, [4], partitioner=tf1.fixed_size_partitioner(2))
            assert v.shape == (4,)
            assert type(v).__name__ == "MirroredVariable"
    assert len([r for r in caplog.records if "Partitioned variables are disabled" in r.message]) <= 1


# ---- the same in graphs ---------------------------------------------------------------------------------------------


def in_graph(test):
    """Runs a test with a session of a graph: it gets the strategy, and a function that gives values."""
    made = tf1.distribute.experimental.TPUStrategy(device_assignment=assignment(2))
    with mode.graph_mode(), tf1.Graph().as_default(), tf1.Session() as session:

        def fetch(value):
            if not isinstance(value, tf1.Operation):
                value = list(made.experimental_local_results(value))
            return np.asarray(session.run(value)).tolist() if isinstance(value, list) else session.run(value)

        test(made, session, fetch)


def assignment(replicas, logical=1):
    topology = tf.tpu.experimental.initialize_tpu_system(tf.distribute.cluster_resolver.TPUClusterResolver(tpu=""))
    shape = [max(logical // 2, 1), 1, 1, min(logical, 2)]
    return tf.tpu.experimental.DeviceAssignment.build(topology, shape, num_replicas=replicas)


@pytest.mark.parametrize(("synchronization", "aggregation", "copies", "seen"), [
    (AUTO, NONE, [2.0, 3.0], 2.0), (AUTO, SUM, [4.0] * 2, 4.0),
    (AUTO, MEAN, [2.5] * 2, 2.5), (AUTO, FIRST, [2.0] * 2, 2.0),
    (ON_READ, SUM, [2.0, 3.0], 5.0), (ON_READ, MEAN, [2.0, 3.0], 2.5), (ON_READ, FIRST, [2.0, 3.0], 2.0),
])  # fmt: skip
def test_rules_16_and_17_in_a_graph_of_1x(synchronization, aggregation, copies, seen):
    def test(made, session, fetch):
        v = variable(made, 1.0, aggregation, synchronization)
        change = made.experimental_run_v2(lambda: v.assign_add(own()))
        across = v.assign(8.0)
        assert tf1.global_variables() == [v]
        assert tf1.trainable_variables() == ([] if synchronization is ON_READ else [v])
        session.run(tf1.global_variables_initializer())
        assert fetch(change) == fetch(v) == copies
        assert session.run(v) == v.eval(session) == session.run(v + 0.0) == seen
        share = 4.0 if (synchronization, aggregation) == (ON_READ, SUM) else 8.0
        assert session.run(across) == 8.0
        assert fetch(v) == [share] * 2
        v.load(6.0, session)
        assert session.run(v) == 6.0
        session.run(v.initializer)
        assert fetch(v) == [1.0, 1.0]

    in_graph(test)


def test_rule_16_in_a_graph_a_per_replica_value_gives_each_copy_its_part():
    def test(made, session, fetch):
        v = variable(made, 1.0, name="v")
        with made.scope():
            change = v.assign(made.experimental_run_v2(lambda: own()))
        session.run(v.initializer)
        assert fetch(change) == fetch(v) == [1.0, 2.0]
        assert session.run(v) == 1.0
        assert repr(v).startswith("MirroredVariable:{\n  0: <tf.Variable 'v:0' shape=() dtype=float32>,")

    in_graph(test)


# ---- rule 20: logical devices ---------------------------------------------------------------------------------------


def on_logical_devices(replicas=2, logical=2):
    return tf.distribute.TPUStrategy(experimental_device_assignment=assignment(replicas, logical))


@pytest.mark.parametrize(("replicas", "logical"), [(1, 2), (2, 2), (2, 4), (4, 2)])
def test_rule_20_split_values_compute_the_same(replicas, logical):
    made = on_logical_devices(replicas, logical)
    w = variable(made, np.arange(12.0, dtype=np.float32).reshape(3, 4))
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)

    def step(x):
        split = made.experimental_split_to_logical_devices(w, [1, logical])
        product = made.experimental_replicate_to_logical_devices(tf.matmul(x * own(), split))
        return made.experimental_assign_to_logical_device(product, logical - 1)

    found = run(made, step, tf.constant(x))
    np.testing.assert_array_equal(parts(made, found), [(x * (i + 1)) @ w.numpy() for i in range(replicas)])
    assert made.num_replicas_in_sync == replicas
    assert len(made.extended.worker_devices) == replicas


def test_rule_20_a_split_variable_is_stored_in_parts():
    made = on_logical_devices(1, 4)
    w = variable(made, np.zeros((2, 8), np.float32))
    run(made, lambda: w.assign(made.experimental_split_to_logical_devices(w + 1.0, [1, 4])))
    np.testing.assert_array_equal(w, np.ones((2, 8)))


@pytest.mark.parametrize(("dims", "message"), [
    ([2], "one number for each dimension"),
    ([1, 1, 2], "one number for each dimension"),
    ([1, 4], r"product of partition_dimensions must be the number of logical devices"),
    ([1, 1], r"product of partition_dimensions must be the number of logical devices"),
    ([2, 1], "must be divisible by"),
    ([0, 2], "must be at least 1"),
])  # fmt: skip
def test_rule_20_what_split_needs(dims, message):
    made = on_logical_devices()
    with pytest.raises(ValueError, match=message):
        run(made, lambda: made.experimental_split_to_logical_devices(tf.ones([3, 4]), dims))


@pytest.mark.parametrize("number", [-1, 2])
def test_rule_20_a_device_that_is_not_there(number):
    made = on_logical_devices()
    with pytest.raises(ValueError, match=rf"{number}"):
        run(made, lambda: made.experimental_assign_to_logical_device(tf.ones([2]), number))


def test_rule_20_without_logical_devices_there_is_one():
    made = strategy(2)
    found = run(made, lambda: made.experimental_split_to_logical_devices(
        made.experimental_assign_to_logical_device(tf.ones([4]) * own(), 0), [1]
    ))  # fmt: skip
    assert parts(made, found) == [[1.0] * 4, [2.0] * 4]
    assert len(jax.devices()) == 8


# ---- rule 22: losses and optimizers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("replicas", [1, 2, 4])
def test_rule_22_losses_are_divided_by_the_global_batch(replicas):
    made = strategy(replicas)

    def losses():
        loss = tf.ones([2]) * own()
        return [
            tf.nn.compute_average_loss(loss),
            tf.nn.compute_average_loss(loss, global_batch_size=10),
            tf.nn.compute_average_loss(loss, sample_weight=[1.0, 0.0]),
            tf.nn.compute_average_loss(loss[:0]),
            tf.nn.scale_regularization_loss(loss),
        ]

    numbers = np.arange(1.0, replicas + 1)
    expected = [numbers / replicas, numbers / 5, numbers / 2 / replicas, 0 * numbers, 2 * numbers / replicas]
    np.testing.assert_allclose([parts(made, x) for x in run(made, losses)], expected, rtol=1e-6)


def test_rule_22_losses_belong_to_a_replica():
    made = strategy(2)
    with made.scope():
        for call in (tf.nn.compute_average_loss, tf.nn.scale_regularization_loss):
            with pytest.raises(
                RuntimeError, match=r"in cross replica context, while it was expected to be called in re"
            ):
                call(tf.ones([2]))


@pytest.mark.parametrize("replicas", [1, 2, 4])
def test_rule_22_optimizers_sum_the_gradients_of_replicas(replicas):
    made, optimizer = strategy(replicas), tf1.train.GradientDescentOptimizer(0.1)
    w = variable(made, [1.0, 2.0])

    def step():
        with tf.GradientTape() as tape:
            loss = tf.nn.compute_average_loss(w * own(), global_batch_size=2)
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])

    run(made, step)
    total = sum(range(1, replicas + 1)) / 2
    np.testing.assert_allclose(parts(made, w), [[1 - 0.1 * total, 2 - 0.1 * total]] * replicas, rtol=1e-6)


# ---- rule 24: the replica's number ----------------------------------------------------------------------------------


def test_rule_24_a_condition_on_the_replica_id():
    made = strategy(3)
    v = variable(made, 0.0, SUM, ON_READ)

    def step():
        if replica_id() == 0:
            v.assign_add(10.0)
            found = tf.constant(1.0)
        else:
            v.assign_add(own())
            found = own() * 2.0
        return found

    assert parts(made, run(made, step)) == [1.0, 4.0, 6.0]
    assert parts(made, v) == [10.0, 2.0, 3.0]
    assert v.numpy() == 15.0


def test_rule_24_a_loop_over_a_dataset_shows_unknown_sizes():
    made, shapes = strategy(2), []
    data = made.experimental_distribute_dataset(tf.data.Dataset.range(5).batch(4))

    @tf.function
    def total():
        found = tf.constant(0, tf.int64)
        for x in data:
            found += made.reduce(
                tf.distribute.ReduceOp.SUM, made.run(lambda x: shapes.append(x.shape.rank) or x, (x,)), 0
            )
        return found

    assert total().numpy() == 10
    assert set(shapes) == {1}
