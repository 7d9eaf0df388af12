"""Servers of one process: what a program alone on its machine does with them, and what needs others."""

import json
import threading

import pytest

import towerstrat.compat.v1 as tf
from towerstrat import errors


def test_a_parameter_server_ends_with_status_0(capfd):
    cluster = {"ps": ["localhost:0"], "worker": ["a:1", "b:1"]}
    with pytest.raises(SystemExit) as ended:
        tf.train.Server(cluster, job_name="ps", task_index=0).join()
    assert ended.value.code == 0


def test_several_tasks_that_train_are_refused_by_name():
    for cluster in ({"worker": ["a:1", "b:1"], "ps": ["c:1"]}, {"chief": ["a:1"], "worker": ["b:1"]}):
        with pytest.raises(
            errors.UnsupportedError, match=r"2 tasks that train \(.*in a run of 1 process. Start one for"
        ):
            tf.train.Server(cluster, job_name="worker", task_index=0)


def test_an_address_is_one_servers():
    server = tf.train.Server({"worker": ["somewhere:41234"]})
    assert server.target == "grpc://localhost:41234"
    with tf.Graph().as_default():
        value = tf.get_variable("value", [], initializer=tf.ones_initializer())
        with tf.Session("grpc://somewhere:41234") as session:
            session.run(value.initializer)
        with tf.Session(server.target) as session:
            assert session.run(value) == 1.0
    with pytest.raises(errors.UnknownError, match="another server of this process"):
        tf.train.Server({"worker": ["elsewhere:41234"]})


def test_what_one_name_means_is_one_variable():
    target = tf.train.Server.create_local_server().target
    with tf.Graph().as_default():
        one = tf.get_variable("v", [2], initializer=tf.ones_initializer())
        with tf.Session(target) as session:
            session.run(one.initializer)
    with tf.Graph().as_default(), tf.Session(target) as session:
        other = tf.get_variable("v", [3])
        with pytest.raises(errors.InvalidArgumentError, match="another graph made it as float32"):
            session.run(other)


def test_steps_that_ran_ahead_go_back_for_another_session():
    target = tf.train.Server.create_local_server().target
    step = tf.train.get_or_create_global_step()
    up = step.assign_add(1)
    with tf.train.MonitoredTrainingSession(target, hooks=[tf.train.StopAtStepHook(last_step=50)]) as session:
        watching = tf.Session(target)
        for i in range(30):
            assert session.run(up) == i + 1
            if i % 7 == 3:
                assert watching.run(step) == i + 1


def test_replicas_in_threads_make_the_steps_together():
    """Each has a graph of its own, as programs of several processes have; both know the variables by name."""
    target = tf.train.Server.create_local_server().target
    failed, seen = [], {}

    def replica(index):
        try:
            with tf.Graph().as_default():
                step = tf.train.get_or_create_global_step()
                w = tf.get_variable("w", [2], initializer=tf.zeros_initializer())
                opt = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.5), 2, 2)
                train = opt.minimize(tf.reduce_sum(w * [1.0, 2.0]), global_step=step)
                hooks = [opt.make_session_run_hook(index == 0), tf.train.StopAtStepHook(last_step=6)]
                chief = tf.train.ChiefSessionCreator(master=target)
                # Once all is reset it must not look for variables again and again.
                worker = tf.train.WorkerSessionCreator(master=target, max_wait_secs=1)
                if index:
                    initialized.wait(60)
                creator = worker if index else chief
                with tf.train.MonitoredSession(creator, hooks, stop_grace_period_secs=1) as session:
                    initialized.set()
                    while not session.should_stop():
                        session.run(train)
                seen[index] = True
        except BaseException as error:
            failed.append(error)

    initialized = threading.Event()
    threads = [threading.Thread(target=replica, args=(i,), daemon=True) for i in range(2)]
    for thread in threads:
        thread.start()
    threads[0].join(60)
    assert not failed
    assert seen[0]
    with tf.Graph().as_default(), tf.Session(target) as session:
        step = tf.train.get_or_create_global_step()
        w = tf.get_variable("w", [2])
        count = session.run(step)
        assert count >= 6
        assert session.run(w).tolist() == [-0.5 * count, -1.0 * count]
    tf.Session.reset(target)
    threads[1].join(60)
    assert not threads[1].is_alive()


@pytest.mark.parametrize("with_ps", [False, True])
def test_train_and_evaluate_as_the_chief_of_a_cluster(monkeypatch, tmp_path, with_ps):
    cluster = {"chief": ["localhost:41300"]} | ({"ps": ["localhost:41301"]} if with_ps else {})
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": "chief", "index": 0}}))
    config = tf.estimator.RunConfig(model_dir=str(tmp_path))
    assert (config.task_type, config.is_chief, config.num_ps_replicas) == ("chief", True, int(with_ps))
    devices = []

    def model_fn(features, labels, mode):
        w = tf.get_variable("w", [1], initializer=tf.zeros_initializer())
        devices.append(w.device)
        loss = tf.reduce_mean((features * w - labels) ** 2)
        train = tf.train.GradientDescentOptimizer(0.5).minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    def input_fn():
        return tf.data.Dataset.from_tensors(([1.0], [3.0])).repeat()

    estimator = tf.estimator.Estimator(model_fn, config=config)
    tf.estimator.train_and_evaluate(
        estimator, tf.estimator.TrainSpec(input_fn, max_steps=5), tf.estimator.EvalSpec(input_fn, steps=1)
    )
    assert devices == ["/job:ps/task:0" if with_ps else ""]
    assert estimator.get_variable_value("w").tolist() == [3.0]
    assert estimator.get_variable_value("global_step") == 5
