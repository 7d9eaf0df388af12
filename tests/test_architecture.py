"""The house rules that a program can check: imports run one way, none hide inside functions, none hide in lists."""

import ast
import doctest
import functools
import graphlib
import json
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple

import pytest

import towerstrat
from towerstrat.compat.names import name_file

ROOT = pathlib.Path(towerstrat.__file__).parent
FLOORS = [
    "errors",
    "platform",
    "hosts",
    "checkpoints",
    "graph",
    "data",
    "towers",
    "models",
    "training",
    "compat",
    "cli",
    "__main__",
]
ROOMS = {
    "graph": ["ir", "lowering", "variables", "ops", "scopes", "runtime", "eager", "autograph", "functions", "tapes"],
    "graph.ops": ["building", "gradients", "array", "math", "host", "text", "collectives", "indexing", "linalg",
                  "control", "random", "nn", "tables", "sparse", "ragged", "images"],
    "graph.runtime": ["programs", "plans", "loops", "collective", "sessions"],
    "data": ["elements", "parsing", "pipeline", "iterators", "files", "api", "readers", "queues"],
    "towers": ["cluster", "engine", "shards", "contrib", "distribute", "contrib_late"],
    "models": ["layers", "rnn", "metrics", "distributions"],
    "training": ["base", "saving", "summaries", "hooks", "sessions", "optimizers", "gan"],
    "compat": ["utilities", "v1_functions", "v2_functions", "bundled", "estimator", "keras", "names", "importer",
               "namespace_packages", "v1", "v2", "program"],
}  # fmt: skip
"""Floors of the package and rooms on a floor, from the bottom up: each imports itself and what is below."""
APART = [("towers.contrib", "towers.distribute")]
"""Two views of one engine: neither imports the other."""
ROOMS_WITH_HEADS = ["checkpoints", "hosts", "graph.lowering", "graph.eager", "graph.functions", "graph.tapes",
                    "graph.ops.gradients", *(f"graph.runtime.{room}" for room in ROOMS["graph.runtime"])]  # fmt: skip
"""Floors and rooms, ``graph.tapes``, in which each file opens with 8 to 30 lines of prose and an example that runs."""
FILES = sorted(ROOT.rglob("*.py"))


def place(module):
    """(floor, room) of a module, "" where it is in none."""
    _, floor, room, *_ = [*module.split("."), "", ""]
    return floor, room if floor in ROOMS else ""


def rooms(module):
    """(where the rooms are, number of the one that a module is in) for each order that it is in."""
    parts = module.split(".")[1:]
    for i in range(1, len(parts)):
        order = ROOMS.get(within := ".".join(parts[:i]), [])
        if parts[i] in order:
            yield within, order.index(parts[i])


