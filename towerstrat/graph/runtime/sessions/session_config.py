"""Checks of ``ConfigProto``, ``RunOptions`` and ``CallableOptions``.

Threads, placement, memory and rewriting are XLA's and JAX's business: such fields are accepted and change nothing.
Fields whose effect a program would miss are refused by name (``REFUSED``), at any depth of the message:

>>> check_config(messages.ConfigProto(allow_soft_placement=True))
>>> check_config(messages.ConfigProto(graph_options=messages.GraphOptions(enable_recv_scheduling=True)))
Traceback (most recent call last):
    ...
towerstrat.errors.UnsupportedError: ConfigProto.graph_options.enable_recv_scheduling is not supported: there are no ...
"""

from __future__ import annotations

from towerstrat.errors import UnsupportedError
from towerstrat.platform import messages

REFUSED = {
    "session_inter_op_thread_pool": "the compiler schedules operations.",
    "rpc_options": "sessions are local.",
    "graph_options.enable_recv_scheduling": "there are no send and receive nodes in a compiled program.",
    "feed_devices": "values are fed from the host's memory.",
    "fetch_devices": "values are fetched to the host's memory.",
    "debug_options.debug_tensor_watch_opts": "fetch the tensors, or use tf.Print.",
}
"""Field -> why it is refused."""


def check_config(config: object) -> None:
    """Raise TypeError for what is no ``ConfigProto``, UnsupportedError for a refused field that is set."""
    if not isinstance(config, messages.ConfigProto):
        raise TypeError(f"config must be a tf.ConfigProto, got {type(config).__name__}.")
    _check(config)


def check_options(options: object, metadata: object) -> None:
    """Check the options of one run, and the object that takes its metadata; None is neither.

    Raises:
      TypeError: another kind of object. UnsupportedError: a refused field is set.
    """
    if options is not None and not isinstance(options, messages.RunOptions):
        raise TypeError(f"options must be a tf.RunOptions, got {type(options).__name__}.")
    if metadata is not None and not isinstance(metadata, messages.RunMetadata):
        raise TypeError(f"run_metadata must be a tf.RunMetadata, got {type(metadata).__name__}.")
    if options is not None:
        _check(options)


def check_callable(options: object) -> None:
    """Raise TypeError for what is no ``CallableOptions``, UnsupportedError for a refused field that is set."""
    if not isinstance(options, messages.CallableOptions):
        raise TypeError(f"Expected a CallableOptions, got {type(options).__name__}.")
    _check(options)


def _check(message: messages.ConfigProto | messages.RunOptions | messages.CallableOptions) -> None:
    for path, why in REFUSED.items():
        if _is_set(message, path):
            raise UnsupportedError(f"{type(message).__name__}.{path} is not supported: {why}")


def _is_set(message: messages.ConfigProto | messages.RunOptions | messages.CallableOptions, path: str) -> bool:
    first, _, remaining = path.partition(".")
    value = next((value for field, value in message.ListFields() if field.name == first), None)
    return value is not None and (not remaining or _is_set(value, remaining))
