"""A light program that looks, after each step, whether all are to stop: writes the step after which it did.

    stopping.py FOLDER STEPS [apart]

With "apart" each process makes steps of its own.
"""

import os
import signal
import sys
import time
from pathlib import Path

from tests.hosts.program import meeting
from towerstrat.hosts.heartbeat import PROGRESS


def main(folder, steps, *apart):
    index = int(os.environ["TOWERSTRAT_HOST"])
    signal.signal(signal.SIGTERM, lambda number, frame: None)  # as in a program in which something stops by itself
    made = meeting(Path(folder) / "steps-1")
    (Path(folder) / f"pid-{index}-{os.getpid()}").touch()
    for number in range(1, 100 * int(steps)):
        PROGRESS.more(1)
        if not apart:
            PROGRESS.share(1)
        time.sleep(0.002 * (1 + index))
        made[index] = number
        if PROGRESS.reached_stop():
            (Path(folder) / f"stopped-{index}").write_text(str(number))
            sys.exit(128 + signal.SIGTERM)


if __name__ == "__main__":
    main(*sys.argv[1:])
