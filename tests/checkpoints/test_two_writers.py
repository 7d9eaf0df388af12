"""Several programs that save to one place, and what a killed one leaves."""

import signal
import subprocess
import sys

import numpy as np
import pytest

from towerstrat.checkpoints import checkpoint_state
from towerstrat.checkpoints.bundle_reader import Bundle, shards_of
from towerstrat.checkpoints.bundle_writer import Saved, write
from towerstrat.platform import logs

HOLD = """
import sys
import numpy as np
from towerstrat.checkpoints.bundle_writer import Saved, write

def load():
    print("begun", flush=True)
    sys.stdin.readline()
    return np.full(1000, 2, np.float32)

write(sys.argv[1], [Saved("x", load)])
"""
CONTENT = (
    "import sys, numpy as np\n"
    "from towerstrat.checkpoints.bundle_writer import Saved, write\n"
    "for i in range(40):\n"
    "    write(sys.argv[1], [Saved(n, lambda: np.full(5000, int(sys.argv[2]), np.float32)) for n in 'ab'])\n"
)


def saved(number):
    return [Saved("x", lambda: np.float32(number))]


def names(where):
    return sorted(path.name for path in where.iterdir())


@pytest.fixture
def writer(tmp_path):
    """A process that has begun to save to ``model``, and goes on when it is sent a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "model")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "begun\n"
    yield process
    process.kill()
    process.communicate()


@pytest.fixture
def warnings(monkeypatch):
    found = []
    monkeypatch.setattr(logs, "warning", lambda text, *values: found.append(text % values))
    return found


def test_both_checkpoints_of_two_writers_are_whole(tmp_path, writer, warnings):
    prefix = str(tmp_path / "model")
    write(prefix, saved(1))
    assert f"process {writer.pid} on" in warnings[0]
    assert Bundle(prefix).read("x") == 1
    writer.communicate("go\n")
    assert (Bundle(prefix).read("x") == 2).all()
    assert len(names(tmp_path)) == 2
    write(prefix, saved(3))
    assert len(warnings) == 1
    assert len(names(tmp_path)) == 2


def test_what_a_killed_writer_left_goes_with_the_next_save(tmp_path, writer, warnings):
    prefix = str(tmp_path / "model")
    assert len([name for name in names(tmp_path) if name.endswith(".tmp")]) == 2
    write(str(tmp_path / "another"), saved(1))
    assert len([name for name in names(tmp_path) if name.endswith(".tmp")]) == 2
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    (tmp_path / "model.data-00000-of-00004").write_bytes(b"a shard that no index names")
    write(prefix, saved(1))
    assert names(tmp_path) == [
        *("another.data-00000-of-00001", "another.index"),
        *(f"model.data-00000-of-{shards_of(prefix):05d}", "model.index"),
    ]
    assert warnings == []


def test_writers_of_one_prefix_in_turns_and_at_once(tmp_path):
    prefix = str(tmp_path / "model")
    processes = [subprocess.Popen([sys.executable, "-c", CONTENT, prefix, str(number)]) for number in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    bundle = Bundle(prefix)
    assert bundle.read("a")[0] in (0, 1)
    np.testing.assert_array_equal(bundle.read("a"), bundle.read("b"))
    write(prefix, saved(1))
    assert len(names(tmp_path)) == 2


def elsewhere(program, *arguments):
    """Runs a program in a process of its own."""
    start = "import sys, numpy as np\nfrom towerstrat.checkpoints import checkpoint_state as folder\n"
    start += "from towerstrat.checkpoints.bundle_writer import Saved, write\n"
    subprocess.run([sys.executable, "-c", start + program, *arguments], check=True)


def test_a_state_file_that_another_program_wrote_is_named(tmp_path, warnings):
    place = str(tmp_path)
    for number in range(2):
        write(f"{place}/model-{number}", saved(number))
        checkpoint_state.write_state(place, checkpoint_state.new_state(place, f"{place}/model-{number}"))
    assert warnings == []
    elsewhere("folder.write_state(sys.argv[1], folder.new_state(sys.argv[1], sys.argv[1] + '/model-0'))", place)
    checkpoint_state.write_state(place, checkpoint_state.new_state(place, f"{place}/model-1"))
    assert "written by another program" in warnings[0]
    assert checkpoint_state.latest(place) == f"{place}/model-1"


def test_a_checkpoint_that_another_program_wrote_is_known(tmp_path):
    prefix = str(tmp_path / "model-1")
    write(prefix, saved(1))
    assert not checkpoint_state.replaced(prefix)
    elsewhere("write(sys.argv[1], [Saved('x', lambda: np.float32(2))])", prefix)
    assert checkpoint_state.replaced(prefix)
    checkpoint_state.remove(prefix)
    assert not checkpoint_state.replaced(prefix)
