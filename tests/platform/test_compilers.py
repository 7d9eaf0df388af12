"""Known defects of the compilers below are kept out of programs, on every way in."""

import ast
import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib

import jax
import jaxlib
import numpy as np
import pytest
from packaging.requirements import Requirement

import towerstrat
import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf2
from tests.fuzz import compilers as search
from tests.platform import wrong_sums
from tests.spread import spread
from towerstrat.compat.program import child_interpreters
from towerstrat.compat.program.startup import sitecustomize
from towerstrat.platform import compilers, devices

PACKAGE = pathlib.Path(towerstrat.__file__).parent
ROOT = PACKAGE.parent
(YNN,) = compilers.DEFECTS


# ---- the one place -------------------------------------------------------------------------------------------------


def compiling(tree):
    """The lines of a file that make programs by JAX: its ``jit`` and ``pmap`` by any name, and what is below them."""
    names = {"jit", "pmap", "pjit", "aot"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in names:
            whole = ast.unparse(node.value)
            if whole == "jax" or whole.startswith("jax."):
                yield node.lineno
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "jax":
            if names & {alias.name for alias in node.names} or "jit" in (node.module or ""):
                yield node.lineno
        elif isinstance(node, ast.Import) and any(a.name == "jax" and a.asname for a in node.names):
            yield node.lineno


def test_nothing_else_compiles():
    found = {
        str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py") if any(compiling(ast.parse(path.read_text())))
    }
    assert found == {"platform/compilers.py"}


@pytest.mark.parametrize(
    "line",
    ["jax.jit(f)", "@jax.jit\ndef f(): pass", "jax.pmap(f)", "from jax import jit", "import jax as j", "g = jax.jit",
     "from jax.experimental.pjit import pjit", "functools.partial(jax.jit, donate_argnums=0)"],
)  # fmt: skip
def test_whatever_compiles_is_seen(line):
    assert list(compiling(ast.parse(line)))


def test_the_option_is_given_to_programs_of_its_platform_only(monkeypatch):
    given = []
    monkeypatch.setattr(jax, "jit", lambda function, **options: given.append(options))
    monkeypatch.setattr(compilers, "PRESENT", [YNN])
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=x")
    compilers.jit(abs, "cpu", donate_argnums=(0,))
    compilers.jit(abs, "cpu", {"xla_more": "1"})
    compilers.jit(abs, "gpu")
    compilers.jit(abs, "tpu", {"xla_more": "1"})
    compilers.mark(abs)
    monkeypatch.setenv("XLA_FLAGS", f"--{YNN.option}=reduce")  # the user's choice
    compilers.jit(abs, "cpu")
    option = {YNN.option: YNN.value}
    assert given == [
        {"compiler_options": option, "donate_argnums": (0,)}, {"compiler_options": {**option, "xla_more": "1"}},
        {"compiler_options": None}, {"compiler_options": {"xla_more": "1"}}, {}, {"compiler_options": None},
    ]  # fmt: skip


def test_the_platform_of_what_is_on_no_device():
    assert compilers.default_platform() == jax.default_backend()
    with jax.default_device(jax.local_devices(backend="cpu")[0]):
        assert compilers.default_platform() == "cpu"
    with jax.default_device("cpu"):
        assert compilers.default_platform() == "cpu"


# ---- versions ------------------------------------------------------------------------------------------------------

BAD = ["0.10.2", "0.11.0", "0.11.1", "0.11.2"]
GOOD = ["0.10.0", "0.10.1", "0.12.0", "0.12.0.1", "0.13.0"]


@pytest.mark.parametrize("version", BAD + GOOD)
def test_versions_with_a_defect_are_in_no_range_of_ours(version):
    has = compilers.known_defects(tuple(map(int, version.split("."))))
    assert has == ([YNN] if version in BAD else [])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    found = [Requirement(r) for r in [*project["dependencies"], *extras["tpu"], *extras["cuda"]]]
    found = [r for r in found if r.name in ("jax", "jaxlib")]
    assert [r.name for r in found] == ["jax", "jaxlib", "jax", "jax"]
    for requirement in found:
        assert requirement.specifier.contains(version) is (not has), requirement


def test_what_this_process_has():
    assert compilers.known_defects(jaxlib.version.__version_info__) == compilers.PRESENT


def test_the_page_says_what_the_table_says():
    page = (ROOT / "docs" / "known_compiler_defects.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| jaxlib ")]
    assert len(rows) == len(compilers.DEFECTS)
    for row, defect in zip(rows, compilers.DEFECTS, strict=True):
        first, *later, repaired = re.findall(r"\b\d+\.\d+\.\d+\b", row)
        assert (first, repaired) == tuple(".".join(map(str, v + (0,) * (3 - len(v)))) for v in defect[:2])
        assert [first, *later] == BAD
        assert f"`{defect.option}={defect.value}`" in row
        assert tuple(map(int, re.findall(r"https://github.com/jax-ml/jax/issues/(\d+)", row))) == defect.issues


# ---- XLA_FLAGS -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, YNN.flag),
        ("", YNN.flag),
        ("--xla_dump_to=x", f"--xla_dump_to=x {YNN.flag}"),
        (YNN.flag, YNN.flag),
        (f"--{YNN.option}=reduce", f"--{YNN.option}=reduce"),
        ("/home/me/flags.txt", "/home/me/flags.txt"),
    ],
)
def test_flags_are_added_to_those_of_the_user(monkeypatch, before, after):
    monkeypatch.setattr(compilers, "PRESENT", [YNN])
    monkeypatch.setattr(devices, "may_be_accelerated", lambda: False)
    if before is None:
        monkeypatch.delenv("XLA_FLAGS", raising=False)
    else:
        monkeypatch.setenv("XLA_FLAGS", before)
    compilers.set_flags()
    assert os.environ["XLA_FLAGS"] == after