def module_of(path):
    return ".".join(("towerstrat", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


class Read(NamedTuple):
    """What the tests look at in a file.

    Attributes:
      own: (line, module, name) of each import of ours; at_import: those that happen when the file is imported itself,
        neither for types only nor in a function; inside: those in functions, and relative ones there.
      functions: (line, name, length).
    """

    own: list[tuple[int, str, str | None]]
    at_import: list[tuple[int, str, str | None]]
    inside: list[tuple[int, str, str | None]]
    functions: list[tuple[int, str, int]]


def imports(node):
    """The imports of ours that a statement is."""
    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("towerstrat"):
        yield from ((node.lineno, node.module, alias.name) for alias in node.names)
    elif isinstance(node, ast.Import):
        yield from ((node.lineno, a.name, None) for a in node.names if a.name.startswith("towerstrat"))


@functools.cache
def read(path):
    """A file, parsed once for all tests."""
    text = path.read_text()
    found = Read([], [], [], [])

    def visit(node, in_function, later):
        if isinstance(node, ast.Import | ast.ImportFrom):
            own = list(imports(node))
            found.own.extend(own)
            if not later:
                found.at_import.extend(own)
            if in_function:
                relative = isinstance(node, ast.ImportFrom) and node.level
                found.inside.extend([(node.lineno, ".", None)] if relative else own)
        elif isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            if function:
                found.functions.append((node.lineno, node.name, (node.end_lineno or 0) - node.lineno))
            later = later or function or isinstance(node, ast.If | ast.ClassDef)
            for child in statements(node):
                visit(child, in_function or function, later)

    for node in ast.parse(text).body:
        visit(node, False, False)
    return found


def statements(node):
    """The statements in the body of one."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        yield from getattr(node, part, ())


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_run_one_way_and_at_the_top(path):
    floor, room = place(module_of(path))
    for line, module, name in read(path).own:
        full = f"{module}.{name}" if name and (ROOT.parent / module.replace(".", "/")).is_dir() else module
        other_floor, other_room = place(full)
        said = f"{path}:{line}: {floor}.{room} must not import {full}"
        if floor in FLOORS and other_floor in FLOORS:
            assert FLOORS.index(other_floor) <= FLOORS.index(floor), said
        numbers = dict(rooms(module_of(path)))
        assert all(number <= numbers.get(within, number) for within, number in rooms(full)), said
        for one, two in APART:
            assert {f"{floor}.{room}", f"{other_floor}.{other_room}"} != {one, two}, said
    assert not read(path).inside, f"{path}: imports inside functions: {read(path).inside}"


def test_each_module_can_be_the_first_to_be_imported():
    """Names are imported when they are used, in any order: no module needs one that needs it."""
    names = {module_of(path): path for path in FILES}
    needs = {
        name: {f"{m}.{n}" if f"{m}.{n}" in names else m for _, m, n in read(path).at_import}
        for name, path in names.items()
    }
    assert sum(map(len, needs.values())) > 2000
    graphlib.TopologicalSorter(needs).prepare()  # raises CycleError


def test_names_are_of_rooms_below_their_file():
    rows = [*name_file.below("tensorflow"), *name_file.below("tf")]
    modules = {module for row in rows for module in row.module.split() if module.startswith("towerstrat.")}
    assert len(modules) > 200
    order = ROOMS["compat"]
    for module in modules:
        floor, room = place(module)
        assert floor != "compat" or order.index(room) < order.index("names"), module


def test_every_folder_is_a_room_in_the_order():
    for floor, order in ROOMS.items():
        folder = ROOT / floor.replace(".", "/")
        folders = {p.parent.name for p in folder.glob("*/__init__.py")}
        loose = set() if floor == "models" else {p.stem for p in folder.glob("*.py")} - {"__init__"}
        assert folders | loose == set(order), floor


def test_the_picture_of_the_floors_is_current():
    """The page of the design has the floors from the top down, with what each imports and the rooms on it."""
    page = (ROOT.parent / "docs" / "design.md").read_text()
    picture = re.search(r"\n    floor .*?\n(    .*?)\n\n", page, re.DOTALL).group(1)
    floors = re.findall(r"^    (\w+) +\S.*?(?:   +(.+))?$", picture, re.MULTILINE)
    assert [name for name, _ in floors] == FLOORS[:-1][::-1]
    imported = {name: {module_of(path) for path in FILES if place(module_of(path))[0] == name} for name in FLOORS}
    for name, said in floors:
        modules = {place(m)[0] for path in FILES if module_of(path) in imported[name] for _, m, _ in read(path).own}
        below = FLOORS[: FLOORS.index(name)]
        assert set(below if said == "all below" else filter(None, said.split(", "))) == modules & set(below), name
    for floor, text in re.findall(r"^    (\w+) [^\n]*\n((?:      │ [^\n]*\n)+)", picture + "\n", re.MULTILINE):
        rooms_of = re.split(r"\w+:", text.replace("│", " "))
        orders = [order for within, order in ROOMS.items() if within.split(".")[0] == floor]
        assert [re.findall(r"\w+", part) for part in rooms_of] == orders, floor


FILLED_BY_OTHERS = {"towerstrat.graph.ir.op_registry._TYPES", "towerstrat.graph.ir.op_registry._OPERATORS"}
"""The operation registry: the only containers that modules add to when they are imported."""
TAKING_STOCK = """
import importlib, json, sys, types

held = types.ModuleType.__dict__["__dict__"].__get__  # vars of the trees of names imports all of them

def own(owner):
    entries = held(owner) if isinstance(owner, types.ModuleType) else vars(owner)
    return {k: v for k, v in entries.items() if not (k.startswith("__") and k.endswith("__"))}

def seen(value):
    # What another module could change: the entries of a container, the attributes of an object, or what it is.
    if isinstance(value, (list, set, dict, tuple, frozenset)):
        return type(value).__name__, len(value)
    ours = type(value).__module__.startswith("towerstrat") and not isinstance(value, types.ModuleType)
    if ours and hasattr(value, "__dict__"):
        entries = ((k, len(v) if isinstance(v, (list, set, dict)) else id(v)) for k, v in vars(value).items())
        return id(value), sorted(entries)
    return id(value)

def stock(name):
    module, found = sys.modules[name], {}
    for key, value in own(module).items():
        found[f"{name}.{key}"] = value
        if isinstance(value, type) and value.__module__ == name:
            found.update({f"{name}.{key}.{k}": v for k, v in own(value).items()})
    return found

order = json.loads(sys.argv[1])
before, kept = {}, []
for name in order:
    importlib.import_module(name)
    found = stock(name)
    kept.append(found)  # alive, so that identities stay theirs
    before |= {key: seen(value) for key, value in found.items()}
after = {key: seen(value) for name in order for key, value in stock(name).items()}
changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)} - set(sys.modules)
print(json.dumps(sorted(changed)))
"""


def test_no_module_fills_what_belongs_to_another():
    """Each module is imported after what it imports, and nothing else; what was there then is there in the end."""
    names = {module_of(path): path for path in FILES if path.stem != "__main__"}
    needs = {
        name: [f"{m}.{n}" if f"{m}.{n}" in names else m for _, m, n in read(path).own] for name, path in names.items()
    }
    order = []

    def visit(name, above=()):
        if name in above or name in order:
            return
        for other in (name.rpartition(".")[0], *needs[name]):
            if other in names:
                visit(other, (*above, name))
        order.append(name)

    for name in names:
        visit(name)
    command = [sys.executable, "-c", TAKING_STOCK, json.dumps(order)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)) <= FILLED_BY_OTHERS


def test_a_session_imported_alone_runs_all_operations():
    """Whoever adds an operation of a room above has imported that room; of all others it knows the types."""
    below = ROOMS["graph"][: ROOMS["graph"].index("runtime") + 1]
    program = f"""
