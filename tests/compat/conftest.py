"""Programs written and run by tests."""

import pytest

from tests.compat.running import towerstrat


@pytest.fixture
def program(tmp_path):
    """Writes a program and runs it: exit status, output, errors."""

    def run(source, *arguments, options=(), name="old.py", folder=tmp_path, full=False):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(source)
        return towerstrat("run", *options, name, *arguments, folder=folder, full=full)

    return run
