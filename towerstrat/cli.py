"""The command ``towerstrat``: argument parsers of its subcommands, and the functions that they call.

    towerstrat run [--towers N] SCRIPT ...             run a program in this process, with ``tensorflow`` replaced
    towerstrat run --hosts N --host I --coordinator A  run it as one of N processes, supervised
    towerstrat launch -n N SCRIPT ...                  start N such processes on this machine
    towerstrat check PATH ...                          say which names of TensorFlow in a program work
    towerstrat checkpoint list|show|diff|convert ...   read checkpoints
    towerstrat names NAME ...                          say where a name is defined, and in which versions
    towerstrat stubs FOLDER                            write stub files of ``tensorflow`` for type checkers
    towerstrat devices                                 list JAX's devices

Each subparser sets ``command``, a function of the parsed arguments that returns the exit status: 0 done, 2 the command
could not be carried out; 1 is an answer (``check`` found something, ``diff`` found differences).

``run`` of several processes does not run the program here. It replaces this process (``exec``) by a supervisor that
imports neither JAX nor this package's graph; the supervisor starts ``towerstrat run`` again as a child (``_work``),
watches it, and marks it in the environment (``environment_variables.ATTEMPT``), by which ``_place`` knows that it is
already supervised.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import signal
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import jax

import towerstrat
from towerstrat.checkpoints import description
from towerstrat.checkpoints.checkpoint_file import Checkpoint, opened
from towerstrat.checkpoints.checkpoint_state import prefix_of
from towerstrat.checkpoints.format_conversion import convert, convert_to_objects, renamed
from towerstrat.checkpoints.object_graph_keys import names_of_objects
from towerstrat.compat.program import check_report, name_lookup, runner, type_stubs, usage_check, version_choice
from towerstrat.errors import OpError, UnsupportedError
from towerstrat.hosts import command_line as hosts
from towerstrat.hosts import environment_variables, launcher_environments, process_group
from towerstrat.hosts.launcher_environments import Aside
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.hosts.process_spec import Place, ProgramSpec
from towerstrat.platform import logs


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line (default: ``sys.argv[1:]``) and return the exit status."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help()
        return 0
    if arguments.command in (_run, _launch):
        return arguments.command(arguments)
    try:
        status: int = arguments.command(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader (``| head``) has closed the pipe; Python's own flush at exit would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="towerstrat",
        description="Runs TensorFlow's training programs, of its contrib era and later, on JAX, unchanged.",
    )
    parser.add_argument(
        "--version", action="version", version=f"towerstrat {towerstrat.__version__} (jax {jax.__version__})"
    )
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_run(commands)
    _add_launch(commands)
    _add_check(commands)
    _add_checkpoint(commands)
    names = commands.add_parser("names", help="say where the object of a name is, and of which versions it is")
    names.add_argument(
        "names", metavar="NAME", nargs="+", help="such as tf.concat; of a module such as tf.nn all names"
    )
    names.set_defaults(command=_names)
    stubs = commands.add_parser(
        "stubs",
        help="write stub files, by which type checkers and editors know tensorflow",
        description="Writes the folder tensorflow of stub files into FOLDER: pyright and editors find it in a folder "
        "typings beside the program, mypy where mypy_path names FOLDER.",
    )
    stubs.add_argument("folder", metavar="FOLDER", type=Path, help="such as typings")
    stubs.add_argument("--api", type=_api, metavar="VERSION", default=(1, None), help="as of run (default: 1)")
    stubs.set_defaults(command=_stubs)
    devices = commands.add_parser("devices", help="list the devices towers can run on")
    devices.set_defaults(command=_devices)
    return parser


def _add_run(commands: Any) -> None:
    run = commands.add_parser(
        "run",
        help="run a program",
        usage="towerstrat run [--towers N] [--api VERSION] [--steps-per-return N] [--quiet] SCRIPT [ARGS...]\n"
        "       towerstrat run [OPTIONS] -m MODULE [ARGS...]\n"
        "       towerstrat run --hosts N --host I --coordinator ADDRESS [OPTIONS] SCRIPT [ARGS...]",
        description="Runs an unedited program: in this process, `import tensorflow` means towerstrat.",
        epilog="TOWERSTRAT_TRACEBACK=full in the environment shows towerstrat's own frames in tracebacks. "
        "JAX_PLATFORMS=cpu leaves an accelerator alone. TOWERSTRAT_COMPILATION_CACHE names the folder for compiled "
        "programs (default: in the user's cache folder), off: none are kept.",
    )
    _add_program(run)
    several = run.add_argument_group(
        "several processes",
        "One process per host, each started with the same command but for --host. Without these options TF_CONFIG and "
        "the environments of TPU slices, SLURM and Open MPI say it; --hosts 1: this process is alone anyway.",
    )
    hosts.add_place(several)
    hosts.add_bounds(several)
    run.set_defaults(command=_run)


def _add_launch(commands: Any) -> None:
    launch = commands.add_parser(
        "launch",
        help="run a program in several processes on this machine",
        usage="towerstrat launch -n N [--restarts K] [--devices D] [OPTIONS of run] SCRIPT [ARGS...]\n"
        "       towerstrat launch -n N [OPTIONS] -m MODULE [ARGS...]",
        description="Runs an unedited program in several processes, as on several hosts. Lines of output begin with "
        "the number of their process.",
    )
    hosts.add_launch(launch)
    _add_program(launch)
    hosts.add_bounds(launch)
    launch.set_defaults(command=_launch)


def _add_program(run: Any) -> None:
    run.add_argument(
        "--towers",
        type=hosts.count,
        metavar="N",
        help="how many towers a TPUStrategy has (default: one per device); "
        "without an accelerator they are virtual devices of the CPU",
    )
    run.add_argument(
        "--api",
        type=_api,
        metavar="VERSION",
        help="what `tensorflow` is: 1, the names and graphs of 1.x, or 2, the names and eager execution of 2.x; "
        "1.14 is 1 with that tf.__version__ (default: what the program is written for)",
    )
    run.add_argument(
        "--steps-per-return",
        type=hosts.count,
        metavar="N",
        help="how many steps a monitored session runs before it returns to the host; 1: each step by itself "
        "(default: as many as its hooks allow)",
    )
    run.add_argument("--quiet", action="store_true", help="show no progress, and do not say at the end what was run")
    run.add_argument("-m", dest="module", action="store_true", help="run a module instead of a file, as python -m does")
    run.add_argument("program", metavar="SCRIPT", help="the program's file, or its module after -m")
    run.add_argument("arguments", metavar="ARGS", nargs=argparse.REMAINDER, help="the program's own arguments")


def _add_check(commands: Any) -> None:
    parser = commands.add_parser(
        "check",
        help="say what of a program works, without running it",
        description="Reads programs and says of each name of TensorFlow whether it works. Codes: "
        + "; ".join(f"{code}: {meaning}" for code, meaning in usage_check.CODES.items())
        + ".",
        epilog="Exit status: 0 all works, 1 something is missing, 2 something could not be read.",
    )
    parser.add_argument("paths", metavar="PATH", type=Path, nargs="+", help="a program's file, or a folder of them")
    parser.add_argument("--all", action="store_true", help="list the names that work too")
    parser.add_argument("--api", type=_api, metavar="VERSION", help="as of run")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--html", action="store_true", help="print a page with the sources and what is said beside them")
    parser.set_defaults(command=_check)


def _add_checkpoint(commands: Any) -> None:
    parser = commands.add_parser(
        "checkpoint",
        help="list, show, compare and convert checkpoints",
        description="Reads checkpoints of either format. PATH is that which Saver.save returned, its .index file, or a "
        "folder, whose latest checkpoint it is; local or remote.",
        epilog="Exit status: 0 done, 1 diff found differences, 2 a checkpoint is not there or damaged.",
    )
    actions = parser.add_subparsers(title="actions", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="names, types, shapes and bytes of the arrays")
    listing.add_argument("path", metavar="PATH")
    listing.add_argument("--norms", action="store_true", help="with Euclidean norms, for which all is read")
    listing.add_argument("--json", action="store_true", help="print JSON")
    listing.set_defaults(command=_checkpoint, action=_list)
    show = actions.add_parser("show", help="the elements of an array")
    show.add_argument("path", metavar="PATH")
    show.add_argument("name", metavar="NAME")
    show.add_argument("--slice", default="", metavar="INDEX", help="only these elements, such as 0:2,:,-1")
    show.add_argument("--all", action="store_true", help="all elements, where there are thousands too")
    show.set_defaults(command=_checkpoint, action=_show)
    diff = actions.add_parser("diff", help="the arrays in which two checkpoints differ")
    diff.add_argument("path", metavar="A")
    diff.add_argument("other", metavar="B")
    diff.set_defaults(command=_checkpoint, action=_diff)
    conversion = actions.add_parser(
        "convert",
        help="write the arrays to another file",
        description="TARGET.npz is written for numpy, where strings are bytes of one length and bfloat16 becomes "
        "float32; TARGET.safetensors in that format, which has no strings; others are prefixes of checkpoints.",
    )
    conversion.add_argument("path", metavar="PATH")
    conversion.add_argument("target", metavar="TARGET")
    conversion.add_argument(
        "--rename", nargs=2, action="append", default=[], metavar=("PATTERN", "TEXT"),
        help="replace a regular expression in names; several in turn",
    )  # fmt: skip
    conversion.add_argument(
        "--only", type=_pattern, default=_pattern(""), metavar="PATTERN", help="only arrays whose names it is found in"
    )
    conversion.add_argument(
        "--form", choices=["objects", "names"],
        help="objects: for tf.train.Checkpoint, a/b is the variable b of the object a; names: for tf.train.Saver, "
        "from a checkpoint of objects, by the names that its variables had (default: keys stay as they are)",
    )  # fmt: skip
    conversion.set_defaults(command=_checkpoint, action=_convert)


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"expected a regular expression, got {text!r}: {error}") from None


def _api(text: str) -> version_choice.Api:
    try:
        return version_choice.release(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _run(arguments: argparse.Namespace) -> int:
    try:
        place = _place(arguments)
    except ValueError as error:
        print(f"towerstrat: {error}", file=sys.stderr)
        return 2
    if isinstance(place, Place):
        _become(hosts.supervise(place, hosts.bounds_of(arguments), _work(arguments), secret_file=arguments.secret_file))
    if isinstance(place, Aside) and place.job == "ps":
        logs.warning(
            "/job:%s/task:%d ends: variables are kept by the processes that train, and nothing waits for this one.",
            place.job, place.task,
        )  # fmt: skip
        return 0
    return process_group.run_joined(lambda: _run_here(arguments))


def _run_here(arguments: argparse.Namespace) -> int:
    start = runner.run_module if arguments.module else runner.run_script
    towers, left = divmod(arguments.towers or PROCESSES.count, PROCESSES.count)
    if left or not towers:
        print(
            f"towerstrat: --towers {arguments.towers}: expected a multiple of the number of processes, "
            f"{PROCESSES.count}.",
            file=sys.stderr,
        )
        return 2
    if PROCESSES.count > 1 and arguments.steps_per_return not in (None, 1):
        print(
            f"towerstrat: --steps-per-return {arguments.steps_per_return}: sessions of several processes do one step "
            "per return. Use run_steps_on_dataset or steps_per_execution for several.",
            file=sys.stderr,
        )
        return 2
    try:
        with runner.telling(arguments.quiet, arguments.steps_per_return):
            start(arguments.program, arguments.arguments, towers if arguments.towers else None, arguments.api)
    except runner.CannotStart as error:
        print(f"towerstrat: {error}", file=sys.stderr)
        return 2
    return 0


def _place(arguments: argparse.Namespace) -> Place | Aside | None:
    """This process's place among several, from options or environment; None: it is alone, or supervised already.

    Returns an ``Aside`` where the environment gives it a job that does not train, such as a parameter server.

    Raises:
      ValueError: the options are incomplete or contradict each other.
    """
    count, index, address = given = (arguments.hosts, arguments.host, arguments.coordinator)
    if given == (1, None, None) or (given == (None, None, None) and environment_variables.ATTEMPT in os.environ):
        return None
    if None in given:
        found = launcher_environments.found(os.environ, address)
        if not isinstance(found, Place):
            if given == (None, None, None):
                return found
            raise ValueError(
                "Give --hosts N, --host I and --coordinator HOST:PORT together: the environment says none."
            )
        count, index = (found.count if count is None else count), (found.index if index is None else index)
        place = dataclasses.replace(found, count=count, index=index)
    else:
        place = Place(count, index, address)
    if index >= count:
        raise ValueError(f"Of {count} processes (--hosts) this cannot be number {index} (--host): the first is 0.")
    return place


def _launch(arguments: argparse.Namespace) -> NoReturn:
    bounds, work = hosts.bounds_of(arguments), _work(arguments)
    _become(hosts.launch(arguments.number, arguments.restarts, arguments.devices, bounds, work))


def _work(arguments: argparse.Namespace) -> ProgramSpec:
    """The command by which a supervisor starts the program: ``towerstrat run`` with the same options."""
    said: list[object] = []
    for option in ("towers", "steps_per_return"):
        if getattr(arguments, option) is not None:
            said += [f"--{option.replace('_', '-')}", getattr(arguments, option)]
    if arguments.api is not None:
        said += ["--api", arguments.api[1] or arguments.api[0]]
    said += ["--quiet"] if arguments.quiet else []
    said += ["-m"] if arguments.module else []
    python = [sys.executable, *_flags(), "-m", "towerstrat", "run"]
    argv = (*python, *map(str, said), arguments.program, *arguments.arguments)
    return ProgramSpec(argv, arguments.program, arguments.module)


def _flags() -> list[str]:
    """Options of the Python interpreter that this process was started with, such as -X dev."""
    head = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv) + 1]
    return head[: -2 if head[-2:-1] == ["-m"] else -1]


def _become(command: list[str]) -> NoReturn:
    """Replace this process by another program (``exec``): a supervisor needs nothing of what was imported here."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(command[0], command)


