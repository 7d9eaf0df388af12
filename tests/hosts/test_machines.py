"""Two machines, emulated: they find each other by each of the ways in which they can be told, and miss each other."""

import json
import re
import subprocess
import sys
import time

import pytest

from tests.hosts import machines
from tests.hosts.several import ROOT, environment
from towerstrat.hosts.process_spec import ENDED

PROGRAM = ROOT / "examples" / "digits.py"
HEARTBEAT = 5.0
SECRET = "a secret of both machines"
CLUSTER = {"worker": ["host1:8476", "host2:8476"]}
IN_TPU_VM = """
from jax._src.clusters import cloud_tpu_cluster
cloud_tpu_cluster.running_in_cloud_tpu_vm = True
"""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(machines.missing() is not None, reason=f"machines cannot be emulated: {machines.missing()}"),
]


def by_options(index):
    return [f"--hosts=2 --host={index} --coordinator=10.0.0.1:8476".split(), {}]


def by_options_with_a_name(index):
    return [f"--hosts=2 --host={index} --coordinator=host1:8476".split(), {}]


def by_tf_config(index):
    return [[], {"TF_CONFIG": json.dumps({"cluster": CLUSTER, "task": {"type": "worker", "index": index}})}]


def by_slurm(index):
    """What srun -N2 gives, of version 22.05."""
    return [[], {
        "SLURM_JOB_ID": "41", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "2", "SLURM_PROCID": str(index),
        "SLURM_LOCALID": "0",
        "SLURM_STEP_NODELIST": "host[1-2]", "SLURM_STEP_NUM_NODES": "2", "SLURM_STEP_TASKS_PER_NODE": "1(x2)",
    }]  # fmt: skip


def by_open_mpi(index):
    """What mpirun of version 5 gives, on host1."""
    return [[], {
        "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": str(index), "OMPI_COMM_WORLD_LOCAL_RANK": "0",
        "PMIX_NAMESPACE": "prterun-host1-4711@1", "PMIX_RANK": str(index),
        "PMIX_SERVER_URI41": f"prterun-host1-4711@0.{index};tcp4://127.0.0.1:40239",
    }]  # fmt: skip


def by_slices(index):
    """Two slices of one host, as Kubernetes describes them. JAX, which is made to believe that this is a machine with
    TPUs, finds its coordinator by itself."""
    return [[], {
        "TPU_WORKER_HOSTNAMES": f"host{index + 1}", "TPU_WORKER_ID": "0", "MEGASCALE_NUM_SLICES": "2",
        "MEGASCALE_SLICE_ID": str(index), "MEGASCALE_COORDINATOR_ADDRESS": "host1:8080",
    }]  # fmt: skip


def start(machine, options, variables, output, *arguments, program=PROGRAM):
    """``towerstrat run`` there."""
    secret = {"TOWERSTRAT_SECRET": SECRET}
    with output.open("w") as file:
        return machine.start(
            sys.executable, "-m", "towerstrat", "run", "--quiet", f"--heartbeat={HEARTBEAT:g}", *options, program,
            *arguments, env=environment() | secret | variables, stdout=file, stderr=subprocess.STDOUT, cwd=ROOT,
        )  # fmt: skip


def start_both(both, folder, *arguments):
    outputs = [folder / machine.name for machine in both]
    return [
        start(machine, *by_options(index), output, *arguments)
        for index, (machine, output) in enumerate(zip(both, outputs, strict=True))
    ], outputs


def numbers(text):
    """What the program has printed of its losses and accuracies."""
    return [float(number) for number in re.findall(r"(?:loss|accuracy)\s+([\d.]+)", text)]


@pytest.fixture(scope="module")
def of_one_process():
    command = [sys.executable, "-m", "towerstrat", "run", "--quiet", "--towers=2", PROGRAM, "--runs=2"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    assert len(numbers(done.stdout)) == 5
    return numbers(done.stdout)


@pytest.mark.parametrize("own", ["address", "loopback"])
@pytest.mark.parametrize(
    "told",
    [by_options, by_options_with_a_name, by_tf_config, by_slurm, by_open_mpi, by_slices],
    ids=lambda f: f.__name__,
)
def test_a_run_over_two_machines_gives_the_numbers_of_one_process(own, told, of_one_process, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(IN_TPU_VM)
    with machines.two(own) as both:
        started = []
        for index, machine in enumerate(both):
            options, variables = told(index)
            if told is by_slices:
                variables["PYTHONPATH"] = f"{tmp_path}:{ROOT}"
            started.append(start(machine, options, variables, tmp_path / machine.name, "--runs=2"))
        statuses = [process.wait(200) for process in started]
    for machine, status in zip(both, statuses, strict=True):
        text = (tmp_path / machine.name).read_text()
        assert status == 0, text
        assert numbers(text) == pytest.approx(of_one_process, abs=2e-3)


def wait_for(text, output, process):
    until = time.monotonic() + 120
    while text not in output.read_text():
        assert process.poll() is None, output.read_text()
        assert time.monotonic() < until, output.read_text()
        time.sleep(0.1)


@pytest.mark.parametrize("unplugged", [0, 1])
def test_where_the_network_goes_away_each_side_ends_and_names_the_other(unplugged, tmp_path):
    with machines.two() as both:
        started, outputs = start_both(both, tmp_path, "--runs=100000")
        wait_for("run 30 ", outputs[0], started[0])  # some seconds: what it is doing has been told since it began
        both[unplugged].unplug()
        statuses = [process.wait(60) for process in started]
    assert statuses == [ENDED, ENDED]
    for index, output in enumerate(outputs):
        other = 1 - index
        assert re.search(
            rf"The supervisor of process {other} \(host host{other + 1}, pid \d+\).* has said nothing for .* "
            r"or its host is down or cannot be reached\. Its program \(pid \d+\) was stepping",
            output.read_text(),
        )


def test_a_network_that_comes_back_within_the_heartbeat_is_waited_for(of_one_process, tmp_path):
    with machines.two() as both:
        started, outputs = start_both(both, tmp_path, "--runs=60")
        wait_for("run  3", outputs[0], started[0])
        both[1].unplug()
        time.sleep(2)
        both[1].plug_again()
        statuses = [process.wait(200) for process in started]
    text, other = (output.read_text() for output in outputs)
    assert statuses == [0, 0], text
    assert numbers(text)[:4] == pytest.approx(of_one_process[:4], abs=2e-3)
    assert numbers(text) == numbers(other)


def test_a_machine_that_cannot_be_reached_from_the_start_is_named_by_its_address(tmp_path):
    with machines.two() as both:
        both[1].unplug()
        started = [
            start(machine, [*by_options(index)[0], "--join-timeout=6"], {}, tmp_path / machine.name)
            for index, machine in enumerate(both)
        ]
        statuses = [process.wait(60) for process in started]
    assert statuses == [ENDED, ENDED]
    assert "process 1 did not come to 10.0.0.1:8476 within 6 s" in (tmp_path / "host1").read_text()
    assert "found nobody at 10.0.0.1:8476 for 6 s" in (tmp_path / "host2").read_text()
