"""The command ``towerstrat``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax

import towerstrat
from towerstrat.compat.program import check, report, runner, versions


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line (default ``sys.argv[1:]``); the exit status."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    return arguments.command(arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="towerstrat",
        description="Runs TensorFlow's training programs, of its contrib era and later, on JAX, unchanged.",
    )
    parser.add_argument(
        "--version", action="version", version=f"towerstrat {towerstrat.__version__} (jax {jax.__version__})"
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    run = commands.add_parser(
        "run",
        help="run a program",
        usage="towerstrat run [--towers N] [--api VERSION] SCRIPT [ARGS...]\n"
        "       towerstrat run [--towers N] [--api VERSION] -m MODULE [ARGS...]",
        description="Runs an unedited program: in this process, `import tensorflow` means towerstrat.",
        epilog="TOWERSTRAT_TRACEBACK=full in the environment shows towerstrat's own frames in tracebacks. "
        "JAX_PLATFORMS=cpu leaves an accelerator alone. TOWERSTRAT_COMPILATION_CACHE names the folder for compiled "
        "programs (default: in the user's cache folder), off: none are kept.",
    )
    run.add_argument(
        "--towers",
        type=_count,
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
    run.add_argument("-m", dest="module", action="store_true", help="run a module instead of a file, as python -m does")
    run.add_argument("program", metavar="SCRIPT", help="the program's file, or its module after -m")
    run.add_argument("arguments", metavar="ARGS", nargs=argparse.REMAINDER, help="the program's own arguments")
    run.set_defaults(command=_run)
    _add_check(commands)
    devices = commands.add_parser("devices", help="list the devices towers can run on")
    devices.set_defaults(command=_devices)
    return parser


def _add_check(commands: Any) -> None:
    parser = commands.add_parser(
        "check",
        help="say what of a program works, without running it",
        description="Reads programs and says of each name of TensorFlow whether it works. Codes: "
        + "; ".join(f"{code}: {meaning}" for code, meaning in check.CODES.items())
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


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number of towers from 1, got {text!r}")
    return int(text)


def _api(text: str) -> versions.Api:
    try:
        return versions.release(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _run(arguments: argparse.Namespace) -> int:
    start = runner.run_module if arguments.module else runner.run_script
    try:
        start(arguments.program, arguments.arguments, arguments.towers, arguments.api)
    except runner.CannotStart as error:
        print(f"towerstrat: {error}", file=sys.stderr)
        return 2
    return 0


def _check(arguments: argparse.Namespace) -> int:
    checked = check.check(arguments.paths, arguments.api)
    if arguments.json:
        print(report.as_json(checked, arguments.all))
    elif arguments.html:
        print(report.page(checked), end="")
    else:
        for line in report.lines(checked, arguments.all):
            print(line)
    return check.status(checked)


def _devices(arguments: argparse.Namespace) -> int:
    for device in jax.devices():
        limit = (device.memory_stats() or {}).get("bytes_limit")
        memory = f"  {limit / 2**30:.1f} GiB" if limit else ""
        print(f"{device.platform}:{device.id}  {device.device_kind}{memory}")
    return 0
