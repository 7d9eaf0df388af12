"""``python -m towerstrat.hosts``: the program that ``towerstrat run`` and ``launch`` become for several processes.

``supervise`` is one process of a run (``supervisor``), ``launch`` all of them on this machine (``local_launcher``). It
imports neither JAX nor most of towerstrat, so that supervisors are small and start at once.
"""

import os
import sys

from towerstrat.hosts import command_line
from towerstrat.hosts.authentication import SECRET, take_secret
from towerstrat.hosts.local_launcher import Launch
from towerstrat.hosts.process_spec import REFUSED, Place, ProgramSpec
from towerstrat.hosts.supervisor import Supervisor


def main() -> int:
    """Runs the command line; returns the exit status."""
    given = command_line.parser().parse_args()
    bounds, work = command_line.bounds_of(given), ProgramSpec(tuple(given.argv), given.program, given.is_module)
    if given.command == "launch":
        os.environ.pop(SECRET, None)  # it makes one of its own
        return Launch(given.number, given.restarts, given.devices, bounds, work).run()
    try:
        key = take_secret(given.secret_file, os.environ)
    except ValueError as error:
        print(f"towerstrat: {error}", file=sys.stderr)
        return REFUSED
    place = Place(given.hosts, given.host, given.coordinator, tuple(given.names), given.cluster, given.on_slice)
    return Supervisor(place, bounds, work, key, given.attempt).run()


if __name__ == "__main__":
    sys.exit(main())
