"""Cluster resolvers and specs: each answer against the original's, and what ours says beyond it.

Rule 19 of the later surface: what TF_CONFIG means.
"""

import json
import os
from pathlib import Path

import jax
import pytest

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf
from tests.golden.resolvers_cases import answers
from towerstrat.errors import UnsupportedError
from towerstrat.platform import addresses

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "resolvers.json").read_text())
resolvers = tf.distribute.cluster_resolver


@pytest.fixture(autouse=True)
def no_config(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)


def test_every_answer_is_the_originals():
    found = answers(tf, os.environ)
    assert found.keys() == GOLDEN.keys()
    assert {case: (answer, GOLDEN[case]) for case, answer in found.items() if answer != GOLDEN[case]} == {}


def asked(monkeypatch, config, member):
    monkeypatch.setenv("TF_CONFIG", config if isinstance(config, str) else json.dumps(config))
    found = getattr(resolvers.TFConfigClusterResolver(), member)
    return found() if callable(found) else found


@pytest.mark.parametrize(("config", "member", "message"), [
    ("{worker", "task_type", "TF_CONFIG is no JSON.*{worker"),
    ([1], "task_id", r"TF_CONFIG must be a JSON object, got '\[1\]'"),
    ({"task": "worker"}, "task_type", '"task" of TF_CONFIG must be .*got \'worker\''),
    ({"task": {"index": "x"}}, "task_id", "must be an integer, got 'x'"),
    ({"task": {"index": [1]}}, "task_id", "must be an integer, got"),
    ({"cluster": {"worker": ["a:1", "b:2"]}}, "master", r"\['worker'\] and does not say which task this is"),
    ({"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "ps", "index": 0}}, "master",
     r"No such job in cluster: 'ps'. Its jobs are \['worker'\]"),
    ({"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 2}}, "master",
     r"No task with index 2 in job 'worker': it has \[0, 1\]"),
])  # fmt: skip
def test_a_malformed_configuration_is_named(monkeypatch, config, member, message):
    with pytest.raises(ValueError, match=message):
        asked(monkeypatch, config, member)


@pytest.mark.parametrize(("cluster", "message"), [
    (["a:1"], r"got \['a:1'\]. \(TF_CONFIG: cluster\)"),
    ({"worker": "a:1"}, "tasks for job 'worker' must be a list.*got 'a:1'. .TF_CONFIG"),
    ({"worker": [1]}, "Task address 1 of job 'worker' must be a string"),
])  # fmt: skip
def test_a_malformed_cluster_is_named(monkeypatch, cluster, message):
    with pytest.raises(TypeError, match=message):
        asked(monkeypatch, {"cluster": cluster}, "cluster_spec")


def test_tf_config_is_read_each_time(monkeypatch):
    resolver = resolvers.TFConfigClusterResolver()
    for index in (0, 1):
        monkeypatch.setenv("TF_CONFIG", json.dumps({"task": {"type": "worker", "index": index}}))
        assert resolver.task_id == index
    resolver.task_type, resolver.task_id, resolver.rpc_layer = "chief", 7, "grpc"
    assert (resolver.task_type, resolver.task_id, resolver.rpc_layer) == ("chief", 7, "grpc")


def test_the_sample_of_the_page(monkeypatch):
    """Rule 19, as the page of Strategy shows it: which task this is decides what the program does."""
    cluster = {"worker": ["localhost:12345", "localhost:23456"], "ps": ["localhost:34567"]}
    config = {"cluster": cluster, "task": {"type": "worker", "index": 0}}
    assert (asked(monkeypatch, config, "task_type"), asked(monkeypatch, config, "task_id")) == ("worker", 0)
    assert asked(monkeypatch, config, "cluster_spec").as_dict() == cluster
    config["task"]["type"] = "ps"
    assert asked(monkeypatch, config, "task_type") == "ps"


def test_setting_the_task():
    spec = tf.train.ClusterSpec({"worker": ["a:1"]})
    simple = resolvers.SimpleClusterResolver(spec, task_type="worker", task_id=1)
    union = resolvers.UnionResolver(simple, task_id=0)
    assert (union.task_type, union.task_id) == ("worker", 0)
    union.task_type, union.task_id, union.rpc_layer = "ps", 2, "grpc"
    assert (union.task_type, union.task_id, union.rpc_layer) == ("ps", 2, "grpc")
    simple.task_type, simple.task_id = "chief", 5
    assert (simple.task_type, simple.task_id) == ("chief", 5)
    assert resolvers.UnionResolver(resolvers.TPUClusterResolver()).rpc_layer is None


def test_a_task_twice_is_named():
    spec = tf.train.ClusterSpec({"worker": {2: "a:1"}})
    simple = resolvers.SimpleClusterResolver(spec)
    with pytest.raises(KeyError, match=r"tasks \[2\] of job 'worker'"):
        resolvers.UnionResolver(simple, simple).cluster_spec()


def test_accelerators_of_this_machine(monkeypatch):
    class Chip:
        platform = "gpu"

    monkeypatch.setattr("towerstrat.platform.config._accelerators", lambda: (Chip(), Chip()))
    assert resolvers.TFConfigClusterResolver().num_accelerators() == {"GPU": 2}


def test_a_resolver_of_ones_own():
    class Mine(resolvers.ClusterResolver):
        def cluster_spec(self):
            return tf.train.ClusterSpec({"worker": ["a:1", "b:2"]})

        def master(self, task_type=None, task_id=None, rpc_layer=None):
            return "a:1"

    mine = Mine()
    mine.task_type, mine.task_id = "worker", 1
    assert (mine.task_type, mine.task_id, mine.environment) == ("worker", 1, "")
    with pytest.raises(UnsupportedError, match="tasks that train"):
        tf.config.experimental_connect_to_cluster(mine)


def test_specs():
    spec = tf.train.ClusterSpec({"worker": ["a:1"], "ps": {3: "p:4"}})
    assert spec == tf.train.ClusterSpec(spec)
    assert spec != tf.train.ClusterSpec({"worker": ["a:1"]})
    assert repr(spec) == "ClusterSpec({'ps': {3: 'p:4'}, 'worker': ['a:1']})"
    assert tf.train.ClusterSpec({"worker": []}).job_tasks("worker") == []
    assert tf1.train.ClusterSpec is tf.train.ClusterSpec


def test_a_specification_as_a_message():
    spec = tf.train.ClusterSpec({"worker": ["a:1", "b:2"], "ps": {3: "p:4"}})
    message = spec.as_cluster_def()
    assert isinstance(message, tf.train.ClusterDef)
    assert [job.name for job in message.job] == ["ps", "worker"]
    assert dict(message.job[0].tasks) == {3: "p:4"}
    again = tf1.train.ClusterSpec(tf1.train.ClusterDef.FromString(message.SerializeToString()))
    assert (again, again.as_dict()) == (spec, {"ps": {3: "p:4"}, "worker": ["a:1", "b:2"]})
    assert tf.train.ClusterSpec(tf.train.ClusterDef()).jobs == []
    server = tf1.train.ServerDef(cluster=message, job_name="worker", task_index=1)
    assert server.cluster.job[1] == tf1.train.JobDef(name="worker", tasks={0: "a:1", 1: "b:2"})
    with pytest.raises(TypeError, match="must be a dictionary from job names"):
        tf.train.ClusterSpec(3)


# ---- the local machine -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tpu", ["", "local", None, "my-tpu", b"", [""]])
def test_the_tpu_resolver_finds_the_local_devices(tpu):
    resolver = resolvers.TPUClusterResolver(tpu)
    assert resolver.devices() == jax.devices()
    assert resolver.num_accelerators() == {"TPU": len(jax.devices())}
    assert (resolver.master(), resolver.cluster_spec().jobs) == ("", [])


def test_an_address_means_this_machine_and_that_is_said_once(monkeypatch, caplog):
    monkeypatch.setattr(addresses, "_said", False)
    for tpu in ("grpc://10.0.0.1:8470", b"grpc://10.0.0.1:8470", ["grpc://10.0.0.1:8470"]):
        resolver = resolvers.TPUClusterResolver(tpu)
        assert (resolver.master(), resolver.devices()) == ("", jax.devices())
    for connect in (tf.config.experimental_connect_to_host, tf1.contrib.eager.connect_to_remote_host):
        connect("a:1")
    with tf1.Graph().as_default(), tf1.Session("grpc://10.0.0.1:8470") as session:
        assert session.run(tf1.constant(1.0)) == 1.0
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "TPUClusterResolver(tpu='grpc://10.0.0.1:8470'): a program runs on the devices of this" in record.message


def test_what_is_no_name_is_refused():
    with pytest.raises(TypeError, match="name of a TPU"):
        resolvers.TPUClusterResolver(3)


def test_the_resolver_of_1x_is_one_of_the_later():
    resolver = tf1.contrib.cluster_resolver.TPUClusterResolver(tpu="")
    assert isinstance(resolver, resolvers.TPUClusterResolver)
    assert isinstance(resolver, tf1.contrib.cluster_resolver.ClusterResolver)
    assert (resolver.get_master(), resolver.cluster_spec(), resolver.get_job_name()) == ("", None, None)
    assert tf1.distribute.cluster_resolver.TPUClusterResolver is resolvers.TPUClusterResolver


def test_connecting_makes_the_topology():
    resolver = resolvers.TPUClusterResolver.connect()
    metadata = resolver.get_tpu_system_metadata()
    assert isinstance(metadata, tf.tpu.experimental.TPUSystemMetadata)
    count = len(jax.devices())
    assert metadata[:3] == (count, 1, count)
    assert metadata.topology.num_tpus_per_task == count
    assert [d.name for d in metadata.devices if d.device_type == "TPU"] == [
        f"/job:localhost/replica:0/task:0/device:TPU:{i}" for i in range(count)
    ]
    assert resolvers.TPUClusterResolver().get_tpu_system_metadata().topology is None


@pytest.mark.parametrize("tasks", [[], ["a:1"]])
def test_a_cluster_of_one_task_is_the_local_machine(tasks):
    assert tf.config.experimental_connect_to_cluster(tf.train.ClusterSpec({"worker": tasks})) is None


def test_several_machines_are_refused_by_name(monkeypatch):
    spec = tf.train.ClusterSpec({"worker": ["a:1", "b:2"]})
    with pytest.raises(UnsupportedError, match=r"experimental_connect_to_cluster of a cluster of 2 tasks"):
        tf.config.experimental_connect_to_cluster(spec)
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": spec.as_dict(), "task": {"type": "worker", "index": 0}}))
    with pytest.raises(UnsupportedError, match="experimental_connect_to_cluster"):
        tf.config.experimental_connect_to_cluster(resolvers.TFConfigClusterResolver())


@pytest.mark.parametrize("name", [
    "tf.distribute.Server", "tf.distribute.cluster_resolver.GCEClusterResolver",
    "tf.distribute.cluster_resolver.KubernetesClusterResolver", "tf.distribute.cluster_resolver.SlurmClusterResolver",
    "tf.compat.v1.contrib.cluster_resolver.GceClusterResolver",
])  # fmt: skip
def test_what_reaches_other_machines_is_missing_by_name(name):
    with pytest.raises(
        UnsupportedError,
        match=f"{name.rpartition('.')[2]} is a name of TensorFlow .*(SimpleClusterResolver|nothing has to be served)",
    ):
        eval(name, {"tf": tf})()
