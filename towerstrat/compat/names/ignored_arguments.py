"""Names and arguments that are accepted and change nothing, and why a program is as well off without.

Of functions and arguments their docstrings say so: "Changes nothing: REASON.", "use_locking: changes nothing: REASON.".
Fields of protocol messages are in a table here.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from towerstrat.platform import messages

_WHOLE = re.compile(r"(?:Changes|Does) nothing[^:.]*: (.+?)\.(?:\s|$)", re.DOTALL)
_ARGUMENT = r"^\s*(?:``)?[\w, ]*\b{}\b[\w, ]*?(?:``)?:? changes nothing(?:[:;,] |, )?([^.]*)\."

_THREADS = "XLA decides how many threads work"
_PLACEMENT = "XLA places operations"
_MEMORY = "JAX allocates memory; XLA_PYTHON_CLIENT_PREALLOCATE=false in the environment lets it grow"
_REWRITING = "XLA optimizes programs"
_LOCAL = "sessions are local"

_OF_THE_PACKAGE = {
    "tpu_config.TPUConfig": {
        "tpu_job_name": _LOCAL,
        "initial_infeed_sleep_secs": "elements enter the step loop by themselves, at once",
        "input_partition_dims": "a tower's devices work on its input as a whole; the numbers are the same",
        "experimental_allow_per_host_v2_parallel_get_next": "elements are taken ahead of their use in any case",
    },
}
"""Module and class of the package of estimators -> its arguments that change nothing, each with the reason."""
_FIELDS: dict[Any, dict[str, str]] = {
    messages.ConfigProto: {
        "intra_op_parallelism_threads inter_op_parallelism_threads use_per_session_threads": _THREADS,
        "allow_soft_placement log_device_placement placement_period device_count device_filters": _PLACEMENT,
        "gpu_options": _MEMORY,
        "cluster_def isolate_session_state": _LOCAL,
    },
    messages.GPUOptions: {
        "polling_active_delay_usecs polling_inactive_delay_msecs": _THREADS,
        "per_process_gpu_memory_fraction allocator_type deferred_deletion_bytes allow_growth force_gpu_compatible": (
            _MEMORY
        ),
        "visible_device_list": "CUDA_VISIBLE_DEVICES in the environment says which GPUs there are",
    },
    messages.GraphOptions: {
        "optimizer_options rewrite_options infer_shapes build_cost_model build_cost_model_after "
        "enable_bfloat16_sendrecv": _REWRITING,
        "place_pruned_graph": _PLACEMENT,
        "timeline_step": "jax.profiler shows what a program does when",
    },
    messages.OptimizerOptions: {
        "do_common_subexpression_elimination do_constant_folding opt_level do_function_inlining global_jit_level "
        "max_folded_constant_in_bytes": _REWRITING,
    },
    messages.RunOptions: {
        "inter_op_thread_pool": _THREADS,
        "report_tensor_allocations_upon_oom": _MEMORY,
    },
}  # fmt: skip
FIELDS: dict[Any, dict[str, str]] = {
    message: {field: reason for fields, reason in groups.items() for field in fields.split()}
    for message, groups in _FIELDS.items()
}
"""Message -> its fields that change nothing, each with the reason."""


def reason(value: Any) -> str | None:
    """Why calling ``value`` changes nothing; None where it does something."""
    if not inspect.isroutine(value):
        return None
    found = _WHOLE.match(inspect.getdoc(value) or "")
    return " ".join(found[1].split()) if found else None


def reason_of_argument(value: Any, keyword: str) -> str | None:
    """Why an argument of ``value`` changes nothing; '' where no reason is given, None where it does something."""
    if value in FIELDS:
        return FIELDS[value].get(keyword)
    packaged = f"{getattr(value, '__module__', '')}.{getattr(value, '__name__', '')}"
    for name, arguments in _OF_THE_PACKAGE.items():
        if packaged.endswith(f".{name}") and keyword in arguments:
            return arguments[keyword]
    for documented in (getattr(value, "__init__", None), value):
        found = re.search(_ARGUMENT.format(re.escape(keyword)), inspect.getdoc(documented) or "", re.MULTILINE)
        if found:
            return " ".join(found[1].split())
    return None
