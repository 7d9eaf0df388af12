"""``tf.logging`` writes lines of the original's form."""

import logging
import subprocess
import sys

import pytest

from towerstrat.platform import logs


@pytest.fixture
def lines():
    """What reaches the logger, with its level and handlers put back afterwards."""
    logger = logs.get_logger()
    kept = logger.level, list(logger.handlers), logger.propagate
    found = []

    class Listener(logging.Handler):
        def emit(self, record):
            found.append((record.levelname, record.getMessage()))

    logger.handlers[:] = [Listener()]
    logger.propagate = False
    yield found
    logger.level, logger.handlers[:], logger.propagate = kept
    logger.setLevel(kept[0])


def test_verbosity(lines):
    logs.set_verbosity(logs.WARN)
    assert logs.get_verbosity() == logging.WARNING
    logs.info("not %s", "shown")
    logs.warn("shown %d", 1)
    logs.warning("shown %d", 2)
    logs.set_verbosity(logs.DEBUG)
    logs.debug("all")
    logs.vlog(logs.INFO, "all")
    logs.log(logs.ERROR, "of %s", "them")
    logs.fatal("goes on")
    logs.TaskLevelStatusMessage("status")
    assert lines == [("WARNING", "shown 1"), ("WARNING", "shown 2"), ("DEBUG", "all"), ("INFO", "all"),
                     ("ERROR", "of them"), ("CRITICAL", "goes on"), ("ERROR", "status")]  # fmt: skip


def test_counting_is_by_line(lines):
    logs.set_verbosity(logs.INFO)
    for i in range(7):
        logs.log_every_n(logs.INFO, "every %d", 3, i)
        logs.log_first_n(logs.INFO, "first %d", 2, i)
        logs.log_if(logs.INFO, "if %d", i == 5, i)
    assert [text for _, text in lines] == ["every 0", "first 0", "first 1", "every 3", "if 5", "every 6"]


def test_form_and_place():
    code = "from towerstrat.platform import logs as l; l.set_verbosity(l.INFO); l.info('step %d', 3); l.debug('no')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "INFO:tensorflow:step 3\n"
    assert done.stdout == ""
