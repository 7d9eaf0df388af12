"""Command lines of ``python -m towerstrat.hosts``: made, and read.

``towerstrat run`` and ``launch`` make a command here (``supervise``, ``launch``) and become it, by ``os.execv``:
supervisors are to be small, and need nothing of what the command has imported. ``__main__`` reads it with ``parser``.
So every option is written and parsed in one file; those that people give too have one definition (``add_...``), which
``towerstrat.cli`` uses as well.

>>> work = ProgramSpec(("python", "train.py", "--lr=1"), "train.py")
>>> command = supervise(Place(4, 1, "10.0.0.1:8476"), Timeouts(stuck=60.0), work)
>>> command[1:5]
['-m', 'towerstrat.hosts', 'supervise', '--join-timeout=300.0']
>>> read = parser().parse_args(command[3:])
>>> read.host, read.hosts, read.stuck, read.argv
(1, 4, 60.0, ['python', 'train.py', '--lr=1'])
"""

from __future__ import annotations

import argparse
import math
import sys

from towerstrat.hosts.process_spec import Place, ProgramSpec, Timeouts
from towerstrat.hosts.sockets import path_of, split_address

_DESCRIPTION = "Command lines of ``python -m towerstrat.hosts``: made, and read."
_BOUNDS = {
    "join": ("--join-timeout", "how long processes wait until all are there"),
    "heartbeat": ("--heartbeat", "after how long without a sign of life a process is given up"),
    "stuck": ("--stuck-timeout", "after how long without a step a program is given up; 0: never"),
}


def add_bounds(parser: argparse.ArgumentParser) -> None:
    """Adds the options of ``Timeouts``, in seconds."""
    for name, (option, description) in _BOUNDS.items():
        default = getattr(Timeouts(), name)
        parser.add_argument(
            option,
            dest=name,
            type=_seconds_or_0 if name == "stuck" else _seconds,
            metavar="SECONDS",
            default=default,
            help=f"{description} (default: {default:g})",
        )


def bounds_of(arguments: argparse.Namespace) -> Timeouts:
    """The timeouts that parsed arguments give."""
    return Timeouts(**{name: getattr(arguments, name) for name in _BOUNDS})


def add_place(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say which process of how many this is, where they meet, and the secret."""
    parser.add_argument("--hosts", type=count, metavar="N", help="how many processes run the program, one per host")
    parser.add_argument(
        "--secret-file", metavar="FILE",
        help="the secret that all processes share, in a file that nobody else may read (default: TOWERSTRAT_SECRET)",
    )  # fmt: skip
    parser.add_argument("--host", type=index, metavar="I", help="which of them this one is, from 0")
    parser.add_argument(
        "--coordinator",
        type=address,
        metavar="ADDRESS",
        help="HOST:PORT of process 0, where all meet; the port is free. Where all are on one machine: unix:PATH, in a "
        "folder that nobody else may enter",
    )


def supervise(
    place: Place, bounds: Timeouts, work: ProgramSpec, attempt: int = 1, secret_file: str | None = None
) -> list[str]:
    """The command line of a supervisor.

    Args:
      place: which process it is.
      bounds: the timeouts.
      work: its program.
      attempt: number of this start of the run, from 1.
      secret_file: path of the secret; None: the environment has it, or there is none.
    """
    secret = [] if secret_file is None else [f"--secret-file={secret_file}"]
    names = [f"--name={name}" for name in place.names]
    slices = ["--on-slice"] if place.on_slice else []
    return [
        *_module("supervise", bounds, work), f"--hosts={place.count}", f"--host={place.index}",
        f"--coordinator={place.address}", f"--cluster={place.cluster}", f"--attempt={attempt}", *names, *slices,
        *secret, "--", *work.argv,
    ]  # fmt: skip


def launch(number: int, restarts: int, devices: int | None, bounds: Timeouts, work: ProgramSpec) -> list[str]:
    """The command line that starts several supervisors on this machine; arguments as of ``local_launcher.Launch``."""
    split = [] if devices is None else [f"--devices={devices}"]
    return [*_module("launch", bounds, work), f"-n={number}", f"--restarts={restarts}", *split, "--", *work.argv]


def _module(command: str, bounds: Timeouts, work: ProgramSpec) -> list[str]:
    options = [f"{option}={getattr(bounds, name)!r}" for name, (option, _) in _BOUNDS.items()]
    options += [f"--program={work.program}"] + (["--is-module"] if work.is_module else [])
    return [sys.executable, "-m", "towerstrat.hosts", command, *options]


def parser() -> argparse.ArgumentParser:
    """The parser of both commands, ``supervise`` and ``launch``."""
    main_parser = argparse.ArgumentParser(prog="python -m towerstrat.hosts", description=_DESCRIPTION)
    commands = main_parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("supervise", help="one process of several")
    add_place(one)
    one.add_argument("--cluster", default="")
    one.add_argument("--attempt", type=count, default=1)
    one.add_argument("--name", dest="names", action="append", default=[])
    one.add_argument("--on-slice", action="store_true")
    several = commands.add_parser("launch", help="several processes on this machine")
    add_launch(several)
    for each in (one, several):
        add_bounds(each)
        each.add_argument("--program", default="")
        each.add_argument("--is-module", action="store_true")
        each.add_argument("argv", nargs="+")
    return main_parser


def add_launch(parser: argparse.ArgumentParser) -> None:
    """Adds the options of ``launch``."""
    parser.add_argument("-n", dest="number", type=count, metavar="N", required=True, help="how many processes")
    parser.add_argument(
        "--restarts", type=index, metavar="K", default=0,
        help="start all again after a failure, so many times; the program goes on at its last checkpoint (default: 0)",
    )  # fmt: skip
    parser.add_argument(
        "--devices", type=count, metavar="D",
        help="how many devices each process has: virtual ones of the CPU, or so many of the machine's GPUs",
    )  # fmt: skip


def count(text: str) -> int:
    """Parses an integer from 1.

    Raises:
      ArgumentTypeError: the text is something else; so do all argument types below.
    """
    return _number(text, 1)


def index(text: str) -> int:
    """Parses an integer from 0."""
    return _number(text, 0)


def _number(text: str, least: int) -> int:
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"expected a number from {least}, got {text!r}")
    return int(text)


def address(text: str) -> str:
    """Checks an address ``HOST:PORT`` or ``unix:PATH``, and returns it."""
    try:
        if path_of(text) is None:
            split_address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _seconds(text: str) -> float:
    seconds = _seconds_or_0(text)
    if not seconds:
        raise argparse.ArgumentTypeError(f"expected more than 0 seconds, got {text!r}")
    return seconds


def _seconds_or_0(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise argparse.ArgumentTypeError(f"expected seconds, got {text!r}")
    return seconds
