"""Nothing that comes from a socket, a store or a file can run code: no module here unpickles, or executes text.

Syntax trees are read, so that neither another name of a module nor a comment is taken for what it is not.
"""

import ast
import pathlib

import pytest

import towerstrat

ROOT = pathlib.Path(towerstrat.__file__).parent
MODULES = {"pickle", "_pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}
"""Readers of what may run anything."""
EXECUTES = {"eval", "exec"}
ALLOWED = {
    "graph/autograph/builtins.py": {"exec", "eval"},  # source conversion: the program's own calls
    "graph/autograph/conversion.py": {"exec"},  # source conversion: the program's own functions
    "compat/program/runner.py": {"exec"},  # the script runner: the program
    "compat/program/version_choice.py": {"eval"},  # comparisons of versions, of nodes that a list has
}


def dangers(tree):
    """(line, name) of each thing in a module that runs what it reads."""
    known = {}  # local name -> name of the module, or of what was imported from one
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                known[alias.asname or alias.name.partition(".")[0]] = alias.name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                known[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            yield from ((node.lineno, found) for name in modules if (found := name.partition(".")[0]) in MODULES)
        elif isinstance(node, ast.Call):
            yield from ((node.lineno, name) for name in called(node, known))
        elif isinstance(node, ast.Name) and node.id in EXECUTES and node.id not in known:
            yield node.lineno, node.id


def called(call, known):
    """Names of a call's dangers: modules that are imported by name, pickles that numpy may read."""
    name = dotted(call.func)
    head, _, rest = name.partition(".")
    name = f"{known[head]}.{rest}".rstrip(".") if head in known else name
    first = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
    if name.rpartition(".")[2] in ("import_module", "__import__") and str(first).partition(".")[0] in MODULES:
        yield str(first).partition(".")[0]
    if name.startswith("builtins.") and name.rpartition(".")[2] in EXECUTES:
        yield name.rpartition(".")[2]
    pickles = [key.value for key in call.keywords if key.arg == "allow_pickle"]
    if any(not (isinstance(value, ast.Constant) and value.value is False) for value in pickles):
        yield "allow_pickle"
    if name == "numpy.load" and not pickles and len(call.args) > 2:
        yield "allow_pickle"


def dotted(node):
    """``a.b.c``, or what of it can be read."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def test_nothing_unpickles_or_executes_but_what_the_program_is():
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        for _, name in dangers(ast.parse(path.read_text())):
            found.setdefault(path.relative_to(ROOT).as_posix(), set()).add(name)
    assert found == ALLOWED


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import pickle as json", "pickle"),
        ("from _pickle import loads", "_pickle"),
        ("import importlib as i\ni.import_module('dill.source')", "dill"),
        ("__import__('marshal')", "marshal"),
        ("import numpy as np\nnp.load(f, allow_pickle=True)", "allow_pickle"),
        ("from numpy import load as read\nread(f, None, True)", "allow_pickle"),
        ("import numpy.lib\nnumpy.lib.format.read_array(f, allow_pickle=yes)", "allow_pickle"),
        ("f = eval", "eval"),
        ("import builtins as b\nb.exec('1')", "exec"),
    ],
)
def test_what_runs_code_is_found(text, name):
    assert {found for _, found in dangers(ast.parse(text))} == {name}


@pytest.mark.parametrize(
    "text",
    ["'import pickle'  # exec(x)", "x.eval()", "import numpy as np\nnp.load(f, allow_pickle=False)", "np.load(f)"],
)
def test_what_does_not_is_not(text):
    assert list(dangers(ast.parse(text))) == []
