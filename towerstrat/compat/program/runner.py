"""Runs an old program unedited, as ``python SCRIPT ARGS...`` would."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import io
import os
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType, ModuleType, TracebackType
from typing import Any

import numpy as np

from towerstrat import errors
from towerstrat.compat.names import public_names
from towerstrat.compat.program import (
    argument_hints,
    child_interpreters,
    environment_hints,
    legacy_python,
    name_resolution,
    program_files,
    python2_hints,
    version_choice,
    version_evidence,
)
from towerstrat.compat.program.version_choice import Api
from towerstrat.graph.ir.user_lines import is_packaged
from towerstrat.graph.runtime.programs.limits import LIMITS, STEPS_PER_RETURN
from towerstrat.platform import accounts, compilation_cache, devices
from towerstrat.platform.accounts import ACCOUNTS
from towerstrat.platform.progress import SCREEN

_OURS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_LIBRARIES = f"{os.sep}site-packages{os.sep}"
_EXPLAINED = (errors.OpError, errors.UnsupportedError, TypeError, ValueError, LookupError, RuntimeError, ImportError,
              errors.UnknownSymbolError, KeyboardInterrupt)  # fmt: skip
Frame = tuple[FrameType, int, int]
FULL_TRACEBACK = "TOWERSTRAT_TRACEBACK"


class CannotStart(Exception):
    """There is no such program, or it is not clear which names it means."""


@contextmanager
def telling(quiet: bool, steps_per_return: int | None) -> Iterator[None]:
    """Inside, a person sees how far the program is; at the end, what was run.

    Args:
      quiet: neither of it. steps_per_return: how many steps a monitored session runs ahead; None: as its hooks allow.
    """
    if steps_per_return is not None:
        LIMITS.steps_per_return = steps_per_return
        os.environ[STEPS_PER_RETURN] = str(steps_per_return)  # for children
    if quiet:
        yield
        return
    ACCOUNTS.begin()
    SCREEN.show()
    try:
        yield
    finally:
        line = accounts.summary(ACCOUNTS)
        if line is not None:
            print(f"towerstrat: {line}", file=sys.stderr)


def run_script(path: str, arguments: Sequence[str] = (), towers: int | None = None, api: Api | None = None) -> None:
    """Runs a Python file, or a folder or archive with a ``__main__.py``, as the main program.

    Args:
      path: the program.
      arguments: what it finds in ``sys.argv`` after its own path.
      towers: how many towers it gets; default one per device.
      api: what ``tensorflow`` is; by default what the program is written for, said on standard error.

    Raises:
      CannotStart: there is no such file, or it uses names of 1.x and of 2.x.
      Anything that the program raises.
    """
    sys.argv = [path, *arguments]
    sys.excepthook = _report
    found = pkgutil.get_importer(path)
    if found is None or (isinstance(found, importlib.machinery.FileFinder) and not os.path.isdir(path)):
        sys.path[0] = os.path.dirname(os.path.realpath(path))
        code, spec = _read(path), None
        start = [Path(path)]
    else:
        sys.path[0] = path
        spec = found.find_spec("__main__")
        if spec is None:
            raise CannotStart(f"can't find '__main__' module in {path!r}")
        code = _code_of(spec)
        start = [Path(path, "__main__.py")]
    chosen = _choose(program_files.Files().program(start, program_files.roots_of(start[0])), api)
    _execute(code, path, spec, chosen, towers)


def run_module(name: str, arguments: Sequence[str] = (), towers: int | None = None, api: Api | None = None) -> None:
    """Runs a module, or a package's ``__main__``, as the main program (``python -m``).

    Raises:
      CannotStart: there is no such module. Otherwise as ``run_script``.
    """
    sys.path[0] = os.getcwd()
    sys.argv = ["-m", *arguments]
    sys.excepthook = _report
    chosen = _choose(_program_of(name, arguments), api)
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name += ".__main__"
            spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        raise CannotStart(f"Error while finding module specification for {name!r} ({error})") from None
    if spec is None:
        raise CannotStart(f"No module named {name}")
    code = _code_of(spec)
    sys.argv[0] = spec.origin or name
    _execute(code, spec.origin or name, spec, chosen, towers)


def _choose(program: program_files.Program, asked: Api | None) -> Api:
    """Binds ``tensorflow`` for a program and says to what."""
    if asked is not None:
        decision = version_evidence.Decision(asked[0], f"--api {asked[1] or asked[0]}")
    else:
        try:
            decision = version_evidence.decide(program)
        except version_evidence.Conflict as conflict:
            raise CannotStart(str(conflict)) from None
    api = decision.api
    version = (asked and asked[1]) or version_choice.choose(program, api)
    if program.imports or asked is not None:
        reason = decision.reason or "nothing in the program tells; --api 2 takes those of 2.x"
        other = f", tf.__version__ {version}" if version != public_names.VERSIONS[api] else ""
        print(f"towerstrat: {api}.x names{other} ({reason})", file=sys.stderr)
    child_interpreters.bind(api, version, _say)
    _say_missing(program, name_resolution.Resolver(api), version, asked)
    return api, version


def _say(line: str) -> None:
    print(f"towerstrat: {line}", file=sys.stderr)


def _say_missing(
    program: program_files.Program, resolver: name_resolution.Resolver, version: str, asked: Api | None
) -> None:
    """Says how many names of the program's are not here: it starts, and stops where it uses one."""
    mentioned = dict.fromkeys(
        mention.name
        for source in (*program.own, *program.helpers)
        for mention in version_choice.reached(source, version)
        if not mention.optional and resolver.verdict(mention.name).status is name_resolution.Status.MISSING
    )
    names = [name for name in mentioned if not any(other.startswith(f"{name}.") for other in mentioned)]
    if names:
        what = "1 name that it mentions is" if len(names) == 1 else f"{len(names)} names that it mentions are"
        api = "" if asked is None else f"--api {asked[0]} "
        command = f"towerstrat check {api}{os.path.relpath(program.own[0].path)}"
        print(f"towerstrat: {what} missing ({', '.join(names[:3])}); `{command}` lists all", file=sys.stderr)


