"""Outcomes of what fails around a training: each row is a fault, and is right or an error.

    python -m tests.faults [ROW ...]

prints the table of docs/faults.md. The status is 1 where something else happens than must.
"""

import argparse
import os
import sys
import tempfile
import traceback

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TOWERSTRAT_COMPILATION_CACHE", "off")

from tests.faults import clocks, disks, folders, kills, memory

ROWS = {
    function.__name__: function
    for function in (
        # Processes are copied before this one computes anything.
        kills.sigkill, kills.states_of_a_save,
        disks.full_checkpoint, disks.wide_checkpoint, disks.full_tmpfs, disks.full_events, disks.full_records,
        disks.full_data_cache, disks.full_cache, disks.slow_disk, disks.slow_disk_beside,
        folders.checkpoint_folder, folders.events_file, folders.model_dir, folders.data_file, folders.data_folder,
        clocks.save_secs, clocks.rates, clocks.kept_for_good, clocks.kept_by_manager, clocks.timeouts, clocks.polling,
        clocks.services, clocks.event_names,
        memory.changing_shapes, memory.graphs,
    )
}  # fmt: skip
"""Name -> what makes a fault in an empty folder. Its docstring names the fault, its ``Outcome`` says what happened."""


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__.partition("\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"only these, of {', '.join(ROWS)}")
    names = parser.parse_args().rows
    if unknown := set(names) - ROWS.keys():
        parser.error(f"no such rows: {', '.join(sorted(unknown))}")
    failed = 0
    print("| row | fault | what happens | memory |\n|---|---|---|---|", flush=True)
    for name, function in ROWS.items():
        if names and name not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                outcome = function(folder)
            except Exception:
                traceback.print_exc()
                failed += 1
                continue
        print(f"| {name} | {function.__doc__} | {outcome.what} | {outcome.memory} |", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
