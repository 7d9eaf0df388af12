"""``Timeline``: the times of a run in the trace format of Chrome (chrome://tracing, ui.perfetto.dev).

    options, metadata = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()
    session.run(train_op, options=options, run_metadata=metadata)
    Timeline(metadata.step_stats).generate_chrome_trace_format()

It has one process row per device, the run and its host stages on the CPU's, each device program as one span: XLA gives
no times of single operations (``run_profile`` measures the stages).

>>> Timeline(messages.StepStats()).generate_chrome_trace_format().split()
['{', '"traceEvents":', '[]', '}']
"""

from __future__ import annotations

import json
from typing import Any

from towerstrat.graph.ir.graph import Graph
from towerstrat.platform import messages


class Timeline:
    """The times of a run as a Chrome trace.

    It has a span for the run, named ``Session.run``, and one for each of its stages: operations of the host, and device
    programs, which have no times of single operations; ``jax.profiler.trace`` looks inside of programs.

    Args:
      step_stats: ``run_metadata.step_stats`` of a run with ``RunOptions(trace_level=RunOptions.FULL_TRACE)``.
      graph: of the run; changes nothing.

    Raises:
      ValueError: the times are not in order.
    """

    def __init__(self, step_stats: messages.StepStats, graph: Graph | None = None):
        self._step_stats = step_stats
        for device in step_stats.dev_stats:
            for node in device.node_stats:
                if not 0 <= node.op_start_rel_micros <= node.op_end_rel_micros <= node.all_end_rel_micros:
                    raise ValueError(f"The times of {node.node_name} are not in order: {node}")

    def generate_chrome_trace_format(self, show_dataflow: bool = True, show_memory: bool = False) -> str:
        """The trace as JSON.

        Args:
          show_dataflow: arrows between operations; a run has none here, so that it changes nothing.
          show_memory: a counter of the bytes that each program needs besides its arguments, while it runs.
        """
        events: list[dict[str, Any]] = []
        for number, device in enumerate(self._step_stats.dev_stats, 1):
            name = {"name": f"{device.device} Compute"}
            events.append({"ph": "M", "name": "process_name", "pid": number, "args": name})
            events += [_span(number, node) for node in device.node_stats]
            if show_memory:
                events += [event for node in device.node_stats if node.memory for event in _memory(number, node)]
        return json.dumps({"traceEvents": events}, indent=4, separators=(",", ": "))


def _span(process: int, node: messages.NodeExecStats) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": "Op",
        "name": node.timeline_label or node.node_name,
        "pid": process,
        "tid": 0,
        "ts": node.all_start_micros,
        "dur": node.all_end_rel_micros,
        "args": {"name": node.node_name, "op": node.timeline_label or node.node_name},
    }


def _memory(process: int, node: messages.NodeExecStats) -> list[dict[str, Any]]:
    """A counter that goes up when a program starts, and down when it ends."""
    used = sum(memory.total_bytes for memory in node.memory)
    times = ((node.all_start_micros, used), (node.all_start_micros + node.all_end_rel_micros, 0))
    return [
        {"ph": "C", "cat": "Memory", "name": "XLA", "pid": process, "ts": ts, "args": {"bytes": bytes_}}
        for ts, bytes_ in times
    ]
