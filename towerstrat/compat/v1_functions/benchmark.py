"""``tf.test.Benchmark``: methods that measure, and reports of what they found."""

from __future__ import annotations

import inspect
import os
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Number
from typing import Any

from towerstrat.graph.ir.context_stacks import get_default_session
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.runtime.sessions.session import BaseSession, Session
from towerstrat.graph.runtime.sessions.timeline import Timeline
from towerstrat.platform import logs, messages

_PREFIX = "TEST_REPORT_FILE_PREFIX"
_PATTERN = re.compile(r"--?(?:benchmarks|benchmark_filter)=(.*)")


class Benchmark:
    """A class whose methods that begin with ``benchmark`` run by ``tf.test.main`` with ``--benchmarks=PATTERN``.

    The pattern is searched for in ``module.Class.method``; ``all`` means all of them.
    """

    @classmethod
    def is_abstract(cls) -> bool:
        """Whether it is this class itself."""
        return cls is Benchmark

    def evaluate(self, tensors: Any) -> Any:
        """The values of a structure of tensors, by the default session or one of its own."""
        session = get_default_session()
        return (session if isinstance(session, BaseSession) else Session()).run(tensors)

    def report_benchmark(
        self, iters: int | None = None, cpu_time: float | None = None, wall_time: float | None = None,
        throughput: float | None = None, extras: Mapping[str, Any] | None = None, name: str | None = None,
        metrics: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:  # fmt: skip
        """Prints a ``BenchmarkEntries`` message, or writes it to the file that TEST_REPORT_FILE_PREFIX begins.

        Args:
          iters: how many runs. cpu_time, wall_time: seconds of a run. throughput: megabytes per second.
          extras: further values, numbers or text. name: default that of the method that is running.
          metrics: mappings with ``name`` and ``value``, and perhaps ``min_value`` and ``max_value``.

        Raises:
          TypeError: extras are no mapping, or a metric has no name or value. OSError: the file is there already.
        """
        if extras is not None and not isinstance(extras, Mapping):
            raise TypeError(f"extras must be a dict, got {extras!r}.")
        found = messages.BenchmarkEntries()
        numbers = {"iters": iters, "cpu_time": cpu_time, "wall_time": wall_time, "throughput": throughput}
        given = {field: number for field, number in numbers.items() if number is not None}
        entry = found.entry.add(name=f"{type(self).__name__}.{name or self._running()}", **given)
        for key, value in (extras or {}).items():
            if isinstance(value, Number):
                entry.extras[key].double_value = value
            else:
                entry.extras[key].string_value = str(value)
        for metric in metrics or ():
            _add_metric(entry, metric)
        logs.info("Benchmark [%s] %s extras: %s metrics: %s", entry.name, given, extras, metrics)
        _write(found, entry.name)

    def _running(self) -> str:
        """The outermost method of a benchmark that is running."""
        frames = reversed(inspect.stack(0))
        return next(f.function for f in frames if isinstance(f.frame.f_locals.get("self"), Benchmark))

    def run_op_benchmark(
        self, sess: BaseSession, op_or_tensor: Operation | Tensor, feed_dict: Mapping[Any, Any] | None = None,
        burn_iters: int = 2, min_iters: int = 10, store_trace: bool = False, store_memory_usage: bool = True,
        name: str | None = None, extras: Mapping[str, Any] | None = None, mbs: float = 0,
    ) -> dict[str, Any]:  # fmt: skip
        """Measures runs of an operation or tensor and reports them.

        Args:
          burn_iters: runs before the first that is measured. min_iters: runs that are.
          store_trace: ``extras["full_trace_chrome_format"]`` of the result is the timeline of one more run.
          store_memory_usage: changes nothing: a compiled program has no allocators to ask.
          name, extras: as of ``report_benchmark``. mbs: megabytes that a run moves.

        Returns:
          What is reported: ``iters``, ``wall_time`` (the median of the runs, in seconds), ``extras``, ``name`` and
          ``throughput``.
        """
        for _ in range(burn_iters):
            sess.run(op_or_tensor, feed_dict)
        seconds = [_seconds(lambda: sess.run(op_or_tensor, feed_dict)) for _ in range(min_iters)]
        median = statistics.median(seconds) if seconds else -1.0
        values: dict[str, Any] = {
            "iters": min_iters, "wall_time": median, "extras": dict(extras or {}), "name": name,
            "throughput": mbs / median,
        }  # fmt: skip
        self.report_benchmark(**values)
        if store_trace:
            metadata = messages.RunMetadata()
            sess.run(op_or_tensor, feed_dict, messages.RunOptions(trace_level="FULL_TRACE"), metadata)
            values["extras"]["full_trace_chrome_format"] = Timeline(metadata.step_stats).generate_chrome_trace_format()
        return values


def benchmark_config() -> messages.ConfigProto:
    """A configuration for sessions that measure: without the optimizer of dependencies, which changes nothing here."""
    config = messages.ConfigProto()
    config.graph_options.rewrite_options.dependency_optimization = messages.RewriterConfig.OFF
    return config


def pattern_of(argv: list[str]) -> str | None:
    """The pattern of the benchmarks that a command line asks for, which is taken out of it; None where it asks not."""
    for argument in argv[1:]:
        found = _PATTERN.fullmatch(argument)
        if found:
            argv.remove(argument)
            return found[1]
    return None


def run_benchmarks(pattern: str) -> None:
    """Runs the methods of all benchmarks whose names a pattern is found in. Raises ValueError where there are none."""
    chosen = [
        (kind, method)
        for kind in _kinds(Benchmark)
        for method in dir(kind)
        if method.startswith("benchmark") and callable(getattr(kind, method))
        if pattern == "all" or re.search(pattern, f"{kind.__module__}.{kind.__name__}.{method}")
    ]
    if not chosen:
        raise ValueError(f"No benchmarks matched the pattern: {pattern!r}")
    instances = {kind: kind() for kind, _ in chosen}
    for kind, method in chosen:
        getattr(instances[kind], method)()


def _kinds(kind: type[Benchmark]) -> Iterator[type[Benchmark]]:
    """The classes that derive from a class."""
    for below in kind.__subclasses__():
        yield below
        yield from _kinds(below)


def _seconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _add_metric(entry: Any, metric: Mapping[str, Any]) -> None:
    for field in ("name", "value"):
        if field not in metric:
            raise TypeError(f"metric must have a {field!r} field, got {metric!r}.")
    added = entry.metrics.add(name=metric["name"], value=metric["value"])
    for bound in ("min_value", "max_value"):
        if bound in metric:
            getattr(added, bound).value = metric[bound]


def _write(found: messages.BenchmarkEntries, name: str) -> None:
    prefix = os.environ.get(_PREFIX)
    if prefix is None:
        sys.stdout.write(f"{found}\n")
        return
    with open(f"{prefix}{name.replace('/', '__')}", "xb") as file:
        file.write(found.SerializeToString())
