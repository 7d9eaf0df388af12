"""Strategies beside ``MirroredStrategy`` on one machine: variables kept once, and a worker's devices."""

import json
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as v1
import towerstrat.compat.v2 as tf
from tests.golden import central_cases
from towerstrat.errors import UnknownSymbolError, UnsupportedError

WANTED = json.loads((Path(__file__).parents[2] / "golden" / "central.json").read_text())
KINDS = {"_UnreadVariable": "Tensor", "ResourceVariable": "Variable"}
"""Classes of the original -> ours."""
TWO = {"cluster": {"worker": ["localhost:1", "localhost:2"]}, "task": {"type": "worker", "index": 0}}
ONE = {"cluster": {"worker": ["localhost:1"]}, "task": {"type": "worker", "index": 0}}
lib = v1.contrib.distribute
later = tf.distribute.experimental


def same(found, wanted):
    """Whether facts agree: numbers to six digits, of messages the kind and the beginning."""
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys()
        for key, value in wanted.items():
            same(found[key], value)
    elif isinstance(wanted, list):
        assert len(found) == len(wanted), (found, wanted)
        for one, other in zip(found, wanted, strict=True):
            same(one, other)
    elif isinstance(wanted, float):
        np.testing.assert_allclose(found, wanted, rtol=2e-6)
    else:
        assert found == KINDS.get(wanted, wanted)


def test_towers_against_the_original():
    found = central_cases.towers(v1, lambda: lib.ParameterServerStrategy(2))
    wanted = dict(WANTED["towers"])
    for key, kind in (("no aggregation", "aggregation"), ("per device", "PerDevice"), ("mirrored", "multiple")):
        error, message = found.pop(key)
        assert error == wanted.pop(key)[0]
        assert kind in message or message.startswith("You cannot update variable with a Mirrored")
    same(found, wanted)


@pytest.mark.usefixtures("sizes_of_2x")
def test_replicas_against_the_original():
    found = central_cases.replicas(tf, lambda: later.CentralStorageStrategy(["/cpu:0", "/cpu:1"], "/cpu:0"))
    same(found, WANTED["replicas"])


def test_one_tower_has_plain_variables():
    for strategy in (lib.ParameterServerStrategy(), lib.ParameterServerStrategy(1)):
        with v1.Graph().as_default(), strategy.scope():
            v = v1.get_variable("v", initializer=1.0)
            assert type(v) is v1.Variable
            assert v.device == strategy.parameter_devices[0]
    assert strategy.parameter_devices == ["/device:GPU:0"]


def test_parameter_servers_take_a_cluster_of_one_worker():
    strategy = lib.ParameterServerStrategy(2)
    strategy.configure()
    with pytest.raises(ValueError, match="`task_type` and `task_id`"):
        strategy.configure(cluster_spec=ONE["cluster"])
    with pytest.raises(ValueError, match="`ps` jobs"):
        strategy.configure(cluster_spec=ONE["cluster"], task_type="worker", task_id=0)
    cluster = {"worker": ["localhost:1"], "ps": ["localhost:2"]}
    strategy.configure(cluster_spec=cluster, task_type="worker", task_id=0)
    with pytest.raises(UnsupportedError, match=r"cluster of 2 tasks that train \(worker 0, worker 1\)"):
        strategy.configure(cluster_spec=TWO["cluster"] | {"ps": ["localhost:2"]}, task_type="worker", task_id=0)


def test_collective_all_reduce_takes_a_cluster_of_one():
    strategy = lib.CollectiveAllReduceStrategy(2)
    assert isinstance(strategy, lib.MirroredStrategy)
    assert strategy.between_graph
    with pytest.raises(ValueError, match="`task_type` and `task_id`"):
        strategy.configure(cluster_spec=ONE["cluster"])
    with pytest.raises(ValueError, match="Unrecognized task_type: 'ps'"):
        strategy.configure(cluster_spec=ONE["cluster"], task_type="ps", task_id=0)
    with pytest.raises(UnsupportedError, match="CollectiveAllReduceStrategy of a cluster of 2 tasks"):
        strategy.configure(cluster_spec=TWO["cluster"], task_type="worker", task_id=0)
    strategy.configure(cluster_spec=ONE["cluster"], task_type="worker", task_id=0)
    assert strategy.worker_devices == [f"/job:worker/replica:0/task:0/device:GPU:{i}" for i in range(2)]
    with v1.Graph().as_default(), strategy.scope():
        summed = strategy.call_for_each_tower(lambda: v1.constant(1.0 + lib.get_tower_context().tower_id))
        total = strategy.reduce(v1.VariableAggregation.SUM, summed, strategy.worker_devices)
        with v1.Session() as session:
            assert session.run(strategy.unwrap(total)) == [3.0, 3.0]


def test_mirrored_strategy_takes_a_cluster_of_one():
    strategy = lib.MirroredStrategy(num_gpus=2)
    strategy.configure(cluster_spec=ONE["cluster"])
    assert strategy.worker_devices[1] == "/job:worker/replica:0/task:0/device:GPU:1"
    with pytest.raises(UnsupportedError, match="MirroredStrategy of a cluster of 2 tasks"):
        strategy.configure(cluster_spec=TWO["cluster"])
    with pytest.raises(ValueError, match="`num_gpus` is required"):
        lib.MirroredStrategy(["/cpu:0"]).configure(cluster_spec=ONE["cluster"])


@pytest.mark.usefixtures("sizes_of_2x")
def test_a_worker_alone(monkeypatch):
    strategies = (
        tf.distribute.MultiWorkerMirroredStrategy,
        later.MultiWorkerMirroredStrategy,
        v1.distribute.experimental.MultiWorkerMirroredStrategy,
        v1.distribute.experimental.ParameterServerStrategy,
    )
    for make in strategies:
        monkeypatch.setenv("TF_CONFIG", json.dumps(ONE))
        strategy = make()
        assert strategy.num_replicas_in_sync == 8
        assert strategy.cluster_resolver.task_type == "worker"
        ones = strategy.run(tf.function(lambda: tf.constant(1.0)))
        assert strategy.reduce("SUM", ones, axis=None).numpy() == 8.0
        monkeypatch.setenv("TF_CONFIG", json.dumps(TWO))
        with pytest.raises(UnsupportedError, match="cluster of 2 tasks"):
            make()
    monkeypatch.delenv("TF_CONFIG")
    with pytest.raises(ValueError, match="communication_options must be"):
        tf.distribute.MultiWorkerMirroredStrategy(communication_options="NCCL")
    with pytest.raises(ValueError, match="cluster_resolver must be"):
        tf.distribute.MultiWorkerMirroredStrategy("grpc://host")


def test_what_a_coordinator_would_drive_is_refused():
    for make in (tf.distribute.ParameterServerStrategy, later.ParameterServerStrategy):
        with pytest.raises(UnknownSymbolError, match="CentralStorageStrategy keeps variables once"):
            make(None)
