"""Programs with queues, their runners and coordinators that the original and ours both run. Runs under Python 3.6 too.

A case is a function of the namespace ``tf`` and a session that returns plain facts.
"""

import contextlib
import os
import tempfile
import threading

import numpy as np

from tests.golden.plain_values import plain


def refused(function):
    """The type of the error that a function raises, else its result."""
    try:
        return plain(function())
    except Exception as error:
        return type(error).__name__


@contextlib.contextmanager
def running(tf, session):
    """Inside of it the queue runners run."""
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coordinator = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coordinator)
    try:
        yield coordinator
    finally:
        coordinator.request_stop()
        coordinator.join(threads)


def taking(tf, session):
    q = tf.FIFOQueue(10, [tf.float32, tf.int32], [[], [2]])
    one, two, some = q.dequeue(), q.dequeue_many(2), q.dequeue_up_to(5)
    found = [q.name, [t.name for t in q.dtypes], [s.as_list() for s in q.shapes], q.names]
    found += [[t.shape.as_list() for t in taken] for taken in (one, two, some)]
    found += [op.name for op in (one[0].op, two[0].op, some[0].op, q.size().op, q.is_closed().op)]
    add, end = q.enqueue([1.0, [1, 2]]), q.close()
    found += [add.name, end.name]
    session.run(add)
    session.run(q.enqueue_many([[2.0, 3.0, 4.0], [[1, 1], [2, 2], [3, 3]]]))
    found += [session.run(q.size()), session.run(one), session.run(two), session.run(q.is_closed())]
    session.run(end)
    found += [session.run(q.is_closed()), refused(lambda: session.run(two)), session.run(q.size())]
    found += [session.run(some), refused(lambda: session.run(some)), refused(lambda: session.run(one))]
    found += [refused(lambda: session.run(add)), refused(lambda: session.run(end)), refused(lambda: session.run(end))]
    return plain(found)


def nothing_at_all(tf, session):
    q = tf.FIFOQueue(2, [tf.int32, tf.string], [[3], []])
    session.run(q.enqueue_many([np.zeros([0, 3], np.int32), np.zeros([0], str)]))
    numbers, words = session.run(q.dequeue_many(0))
    return plain([session.run(q.size()), numbers.shape, words.shape])


def names(tf, session):
    q = tf.FIFOQueue(10, [tf.float32, tf.int32], names=["a", "b"])
    session.run(q.enqueue({"a": 1.0, "b": [1, 2, 3]}))
    session.run(q.enqueue({"b": 2, "a": [1.0]}))
    found = [session.run(q.dequeue()), session.run(q.dequeue())]
    found += [refused(lambda: q.enqueue([1.0, 2])), refused(lambda: q.enqueue({"a": 1.0}))]
    found.append(refused(lambda: tf.FIFOQueue(1, tf.int32).enqueue({"a": 1})))
    session.run(q.enqueue({"b": 2, "a": [1.0]}))
    found.append(refused(lambda: session.run(q.dequeue_many(1))))
    return plain(found)


def what_does_not_fit(tf, session):
    q = tf.FIFOQueue(10, [tf.float32], [[2]])
    fed = tf.placeholder(tf.float32)
    return [
        refused(lambda: q.enqueue([[1.0, 2.0, 3.0]])), refused(lambda: q.enqueue_many([[[1.0, 2.0, 3.0]]])),
        refused(lambda: q.enqueue([1])), refused(lambda: session.run(q.enqueue(fed), {fed: [1.0]})),
        refused(lambda: session.run(q.enqueue_many(fed), {fed: [[1.0]]})),
        refused(lambda: session.run(q.dequeue_many(-1))), refused(lambda: tf.FIFOQueue(1, [tf.float32], [[None]])),
        refused(lambda: tf.FIFOQueue(1, [tf.float32], [[], []])),
        refused(lambda: tf.FIFOQueue(1, [tf.float32], names=["a", "b"])),
        refused(lambda: tf.PaddingFIFOQueue(1, [tf.float32], [None])),
        refused(lambda: tf.PaddingFIFOQueue(1, [tf.float32, tf.int32], [[None]])),
        refused(lambda: tf.FIFOQueue(1, [tf.int32]).enqueue([1.5])),
    ]  # fmt: skip


def priorities(tf, session):
    q = tf.PriorityQueue(10, [tf.string], [[]])
    session.run(q.enqueue_many([np.array([3, 1, 2], np.int64), ["c", "a", "b"]]))
    session.run(q.enqueue((np.int64(0), "z")))
    first = session.run(q.dequeue())
    session.run(q.enqueue((np.int64(-5), "y")))
    return plain([first, session.run(q.dequeue_many(4)), [t.name for t in q.dtypes], [s.as_list() for s in q.shapes]])


