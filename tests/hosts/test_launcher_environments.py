"""Which process of how many this is, as launchers say it in the environment."""

import json

import pytest

from towerstrat.hosts.launcher_environments import Aside, found

CLUSTER = {"worker": ["w0:1", "w1:1"], "ps": ["p:1"], "evaluator": ["e:1"]}
SLURM = {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "4", "SLURM_PROCID": "3"}
MPI = {"OMPI_COMM_WORLD_SIZE": "8", "OMPI_COMM_WORLD_RANK": "5"}


def tf_config(job, task, cluster=CLUSTER, chief=False):
    cluster = {"chief": ["c:9"], **cluster} if chief else cluster
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": job, "index": task}})}


def test_a_process_without_such_variables_is_alone():
    assert found({}) is None
    assert found({"TF_CONFIG": "{}"}) is None
    assert found({"SLURM_NTASKS": "1", "SLURM_STEP_NODELIST": "a", "SLURM_PROCID": "0"}) is None
    assert found({"TPU_WORKER_HOSTNAMES": "localhost", "TPU_WORKER_ID": "0"}) is None
    assert found(tf_config("ps", 0, {"chief": ["c:1"], "ps": ["p:1"]})) is None


@pytest.mark.parametrize(
    ("chief", "tasks", "address"),
    [(True, [("chief", 0), ("worker", 0), ("worker", 1)], "c:9"), (False, [("worker", 0), ("worker", 1)], "w0:1")],
)
def test_the_chief_or_worker_0_of_tf_config_is_process_0(chief, tasks, address):
    places = [found(tf_config(job, task, chief=chief)) for job, task in tasks]
    assert [(p.count, p.index, p.address) for p in places] == [(len(tasks), i, address) for i in range(len(tasks))]
    assert [p.names for p in places] == [(job, str(task)) for job, task in tasks]
    assert len({p.cluster for p in places}) == 1
    assert found(tf_config(*tasks[0], {"worker": ["w0:1", "other:1"]}, chief)).cluster != places[0].cluster


def test_other_tasks_of_tf_config_do_not_train():
    assert found(tf_config("ps", 0)) == Aside("ps", 0)
    assert found(tf_config("evaluator", 0, chief=True)) == Aside("evaluator", 0)


@pytest.mark.parametrize(
    "text",
    ["[", "[]", '{"cluster": 3}', json.dumps({"cluster": CLUSTER}), tf_config("worker", "x")["TF_CONFIG"],
     tf_config("worker", 2)["TF_CONFIG"], tf_config("worker", 0, {"worker": ["here", "there"]})["TF_CONFIG"]],
)  # fmt: skip
def test_a_tf_config_that_cannot_be_understood_is_refused(text):
    with pytest.raises(ValueError, match="TF_CONFIG|HOST:PORT"):
        found({"TF_CONFIG": text})


@pytest.mark.parametrize(
    ("nodes", "first"),
    [("node001", "node001"), ("a,b-[2-3]", "a"), ("n[001-015],host2", "n001"), ("n-[7,9-15]", "n-7")],
)
def test_a_step_of_slurm(nodes, first):
    place = found({**SLURM, "SLURM_STEP_NODELIST": nodes})
    host, _, port = place.address.rpartition(":")
    assert (place.count, place.index, host) == (4, 3, first)
    assert 61440 <= int(port) <= 65535
    assert found({**SLURM, "SLURM_JOB_NODELIST": nodes}) is None  # the script of a batch job
    beside = found({**SLURM, "SLURM_STEP_ID": "1", "SLURM_STEP_NODELIST": nodes})
    assert beside.address != place.address


@pytest.mark.parametrize(
    ("address", "host"),
    [("1531576320.0;tcp://10.96.0.1,10.148.0.1:34911", "10.96.0.1"), ("prterun-a-1@0.0;tcp4://10.0.0.2:3", "10.0.0.2"),
     ("1.0;tcp6://[fe80::b9b,2620:10d::2]:43370", "[fe80::b9b]")],
)  # fmt: skip
def test_open_mpi(address, host):
    place = found({**MPI, **SLURM, "SLURM_STEP_NODELIST": "a", "OMPI_MCA_orte_hnp_uri": address})
    assert (place.count, place.index, place.address.rpartition(":")[0]) == (8, 5, host)


@pytest.mark.parametrize("job", ["prterun-node-1.site-4711@1", "prte-node-1.site-4711@2"])
def test_open_mpi_5_names_its_host_in_its_job(job):
    place = found({**MPI, "PMIX_NAMESPACE": job})
    assert (place.count, place.index, place.address.rpartition(":")[0]) == (8, 5, "node-1.site")
    assert found({**MPI, "PMIX_NAMESPACE": job, "OMPI_COMM_WORLD_RANK": "0"}).address == place.address


def test_open_mpi_that_does_not_say_where_the_first_process_is_needs_an_address():
    with pytest.raises(ValueError, match="one of 8.*--coordinator HOST:PORT"):
        found(MPI)
    assert found(MPI, "h:1").address == "h:1"


def test_slices_of_tpus():
    slice_ = {"TPU_WORKER_HOSTNAMES": "t0,t1,t2,t3", "TPU_WORKER_ID": "2"}
    place = found(slice_)
    assert (place.count, place.index, place.address, place.on_slice) == (4, 2, "t0:8476", True)
    more = {"MEGASCALE_NUM_SLICES": "3", "MEGASCALE_SLICE_ID": "1", "MEGASCALE_COORDINATOR_ADDRESS": "m:8080"}
    place = found({**slice_, **more})
    assert (place.count, place.index, place.address) == (12, 6, "m:8476")
    place = found({**slice_, "TPU_PROCESS_ADDRESSES": "p0:8471,p1:8471,p2:8471"})
    assert (place.count, place.index, place.address) == (3, 2, "p0:8476")


def test_a_number_that_is_none_is_refused():
    with pytest.raises(ValueError, match="a number in SLURM_PROCID, got 'x'"):
        found({**SLURM, "SLURM_STEP_NODELIST": "a", "SLURM_PROCID": "x"})
