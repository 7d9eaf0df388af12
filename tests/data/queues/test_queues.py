"""Queues, their runners and coordinators: goldens from TensorFlow 1.12, and threads that wait for each other."""

import json
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.golden import queue_cases
from towerstrat.errors import CancelledError, DeadlineExceededError, OutOfRangeError, UnsupportedError
from towerstrat.graph.eager import mode

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "queues.json").read_text())


@pytest.fixture
def session():
    with tf.Session() as opened:
        yield opened


@pytest.mark.parametrize("case", queue_cases.CASES, ids=lambda case: case.__name__)
def test_case(case, session):
    found = json.loads(json.dumps(case(tf, session)))
    assert found == GOLDEN[case.__name__]


class Calls:
    """Calls in threads of their own."""

    def __init__(self):
        self.threads, self.results = [], {}

    def start(self, name, function):
        def call():
            try:
                self.results[name] = function()
            except Exception as error:
                self.results[name] = type(error)

        self.threads.append(threading.Thread(target=call, daemon=True))
        self.threads[-1].start()

    def wait(self):
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive()


def until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def state(queue, session):
    return session._resources["queue", queue]


def test_pending_additions_are_cancelled_or_waited_for(session):
    for cancel in (True, False):
        queue, calls = tf.FIFOQueue(1, tf.int32, [[]]), Calls()
        add, take, close = queue.enqueue(1), queue.dequeue(), queue.close(cancel_pending_enqueues=cancel)
        session.run(add)
        calls.start("add", lambda add=add: session.run(add))
        until(lambda queue=queue: len(state(queue, session)._putting) == 1)
        if cancel:
            session.run(close)
            calls.wait()
            assert calls.results == {"add": CancelledError}
        else:
            calls.start("close", lambda close=close: session.run(close))
            until(lambda queue=queue: len(state(queue, session)._putting) == 2)
            assert session.run([take, take.op, queue.is_closed()])[0] == 1
            assert session.run(take) == 1
            calls.wait()
            assert calls.results == {"add": None, "close": None}
        assert session.run(queue.is_closed())
        left = session.run(queue.size())
        assert left == (1 if cancel else 0)


def test_a_queue_that_is_closed_says_so(session):
    queue = tf.FIFOQueue(2, [tf.int32], [[]])
    session.run(queue.enqueue(1))
    session.run(queue.close())
    assert session.run([queue.is_closed(), queue.size()]) == [True, 1]


def test_closing_a_session_ends_all_waiting():
    queue, full, session, calls = (
        tf.FIFOQueue(1, tf.int32, [[]]),
        tf.FIFOQueue(1, tf.int32, [[]]),
        tf.Session(),
        Calls(),
    )
    add, take = full.enqueue(1), queue.dequeue_many(2)
    session.run([add, queue.enqueue(2)])
    calls.start("add", lambda: session.run(add))
    calls.start("take", lambda: session.run(take))
    until(lambda: session._resources.keys() >= {("queue", queue), ("queue", full)})
    until(lambda: state(full, session)._putting and state(queue, session)._taking)
    session.close()
    calls.wait()
    assert calls.results == {"add": CancelledError, "take": CancelledError}
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(take)


def test_other_runs_of_a_session_go_on_while_one_waits(session):
    queue, v, calls = tf.FIFOQueue(1, tf.float32, [[]]), tf.Variable(1.0), Calls()
    session.run(v.initializer)
    total = v.assign_add(queue.dequeue() * 10.0)
    calls.start("total", lambda: session.run(total))
    until(lambda: ("queue", queue) in session._resources and state(queue, session)._taking)
    assert session.run(v.assign_add(1.0)) == 2.0
    session.run(queue.enqueue(v * 2.0))
    calls.wait()
    assert calls.results == {"total": 42.0}


def test_what_waits_is_served_in_order(session):
    queue, calls = tf.FIFOQueue(9, tf.int32, [[]]), Calls()
    three, one = queue.dequeue_many(3), queue.dequeue()
    session.run(queue.size())
    calls.start("three", lambda: session.run(three).tolist())
    until(lambda: len(state(queue, session)._taking) == 1)
    calls.start("one", lambda: session.run(one))
    until(lambda: len(state(queue, session)._taking) == 2)
    for i in range(4):
        session.run(queue.enqueue(i))
    calls.wait()
    assert calls.results == {"three": [0, 1, 2], "one": 3}


