"""``python -m tests.graph.gradients [pairs | triples | nested | ROW ...]``: runs rows of the table, or rows by name.

Prints each row that differs from its formula, how many did, and the CPU seconds that all took; ``--times`` each row's.
"""

import os

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TOWERSTRAT_COMPILATION_CACHE", "off")

import sys

from tests.graph.gradients.table import TABLE, check, nested
from tests.rows import command

if __name__ == "__main__":
    sets = {"pairs": lambda: TABLE.pairs, "triples": lambda: TABLE.triples, "nested": nested}
    sys.exit(command("tests.graph.gradients", "Rows of the table of gradients.", TABLE, sets, check))
