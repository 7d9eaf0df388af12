"""The distribute coordinator of one process: what functions are called with, and what TF_CONFIG must say."""

import json

import pytest

import towerstrat.compat.v1 as tf
from towerstrat import errors
from towerstrat.compat.estimator.distribute_coordinator import (
    CoordinatorMode,
    get_current_worker_context,
    run_distribute_coordinator,
)
from towerstrat.hosts.process_index import PROCESSES

CLUSTER = {"worker": ["localhost:40071"], "ps": ["localhost:40072"], "evaluator": ["localhost:40073"]}


def set_task(monkeypatch, **task):
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": CLUSTER, "task": task}))


def test_functions_are_called_one_after_the_other_without_a_cluster():
    strategy, seen = tf.contrib.distribute.MirroredStrategy(), []

    def called(given):
        context = get_current_worker_context()
        seen.append((given, context.task_type, context.is_chief, context.master_target, context.should_checkpoint))
        with pytest.raises(ValueError, match="in a `worker_fn`"):
            run_distribute_coordinator(called, None)

    run_distribute_coordinator(called, strategy, called, None)
    assert seen == [(strategy, None, True, "", True), (None, None, True, "", True)]
    assert get_current_worker_context() is None
    with pytest.raises(ValueError, match="Unexpected coordinator mode: 'other'"):
        run_distribute_coordinator(called, strategy, mode="other")


def test_each_task_does_its_part(monkeypatch):
    seen = []

    def worker_fn(strategy):
        context = get_current_worker_context()
        seen.append(("trains", context.task_type, context.task_id, context.num_workers, context.distributed_mode))
        assert not context.has_barrier
        with tf.Graph().as_default():
            one = tf.constant(1)
            with context.session_creator().create_session() as session:
                assert session.run(one) == 1

    def eval_fn(strategy):
        seen.append(("evaluates", get_current_worker_context().distributed_mode))

    strategy = tf.contrib.distribute.CollectiveAllReduceStrategy()
    set_task(monkeypatch, type="worker", index=0)
    run_distribute_coordinator(worker_fn, strategy, eval_fn, mode=CoordinatorMode.INDEPENDENT_WORKER)
    assert strategy.worker_devices == ["/job:worker/replica:0/task:0/device:CPU:0"]
    set_task(monkeypatch, type="evaluator", index=0)
    run_distribute_coordinator(worker_fn, strategy, eval_fn, mode=CoordinatorMode.INDEPENDENT_WORKER)
    assert seen == [("trains", "worker", 0, 1, True), ("evaluates", False)]
    set_task(monkeypatch, type="ps", index=0)
    with pytest.raises(SystemExit) as ended:
        run_distribute_coordinator(worker_fn, None, mode=CoordinatorMode.INDEPENDENT_WORKER)
    assert ended.value.code == 0
    monkeypatch.setattr(PROCESSES, "count", 2)
    with pytest.raises(errors.UnsupportedError, match="of a cluster of 1 task that trains .* in a run of 2 processes"):
        run_distribute_coordinator(worker_fn, None, cluster_spec=CLUSTER)


def test_the_standard_server_is_that_of_tf_config(monkeypatch):
    start = tf.contrib.distribute.run_standard_tensorflow_server
    monkeypatch.delenv("TF_CONFIG", raising=False)
    with pytest.raises(ValueError, match='"cluster" is not found'):
        start()
    set_task(monkeypatch, index=0)
    with pytest.raises(ValueError, match='"task_type" is not found'):
        start()
    monkeypatch.setenv("TF_CONFIG", '{"cluster": {"ps": ["localhost:40074"]}, "task": {"type": "ps"}}')
    with pytest.raises(ValueError, match="must have `chief` or `worker`"):
        start()
    monkeypatch.setenv("TF_CONFIG", '{"cluster": {"chief": ["localhost:40075"]}, "task": {"type": "chief"}}')
    assert start().target == "grpc://localhost:40075"