def _check(arguments: argparse.Namespace) -> int:
    checked = usage_check.check(arguments.paths, arguments.api)
    if arguments.json:
        print(check_report.as_json(checked, arguments.all))
    elif arguments.html:
        print(check_report.page(checked), end="")
    else:
        for line in check_report.lines(checked, arguments.all):
            print(line)
    return usage_check.status(checked)


def _checkpoint(arguments: argparse.Namespace) -> int:
    try:
        return arguments.action(opened(prefix_of(arguments.path)), arguments)
    except (OpError, UnsupportedError, ValueError) as error:
        print(f"towerstrat: {error}", file=sys.stderr)
        return 2


def _list(checkpoint: Checkpoint, arguments: argparse.Namespace) -> int:
    if arguments.json:
        print(json.dumps([array._asdict() for array in description.described(checkpoint, arguments.norms)], indent=1))
        return 0
    return _printed(description.listed(checkpoint, arguments.norms))


def _show(checkpoint: Checkpoint, arguments: argparse.Namespace) -> int:
    return _printed(description.shown(checkpoint, arguments.name, arguments.slice, arguments.all))


def _diff(checkpoint: Checkpoint, arguments: argparse.Namespace) -> int:
    found = list(description.differences(checkpoint, opened(prefix_of(arguments.other))))
    _printed(found)
    return int(bool(found))


