"""Strategies over the devices of several processes: the numbers of one process, and devices that say their task."""

import json

import numpy as np
import pytest

from tests.hosts import several
from towerstrat.errors import UnsupportedError
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.towers.cluster.cluster_spec import ClusterSpec
from towerstrat.towers.cluster.task_processes import require_processes, tasks_of_environment, training_tasks
from towerstrat.towers.engine.collective_all_reduce import CollectiveAllReduce

CLUSTER = {"worker": ["a:1", "b:1"], "ps": ["c:1"], "chief": ["d:1"], "evaluator": ["e:1"]}


@pytest.fixture
def three(monkeypatch):
    """This process is the second of three."""
    monkeypatch.setattr(PROCESSES, "count", 3)
    monkeypatch.setattr(PROCESSES, "index", 1)


@pytest.mark.usefixtures("three")
def test_tasks_that_train_are_the_processes(monkeypatch):
    tasks = [("chief", 0), ("worker", 0), ("worker", 1)]
    assert training_tasks(ClusterSpec(CLUSTER)) == tasks
    assert require_processes("It", CLUSTER, "worker", 0) == ClusterSpec(CLUSTER)
    assert require_processes("It", CLUSTER, "evaluator", 0) == ClusterSpec(CLUSTER)
    with pytest.raises(UnsupportedError, match=r"It of /job:worker/task:1 in process 1 of 3: .* chief 0, worker 0, w"):
        require_processes("It", CLUSTER, "worker", 1)
    with pytest.raises(UnsupportedError, match="It of a cluster of 1 task that trains .* in a run of 3 processes"):
        require_processes("It", {"worker": ["a:1"]})
    assert tasks_of_environment() == [("worker", 0), ("worker", 1), ("worker", 2)]
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": CLUSTER}))
    assert tasks_of_environment() == tasks
    assert CollectiveAllReduce(3)._num_workers == 3
    with pytest.raises(UnsupportedError, match="of 2 workers in a run of 3"):
        CollectiveAllReduce(2)


@pytest.mark.long
def test_strategies_span_the_processes():
    (wanted,) = several.values(1, 4, "tests.hosts.strategies")
    first, second = several.values(2, 2, "tests.hosts.strategies")
    for name in wanted:
        assert first[name]["devices"] == second[name]["devices"]
        tasks = [device.rpartition("/device")[0] for device in first[name]["devices"]]
        assert tasks == [f"/job:worker/replica:0/task:{i}" for i in (0, 0, 1, 1)], name
        if "trained" not in wanted[name]:
            continue
        assert first[name]["says"] == second[name]["says"] == wanted[name]["says"]
        (loss, weights), of_second = first[name]["trained"], second[name]["trained"]
        assert of_second == [loss, weights], "the first process saves for all"
        np.testing.assert_allclose(loss, wanted[name]["trained"][0], rtol=1e-6)
        np.testing.assert_allclose(weights, wanted[name]["trained"][1], rtol=1e-6, atol=1e-6)