def padding(tf, session):
    q = tf.PaddingFIFOQueue(10, [tf.int32, tf.string], [[None], [None, 2]])
    for k in (1, 3, 2):
        session.run(q.enqueue([list(range(1, k + 1)), [["x", "y"]] * k]))
    two = q.dequeue_many(2)
    return plain([[t.shape.as_list() for t in two], session.run(two), session.run(q.dequeue())])


def shuffling(tf, session):
    q = tf.RandomShuffleQueue(100, 5, tf.int32, [[]], seed=1)
    session.run(q.enqueue_many([list(range(50))]))
    first = session.run(q.dequeue_many(45)).tolist()
    session.run(q.close())
    rest = session.run(q.dequeue_many(5)).tolist()
    return [sorted(first + rest) == list(range(50)), first != sorted(first), refused(lambda: session.run(q.dequeue()))]


def sharing(tf, session):
    one, two = (tf.FIFOQueue(5, tf.int32, [[]], shared_name="both") for _ in range(2))
    session.run(one.enqueue(3))
    with tf.Session() as other:
        found = [session.run(two.size()), other.run(two.size())]
    return plain([*found, session.run(two.dequeue()), one.name, two.name])


def more_than_fits(tf, session):
    q = tf.FIFOQueue(2, tf.int32, [[]])
    add, five = q.enqueue_many([[1, 2, 3, 4, 5]]), q.dequeue_many(5)
    found = []
    thread = threading.Thread(target=lambda: found.append(plain(session.run(five))))
    thread.start()
    session.run(add)
    thread.join()
    return found


def flow(tf, session):
    q = tf.FIFOQueue(9, tf.int32, [[]])
    on = tf.placeholder(tf.bool, [])
    choice = tf.cond(on, lambda: q.enqueue(1), lambda: tf.no_op())
    session.run(choice, {on: True})
    session.run(choice, {on: False})
    found = [session.run(q.size())]

    def body(i):
        with tf.control_dependencies([q.enqueue(i)]):
            return i + 1

    session.run(tf.while_loop(lambda i: i < 3, body, [0], parallel_iterations=1))
    found.append(session.run(tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, a + q.dequeue()), [0, 0])))
    return plain(found)


def batches(tf, session):
    rows = [np.arange(7), np.arange(14.0).reshape(7, 2)]
    taken = tf.train.batch(tf.train.slice_input_producer(rows, num_epochs=2, shuffle=False), 3)
    found = [[t.shape.as_list() for t in taken]]
    with running(tf, session) as coordinator:
        try:
            while not coordinator.should_stop():
                found.append(session.run(taken))
        except tf.errors.OutOfRangeError:
            found.append("end")
    return plain(found)


def smaller_batches(tf, session):
    x = tf.train.range_input_producer(5, num_epochs=1, shuffle=False).dequeue()
    taken = tf.train.batch({"x": x, "y": 2 * x}, 2, allow_smaller_final_batch=True)
    with running(tf, session):
        return [taken["x"].shape.as_list()] + [refused(lambda: session.run(taken)) for _ in range(4)]


def strings(tf, session):
    x = tf.train.string_input_producer(["a", "b", "c", "d"], num_epochs=2).dequeue()
    taken = tf.train.shuffle_batch([x], 4, 20, 2)
    with running(tf, session):
        return plain(sorted(session.run(taken).tolist() + session.run(taken).tolist()))


def joined(tf, session):
    def sets():
        return [[tf.train.range_input_producer(4, num_epochs=1).dequeue() + i] for i in (0, 10)]

    taken, mixed = tf.train.batch_join(sets(), 8), tf.train.shuffle_batch_join(sets(), 8, 20, 1)
    with running(tf, session):
        return [sorted(plain(session.run(b))) for b in (taken, mixed)]


def chosen(tf, session):
    x = tf.train.range_input_producer(10, num_epochs=1, shuffle=False).dequeue()
    even = tf.train.maybe_batch([x], tf.equal(x % 2, 0), 5)
    rows = tf.constant(np.arange(12).reshape(6, 2))
    some = tf.train.maybe_batch([rows], tf.constant([True, False] * 3), 3, enqueue_many=True)
    with running(tf, session):
        return plain([session.run(even), session.run(some)])


def padded_batches(tf, session):
    x = tf.train.range_input_producer(4, num_epochs=1, shuffle=False).dequeue()
    taken = tf.train.batch([tf.range(x + 1)], 4, dynamic_pad=True)
    with running(tf, session):
        return plain([taken.shape.as_list(), session.run(taken)])


