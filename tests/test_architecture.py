"""The house rules that a program can check: imports run one way, none hide inside functions, none hide in lists."""

import ast
import graphlib
import json
import pathlib
import subprocess
import sys

import pytest

import towerstrat
from towerstrat.compat.names import table
from towerstrat.compat.names.internals import INTERNALS
from towerstrat.compat.names.named import Named

ROOT = pathlib.Path(towerstrat.__file__).parent
FLOORS = ["errors", "platform", "checkpoints", "graph", "data", "towers", "training", "compat", "cli", "__main__"]
ROOMS = {
    "graph": ["ir", "lowering", "variables", "ops", "scopes", "runtime", "eager", "autograph", "functions", "tapes"],
    "towers": ["cluster", "engine", "shards", "contrib", "distribute", "era"],
    "compat": ["utilities", "v1names", "v2names", "wheel", "estimator", "keras", "names", "importer", "library", "v1",
               "v2", "program"],
}  # fmt: skip
"""Floors of the package and rooms on a floor, from the bottom up: each imports itself and what is below."""
APART = [("towers.contrib", "towers.distribute")]
"""Two views of one engine: neither imports the other."""
FILES = sorted(ROOT.rglob("*.py"))


def place(module):
    """(floor, room) of a module, "" where it is in none."""
    _, floor, room, *_ = [*module.split("."), "", ""]
    return floor, room if floor in ROOMS else ""


def module_of(path):
    return ".".join(("towerstrat", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


def own_imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("towerstrat"):
            for alias in node.names:
                yield node, node.module, alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("towerstrat"):
                    yield node, alias.name, None


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_run_one_way_and_at_the_top(path):
    tree = ast.parse(path.read_text())
    floor, room = place(module_of(path))
    for node, module, name in own_imports(tree):
        full = f"{module}.{name}" if name and (ROOT.parent / module.replace(".", "/")).is_dir() else module
        other_floor, other_room = place(full)
        said = f"{path}:{node.lineno}: {floor}.{room} must not import {full}"
        if floor in FLOORS and other_floor in FLOORS:
            assert FLOORS.index(other_floor) <= FLOORS.index(floor), said
        if floor == other_floor and room and other_room:
            order = ROOMS[floor]
            assert order.index(other_room) <= order.index(room), said
        for one, two in APART:
            assert {f"{floor}.{room}", f"{other_floor}.{other_room}"} != {one, two}, said
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = [n.lineno for n, _, _ in own_imports(function)]
            assert not inner, f"{path}: imports inside {function.name} at lines {inner}"
            assert not any(isinstance(n, ast.ImportFrom) and n.level for n in ast.walk(function)), path


def needed(tree):
    """(module, name) of what a file imports when it is imported itself: neither for types only, nor in a function."""
    for node in tree.body:
        if isinstance(node, ast.With | ast.Try):
            yield from needed(node)
        elif not isinstance(node, ast.If | ast.FunctionDef | ast.ClassDef):
            yield from ((module, name) for _, module, name in own_imports(node))


def test_each_module_can_be_the_first_to_be_imported():
    """Names are imported when they are used, in any order: no module needs one that needs it."""
    names = {module_of(path): path for path in FILES}
    needs = {
        name: {f"{m}.{n}" if f"{m}.{n}" in names else m for m, n in needed(ast.parse(path.read_text()))}
        for name, path in names.items()
    }
    assert sum(map(len, needs.values())) > 2000
    graphlib.TopologicalSorter(needs).prepare()  # raises CycleError


def test_names_are_of_rooms_below_their_table():
    rows = [found for api in (1, 2) for found in table.entries(api).values() if isinstance(found, Named)]
    rows += [found for _, own in INTERNALS.values() for found in own.values()]
    order = ROOMS["compat"]
    for module in {found.module for found in rows}:
        floor, room = place(f"towerstrat.{module}")
        assert floor != "compat" or order.index(room) < order.index("names"), module


def test_every_folder_is_a_room_in_the_order():
    for floor, order in ROOMS.items():
        folders = {p.parent.name for p in (ROOT / floor).glob("*/__init__.py")}
        assert folders | {p.stem for p in (ROOT / floor).glob("*.py")} - {"__init__"} == set(order)


FILLED_BY_OTHERS = {"towerstrat.graph.ir.registry._TYPES", "towerstrat.graph.ir.registry._OPERATORS"}
"""The operation registry: the only containers that modules add to when they are imported."""
TAKING_STOCK = """
import importlib, json, sys, types

def own(owner):
    return {k: v for k, v in vars(owner).items() if not (k.startswith("__") and k.endswith("__"))}

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
        name: [f"{m}.{n}" if f"{m}.{n}" in names else m for _, m, n in own_imports(ast.parse(path.read_text()))]
        for name, path in names.items()
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
from towerstrat.graph.ir import registry
from towerstrat.graph.runtime.session import Session
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


def test_files_and_functions_stay_small():
    for path in FILES:
        text = path.read_text()
        assert text.count("\n") <= 700, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                assert (node.end_lineno or 0) - node.lineno <= 90, f"{path}:{node.lineno} {node.name}"


def test_nothing_is_left_for_later():
    for path in FILES:
        for word in ("TODO", "FIXME", "XXX"):
            assert word not in path.read_text(), path
