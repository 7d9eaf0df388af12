"""What is imported: supervisors are small."""

import json
import subprocess
import sys


def test_supervising_needs_neither_jax_nor_numpy_nor_the_graph():
    code = """
import importlib, json, pkgutil, sys, towerstrat.hosts
for module in pkgutil.iter_modules(towerstrat.hosts.__path__):
    if module.name not in ("process_group", "collectives", "gradient_rendezvous", "channels", "shared_seeds", "store",
             "__main__"):  # what programs use
        importlib.import_module(f"towerstrat.hosts.{module.name}")
print(json.dumps(sorted(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert "towerstrat.hosts.heartbeat" in found
    assert not {"jax", "jaxlib", "numpy"} & set(found)
    assert {name for name in found if name.startswith("towerstrat.") and name.count(".") == 1} == {
        "towerstrat.errors", "towerstrat.hosts", "towerstrat.platform",
    }  # fmt: skip
