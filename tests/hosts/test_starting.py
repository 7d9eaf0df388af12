"""``towerstrat run`` and ``towerstrat launch``: what they become, and two processes of JAX."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from towerstrat import cli
from towerstrat.hosts import command_line, environment_variables
from towerstrat.hosts.process_spec import Place

ROOT = Path(__file__).parents[2]
CHIEF = {"cluster": {"chief": ["h:7"], "worker": ["w:7"], "ps": ["p:7"]}, "task": {"type": "worker", "index": 0}}


@pytest.fixture
def became(monkeypatch):
    """What this process would go on as: the arguments that the command reads."""
    found = []

    def execute(path, argv):
        assert path == argv[0] == sys.executable
        assert argv[1:3] == ["-m", "towerstrat.hosts"]
        found.append(command_line.parser().parse_args(argv[3:]))
        raise SystemExit

    monkeypatch.setattr(os, "execv", execute)

    def run(*arguments):
        with pytest.raises(SystemExit):
            cli.main(arguments)
        return found.pop()

    return run


def test_options_say_which_process_it_is(became):
    said = became(
        "run", "--hosts=4", "--host=2", "--coordinator=[::1]:8476", "--heartbeat=3", "--towers=8", "--api=1.14",
        "--steps-per-return=5", "--quiet", "train.py", "--hosts=9", "--", "-m",
    )  # fmt: skip
    assert (said.command, said.hosts, said.host, said.coordinator) == ("supervise", 4, 2, "[::1]:8476")
    assert (said.program, said.is_module, said.heartbeat, said.stuck) == ("train.py", False, 3.0, 600.0)
    program = [
        "-m", "towerstrat", "run", "--towers", "8", "--steps-per-return", "5", "--api", "1.14.0", "--quiet", "train.py",
        "--hosts=9", "--", "-m",
    ]  # fmt: skip
    assert said.argv[-len(program) :] == program


def test_the_environment_says_it_where_options_do_not(became, monkeypatch):
    monkeypatch.setenv("TF_CONFIG", json.dumps(CHIEF))
    said = became("run", "-m", "trainer.task", "1")
    assert (said.hosts, said.host, said.coordinator, said.names) == (2, 1, "h:7", ["worker", "0"])
    assert (said.program, said.is_module, said.argv[-3:]) == ("trainer.task", True, ["-m", "trainer.task", "1"])
    assert json.loads(said.cluster.partition(" ")[2])["worker"] == {"0": "w:7"}
    said = became("run", "--coordinator=other:1", "train.py")
    assert (said.hosts, said.host, said.coordinator) == (2, 1, "other:1")


def test_a_launch(became):
    said = became(
        "launch", "-n", "4", "--restarts", "2", "--devices=2", "--stuck-timeout=0", "--api=2", "train.py", "-n", "3"
    )
    assert (said.command, said.number, said.restarts, said.devices, said.stuck) == ("launch", 4, 2, 2, 0.0)
    assert said.argv[-5:] == ["--api", "2", "train.py", "-n", "3"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--hosts=2"], "Give --hosts N, --host I and --coordinator HOST:PORT together"),
        (["--hosts=2", "--host=2", "--coordinator=h:1"], "Of 2 processes (--hosts) this cannot be number 2 (--host)"),
    ],
)
def test_half_a_place_is_refused(arguments, message, capsys):
    assert cli.main(["run", *arguments, "train.py"]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "option", ["--hosts=0", "--host=-1", "--coordinator=here", "--heartbeat=x", "--heartbeat=nan", "--heartbeat=0"]
)
def test_options_that_mean_nothing_are_refused(option, capsys):
    with pytest.raises(SystemExit, match="2"):
        cli.main(["run", option, "train.py"])
    assert "error: argument --" in capsys.readouterr().err


def test_a_parameter_server_ends_at_once(monkeypatch, caplog):
    monkeypatch.setenv("TF_CONFIG", json.dumps(CHIEF | {"task": {"type": "ps", "index": 0}}))
    assert cli.main(["run", "no such program.py"]) == 0
    assert "/job:ps/task:0 ends" in caplog.text


@pytest.mark.parametrize(
    ("variable", "options"),
    [("no other", ["--hosts=1"]), (environment_variables.ATTEMPT, []), ("TF_CONFIG", [])],
    ids=["asked", "supervised", "evaluator"],
)
def test_a_process_that_is_alone_runs_the_program_itself(variable, options, monkeypatch, capsys):
    task = {"type": "evaluator", "index": 0} if variable == "TF_CONFIG" else CHIEF["task"]
    monkeypatch.setenv("TF_CONFIG", json.dumps(CHIEF | {"task": task}))
    if variable == environment_variables.ATTEMPT:
        monkeypatch.setenv(variable, "1")
    monkeypatch.setattr(sys, "argv", ["towerstrat"])
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert cli.main(["run", "--quiet", *options, "no such program.py"]) == 2
    assert "can't open file" in capsys.readouterr().err


def test_commands_are_read_as_they_are_made():
    place = Place(3, 1, "h:1", ("worker", "0"), 'TF_CONFIG {"a": 1}', on_slice=True)
    bounds = command_line.bounds_of(command_line.parser().parse_args(["launch", "-n1", "--join-timeout=1e-3", "x"]))
    work = cli.ProgramSpec(("python", "--", "-x", "--host=7"), "-x", is_module=True)
    command = command_line.supervise(place, bounds, work, attempt=4, secret_file="/run/secret")
    said = command_line.parser().parse_args(command[3:])
    again = Place(said.hosts, said.host, said.coordinator, tuple(said.names), said.cluster, said.on_slice)
    assert (again, command_line.bounds_of(said), said.attempt) == (place, bounds, 4)
    assert said.secret_file == "/run/secret"
    assert cli.ProgramSpec(tuple(said.argv), said.program, said.is_module) == work


PROGRAM = """
import time
import jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.hosts.heartbeat import PROGRESS

mesh = Mesh(np.array(jax.devices()), "t")
total = jax.jit(jax.shard_map(lambda x: jax.lax.psum(x, "t"), mesh=mesh, in_specs=P("t"), out_specs=P()))
numbers = np.arange(float(jax.device_count()))
own = jax.make_array_from_callback(numbers.shape, NamedSharding(mesh, P("t")), lambda i: numbers[i])
PROGRESS.step(1)
print("sum", PROCESSES.index, PROCESSES.count, len(jax.local_devices()), float(total(own)[0]), flush=True)


def hangs():
    time.sleep(1000)


if PROCESSES.index == 1:
    hangs()
PROGRESS.step(2)
total(own).block_until_ready()
"""


def test_two_processes_join_and_a_program_that_hangs_says_where(tmp_path):
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)
    command = [
        sys.executable, "-m", "towerstrat", "launch", "-n", "2", "--devices=2", "--stuck-timeout=4", "--api=2",
        "--heartbeat=30", str(program),
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XLA_FLAGS": ""}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    # What gloo says of its connections comes on the same stream.
    for index in (0, 1):
        assert f"sum {index} 2 2 " in done.stdout
    assert done.stdout.count("6.0") == 2
    assert "process 1 (host" in done.stderr
    assert "has made no step for" in done.stderr
    assert 'File "' + str(program) + '", line 17 in hangs' in done.stderr
    assert done.returncode == os.EX_SOFTWARE
