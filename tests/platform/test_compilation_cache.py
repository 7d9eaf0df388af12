"""Compiled programs in the user's cache folder, under ``towerstrat run``."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.spread import spread
from towerstrat.platform.compilation_cache import EntryFiles, exposure

PROGRAM = """
import jax
import tensorflow as tf
counts = {"hits": 0, "misses": 0}
def count(event, **_):
    if event.startswith("/jax/compilation_cache/cache_"):
        counts[event.rpartition("_")[2]] += 1
jax.monitoring.register_event_listener(count)
with tf.Session() as session:
    x = tf.placeholder(tf.float32, [7])
    print(session.run(tf.reduce_sum(tf.tanh(x) * 3.0), {x: [0.5] * 7}), counts["misses"], counts["hits"])
"""


@pytest.fixture
def start(tmp_path):
    """Starts PROGRAM with ``towerstrat run``: (value, programs compiled for the cache, loaded from it), warnings."""
    (tmp_path / "old.py").write_text(PROGRAM)

    def run(**variables):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("XLA_", "JAX_", "XDG_", "TOWERSTRAT_"))}
        environment = kept | {"JAX_PLATFORMS": "cpu", "XDG_CACHE_HOME": str(tmp_path / "cache")} | variables
        done = subprocess.run(
            [sys.executable, "-W", "always", "-m", "towerstrat", "run", "--api", "1", "old.py"],
            capture_output=True, text=True, cwd=tmp_path, env=environment,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        value, compiled, loaded = done.stdout.split()
        # On some machines XLA compiles with features that it does not find there when it loads, and says so.
        lines = [line for line in done.stderr.splitlines()[1:] if "cpu_aot_loader" not in line]
        return (float(value), int(compiled), int(loaded)), lines

    return run


def entries(folder):
    return sorted(folder.glob("**/programs-*/*.program"))


def test_a_second_start_loads_what_the_first_compiled(start, tmp_path):
    (value, compiled, loaded), _ = start()
    assert compiled > 0
    assert loaded == 0
    assert len(entries(tmp_path / "cache" / "towerstrat")) == compiled
    assert start()[0] == (value, 0, compiled)


@spread("damage", [lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b[:-9] + b"x" * 9], every=3)
def test_a_damaged_entry_is_replaced(start, tmp_path, damage):
    (value, compiled, _), _ = start()
    good = {p: p.stat().st_size for p in entries(tmp_path)}
    for path in good:
        path.write_bytes(damage(path.read_bytes()))
    assert start() == ((value, compiled, 0), [])
    assert entries(tmp_path) == sorted(good)
    assert start() == ((value, 0, compiled), [])


def test_the_variable_moves_the_cache(start, tmp_path):
    start(TOWERSTRAT_COMPILATION_CACHE=str(tmp_path / "moved"))
    assert entries(tmp_path / "moved")
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("word", ["off", pytest.param("0", marks=pytest.mark.long)])
def test_the_variable_turns_the_cache_off(start, tmp_path, word):
    (_, compiled, loaded), _ = start(TOWERSTRAT_COMPILATION_CACHE=word)
    assert (compiled, loaded) == (0, 0)
    assert not (tmp_path / "cache").exists()


def test_the_users_own_jax_cache_wins(start, tmp_path):
    start(JAX_COMPILATION_CACHE_DIR=str(tmp_path / "own"), JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0")
    assert list((tmp_path / "own").glob("*-cache"))
    assert not (tmp_path / "cache").exists()


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "old.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "towerstrat", "run", "old.py"]
    named = os.environ | {"TOWERSTRAT_COMPILATION_CACHE": str(tmp_path / "file" / "inside")}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=named)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("towerstrat: TOWERSTRAT_COMPILATION_CACHE: ")


def test_without_a_usable_home_programs_run(start, tmp_path):
    (tmp_path / "file").write_text("")
    assert start(XDG_CACHE_HOME=str(tmp_path / "file"))[0][1:] == (0, 0)


def lines_of_refusal(printed):
    return [line for line in printed if line.startswith("towerstrat: compiled programs are not kept: ")]


@pytest.mark.parametrize("open_to_others", ["towerstrat", "towerstrat/programs-*"])
def test_a_folder_that_others_may_write_is_not_used(start, tmp_path, open_to_others):
    """An entry is native code: whoever can put one there would run as this user."""
    start()
    (path,) = (tmp_path / "cache").glob(open_to_others)
    before = {p: p.read_bytes() for p in entries(tmp_path)}
    path.chmod(0o770)
    (_, compiled, loaded), printed = start()
    assert (compiled, loaded) == (0, 0)
    (line,) = lines_of_refusal(printed)
    assert f"others may write to {path} (mode 770)" in line
    assert {p: p.read_bytes() for p in entries(tmp_path)} == before


def test_a_folder_in_one_whose_entries_all_may_replace_is_not_used(start, tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    (_, compiled, _), printed = start(TOWERSTRAT_COMPILATION_CACHE=str(shared / "mine"))
    assert compiled == 0
    assert f"others may replace what is in {shared}" in lines_of_refusal(printed)[0]
    shared.chmod(0o1777)  # as /tmp is
    (_, compiled, _), printed = start(TOWERSTRAT_COMPILATION_CACHE=str(shared / "mine"))
    assert compiled > 0
    assert not lines_of_refusal(printed)


def test_a_folder_of_another_user_is_not_used(tmp_path, monkeypatch):
    tmp_path.chmod(0o700)
    folder = tmp_path / "programs-here"
    folder.mkdir(mode=0o700)
    assert exposure(folder) is None
    owner = folder.stat().st_uid
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    assert exposure(folder) == f"{folder} belongs to another user (uid {owner})"


def test_the_usual_folder_is_made_for_this_user_alone(start, tmp_path):
    before = os.umask(0o002)
    try:
        start()
    finally:
        os.umask(before)
    made = [tmp_path / "cache/towerstrat", *(tmp_path / "cache/towerstrat").iterdir()]
    assert [path.stat().st_mode & 0o777 for path in made] == [0o700] * 2


def test_importing_the_library_configures_nothing():
    source = "import jax, towerstrat, tempfile; assert jax.config.jax_compilation_cache_dir is None"
    kept = {k: v for k, v in os.environ.items() if k != "JAX_COMPILATION_CACHE_DIR"}
    assert subprocess.run([sys.executable, "-c", source], env=kept).returncode == 0


# ---- the store ---------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "programs-here"
    path.mkdir()
    return path


def test_an_entry_comes_back_and_is_written_again(folder):
    files = EntryFiles(folder, 10**6)
    assert files.get("k") is None
    files.put("k", b"one")
    files.put("k", b"two")
    assert files.get("k") == b"two"
    assert [p.name for p in folder.iterdir()] == ["k.program"]


def test_names_of_any_length(folder):
    files = EntryFiles(folder, 10**6)
    keys = [f"jit_{'f' * 400}-{i:064d}" for i in range(2)]
    for key in keys:
        files.put(key, key.encode())
    assert [files.get(key) for key in keys] == [key.encode() for key in keys]


def test_the_entries_unused_for_longest_make_room(folder):
    for i in range(8):
        EntryFiles(folder, 10**6).put(f"k{i}", bytes(68))  # 100 bytes with the digest
        os.utime(folder / f"k{i}.program", (i, i))
    beside = folder.parent / "programs-there"
    beside.mkdir()
    EntryFiles(beside, 10**6).put("old", bytes(68))
    os.utime(beside / "old.program", (0, 0))
    (folder.parent / "mine.txt").write_text("not ours")
    files = EntryFiles(folder, 500)
    assert files.get("k0") is not None
    files.put("new", bytes(68))
    assert [p.stem for p in entries(folder.parent)] == ["k0", "k5", "k6", "k7", "new"]
    assert (folder.parent / "mine.txt").exists()


def test_an_entry_above_the_limit_is_not_kept(folder):
    files = EntryFiles(folder, 500)
    files.put("small", bytes(10))
    files.put("large", bytes(500))
    assert files.get("small") is not None
    assert files.get("large") is None


def test_a_killed_writer_leaves_nothing_for_long(folder):
    (folder / "a.part").write_bytes(b"half")
    (folder / "b.part").write_bytes(b"half")
    os.utime(folder / "a.part", (0, 0))
    EntryFiles(folder, 10**6).put("k", b"value")
    assert sorted(p.name for p in folder.iterdir()) == ["b.part", "k.program"]


def test_a_folder_that_cannot_be_written_is_said(folder):
    files = EntryFiles(folder / "gone", 10**6)
    with pytest.warns(UserWarning, match="Cannot write compiled programs in .*gone"):
        files.put("k", b"value")


def test_writers_and_readers_at_once_see_whole_entries(folder):
    """The folder has room for three entries: which of the five are left is chance, that each is whole is not."""
    wanted = [bytes([i]) * 200_000 for i in range(4)]

    def work(i):
        files = EntryFiles(folder, 600_000)
        for _ in range(30):
            files.put("k", wanted[i])
            assert files.get("k") in (None, *wanted)
            files.put(f"k{i}", wanted[i])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    found = [EntryFiles(folder, 600_000).get(k) for k in ("k", "k0", "k1", "k2", "k3")]
    assert any(found)
    assert all(value is None or value in wanted for value in found)
    assert not list(folder.glob("*.part"))