def _program_of(module: str, arguments: Sequence[str]) -> program_files.Program:
    """What ``python -m`` runs. Of an installed module, such as pytest, the Python files that it is told to work on."""
    folder = _folder_of(module)
    start = [*program_files.files_of(module, [folder]), *program_files.files_of(f"{module}.__main__", [folder])]
    told = [path for text in arguments if (path := Path(text.partition("::")[0])).suffix == ".py" and path.is_file()]
    if told and all(map(program_files.is_installed, start)):
        return program_files.Files().program(told, program_files.roots_of(told[0]))
    return program_files.Files().program(start, [folder])


def _folder_of(module: str) -> Path:
    """The folder that a module's outermost package is in; the current one where there is no such package."""
    spec = importlib.machinery.PathFinder.find_spec(module.partition(".")[0])
    if spec is None or spec.origin is None:
        return Path.cwd()
    place = Path(spec.origin).resolve().parent
    return place.parent if spec.submodule_search_locations is not None else place


def _read(path: str) -> CodeType:
    try:
        with io.open_code(os.path.abspath(path)) as file:
            source = file.read()
    except OSError as error:
        raise CannotStart(
            f"can't open file {os.path.abspath(path)!r}: [Errno {error.errno}] {error.strerror}"
        ) from None
    return compile(source, path, "exec", dont_inherit=True)


def _code_of(spec: importlib.machinery.ModuleSpec) -> CodeType:
    code = spec.loader.get_code(spec.name) if hasattr(spec.loader, "get_code") else None  # type: ignore[union-attr]
    if code is None:
        raise CannotStart(f"No code object available for {spec.name}")
    return code


def _execute(code: CodeType, path: str, spec: Any, api: Api, towers: int | None) -> None:
    try:
        child_interpreters.start(towers, _say)
    except OSError as error:
        raise CannotStart(f"{compilation_cache.VARIABLE}: {error}") from None
    if towers is not None and devices.may_be_accelerated():
        try:
            devices.devices()
        except ValueError as error:
            raise CannotStart(f"--towers: {error}") from None
    child_interpreters.tell(*api, towers)
    main = ModuleType("__main__")
    main.__dict__.update(
        __file__=os.path.abspath(path),
        __builtins__=__builtins__,
        __spec__=spec,
        __package__=spec.parent if spec is not None else None,
        __loader__=spec.loader if spec is not None else None,
        __cached__=None,
    )
    sys.modules["__main__"] = main
    if int(np.__version__.partition(".")[0]) > 1:
        np.set_printoptions(legacy="1.25")  # lists of results as NumPy 1 printed them: [6.0], not [np.float32(6.0)]
    legacy_python.install()
    exec(code, main.__dict__)


def _report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Prints an uncaught error as Python does, without the frames that are not the program's."""
    hint = python2_hints.hint(error) or environment_hints.hint(error) or argument_hints.hint(error)
    if hint is not None:
        error.add_note(hint)
    if os.environ.get(FULL_TRACEBACK) != "full":
        _shorten(error, trace, set())
        trace = error.__traceback__
    sys.__excepthook__(kind, error, trace)


def _shorten(error: BaseException, trace: TracebackType | None, seen: set[int]) -> None:
    seen.add(id(error))
    frames = _frames(trace)
    started = max((i for i, f in enumerate(frames) if f[0].f_code.co_filename == __file__), default=-1)
    if started + 1 < len(frames) or isinstance(error, SyntaxError):
        del frames[: started + 1]
    # An error that nobody raised on purpose is a fault of ours: then every frame counts.
    if isinstance(error, _EXPLAINED):
        frames = _of_the_program(frames) or frames
    shown = None
    for frame, lasti, lineno in reversed(frames):
        shown = TracebackType(shown, frame, lasti, lineno)
    error.__traceback__ = shown
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is None or id(cause) in seen:
        return
    if isinstance(error, _EXPLAINED) and not _of_the_program(_frames(cause.__traceback__)):
        error.__cause__ = None
        error.__suppress_context__ = True
    else:
        _shorten(cause, cause.__traceback__, seen)


def _frames(trace: TracebackType | None) -> list[Frame]:
    found = []
    while trace is not None:
        found.append((trace.tb_frame, trace.tb_lasti, trace.tb_lineno))
        trace = trace.tb_next
    return found


def _of_the_program(frames: Sequence[Frame]) -> list[Frame]:
    """The frames that are neither ours nor of a library that ours called."""
    kept = []
    inside = False
    for frame in frames:
        if _is_ours(frame[0]):
            inside = True
        elif not inside or _LIBRARIES not in frame[0].f_code.co_filename:
            inside = False
            kept.append(frame)
    return kept


def _is_ours(frame: FrameType) -> bool:
    name = frame.f_code.co_filename
    return name.startswith((_OURS, "<frozen importlib")) or is_packaged(name)
