"""The house rules that a program can check: imports run one way, and none hide inside functions."""

import ast
import pathlib

import pytest

import towerstrat

ROOT = pathlib.Path(towerstrat.__file__).parent
ORDER = ["errors", "platform", "graph", "data", "towers", "training", "compat", "cli", "__main__"]
FILES = sorted(ROOT.rglob("*.py"))


def room(module):
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


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
    here = room(module_of(path))
    for node, module, name in own_imports(tree):
        there = room(module) or (name if name in ORDER else "")
        if here and there:
            assert ORDER.index(there) <= ORDER.index(here), f"{path}:{node.lineno}: {here} must not import {there}"
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = [n.lineno for n, _, _ in own_imports(function)]
            assert not inner, f"{path}: imports inside {function.name} at lines {inner}"
            assert not any(isinstance(n, ast.ImportFrom) and n.level for n in ast.walk(function)), path


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
