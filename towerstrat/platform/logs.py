"""``tf.logging``: the standard library's logger named ``tensorflow``, written as ``INFO:tensorflow:message`` to stderr.

    set_verbosity(INFO)
    for step in range(5):
        log_every_n(INFO, "step %d", 2, step)               # INFO:tensorflow:step 0, then step 2 and step 4

Programs that configured the root logger keep their own handlers and format. In a run of several processes ``debug`` and
``info`` are silent except in the first one, since all would say the same; warnings and errors come from each. The
module's public names are the members of ``tf.logging``, which is why imports have an underscore.
"""

from __future__ import annotations

import logging as _logging
import sys as _sys
import threading as _threading
from collections import Counter as _Counter
from logging import DEBUG as DEBUG
from logging import ERROR as ERROR
from logging import FATAL as FATAL
from logging import INFO as INFO
from logging import WARN as WARN
from typing import Any

from towerstrat.platform.duty import DUTY as _DUTY

_logger: _logging.Logger | None = None
_lock = _threading.Lock()
_counts: _Counter[tuple[str, int]] = _Counter()


def _encodable(record: _logging.LogRecord) -> bool:
    """Logging filter that passes every record and escapes lone surrogates, as in file names that are not UTF-8."""
    try:
        record.getMessage().encode()
    except UnicodeEncodeError:
        record.msg, record.args = record.getMessage().encode(errors="backslashreplace").decode(), ()
    except Exception:  # the message does not fit its arguments: logging reports that itself, and the program goes on
        pass
    return True


def get_logger() -> _logging.Logger:
    """The logger ``tensorflow``, set up at the first call."""
    global _logger
    with _lock:
        if _logger is None:
            logger = _logging.getLogger("tensorflow")
            logger.addFilter(_encodable)
            # A program that configured the root logger gets its own format, and no line twice.
            if not _logging.getLogger().handlers:
                interactive = hasattr(_sys, "ps1") or bool(_sys.flags.interactive)
                if interactive:
                    logger.setLevel(INFO)
                handler = _logging.StreamHandler(_sys.stdout if interactive else _sys.stderr)
                handler.setFormatter(_logging.Formatter(_logging.BASIC_FORMAT))
                logger.addHandler(handler)
            _logger = logger
        return _logger


def log(level: int, msg: object, *args: object, **kwargs: Any) -> None:
    """Log ``msg % args`` at ``level``."""
    get_logger().log(level, msg, *args, **kwargs)


def vlog(level: int, msg: object, *args: object, **kwargs: Any) -> None:
    """The same as ``log``."""
    get_logger().log(level, msg, *args, **kwargs)


def debug(msg: object, *args: object, **kwargs: Any) -> None:
    if _DUTY.writes:
        get_logger().debug(msg, *args, **kwargs)


def info(msg: object, *args: object, **kwargs: Any) -> None:
    if _DUTY.writes:
        get_logger().info(msg, *args, **kwargs)


def warning(msg: object, *args: object, **kwargs: Any) -> None:
    get_logger().warning(msg, *args, **kwargs)


def warn(msg: object, *args: object, **kwargs: Any) -> None:
    get_logger().warning(msg, *args, **kwargs)


def error(msg: object, *args: object, **kwargs: Any) -> None:
    get_logger().error(msg, *args, **kwargs)


def fatal(msg: object, *args: object, **kwargs: Any) -> None:
    """Log at level FATAL; the program goes on."""
    get_logger().fatal(msg, *args, **kwargs)


def TaskLevelStatusMessage(msg: object) -> None:
    error(msg)


def flush() -> None:
    """Flush the logger's handlers."""
    for handler in get_logger().handlers:
        handler.flush()


def _calls_here() -> int:
    """Number of earlier calls from the source line two frames up: the caller of ``log_every_n`` or ``log_first_n``."""
    frame = _sys._getframe(2)
    line = (frame.f_code.co_filename, frame.f_lineno)
    _counts[line] += 1
    return _counts[line] - 1


def log_if(level: int, msg: object, condition: object, *args: object) -> None:
    """Log ``msg % args`` at ``level`` if ``condition`` is true."""
    if condition:
        vlog(level, msg, *args)


def log_every_n(level: int, msg: object, n: int, *args: object) -> None:
    """Log the first call from a source line, and every n-th after it."""
    log_if(level, msg, _calls_here() % n == 0, *args)


def log_first_n(level: int, msg: object, n: int, *args: object) -> None:
    """Log the first n calls from a source line."""
    log_if(level, msg, _calls_here() < n, *args)


def get_verbosity() -> int:
    """The level below which nothing is logged."""
    return get_logger().getEffectiveLevel()


def set_verbosity(v: int) -> None:
    """Log only messages of level ``v`` or above."""
    get_logger().setLevel(v)
