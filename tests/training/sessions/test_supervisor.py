"""What a supervisor's threads write, whoever else runs the session meanwhile."""

import os
import threading
import time

import pytest

import towerstrat.compat.v1 as tf
from towerstrat.training.sessions import supervisor_threads


def counting():
    step = tf.train.get_or_create_global_step()
    tf.summary.scalar("step", step)
    return step, step.assign_add(1)


def wait_for(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def events_of(folder):
    tags, statuses = {}, []
    for name in sorted(os.listdir(folder)):
        if name.startswith("events"):
            for event in tf.train.summary_iterator(os.path.join(folder, name)):
                for value in event.summary.value:
                    tags.setdefault(value.tag, []).append((event.step, value.simple_value))
                if event.HasField("session_log"):
                    statuses.append(event.session_log.status)
    return tags, statuses


def test_the_services_save_summarize_and_count(tmp_path):
    folder = str(tmp_path)
    _, up = counting()
    supervisor = tf.train.Supervisor(logdir=folder, save_summaries_secs=0.05, save_model_secs=0.05)
    with supervisor.managed_session() as session:

        def written():
            session.run(up)
            tags, statuses = events_of(folder)
            return {"step", "global_step/sec"} <= tags.keys() and statuses.count(tf.SessionLog.CHECKPOINT) >= 2

        wait_for(written)
        last = session.run(up)
        supervisor.request_stop()
    tags, statuses = events_of(folder)
    assert all(step == value for step, value in tags["step"])
    assert statuses[0] == tf.SessionLog.START
    assert statuses[-1] == tf.SessionLog.STOP
    assert os.path.exists(os.path.join(folder, "graph.pbtxt"))
    saved = tf.train.load_variable(folder, "global_step")
    assert 0 < saved <= last
    assert os.path.basename(tf.train.latest_checkpoint(folder)).startswith("model.ckpt-")


def test_a_service_that_fails_stops_the_program(tmp_path):
    _, up = counting()
    tf.summary.scalar("fed", tf.placeholder(tf.float32, []))
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_summaries_secs=0.01, save_model_secs=0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="feed"), supervisor.managed_session() as session:
        wait_for(supervisor.should_stop)
        session.run(up)


def test_the_names_before_snake_case(tmp_path):
    _, up = counting()
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_summaries_secs=0, save_model_secs=0, summary_op=None)
    session = supervisor.PrepareSession(start_standard_services=False)
    assert supervisor.StartStandardServices(session) == []
    assert supervisor.StartQueueRunners(session) == []
    called = threading.Event()
    supervisor.Loop(None, called.set)
    assert called.wait(60)
    with supervisor.StopOnException():
        supervisor.SummaryComputed(session, tf.Summary(), 7)
    assert not supervisor.ShouldStop()
    supervisor.RequestStop()
    supervisor.WaitForStop()
    assert supervisor.ShouldStop()
    supervisor.Stop()
    assert session.run(up) == 1


def test_pieces_are_the_first_of_their_collections(caplog):
    counting()
    first, second = tf.no_op("first"), tf.no_op("second")
    for op in (first, second):
        tf.add_to_collection(tf.GraphKeys.INIT_OP, op)
    with caplog.at_level("INFO", logger="tensorflow"):
        supervisor = tf.train.Supervisor(local_init_op=None, ready_op=None, saver=None, global_step=None)
    assert "Found 2 init_op operations. Returning the first one." in caplog.text
    assert supervisor.init_op is first
    assert (supervisor.ready_op, supervisor.saver, supervisor.global_step) == (None, None, None)
    assert supervisor.summary_op is tf.get_collection(tf.GraphKeys.SUMMARY_OP)[0]
    assert supervisor.summary_writer is None
    assert supervisor.start_standard_services(None) is None


def test_one_that_is_not_the_chief(tmp_path):
    supervisor = tf.train.Supervisor(is_chief=False, logdir=str(tmp_path / "none"), recovery_wait_secs=0.01)
    with pytest.raises(tf.errors.DeadlineExceededError):
        tf.get_default_graph()._unsafe_unfinalize()
        counting()
        waiting = tf.train.Supervisor(
            is_chief=False, ready_op=tf.report_uninitialized_variables(), recovery_wait_secs=0.01
        )
        waiting.prepare_or_wait_for_session(max_wait_secs=0.05)
    assert (supervisor.save_path, supervisor.summary_writer, supervisor.save_model_secs) == (None, None, None)
    with pytest.raises(RuntimeError, match="Only chief"):
        supervisor.start_standard_services(None)
    with pytest.raises(RuntimeError, match="summary writer"):
        supervisor.summary_computed(None, b"")
    assert not (tmp_path / "none").exists()
    assert issubclass(supervisor_threads.SummaryService, tf.train.LooperThread)
