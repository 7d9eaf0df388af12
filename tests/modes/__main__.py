"""``python -m tests.modes [pairs | triples | ROW ...]``: runs rows of the table, or rows by name.

Prints each row that differs from its arithmetic, how many did, and the CPU seconds that all took; with ``--times``
those of each row.
"""

import os

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TOWERSTRAT_COMPILATION_CACHE", "off")

import sys

from tests.modes.table import TABLE, check
from tests.rows import command

if __name__ == "__main__":
    sets = {"pairs": lambda: TABLE.pairs, "triples": lambda: TABLE.triples}
    sys.exit(command("tests.modes", "Rows of the table of modes.", TABLE, sets, check))
