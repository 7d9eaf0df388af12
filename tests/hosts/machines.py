"""Machines that are emulated: processes with a network, a name and a list of hosts of their own, joined by a cable.

Linux's namespaces hold them; they need the rights of an administrator, and the programs of ``_PROGRAMS``.
"""

import contextlib
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

_PROGRAMS = ("unshare", "nsenter", "setpriv", "ip", "mount", "hostname")
_ENDS_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL", "--")


@functools.cache
def missing():
    """Why there are none here; None: there are."""
    absent = [name for name in _PROGRAMS if shutil.which(name) is None]
    if absent:
        return f"no {', '.join(absent)} here"
    tried = subprocess.run(
        ["unshare", "--net", "--uts", "--mount", "true"], capture_output=True, text=True, check=False
    )
    return f"namespaces are not permitted here: {tried.stderr.strip()}" if tried.returncode else None


class Machine:
    """One of them.

    Args:
      name: of the host. address: IPv4, in a network of 24 bits. hosts: the text of its /etc/hosts.
    """

    def __init__(self, name, address, hosts, folder):
        self.name = name
        self.address = address
        self._holder = subprocess.Popen(
            [
                *_ENDS_WITH_PARENT, "unshare", "--net", "--uts", "--mount",
                "sh", "-c", "echo there; exec sleep infinity",
            ],
            stdout=subprocess.PIPE,
        )  # fmt: skip
        assert self._holder.stdout.readline() == b"there\n"
        self.pid = self._holder.pid
        listed = Path(folder, f"hosts-{name}")
        listed.write_text(hosts)
        self.run("hostname", name)
        self.run("mount", "--bind", listed, "/etc/hosts")
        self.run("ip", "link", "set", "lo", "up")

    def plug(self):
        """Its end of the cable gets its address."""
        self.run("ip", "address", "add", f"{self.address}/24", "dev", "cable")
        self.run("ip", "link", "set", "cable", "up")

    def unplug(self):
        """What is sent from here, or to here, is lost; nobody is told."""
        self.run("ip", "link", "set", "cable", "down")

    def plug_again(self):
        """After ``unplug``; its address is still there."""
        self.run("ip", "link", "set", "cable", "up")

    def command(self, *command):
        """A command, to be run there."""
        return [
            "nsenter",
            f"--target={self.pid}",
            "--net",
            "--uts",
            "--mount",
            f"--wdns={os.getcwd()}",
            "--",
            *map(str, command),
        ]

    def run(self, *command):
        """Runs it there to its end."""
        subprocess.run(self.command(*command), check=True, stdout=subprocess.DEVNULL)

    def start(self, *command, **options):
        """Starts it there: a process, which ends with this one."""
        return subprocess.Popen([*_ENDS_WITH_PARENT, *self.command(*command)], **options)

    def close(self):
        self._holder.kill()
        self._holder.wait()
        self._holder.stdout.close()


@contextlib.contextmanager
def two(own="address"):
    """Two machines, ``host1`` at 10.0.0.1 and ``host2`` at 10.0.0.2.

    Args:
      own: what the name of a machine means there: "address", as in a cluster that is set up with care, or "loopback",
        as in many images of systems.
    """
    assert own in ("address", "loopback")
    addresses = {"host1": "10.0.0.1", "host2": "10.0.0.2"}
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        machines = []
        for name, address in addresses.items():
            told = addresses | ({name: "127.0.0.1"} if own == "loopback" else {})
            lines = ["127.0.0.1 localhost", *(f"{place} {each}" for each, place in told.items())]
            machines.append(Machine(name, address, "\n".join(lines) + "\n", folder))
            stack.callback(machines[-1].close)
        first, second = (f"{machine.pid}" for machine in machines)
        subprocess.run(
            ["ip", "link", "add", "cable", "netns", first, "type", "veth", "peer", "name", "cable", "netns", second],
            check=True,
        )  # fmt: skip
        for machine in machines:
            machine.plug()
        yield machines
