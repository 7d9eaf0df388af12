"""A process that is killed while it saves leaves a checkpoint that is whole: the one before, or the new one."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from towerstrat.checkpoints import checkpoint_state
from towerstrat.checkpoints.bundle_reader import Bundle

PROGRAM = """
import itertools, sys
import numpy as np
from towerstrat.checkpoints import checkpoint_state as folder
from towerstrat.checkpoints.bundle_writer import Saved, write

where, prefix = sys.argv[1:]
for number in itertools.count(1):
    path = f"{where}/model" if prefix == "same" else f"{where}/model-{number}"
    write(path, [Saved(name, lambda: np.full(500_000, number, np.float32)) for name in "abc"])
    folder.write_state(where, folder.new_state(where, path))
    print(number, flush=True)
"""


@pytest.mark.parametrize("prefix", ["same", "numbered"])
def test_what_is_there_is_whole(tmp_path, prefix):
    chance = random.Random(0)
    for _ in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path), prefix], stdout=subprocess.PIPE, text=True, env=os.environ
        )
        saved = int(process.stdout.readline())
        time.sleep(chance.uniform(0, 0.1))
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate()
        saved = int(rest.split()[-1]) if rest.split() else saved
        found = Bundle(checkpoint_state.latest(str(tmp_path)))
        values = {name: found.read(name) for name in "abc"}
        number = values["a"][0]
        assert number in (saved, saved + 1)
        assert all((value == np.float32(number)).all() for value in values.values())
