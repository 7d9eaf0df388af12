"""Faults in runs of several processes: each must end all of them with a message that names the culprit.

    python -m tests.hosts.faults --count 200 --seed 0 [--processes 4] [--kept FILE]

draws faults, one after another, and prints what became of each and a table of all. With ``--kept`` results are added to
a file, and those that are in it are not run again.
"""

import argparse
import collections
import contextlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.hosts.program import BUSY
from tests.hosts.several import held_port
from tests.hosts.test_listening import listens_at
from towerstrat.hosts.process_spec import ENDED, REFUSED

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("program.py")
HEARTBEAT, STUCK, JOIN = 2.0, 3.0, 4.0
"""Seconds, where a fault is found by them; elsewhere a minute."""
SLACK = 5.0
"""Seconds that ending may take after a fault has been found."""
MINUTE = 60.0
OTHER_VERSION = """
import runpy, sys, towerstrat
towerstrat.__version__ = "9.9.9"
sys.argv = ["hosts", *sys.argv[1:]]
runpy.run_module("towerstrat.hosts", run_name="__main__")
"""


@dataclass
class Trial:
    """One run with one fault.

    Attributes:
      kind: the fault. victim: the process that it happens to. count: how many there are. folder: an empty one.
      random: draws when it happens.
      least: seconds for which each end is waited for at least; tests do not compare seconds.
      heartbeat, stuck, join: seconds after which supervisors find who is silent, makes no step, does not come.
      steps: of the program.
      started: the supervisors, by their name: the index, or "I again" of a second one.
      problems: what is not as it must be.
    """

    kind: str
    victim: int
    count: int
    folder: Path
    random: random.Random
    least: float = MINUTE
    heartbeat: float = MINUTE
    stuck: float = MINUTE
    join: float = MINUTE
    steps: int = 400
    started: dict[str, subprocess.Popen] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def __post_init__(self):
        self._held = contextlib.ExitStack()
        self.port = self._held.enter_context(held_port())

    def start(self, index, name=None, program=PROGRAM, arguments=(), version=False, **environment):
        """Starts one supervisor with its program."""
        name = str(index) if name is None else name
        head = ["-c", OTHER_VERSION] if version else ["-m", "towerstrat.hosts"]
        command = [
            sys.executable, *head, "supervise", f"--hosts={self.count}", f"--host={index}",
            f"--coordinator=127.0.0.1:{self.port}", f"--heartbeat={self.heartbeat}",
            f"--stuck-timeout={self.stuck}", f"--join-timeout={self.join}", f"--program={program}",
            "--", sys.executable, str(program), str(self.folder), str(self.steps), *arguments,
        ]  # fmt: skip
        with (self.folder / f"error-{name}").open("wb") as error:
            self.started[name] = subprocess.Popen(
                command, env={**_environment(), **environment}, stdin=subprocess.DEVNULL, stdout=error, stderr=error
            )

    def launch(self, *options):
        """Starts all by ``launch``."""
        command = [
            sys.executable, "-m", "towerstrat.hosts", "launch", f"-n={self.count}", f"--heartbeat={self.heartbeat}",
            *options, "--", sys.executable, str(PROGRAM), str(self.folder), str(self.steps),
        ]  # fmt: skip
        with (self.folder / "error-launch").open("wb") as error:
            self.started["launch"] = subprocess.Popen(command, env=_environment(), stdout=error, stderr=error)

    def start_others(self, **how):
        for index in range(self.count):
            if index != self.victim:
                self.start(index, **how)

    def start_all(self, **how):
        self.start_others(**how)
        self.start(self.victim, **how)

    def program(self, index):
        """The process of a program, once it runs."""
        return self.until(lambda: _programs(self.folder).get(index), f"program {index} runs")

    def running(self):
        """Waits until all programs run, and have made a drawn number of steps."""
        for index in range(self.count):
            self.program(index)
        steps = self.random.randint(0, min(40, self.steps // 2))
        self.until(lambda: min(self.made()) >= steps, f"{steps} steps")

    def made(self):
        """How many steps each program has made in its first attempt."""
        path = self.folder / "steps-1"
        numbers = memoryview(path.read_bytes()).cast("q") if path.exists() else [0] * self.count
        return list(numbers[: self.count])

    def until(self, condition, what, seconds=60.0):
        until = time.monotonic() + seconds
        while not (found := condition()):
            if time.monotonic() > until:
                raise TimeoutError(f"{what}: not after {seconds:g} s")
            time.sleep(0.01)
        return found

    def said(self, name):
        return (self.folder / f"error-{name}").read_text()

    def must_end(self, names, pattern, seconds, statuses=None):
        """These supervisors end in time, with a failure, and say something."""
        until, seconds = time.monotonic() + max(seconds, self.least), max(seconds, self.least)
        for name in names:
            try:
                status = self.started[name].wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                self.problems.append(f"{name} has not ended after {seconds:g} s: {self.said(name)}")
                continue
            if status == 0 if statuses is None else status not in statuses:
                self.problems.append(f"{name} ended with status {status}: {self.said(name)}")
            if not re.search(pattern, self.said(name)):
                self.problems.append(f"{name} does not say {pattern!r}: {self.said(name)}")

    def nothing_is_left(self):
        self._held.close()
        for name, process in self.started.items():
            if process.poll() is None:
                self.problems.append(f"supervisor {name} is left")
                process.kill()
                process.wait()
        left = [path.name for path in self.folder.glob("pid-*") if not _gone(int(path.name.split("-")[2]))]
        if left:
            try:
                self.until(lambda: all(_gone(int(name.split("-")[2])) for name in left), "", max(2.0, self.least))
            except TimeoutError:
                self.problems.append(f"programs are left: {left}")
        for name in left:
            if not _gone(int(name.split("-")[2])):
                os.kill(int(name.split("-")[2]), signal.SIGKILL)

    @property
    def all(self):
        return [str(index) for index in range(self.count)]

    @property
    def others(self):
        return [name for name in self.all if name != str(self.victim)]

    def named(self):
        """The victim as messages name it: with its program's number."""
        return rf"process {self.victim} \(host \S+, pid {self.program(self.victim)}\)"

    def supervisor_named(self):
        pid = self.started[str(self.victim)].pid
        return rf"The supervisor of process {self.victim} \(host \S+, pid {pid}\).* "


def kill_program(trial):
    """kill -9 of a program."""
    trial.start_all()
    trial.running()
    os.kill(trial.program(trial.victim), signal.SIGKILL)
    trial.must_end(trial.all, trial.named() + r" was killed by signal 9 \(SIGKILL\). It was \w+", SLACK)


def kill_supervisor(trial):
    """kill -9 of a supervisor."""
    trial.start_all()
    trial.running()
    trial.started[str(trial.victim)].kill()
    trial.must_end(trial.others, trial.supervisor_named() + "is gone: it was killed", SLACK)
    trial.must_end([str(trial.victim)], "", SLACK)


def stop_program(trial):
    """SIGSTOP of a program."""
    trial.heartbeat = HEARTBEAT
    trial.start_all()
    trial.running()
    os.kill(trial.program(trial.victim), signal.SIGSTOP)
    trial.must_end(trial.all, trial.named() + " is stopped by a signal", HEARTBEAT + SLACK)


def stop_supervisor(trial):
    """SIGSTOP of a supervisor; later it goes on."""
    trial.heartbeat = HEARTBEAT
    trial.start_all()
    trial.running()
    stopped = trial.started[str(trial.victim)]
    stopped.send_signal(signal.SIGSTOP)
    trial.must_end(
        trial.others, trial.supervisor_named() + r"has said nothing for .*: it is stopped", HEARTBEAT + SLACK
    )
    stopped.send_signal(signal.SIGCONT)
    trial.must_end([str(trial.victim)], trial.supervisor_named() + "(was itself stopped|has said nothing) for", SLACK)


def stop_all(trial):
    """SIGSTOP of all supervisors and programs, as when their machine sleeps: they go on."""
    trial.steps, trial.heartbeat = 60, HEARTBEAT
    trial.start_all()
    trial.running()
    pids = [process.pid for process in trial.started.values()] + [trial.program(index) for index in range(trial.count)]
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for pid in pids:
            os.kill(pid, number)
        time.sleep(HEARTBEAT + 1 if number == signal.SIGSTOP else 0)  # the fault: time passes
    trial.must_end(trial.all, "", 60.0, {0})


def sleep(trial):
    """The program of one process sleeps between two steps."""
    trial.stuck, trial.heartbeat = STUCK, HEARTBEAT
    # Before its first step a program starts, which may take longer.
    trial.start_all(FAULT=f"sleep:{trial.victim}:{trial.random.randint(2, 60)}")
    trial.running()
    trial.must_end(trial.all, trial.named() + " has made no step for", STUCK + 2 + HEARTBEAT + SLACK)


def sleep_within(trial):
    """The program of one process sleeps within a step: all are in it."""
    trial.stuck, trial.heartbeat = STUCK, HEARTBEAT
    trial.start_all(FAULT=f"sleep within:{trial.victim}:{trial.random.randint(1, 60)}")
    trial.running()
    pattern = (
        r"The processes have made no step for .* cannot be seen\.(\n  process \d+ \(.*\) is stepping, at step \d+.*){4}"
    )
    trial.must_end(trial.all, pattern.replace("4", str(trial.count)), STUCK + 2 + HEARTBEAT + SLACK)


def busy(trial):
    """The program of one process does something else than steps, for longer than these may take: all goes well."""
    trial.steps, trial.stuck = 60, STUCK
    trial.start_all(FAULT=f"busy:{trial.victim}:{trial.random.randint(1, 60)}")
    trial.must_end(trial.all, "", BUSY + 60.0, {0})


def raises(trial):
    """The program of one process raises."""
    trial.start_all(FAULT=f"raise:{trial.victim}:{trial.random.randint(1, 60)}")
    trial.running()
    pattern = trial.named() + r" ended with exit status 1[^!]*\n  \| ValueError: a fault of the program's\n"
    trial.must_end(trial.all, pattern, 2 + SLACK, {1, ENDED})


def exits(trial):
    """The program of one process ends with a status."""
    trial.start_all(FAULT=f"exit:{trial.victim}:{trial.random.randint(1, 60)}")
    trial.running()
    trial.must_end(trial.all, trial.named() + " ended with exit status 3", 2 + SLACK, {3, ENDED})


def leaves(trial):
    """The program of one process ends as if all was well, in the middle."""
    trial.stuck, trial.heartbeat = STUCK, HEARTBEAT
    trial.start_all(FAULT=f"leave:{trial.victim}:{trial.random.randint(1, 60)}")
    trial.running()
    trial.must_end(trial.all, trial.named() + " has ended, the others have made no step", STUCK + 2 + HEARTBEAT + SLACK)


def late(trial):
    """A process comes late, and in time: all goes well."""
    trial.steps = 20
    trial.start_others()
    if trial.victim != 0:
        zero = trial.started["0"].pid
        trial.until(lambda: trial.port in [port for _, port in listens_at(zero)], "process 0 listens")
    trial.start(trial.victim)
    trial.must_end(trial.all, "", 60.0, {0})


def never(trial):
    """A process does not come in time; when it comes, nobody is there."""
    trial.join = JOIN
    trial.start_others()
    if trial.victim == 0:
        pattern = r"found nobody at 127.0.0.1:\d+ for .*process 0 must listen there"
    else:
        pattern = f"process {trial.victim} did not come"
    trial.must_end(trial.others, pattern, JOIN + HEARTBEAT + SLACK)
    trial.start(trial.victim)
    pattern = "did not come" if trial.victim == 0 else "process 0 must listen there"
    trial.must_end([str(trial.victim)], pattern, JOIN + HEARTBEAT + SLACK)


def twice(trial):
    """A process is started twice, before all are there."""
    trial.join = JOIN
    missing = trial.random.choice([i for i in range(1, trial.count) if i != trial.victim])
    for index in range(trial.count):
        if index != missing:
            trial.start(index)
    trial.start(trial.victim, f"{trial.victim} again")
    names = list(trial.started)
    pattern = rf"Process {trial.victim} was started twice: host \S+, pid \d+, and host \S+, pid \d+"
    trial.must_end(names, f"{pattern}|did not come|found nobody", JOIN + HEARTBEAT + SLACK)
    if not any(re.search(pattern, trial.said(name)) for name in names):
        trial.problems.append(f"nobody says {pattern!r}: {[trial.said(name) for name in names]}")


def again(trial):
    """A process is started once more when all run: it is refused, and the run goes on."""
    trial.steps = 60
    trial.start_all()
    trial.running()
    trial.join = JOIN  # for it alone: the run may be over when it comes
    trial.start(trial.victim, "again")
    trial.must_end(
        ["again"], rf"process {trial.victim} \(host \S+, pid \d+\) came to .* when the run there had|found nobody", 60.0
    )
    trial.must_end(trial.all, "", 60.0, {0})


def stranger(trial):
    """Somebody else talks to the port: the run goes on."""
    trial.steps = 60
    trial.start_others()
    zero = ("127.0.0.1", trial.port)
    for text in (b"GET / HTTP/1.1\r\n\r\n", b"{}\n", b'{"kind": "register", "index": []}\n', b""):
        if trial.victim != 0:
            trial.until(lambda text=text: _sent(zero, text), "process 0 listens")
    trial.start(trial.victim)
    trial.running()
    _sent(zero, b'{"kind": "beat"}\n[1]\n')
    trial.must_end(trial.all, "", 60.0, {0})


def script(trial):
    """One process has another script."""
    other = trial.folder / PROGRAM.name
    other.write_text(PROGRAM.read_text() + "\n")
    trial.start_others()
    trial.start(trial.victim, program=other)
    trial.must_end(
        trial.all,
        _apart(trial, r"program program.py \(sha256 \w+\), where .* has program.py \(sha"),
        JOIN + SLACK,
        {REFUSED},
    )


def seed(trial):
    """One process has another seed."""
    trial.start_others(arguments=("--seed", "7"))
    trial.start(trial.victim, arguments=("--seed", str(trial.victim)))
    trial.must_end(trial.all, _apart(trial, rf"command {trial.victim}, where .* has 7"), JOIN + SLACK, {REFUSED})


def hash_seed(trial):
    """One process has another order of sets."""
    trial.start_others(PYTHONHASHSEED="1")
    trial.start(trial.victim, PYTHONHASHSEED="2")
    trial.must_end(trial.all, _apart(trial, "PYTHONHASHSEED 2, where .* has 1"), JOIN + SLACK, {REFUSED})


def version(trial):
    """One process has another version."""
    trial.start_others()
    trial.start(trial.victim, version=True)
    trial.must_end(trial.all, _apart(trial, r"towerstrat 9\.9\.9, where .* has \d"), JOIN + SLACK, {REFUSED})


def told(trial):
    """One supervisor gets SIGTERM: all programs end as they want to."""
    trial.start_all()
    trial.running()
    trial.started[str(trial.victim)].terminate()
    pattern = rf"SIGTERM came to process {trial.victim} .*: all processes are told to end"
    # A program that another one has told may be at its end when the signal comes: that kills it.
    trial.must_end(trial.all, pattern, 60.0, {0, 128 + signal.SIGTERM})
    if not all((trial.folder / f"told-{index}").exists() for index in range(trial.count)):
        trial.problems.append("not all programs were told")


def launch_stop(trial):
    """``launch``: SIGSTOP of a supervisor, which is killed in the end."""
    trial.heartbeat = HEARTBEAT
    trial.launch()
    stopped = int(Path(f"/proc/{trial.program(trial.victim)}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(stopped, signal.SIGSTOP)
    pattern = rf"the supervisor of process {trial.victim} \(pid {stopped}\) does not end with the others: it is killed"
    trial.must_end(["launch"], pattern, HEARTBEAT + SLACK + 2, {ENDED})
    if not _gone(stopped):
        trial.problems.append(f"supervisor {stopped} is left")


def launch_told(trial):
    """``launch``: it gets SIGTERM, and all programs end as they want to."""
    trial.launch("--restarts=3")
    trial.running()
    trial.started["launch"].terminate()
    trial.must_end(
        ["launch"], r"\n\[\d\] towerstrat: SIGTERM came to process \d .*: all processes are told", 60.0, {0, 143}
    )
    if not all((trial.folder / f"told-{index}").exists() for index in range(trial.count)):
        trial.problems.append("not all programs were told")


def restart(trial):
    """``launch --restarts``: kill -9 of a program, and the result of a run that nothing happened to."""
    trial.steps = 60
    trial.launch("--restarts=1")
    os.kill(trial.program(trial.victim), signal.SIGKILL)
    trial.must_end(["launch"], "attempt 1 ended with status 137; attempt 2 of 2 begins", 60.0, {0})
    weight = 1.0
    for number in range(1, trial.steps + 1):
        weight = weight * 1.01 + number / 7
    found = (trial.folder / "result").read_text()
    if found != repr(weight):
        trial.problems.append(f"the result is {found}, undisturbed {weight!r}")


KINDS = {
    found.__name__: found
    for found in (
        kill_program, kill_supervisor, stop_program, stop_supervisor, stop_all, sleep, sleep_within, busy, raises,
        exits, leaves, late, never, twice, again, stranger, script, seed, hash_seed, version, told, launch_stop,
        launch_told, restart,
    )
}  # fmt: skip


def run(kind, victim, count, folder, draws, least=MINUTE):
    """Runs a trial; what is not as it must be. least: see ``Trial``."""
    trial = Trial(kind, victim, count, Path(folder), draws, least)
    try:
        KINDS[kind](trial)
    except (OSError, TimeoutError) as error:
        trial.problems.append(f"{type(error).__name__}: {error}; {[trial.said(name) for name in trial.started]}")
    trial.nothing_is_left()
    return trial.problems


def _apart(trial, what):
    return rf"The processes do not run the same program:\n  process {trial.victim} \(host \S+, pid \d+\) has {what}"


def _environment():
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}


def _programs(folder):
    """Process -> the number of its program that was started last."""
    paths = sorted(folder.glob("pid-*"), key=lambda path: path.stat().st_mtime_ns)
    return {int(index): int(pid) for _, index, pid in (path.name.split("-") for path in paths)}


def _sent(address, text):
    try:
        with socket.create_connection(address) as end:
            end.sendall(text)
    except OSError:
        return False
    return True


def _gone(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] in "ZX"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--kept", type=Path)
    arguments = parser.parse_args()
    done = {}
    if arguments.kept is not None and arguments.kept.exists():
        done = {row["number"]: row for row in map(json.loads, arguments.kept.read_text().splitlines())}
    for number in range(arguments.count):
        if number in done:
            continue
        draws = random.Random(f"{arguments.seed} {number}")
        kind, victim = draws.choice(list(KINDS)), draws.randrange(arguments.processes)
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            problems = run(kind, victim, arguments.processes, folder, draws, 0.0)
        row = {"number": number, "kind": kind, "victim": victim, "problems": problems}
        done[number] = row
        print(
            f"{number:4} {kind:16} of {victim}: {time.monotonic() - began:5.1f} s  {problems or 'as it must be'}",
            flush=True,
        )
        if arguments.kept is not None:
            with arguments.kept.open("a") as file:
                file.write(json.dumps(row) + "\n")
    rows = [done[number] for number in range(arguments.count)]
    tried = collections.Counter(row["kind"] for row in rows)
    failed = collections.Counter(row["kind"] for row in rows if row["problems"])
    print("\n| fault | tried | as it must be |\n|---|---|---|")
    for kind, function in KINDS.items():
        print(f"| {function.__doc__} | {tried[kind]} | {tried[kind] - failed[kind]} |")
    print(f"| all | {tried.total()} | {tried.total() - failed.total()} |")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