def test_a_queue_that_is_closed_keeps_what_was_not_enough(session):
    queue, calls = tf.FIFOQueue(9, tf.int32, [[]]), Calls()
    three, close = queue.dequeue_many(3), queue.close()
    session.run(queue.enqueue_many([[1, 2]]))
    calls.start("three", lambda: session.run(three))
    until(lambda: len(state(queue, session)._taking) == 1 and session.run(queue.size()) == 0)
    session.run(close)
    calls.wait()
    assert calls.results == {"three": OutOfRangeError}
    assert session.run(queue.dequeue_many(2)).tolist() == [1, 2]


def test_seeds_give_an_order():
    def order(seed):
        with tf.Graph().as_default(), tf.Session() as session:
            queue = tf.RandomShuffleQueue(50, 0, tf.int32, [[]], seed=seed)
            session.run(queue.enqueue_many([list(range(50))]))
            return session.run(queue.dequeue_many(50)).tolist()

    assert order(1) == order(1)
    assert order(1) != order(2)
    assert order(None) == order(None)


def test_a_model_trains_on_a_queue_that_threads_fill(session):
    xs = np.linspace(-1, 1, 32, dtype=np.float32)
    x, y = tf.train.slice_input_producer([xs, 3 * xs + 1], seed=1)
    xs, ys = tf.train.shuffle_batch([x, y], 8, 64, 16, num_threads=2, seed=1)
    w, b = tf.Variable(0.0), tf.Variable(0.0)
    step = tf.train.GradientDescentOptimizer(0.3).minimize(tf.reduce_mean(tf.square(w * xs + b - ys)))
    with queue_cases.running(tf, session):
        for _ in range(150):
            session.run(step)
    np.testing.assert_allclose(session.run([w, b]), [3.0, 1.0], atol=1e-2)


def test_eagerly():
    with mode.eager_mode():
        queue = tf.FIFOQueue(3, [tf.int32, tf.string], [[], []])
        queue.enqueue([1, "a"])
        queue.enqueue_many([[2, 3], ["b", "c"]])
        assert int(queue.size()) == 3
        number, word = queue.dequeue()
        assert (int(number), word.numpy()) == (1, b"a")
        queue.close()
        assert bool(queue.is_closed())
        assert queue.dequeue_up_to(5)[0].numpy().tolist() == [2, 3]
        with pytest.raises(OutOfRangeError, match="insufficient elements"):
            queue.dequeue()
        with pytest.raises(CancelledError, match="is closed"):
            queue.enqueue([1, "a"])
        with pytest.raises(RuntimeError, match="eager execution"):
            tf.train.QueueRunner(queue, [1])
        with pytest.raises(RuntimeError, match="eager execution"):
            tf.train.range_input_producer(3)
        with pytest.raises(ValueError, match="eager execution"):
            tf.train.batch([tf.constant(1)], 2)


def test_what_has_no_rows_is_refused():
    for shapes in (None, [()], [(2,)]):
        with pytest.raises(ValueError, match=r"Shape \(\) must have rank at least 1"):
            tf.FIFOQueue(3, [tf.int32], shapes).enqueue_many([5])


def test_what_is_refused_by_name(session):
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver(tpu="")
    strategy = tf.contrib.distribute.TPUStrategy(resolver, steps_per_run=1, num_cores=2)
    queue = tf.FIFOQueue(3, tf.int32, [[]])
    with strategy.scope(), pytest.raises(UnsupportedError, match=r"tf\.FIFOQueue\.Dequeue inside a tower"):
        strategy.call_for_each_tower(lambda: queue.dequeue())
    with pytest.raises(UnsupportedError, match="summaries"):
        tf.train.input_producer([1, 2], summary_name="fraction")
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
    with pytest.raises(UnsupportedError, match="to_proto"):
        runner.to_proto()


@pytest.mark.parametrize("towers", [1, 2])
def test_a_batch_from_a_queue_enters_towers_from_outside(session, towers):
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver(tpu="")
    strategy = tf.contrib.distribute.TPUStrategy(resolver, steps_per_run=1, num_cores=towers)
    x = tf.train.batch([tf.train.range_input_producer(4, shuffle=False).dequeue()], 4)
    with strategy.scope():
        y = strategy.unwrap(strategy.call_for_each_tower(lambda x: tf.reduce_sum(x), x))
    with queue_cases.running(tf, session):
        assert session.run(y) == [6] * towers