@pytest.mark.parametrize(("present", "accelerated"), [([], False), ([YNN], True)])
def test_no_flag_where_it_may_be_unknown(monkeypatch, present, accelerated):
    monkeypatch.setattr(compilers, "PRESENT", present)
    monkeypatch.setattr(devices, "may_be_accelerated", lambda: accelerated)
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=x")
    compilers.set_flags()
    assert os.environ["XLA_FLAGS"] == "--xla_dump_to=x"


def test_a_python_of_another_installation_gets_no_flag_of_ours(monkeypatch):
    monkeypatch.setattr(compilers, "PRESENT", [YNN])
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setenv("TOWERSTRAT_PARENT", "{}")
    monkeypatch.setenv("XLA_FLAGS", f"--xla_dump_to=x {YNN.flag} --xla_other=1")
    child_interpreters.tell(1, None, None)
    sitecustomize.leave_flags(json.loads(os.environ["TOWERSTRAT_PARENT"]))
    assert os.environ["XLA_FLAGS"].split() == ["--xla_dump_to=x", "--xla_other=1"]


# ---- the cases, on every way in ------------------------------------------------------------------------------------


def wrong(found):
    assert len(found) > 20
    return {way: error for way, error in found.items() if error != 0}


def test_sums_are_right_in_tests():
    """JAX's own ``jit`` aside: this process' ``XLA_FLAGS`` are pytest's."""
    assert {way for way in wrong(wrong_sums.errors(tf1)) if not way.startswith("py_func")} == set()


def test_sums_are_right_in_tests_of_2x(later_behavior):
    found = wrong_sums.errors_at_once(tf2)
    assert len(found) == 16
    assert not any(found.values()), found


PROGRAM = str(pathlib.Path(wrong_sums.__file__))
RUN = [sys.executable, "-m", "towerstrat", "run", "--quiet", "--api", "1"]


@spread(
    ("command", "processes", "started"),
    [
        ([*RUN, PROGRAM], 1, False),
        ([*RUN, PROGRAM, "child"], 1, False),
        ([*RUN, PROGRAM], 1, True),  # XLA_FLAGS of the user
        ([sys.executable, "-m", "towerstrat", "launch", "-n", "2", "--quiet", "--api", "1", PROGRAM], 2, False),
        ([sys.executable, PROGRAM, "library"], 1, False),
    ],
    every=9,
    ids=["run", "child", "run with flags", "launch", "library"],
)
def test_sums_are_right(command, processes, started):
    environment = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"} | {"PYTHONPATH": str(ROOT)}
    if started:
        environment["XLA_FLAGS"] = "--xla_force_host_platform_device_count=3"
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    found = [json.loads(line) for line in re.findall(r"\{.*\}", done.stdout)]
    assert len(found) == processes, done.stderr
    for one in found:
        ways = wrong(one)
        if "library" in command and compilers.PRESENT:  # a program's own ``jax.jit`` is JAX's there
            ways = {way: error for way, error in ways.items() if not way.startswith("py_func")}
        assert ways == {}


def test_the_caches_entries_are_of_one_option(tmp_path):
    """A program that was compiled without the option is not taken for one with it, nor the other way round."""
    program = f"""
import sys, jax, numpy as np
from towerstrat.platform import compilers
compilers.PRESENT = list(compilers.DEFECTS) if sys.argv[1] == "with" else []
hits = []
jax.monitoring.register_event_listener(lambda event, **_: hits.append(event.endswith("cache_hits")))
jax.config.update("jax_compilation_cache_dir", {str(tmp_path)!r})
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
compilers.jit(lambda x: x @ x, "cpu")(np.ones((4, 4)))
print(sum(hits))
"""
    environment = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"}
    runs = [
        subprocess.run([sys.executable, "-c", program, how], capture_output=True, text=True, env=environment).stdout
        for how in ("without", "with", "with", "without")
    ]
    assert runs == ["0\n", "0\n", "1\n", "1\n"]


# ---- the search ----------------------------------------------------------------------------------------------------


def test_the_search_finds_nothing():
    said = []
    assert search.search(40, 0, False, 60, said.append) == 0, said


@pytest.mark.skipif(not compilers.PRESENT, reason="jaxlib has no known defect")
def test_the_search_finds_what_is_kept_out():
    said = []
    assert search.search(40, 0, True, 60, said.append) >= 5, said


def test_the_search_tells_what_ends_and_what_hangs(monkeypatch):
    starting = subprocess.Popen

    def popen(command, **options):
        at = int(command[command.index("--run") + 1])
        code = {0: "print('0\\tfirst', flush=True); raise SystemExit(3)",
                1: "print('1\\tsecond', flush=True); import time; time.sleep(99)"}  # fmt: skip
        last = f"for i in range({at}, 8): print(f'{{i}}\\tx'); print(float(i == 7))"
        return starting([sys.executable, "-c", code.get(at, last)], **options)

    monkeypatch.setattr(subprocess, "Popen", popen)
    said = []
    assert search.search(2, 0, False, 10, said.append) == 3
    assert said == ["0\tfirst: ended its process (3)", "1\tsecond: has not ended", "7\tx: off by 1.0"]


def test_chains_are_exact_and_of_every_kind():
    texts = []
    for seed in range(30):
        chain = search.draw(seed)
        assert 2 <= len(chain.steps) <= 5
        value = chain.start
        for step in chain.steps:
            value = step.apply(np, value, *step.operands)
            assert np.abs(value).max(initial=0) < search.EXACT
        texts.append(str(chain))
    for word in ("@", "*", "sum(", "max(", "windows", "transposed", "broadcast to", "gathered"):
        assert any(word in text for text in texts), word
