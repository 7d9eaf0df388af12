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
    args = command_line.parser().parse_args()
    bounds, work = command_line.bounds_of(args), ProgramSpec(tuple(args.argv), args.program, args.is_module)
    if args.command == "launch":
        os.environ.pop(SECRET, None)  # it makes one of its own
        return Launch(args.number, args.restarts, args.devices, bounds, work).run()
    try:
        key = take_secret(args.secret_file, os.environ)
    except ValueError as error:
        print(f"towerstrat: {error}", file=sys.stderr)
        return REFUSED
    place = Place(args.hosts, args.host, args.coordinator, tuple(args.names), args.cluster, args.on_slice)
    return Supervisor(place, bounds, work, key, args.attempt).run()


if __name__ == "__main__":
    sys.exit(main())
