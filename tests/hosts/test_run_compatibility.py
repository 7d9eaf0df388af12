"""What processes must have in common, and how a difference is said."""

import sys

import pytest

from towerstrat.hosts.process_spec import Process, ProgramSpec
from towerstrat.hosts.run_compatibility import Side, differences, facts


def sides(*commands, names=None, **more):
    """One process per command, with the same facts but for those of ``more``, which have one value for each."""
    return [
        Side(
            Process(i, f"host{i}", 100 + i),
            {"command": command.split(), **{name: values[i] for name, values in more.items()}},
            [str(i)] if names is None else names[i],
        )
        for i, command in enumerate(commands)
    ]


@pytest.mark.parametrize(
    "commands",
    [
        ("train.py --lr 0.1 -v", "train.py --lr 0.1 -v"),
        ("train.py --task_index=0", "train.py --task_index=1", "train.py --task_index=2"),
        ("train.py --task_index 0 --job_name chief", "train.py --task_index 7 --job_name worker"),
        ("train.py 0 --log=/logs/w0.txt", "train.py 1 --log=/logs/w1.txt", "train.py 2 --log=/logs/w2.txt"),
        ("train.py --task=0 --shards=1", "train.py --task=1 --shards=1"),
    ],
)
def test_what_says_which_process_it_is_may_differ(commands):
    assert differences(sides(*commands)) == []


@pytest.mark.parametrize(
    ("commands", "said"),
    [
        (("train.py --lr=0.1", "train.py --lr=0.2"), "process 1 (host host1, pid 101) has command --lr=0.2, where "
         "process 0 (host host0, pid 100) has --lr=0.1"),
        (("train.py --lr=0.1", "train.py --lr=1.1"), "has command --lr=1.1, where"),
        (("train.py --seed=0", "train.py --seed=1"), "has command --seed=1, where"),
        (("train.py --seed 0", "train.py --seed 1"), "has command 1, where"),
        (("train.py -v", "train.py"), "has command train.py, where process 0 (host host0, pid 100) has train.py -v"),
        (("train.py 'a'", "train.py b"), "has command b, where"),
    ],
)  # fmt: skip
def test_a_command_that_differs_is_said_in_its_words(commands, said):
    (line,) = differences(sides(*commands))
    assert said in line


def test_names_of_a_task_are_those_of_its_process_alone():
    names = [["0", "chief"], ["1", "worker", "0"], ["2", "worker", "1"]]
    ours = ("t.py /logs/chief/0", "t.py /logs/worker/0", "t.py /logs/worker/1")
    assert differences(sides(*ours, names=names)) == []
    (line,) = differences(sides(*ours[:2], "t.py /logs/worker/3", names=names))
    assert line.startswith("process 2 ")


def test_the_process_is_named_that_differs_from_the_others():
    for culprit in range(4):
        versions = ["0.2" if i == culprit else "0.1" for i in range(4)]
        (line,) = differences(sides(*["t.py"] * 4, towerstrat=versions))
        assert line.startswith(
            f"process {culprit} (host host{culprit}, pid 10{culprit}) has towerstrat 0.2, where process"
        )
    two = differences(sides(*["t.py"] * 4, jax=["1", "1", "2", "3"]))
    assert [line[:9] for line in two] == ["process 2", "process 3"]


def test_facts_are_of_the_program_wherever_it_lies(tmp_path):
    found = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "train.py"
        path.write_text("print('é')")
        found.append(facts(ProgramSpec((sys.executable, "-m", "towerstrat", "run", str(path), "-v"), str(path)), ""))
    assert found[0] == found[1]
    assert found[0]["command"] == ["-m", "towerstrat", "run", "train.py", "-v"]
    path.write_text("print('e')")
    again = facts(ProgramSpec((sys.executable, str(path)), str(path)), "")
    assert again["program"] != found[0]["program"]
    assert again["program"].startswith("train.py (sha256 ")


def test_facts_of_a_module_and_of_a_folder(tmp_path, monkeypatch):
    package = tmp_path / "trainer" / "deep"
    package.mkdir(parents=True)
    for path in (package.parent / "__init__.py", package / "__init__.py"):
        path.write_text("raise AssertionError('imported')")
    (package / "__main__.py").write_text("1")
    (package / "task.py").write_text("2")
    monkeypatch.syspath_prepend(str(tmp_path))

    def program(name, is_module):
        return facts(ProgramSpec(("python", "-m", name), name, is_module), "")["program"]

    digest = program("trainer.deep.task", True).removeprefix("trainer.deep.task ")
    assert digest.startswith("(sha256 d4735e3a265e16ee")  # of "2"
    ones = {program("trainer.deep", True).partition(" ")[2], program(str(package), False).partition(" ")[2]}
    assert ones == {"(sha256 6b86b273ff34fce1)"}  # of "1"
    assert program("no.such.module", True) == "no.such.module (not found)"