import importlib, pkgutil
from towerstrat.graph.ir import op_registry as registry
from towerstrat.graph.runtime.sessions.session import Session
alone = set(registry.types())
for room in {below}:
    for module in pkgutil.iter_modules(importlib.import_module("towerstrat.graph." + room).__path__):
        importlib.import_module(f"towerstrat.graph.{{room}}.{{module.name}}")
print(len(alone), sorted(set(registry.types()) - alone))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    known, _, missing = done.stdout.strip().partition(" ")
    assert missing == "[]"
    assert int(known) > 350


def test_functions_stay_small():
    for path in FILES:
        for line, name, length in read(path).functions:
            assert length <= 90, f"{path}:{line} {name}"


@pytest.mark.parametrize("room", ROOMS_WITH_HEADS)
def test_files_open_with_prose_and_an_example(room):
    """The suite runs the examples, since ``--doctest-modules`` collects the package too."""
    files = [path for path in FILES if path.parent == ROOT.joinpath(*room.split("."))]
    assert len(files) > 1
    for path in files:
        if path.stem not in ("__init__", "__main__"):
            head = ast.get_docstring(ast.parse(path.read_text())) or ""
            assert 8 <= len(head.splitlines()) <= 30, path
            assert doctest.DocTestParser().get_examples(head), path


def test_nothing_is_left_for_later():
    for path in FILES:
        for word in ("TODO", "FIXME", "XXX"):
            assert word not in path.read_text(), path
