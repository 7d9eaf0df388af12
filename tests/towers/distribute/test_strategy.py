"""Strategies of the later surface: scopes, values that pass through, what is kept."""

import copy
import gc
import threading
import weakref

import pytest

import towerstrat.compat.v2 as tf
from tests.towers.distribute.common import parts, replica_id, strategy
from towerstrat.towers.distribute import strategy_extended

SUM = tf.distribute.ReduceOp.SUM


@pytest.fixture(autouse=True)
def as_in_2x(later_behavior):
    """Eagerly, and == compares values."""


def own(made, *values):
    """A per-replica value."""
    return made.experimental_distribute_values_from_function(lambda context: values[context.replica_id_in_sync_group])


@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_values_pass_through_functions_as_they_are(replicas):
    made = strategy(replicas)
    values = [float(i) for i in range(replicas)]
    value = own(made, *values)
    assert parts(made, tf.function(lambda v: v)(value)) == values
    assert parts(made, made.run(tf.function(lambda v: v), args=(value,))) == values
    assert parts(made, made.run(tf.function(lambda: value))) == values
    both = tf.function(lambda v: made.run(lambda x, y: {"x": x, "y": [y, x + y]}, args=(v, 1.0)))(value)
    assert parts(made, both["x"]) == values
    assert parts(made, both["y"][1]) == [v + 1 for v in values]


def test_what_all_replicas_got_counts_for_each():
    made = strategy(3)

    def local():
        context = tf.distribute.get_replica_context()
        number = tf.cast(replica_id(), tf.float32)
        return context.all_reduce(SUM, number), context.all_gather(tf.reshape(number, [1]), axis=0)

    total, gathered = made.run(tf.function(local))
    assert parts(made, total) == [3.0] * 3
    assert made.reduce(SUM, total, axis=None).numpy() == 9.0
    assert made.reduce(SUM, gathered, axis=None).numpy().tolist() == [0.0, 3.0, 6.0]


def test_values_of_other_replicas_are_taken_in_their_order():
    two, three = strategy(2), strategy(3)
    double = tf.function(lambda x: x * 2)
    assert parts(two, two.run(double, args=(own(three, 1.0, 2.0, 3.0),))) == [2.0, 4.0]
    with pytest.raises(IndexError, match="of 2 replicas was passed to a function of 3"):
        three.run(double, args=(own(two, 1.0, 2.0),))


def test_a_scope_can_be_entered_again_and_only_left_as_often():
    made = strategy(2)
    scope = made.scope()
    for _ in range(2):
        with scope as entered, scope:
            assert entered is made
            assert tf.distribute.get_strategy() is made
        assert not tf.distribute.has_strategy()
    with pytest.raises(RuntimeError, match="Variable scope nesting error"):
        scope.__exit__(None, None, None)


def test_a_strategy_that_is_set_is_current_in_its_thread():
    made, other = strategy(2), strategy(3)
    seen = []
    try:
        tf.distribute.experimental_set_strategy(made)
        thread = threading.Thread(target=lambda: seen.append(tf.distribute.has_strategy()))
        thread.start()
        thread.join()
        assert seen == [False]
        assert len(tf.Variable(1.0).values) == 2
        tf.distribute.experimental_set_strategy(other)
        assert tf.distribute.get_strategy() is other
    finally:
        tf.distribute.experimental_set_strategy(None)
    assert not tf.distribute.has_strategy()
    with other.scope(), pytest.raises(RuntimeError, match="Must not be called inside"):
        tf.distribute.experimental_set_strategy(made)


def test_copies_of_a_strategy_are_itself():
    made = strategy(2)
    assert copy.deepcopy(made) is made
    with pytest.raises(RuntimeError, match="Must only deepcopy"):
        copy.copy(made)


def test_functions_that_were_run_are_forgotten_at_last(monkeypatch):
    monkeypatch.setattr(strategy_extended, "_FUNCTIONS", 2)
    made = strategy(2)

    class Kept:
        pass

    known = []
    for _ in range(6):
        kept = Kept()
        known.append(weakref.ref(kept))
        made.run(tf.function(lambda x, kept=kept: x + 1.0), args=(tf.constant(1.0),))
        del kept
    gc.collect()
    assert sum(reference() is not None for reference in known) <= 2


def test_per_replica_values_are_no_tensors_outside_of_replicas():
    made = strategy(2)
    value = own(made, 1.0, 2.0)
    assert not tf.is_tensor(value)
    with pytest.raises(ValueError, match="It looks like you are using a PerReplica object"):
        tf.convert_to_tensor(value)
    assert parts(made, made.run(tf.function(lambda: tf.square(value)))) == [1.0, 4.0]


@pytest.mark.parametrize("replicas", [1, 2])
def test_an_update_gives_each_copy_its_part(replicas):
    made = strategy(replicas)
    with made.scope():
        plain = tf.Variable([1.0, 2.0])
    value = own(made, *([float(i + 1)] * 2 for i in range(replicas)))
    sums = made.extended.update(plain, lambda v, x: v + x, args=(value,), group=False)
    assert [s.numpy().tolist() for s in sums] == [[i + 2.0, i + 3.0] for i in range(replicas)]
    made.extended.update(plain, lambda v, x: v.assign_add(x), args=([2.0, 2.0],))
    assert parts(made, plain) == [[3.0, 4.0]] * replicas
    made.run(tf.function(lambda: made.extended.update(plain, lambda v, x: v.assign(x), args=(value,))))
    assert parts(made, plain) == [[i + 1.0] * 2 for i in range(replicas)]
