"""Calls of functions that leave the errors of their checks to whoever looks next."""

import threading

import pytest

import towerstrat.compat.v2 as tf
from towerstrat.graph.eager import mode
from towerstrat.graph.runtime.loops.chunk_sizing import ChunkScheduler
from towerstrat.graph.runtime.loops.data_loop_stage import _DataLoopProgram

pytestmark = pytest.mark.usefixtures("later_behavior")
Dataset = tf.data.Dataset


class Sums:
    """A function of the next four elements, which fails at the ninth and is called twice before."""

    def __init__(self):
        self.it = iter(Dataset.range(40))
        self.count, self.other = tf.Variable(0), tf.Variable(7)
        self.function = tf.function(self.of_four)
        assert [int(self()) for _ in range(2)] == [6, 22]

    def of_four(self, it):
        total = tf.constant(0, tf.int64)
        for _ in tf.range(4):
            x = next(it)
            tf.debugging.assert_none_equal(x, tf.constant(9, tf.int64))
            self.count.assign_add(1)
            total += x
        return total

    def __call__(self):
        return self.function(self.it)

    def check(self):
        """That the state is the one after the last good turn, and nothing behind it has run."""
        assert int(self.count.numpy()) == 9
        assert [int(next(self.it)), int(self()), int(next(self.it))] == [10, 11 + 12 + 13 + 14, 15]


def fails():
    return pytest.raises(tf.errors.InvalidArgumentError, match="in a turn of the loop")


LOOKS = {
    "call": lambda sums, late: sums(),
    "call of another": lambda sums, late: tf.function(lambda: sums.other.assign_add(1))(),
    "result": lambda sums, late: late.numpy(),
    "result in an operation": lambda sums, late: late + 1,
    "variable": lambda sums, late: sums.count.numpy(),
    "operation": lambda sums, late: sums.other + 1,
    "end": lambda sums, late: None,
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=list(LOOKS))
def test_the_error_of_a_late_call_comes_where_somebody_looks(look):
    sums, looked = Sums(), False
    with fails(), sums.function.late():
        late = sums()
        assert sums.other.numpy() == 7
        looked = True
        look(sums, late)
    assert looked
    with fails():
        late.numpy()
    sums.check()


def test_the_error_of_a_call_that_is_not_late_is_its_own():
    sums = Sums()
    with sums.function.late():
        pass
    with fails():
        sums()
    sums.check()


def test_a_late_call_begins_before_the_check_of_the_one_before_is_looked_at(monkeypatch):
    sums = Sums()
    next(sums.it), next(sums.it)
    seen = []
    for name in ("__call__", "error"):
        method = getattr(_DataLoopProgram, name)
        monkeypatch.setattr(
            _DataLoopProgram, name, lambda *args, name=name, method=method: (seen.append(name), method(*args))[1]
        )
    with sums.function.late():
        late = [sums() for _ in range(3)]
        assert seen == ["__call__", "__call__", "error", "__call__", "error"]
    assert seen[5:] == ["error"]
    assert [int(each) for each in late] == [10 + 11 + 12 + 13, 14 + 15 + 16 + 17, 18 + 19 + 20 + 21]


def test_an_interrupt_of_a_late_call_loses_neither_the_error_before_nor_input(monkeypatch):
    sums = Sums()

    def interrupted(*args):
        raise KeyboardInterrupt

    with fails() as found, sums.function.late():
        sums()
        monkeypatch.setattr(ChunkScheduler, "make_room", interrupted)  # the program has begun
        sums()
    assert isinstance(found.value.__context__, KeyboardInterrupt)
    monkeypatch.undo()
    sums.check()


def test_other_threads_see_the_state_and_no_error():
    sums, seen = Sums(), []
    with fails(), sums.function.late():
        sums()

        def read():
            with mode.eager_mode():
                seen.append(int(sums.count.numpy()))

        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
        assert seen == [9]
    sums.check()


def test_what_is_more_than_a_loop_over_data_is_never_late():
    v = tf.Variable(1.0)

    @tf.function
    def checked(x):
        tf.debugging.assert_positive(x)
        return v.assign_add(x)

    with checked.late(), pytest.raises(tf.errors.InvalidArgumentError):
        checked(tf.constant(-1.0))
