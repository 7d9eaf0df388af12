"""Loops and readers over one iterator in any order: whatever happens, every element is used once, and none is lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import towerstrat.compat.v2 as tf
from towerstrat.graph.runtime.loops import data_loop_stage as fed_loop

pytestmark = pytest.mark.usefixtures("later_behavior", "small_chunks")


class BadRecordError(Exception):
    pass


class Records:
    """A pass over arrays, among which are exceptions; goes on after them, as a file reader does."""

    def __init__(self, records):
        self.left = list(records)

    def __iter__(self):
        return self

    def __next__(self):
        if not self.left:
            raise StopIteration
        record = self.left.pop(0)
        if record is BadRecordError:
            raise BadRecordError
        return record


class Plain:
    """What plain Python does: a step counts when it has all of its elements."""

    def __init__(self, records):
        self.records = Records(records)
        self.total = 0

    def take(self):
        try:
            return int(next(self.records).sum())
        except StopIteration:
            raise tf.errors.OutOfRangeError(None, None, "") from None

    def steps(self, n):
        for _ in range(n):
            self.total += self.take()

    def pairs(self, n):
        for _ in range(n):
            first, second = self.take(), self.take()
            self.total += 2 * first + second

    def until(self, n):
        for record in self.records:
            self.total += int(record.sum())
            if record.sum() >= n:
                break

    def next(self, n):
        self.take()


def functions():
    """The same in functions."""
    total = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def steps(it, n):
        for _ in tf.range(n):
            total.assign_add(tf.reduce_sum(next(it)))

    @tf.function
    def pairs(it, n):
        for _ in tf.range(n):
            first, second = next(it), next(it)
            total.assign_add(2 * tf.reduce_sum(first) + tf.reduce_sum(second))

    @tf.function
    def until(it, n):
        for x in it:
            total.assign_add(tf.reduce_sum(x))
            if tf.reduce_sum(x) >= tf.cast(n, tf.int64):
                break

    return total, {"steps": steps, "pairs": pairs, "until": until, "next": lambda it, n: it.get_next()}


RECORD = st.one_of(st.just(BadRecordError), *[st.just(size) for size in (2, 2, 2, 3)])
ACTION = st.tuples(st.sampled_from(["steps", "pairs", "until", "next"]), st.integers(0, 30))


def outcome(call):
    try:
        call()
    except (BadRecordError, tf.errors.OutOfRangeError) as error:
        return type(error)
    except tf.errors.UnknownError as error:
        return type(error.__cause__)
    return None


def test_loops_and_readers_in_any_order(monkeypatch):
    monkeypatch.setattr(fed_loop, "_OPEN_STEPS", 4)
    total, calls = functions()
    spec = tf.TensorSpec([None], tf.int64)

    @given(st.lists(RECORD, max_size=25), st.lists(ACTION, max_size=6))
    def check(sizes, actions):
        records = [s if s is BadRecordError else np.full([s], i, np.int64) for i, s in enumerate(sizes)]
        plain = Plain(records)
        it = iter(tf.data.Dataset.from_generator(lambda: Records(records), output_signature=spec))
        total.assign(0)
        for name, n in actions:
            number = n if name == "until" else n % 9
            wanted = outcome(lambda name=name, number=number: getattr(plain, name)(number))
            assert outcome(lambda name=name, number=number: calls[name](it, tf.constant(number))) is wanted
            assert total.numpy() == plain.total

    check()
