"""``ConfigProto`` and its parts: accepted where they mean something or can be left to the compiler, refused by name."""

from __future__ import annotations

from typing import Any

from towerstrat.errors import UnsupportedError


class Message:
    """A record of named fields with defaults, as the original's protocol buffers were used."""

    FIELDS: dict[str, Any] = {}
    REFUSED: dict[str, str] = {}

    def __init__(self, **fields: Any):
        for name, default in self.FIELDS.items():
            self.__dict__[name] = default() if callable(default) else default
        for name, value in fields.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        kind = type(self).__name__
        if name in self.REFUSED and value:
            raise UnsupportedError(f"{kind}.{name} is not supported: {self.REFUSED[name]}")
        if name not in self.FIELDS and name not in self.REFUSED:
            known = ", ".join([*self.FIELDS, *self.REFUSED])
            raise ValueError(f"Protocol message {kind} has no {name!r} field; it has: {known}.")
        self.__dict__[name] = value

    def __getattr__(self, name: str) -> Any:
        if name in type(self).REFUSED:
            return None
        raise AttributeError(f"{type(self).__name__} has no field {name!r}.")

    def CopyFrom(self, other: Any) -> None:
        self.__dict__.update(other.__dict__)

    MergeFrom = CopyFrom

    def HasField(self, name: str) -> bool:
        return bool(self.__dict__.get(name))

    def __eq__(self, other: Any) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "\n".join(f"{k}: {v!r}" for k, v in self.__dict__.items())


class GPUOptions(Message):
    """Memory of accelerators is managed by JAX; its limits are environment variables of JAX."""

    FIELDS = {
        "allow_growth": False,
        "per_process_gpu_memory_fraction": 0.0,
        "allocator_type": "",
        "visible_device_list": "",
        "deferred_deletion_bytes": 0,
        "force_gpu_compatible": False,
    }


class OptimizerOptions(Message):
    FIELDS = {
        "do_common_subexpression_elimination": False,
        "do_constant_folding": False,
        "do_function_inlining": False,
        "opt_level": 0,
        "global_jit_level": 0,
    }
    L1 = 0
    L0 = -1
    DEFAULT = 0
    OFF = -1
    ON_1 = 1
    ON_2 = 2


class RewriterConfig(Message):
    FIELDS = {
        "disable_model_pruning": False,
        "constant_folding": 0,
        "arithmetic_optimization": 0,
        "layout_optimizer": 0,
        "memory_optimization": 0,
        "meta_optimizer_iterations": 0,
    }
    OFF = 2
    ON = 1


class GraphOptions(Message):
    FIELDS = {
        "optimizer_options": OptimizerOptions,
        "rewrite_options": RewriterConfig,
        "enable_bfloat16_sendrecv": False,
        "infer_shapes": True,
        "place_pruned_graph": False,
        "build_cost_model": 0,
        "timeline_step": 0,
    }
    REFUSED = {"enable_recv_scheduling": "there are no send and receive nodes in a compiled program."}


class ConfigProto(Message):
    """How a session was configured. Threads, placement and memory are the compiler's and JAX's business here."""

    FIELDS = {
        "allow_soft_placement": False,
        "log_device_placement": False,
        "inter_op_parallelism_threads": 0,
        "intra_op_parallelism_threads": 0,
        "use_per_session_threads": False,
        "device_count": dict,
        "device_filters": list,
        "gpu_options": GPUOptions,
        "graph_options": GraphOptions,
        "operation_timeout_in_ms": 0,
        "isolate_session_state": False,
        "cluster_def": None,
        "placement_period": 0,
        "share_cluster_devices_in_session": False,
    }
    REFUSED = {
        "session_inter_op_thread_pool": "the compiler schedules operations.",
        "rpc_options": "sessions are local.",
    }
