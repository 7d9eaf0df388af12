"""Environment variables by which a supervisor tells its program which of several processes it is.

A supervisor adds them to the environment of its child (``Supervisor._start``, ``Child``); the program reads and removes
them when it starts, so that what it starts itself does not take itself for a process of the run: ``process_group.join``
those of its place, ``heartbeat`` the file of progress. Only ``ATTEMPT`` stays, as the mark of a supervised program.

Users set none of these. The secret of a run, which they may set, is ``authentication.SECRET``; no program gets that,
but a key that is made of it (``KEY``). Of the program that is process 1 of 4:

>>> environment = {HOSTS: "4", HOST: "1", COORDINATOR: "10.0.0.1:41233", ADDRESS: "10.0.0.2", ATTEMPT: "1"}
>>> environment["TOWERSTRAT_HOST"], environment["TOWERSTRAT_HOSTS"]
('1', '4')
"""

HOSTS = "TOWERSTRAT_HOSTS"
"""Number of processes."""
HOST = "TOWERSTRAT_HOST"
"""Index of this process, from 0."""
COORDINATOR = "TOWERSTRAT_COORDINATOR"
"""``HOST:PORT`` or ``unix:PATH`` of JAX's coordinator; empty: JAX finds it in the environment of a TPU slice."""
ADDRESS = "TOWERSTRAT_ADDRESS"
"""IP address by which the other processes reach this one's host; empty: unknown."""
KEY = "TOWERSTRAT_KEY"
"""The key of messages in the store, in hexadecimal digits; it is made of the secret, the run and its attempt."""
PROGRESS = "TOWERSTRAT_PROGRESS"
"""Path of the file that the program maps into memory to report its progress."""
ATTEMPT = "TOWERSTRAT_ATTEMPT"
"""Number of the attempt, from 1. It stays set: a ``towerstrat run`` that the program starts is not supervised."""