def test_waits_of_the_host_end_in_time():
    queue = tf.FIFOQueue(1, [tf.float32], [[]])
    full, element = queue.enqueue(1.0), queue.dequeue()
    sums = tf.ConditionalAccumulator(tf.float32, [])
    soon = tf.RunOptions(timeout_in_ms=50)
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=50)) as session:
        with pytest.raises(DeadlineExceededError, match="an element in FIFOQueue 'fifo_queue'.* within 50 ms"):
            session.run(element)
        session.run(full)
        with pytest.raises(DeadlineExceededError, match="room"):
            session.run(full)
        assert session.run(element) == 1.0  # what was given up left nothing behind
    with tf.Session() as session:
        with pytest.raises(DeadlineExceededError):
            session.run(element, options=soon)
        with pytest.raises(DeadlineExceededError, match="2 gradients"):
            session.run(sums.take_grad(2), options=soon)
        session.run(full, options=soon)
        assert session.run(element) == 1.0


def test_an_accumulator_that_is_stopped_gives_nothing_until_its_step_is_set():
    sums = tf.ConditionalAccumulator(tf.float32, [])
    apply, take = sums.apply_grad(3.0), sums.take_grad(1)
    with tf.Session() as session:
        session.run([apply, sums.stop_taking()])
        with pytest.raises(tf.errors.CancelledError, match="TakeGrad"):
            session.run(take)
        session.run(sums.set_global_step(0))
        assert session.run(take) == 3.0


def rows(sizes):
    """Sparse vectors 0, 10, 20, ... of some sizes, one after the other, and the sizes."""
    size = tf.gather(tf.constant(sizes), tf.train.range_input_producer(len(sizes), shuffle=False).dequeue())
    indices = tf.cast(tf.expand_dims(tf.range(size), 1), tf.int64)
    return tf.SparseTensor(indices, tf.range(size) * 10, tf.cast([size], tf.int64)), size


def run_once(fetches, times=1):
    with tf.Session() as session:
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        found = [session.run(fetches) for _ in range(times)]
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=60)
    return found


def test_a_data_set_that_gives_nothing_is_not_waited_for_longer():
    go_on = threading.Event()

    def slowly():
        go_on.wait(60)
        yield 1

    element = tf.data.Dataset.from_generator(slowly, tf.int64).prefetch(1).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        with pytest.raises(DeadlineExceededError, match="an element of a data set"):
            session.run(element, options=tf.RunOptions(timeout_in_ms=50))
        go_on.set()
        assert session.run(element) == 1


def test_batches_of_sparse_tensors():
    sparse, size = rows([1, 2, 3])
    first, second = run_once(tf.train.batch([sparse, size], 2), 2)
    assert first[0].indices.tolist() == [[0, 0], [1, 0], [1, 1]]
    assert first[0].values.tolist() == [0, 0, 10]
    assert first[0].dense_shape.tolist() == [2, 2]
    assert second[0].dense_shape.tolist() == [2, 3]
    assert second[1].tolist() == [3, 1]


def test_batches_of_several_sparse_rows_of_which_some_are_kept():
    table = tf.SparseTensor([[0, 1], [2, 0]], [5, 6], [3, 2])
    kept = tf.train.maybe_batch({"a": table}, [True, False, True], 4, enqueue_many=True)
    (found,) = run_once(kept)
    assert found["a"].indices.tolist() == [[0, 1], [1, 0], [2, 1], [3, 0]]
    assert found["a"].values.tolist() == [5, 6, 5, 6]
    with pytest.raises(ValueError, match="same places"):
        tf.train.batch_join([[table, 1], [2, table]], 2)


def test_padding_of_scalars_beside_sequences():
    _, size = rows([1, 3])
    padded, scalar, text = tf.train.batch([tf.range(size), size, "s"], 2, dynamic_pad=True)
    (found,) = run_once([padded, scalar, text])
    assert found[0].tolist() == [[0, 0, 0], [0, 1, 2]]
    assert found[1].tolist() == [1, 3]
    assert found[2].tolist() == [b"s", b"s"]