def _convert(checkpoint: Checkpoint, arguments: argparse.Namespace) -> int:
    keys = names_of_objects(checkpoint) if arguments.form == "names" else {name: name for name in checkpoint.entries}
    chosen = [name for name in keys if arguments.only.search(name)]
    if not chosen:
        raise ValueError(f"No name in {arguments.path} has {arguments.only.pattern!r} in it; nothing is written.")
    names = {new: keys[name] for new, name in renamed(chosen, arguments.rename).items()}
    (convert_to_objects if arguments.form == "objects" else convert)(checkpoint, arguments.target, names)
    return _printed([f"{arguments.target}: {len(names)} arrays"])


def _printed(lines: Iterable[str]) -> int:
    for line in lines:
        print(line)
    return 0


def _names(arguments: argparse.Namespace) -> int:
    found = [name_lookup.lines(name) for name in arguments.names]
    for lines, _ in found:
        print(*lines, sep="\n")
    return 0 if all(here for _, here in found) else 1


def _stubs(arguments: argparse.Namespace) -> int:
    try:
        count = type_stubs.write(arguments.folder, arguments.api[0])
    except OSError as error:
        print(f"towerstrat: {error}", file=sys.stderr)
        return 2
    print(f"{count} stub files of tensorflow {arguments.api[0]}.x in {arguments.folder / type_stubs.ROOT}")
    return 0


def _devices(arguments: argparse.Namespace) -> int:
    for device in jax.devices():
        limit = (device.memory_stats() or {}).get("bytes_limit")
        memory = f"  {limit / 2**30:.1f} GiB" if limit else ""
        print(f"{device.platform}:{device.id}  {device.device_kind}{memory}")
    return 0