def refused_pipelines(tf, session):
    return [
        refused(lambda: tf.train.start_queue_runners(3)), refused(lambda: tf.train.QueueRunner(None, [])),
        refused(lambda: tf.train.QueueRunner(tf.FIFOQueue(1, tf.int32), [1], queue_closed_exception_types=ValueError)),
        refused(lambda: tf.train.batch([tf.placeholder(tf.float32)], 2)),
        refused(lambda: tf.train.shuffle_batch([tf.constant(1)], 2, 3, 3)),
        refused(lambda: tf.train.limit_epochs(tf.constant(1), 0)), refused(lambda: tf.train.string_input_producer([])),
        refused(lambda: tf.train.input_producer(tf.placeholder(tf.float32))),
        refused(lambda: tf.train.maybe_batch([tf.constant(1)], tf.constant([True]), 2)),
        refused(lambda: tf.train.batch_join([[tf.constant(1)], [tf.constant(1.0)]], 2)),
    ]  # fmt: skip


def an_error_of_a_runner(tf, session):
    fed = tf.placeholder_with_default(np.array([1.0, 2.0], np.float32), [None])
    q = tf.FIFOQueue(3, tf.float32, [[3]])
    tf.train.add_queue_runner(tf.train.QueueRunner(q, [q.enqueue(fed)]))
    coordinator = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coordinator)
    found = [refused(lambda: coordinator.join(threads)), coordinator.joined, coordinator.should_stop()]
    return [*found, refused(lambda: session.run(q.dequeue()))]


def coordinating(tf, session):
    coordinator = tf.train.Coordinator()

    def work():
        with coordinator.stop_on_exception():
            raise KeyError("from a thread")

    threads = [threading.Thread(target=work)]
    threads[0].start()
    found = [refused(lambda: coordinator.join(threads)), coordinator.should_stop(), coordinator.joined]
    found.append(refused(coordinator.raise_requested_exception))
    coordinator.clear_stop()
    found += [coordinator.should_stop(), coordinator.joined, refused(coordinator.raise_requested_exception)]
    coordinator.request_stop(tf.errors.OutOfRangeError(None, None, "the end"))
    found += [coordinator.wait_for_stop(10), refused(coordinator.join)]
    coordinator = tf.train.Coordinator(clean_stop_exception_types=(KeyError,))
    coordinator.request_stop(KeyError("clean"))
    found.append(refused(coordinator.join))
    event, coordinator = threading.Event(), tf.train.Coordinator()
    late = threading.Thread(target=event.wait)
    late.start()
    coordinator.register_thread(late)
    coordinator.request_stop()
    found.append(refused(lambda: coordinator.join(stop_grace_period_secs=0.1)))
    found.append(refused(lambda: coordinator.join([late], stop_grace_period_secs=0.1, ignore_live_threads=True)))
    event.set()
    coordinator.join([late])
    return found


def looping(tf, session):
    coordinator, calls = tf.train.Coordinator(), []

    def work(by, most):
        calls.append(by)
        if len(calls) == most:
            coordinator.request_stop()

    for interval in (None, 0.001):
        tf.train.LooperThread.loop(coordinator, interval, work, args=(2,), kwargs={"most": len(calls) + 3})
        coordinator.join()
        coordinator.clear_stop()
    return [calls, refused(lambda: tf.train.LooperThread(None, 1)), refused(
        lambda: tf.train.LooperThread(coordinator, 1, args=(1,)))]  # fmt: skip


def files_that_match(tf, session):
    """Names of files are looked up when the variable is initialized, and read by a producer."""
    with tempfile.TemporaryDirectory() as folder:

        def write(*names):
            for name in names:
                open(os.path.join(folder, name), "w").close()

        write("b.txt", "a.txt", "c.csv")
        some = tf.train.match_filenames_once(os.path.join(folder, "*.txt"))
        more = tf.train.match_filenames_once([os.path.join(folder, p) for p in ("*.csv", "a*")], name="more")
        one = tf.train.string_input_producer(some, num_epochs=1, shuffle=False).dequeue()
        found = [some.name, more.name, some.dtype.base_dtype.name, some.shape.ndims, len(tf.trainable_variables())]
        found.append([v.name for v in tf.local_variables()])
        with running(tf, session):
            write("d.txt")
            found += [[os.path.basename(n).decode() for n in sorted(session.run(v))] for v in (some, more)]
            found.append(sorted(os.path.basename(session.run(one)).decode() for _ in range(2)))
            found.append(refused(lambda: session.run(one)))
        found.append(len(session.run(tf.matching_files(os.path.join(folder, "*.txt")))))
        found.append(plain(session.run(tf.matching_files(os.path.join(folder, "*.none")))))
    return plain(found)


CASES = [
    taking, nothing_at_all, names, what_does_not_fit, priorities, padding, shuffling, sharing, more_than_fits, flow,
    batches, smaller_batches, strings, joined, chosen, padded_batches, refused_pipelines, an_error_of_a_runner,
    coordinating, looping, files_that_match,
]  # fmt: skip
