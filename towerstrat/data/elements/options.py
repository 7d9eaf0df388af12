"""``tf.data.Options``: how the original may execute a dataset, of which only how processes divide it matters here."""

from __future__ import annotations

import enum
from typing import Any, ClassVar


class AutoShardPolicy(enum.IntEnum):
    """How a dataset is divided among processes, where several have replicas.

    OFF: each has a dataset of its own, whose batches are for its replicas. FILE: each reads every n-th file. The
    others: all have the same one, of whose batches each makes the rows of its own replicas.
    """

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class AutotuneAlgorithm(enum.Enum):
    """How the original tunes itself."""

    DEFAULT = 0
    HILL_CLIMB = 1
    GRADIENT_DESCENT = 2
    MAX_PARALLELISM = 3
    STAGE_BASED = 4


class ExternalStatePolicy(enum.Enum):
    """What the original does where a dataset that is saved has state."""

    WARN = 0
    IGNORE = 1
    FAIL = 2


class _Settings:
    """Named settings, None where they were not made."""

    _NAMES: ClassVar[tuple[str, ...]] = ()
    _GROUPS: ClassVar[dict[str, Any]] = {}

    def __init__(self) -> None:
        self.__dict__.update(dict.fromkeys(self._NAMES))
        self.__dict__.update({name: made() for name, made in self._GROUPS.items()})

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._NAMES and name not in self._GROUPS:
            raise AttributeError(f"tf.data.{type(self).__name__} has no option {name!r}.")
        self.__dict__[name] = value

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = object.__hash__

    def updated(self, other: Any) -> Any:
        """Both together; the other's where they differ."""
        return self._joined(other, lambda name, mine, theirs: theirs)

    def _joined(self, other: Any, choose: Any) -> Any:
        result = type(self)()
        for name, mine in self.__dict__.items():
            theirs = getattr(other, name)
            if isinstance(mine, _Settings) and isinstance(theirs, _Settings):
                result.__dict__[name] = mine._joined(theirs, choose)
            elif mine is None or theirs is None or mine == theirs:
                result.__dict__[name] = mine if theirs is None else theirs
            else:
                result.__dict__[name] = choose(name, mine, theirs)
        return result


class AutotuneOptions(_Settings):
    """How the original tunes a pipeline while it runs."""

    _NAMES = ("autotune_algorithm", "cpu_budget", "enabled", "ram_budget", "initial_parallelism")


class DistributeOptions(_Settings):
    """How a dataset is divided among workers: ``auto_shard_policy``, AUTO where it was not set.

    In 1.14 and 1.15 ``auto_shard`` said whether it is, True where it was not set.
    """

    _NAMES = ("auto_shard", "auto_shard_policy", "num_devices")
    _DEFAULTS: ClassVar[dict[str, Any]] = {"auto_shard": True, "auto_shard_policy": AutoShardPolicy.AUTO}

    def __init__(self) -> None:
        super().__init__()
        self.__dict__.update(self._DEFAULTS)

    def _joined(self, other: Any, choose: Any) -> Any:
        joined = super()._joined(other, lambda name, mine, theirs: theirs)
        for name, default in self._DEFAULTS.items():
            if getattr(other, name) is default:
                joined.__dict__[name] = getattr(self, name)
        return joined


class MapVectorizationOptions(_Settings):
    """How 1.15 makes the maps of many elements one."""

    _NAMES = ("enabled", "use_choose_fastest")


class OptimizationOptions(_Settings):
    """Which rewritings the original does."""

    _NAMES = (
        "apply_default_optimizations", "autotune", "autotune_algorithm", "autotune_buffers", "autotune_cpu_budget",
        "filter_fusion", "filter_parallelization", "filter_with_random_uniform_fusion", "hoist_random_uniform",
        "inject_prefetch", "map_and_batch_fusion", "map_and_filter_fusion", "map_fusion", "map_parallelization",
        "noop_elimination", "parallel_batch", "seq_interleave_prefetch", "shuffle_and_repeat_fusion",
    )  # fmt: skip
    _GROUPS: ClassVar[dict[str, Any]] = {"map_vectorization": MapVectorizationOptions}


class ThreadingOptions(_Settings):
    """How many threads the original uses."""

    _NAMES = ("max_intra_op_parallelism", "private_threadpool_size")


class Options(_Settings):
    """Settings that are kept; elements always come in the order of one call after the other.

    ``experimental_distribute.auto_shard_policy`` says how processes divide a dataset; the others change nothing here.

    ``deterministic``, ``autotune``, ``threading``, ``experimental_distribute``, ``experimental_optimization`` and the
    others of 2.x; and those of 1.x, whose names begin with ``experimental_``.
    """

    _NAMES = (
        "deterministic", "experimental_autotune", "experimental_external_state_policy",
        "experimental_filter_fusion", "experimental_hoist_random_uniform", "experimental_latency_all_edges",
        "experimental_map_and_batch_fusion", "experimental_map_and_filter_fusion", "experimental_map_fusion",
        "experimental_map_parallelization", "experimental_map_vectorization", "experimental_noop_elimination",
        "experimental_numa_aware", "experimental_shuffle_and_repeat_fusion", "experimental_slack",
        "experimental_stateful_whitelist", "experimental_stats", "experimental_symbolic_checkpoint",
        "experimental_warm_start", "framework_type",
    )  # fmt: skip
    _GROUPS: ClassVar[dict[str, Any]] = {
        "autotune": AutotuneOptions,
        "experimental_distribute": DistributeOptions,
        "experimental_optimization": OptimizationOptions,
        "threading": ThreadingOptions,
    }

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(_RENAMED.get(name, name), value)

    @property
    def experimental_deterministic(self) -> Any:
        """``deterministic`` by its old name."""
        return self.deterministic  # type: ignore[attr-defined]

    @property
    def experimental_threading(self) -> Any:
        """``threading`` by its old name."""
        return self.threading  # type: ignore[attr-defined]

    def merge(self, options: Options) -> Options:
        """Both together; the other's where they set one option to different values."""
        return self.updated(options)


class OptionsV1(Options):
    """As ``Options``, with the ``merge`` of 1.x."""

    def merge(self, options: Options) -> Options:
        """Both together. Raises ValueError where they set one option to different values."""

        def refuse(name: str, mine: Any, theirs: Any) -> Any:
            raise ValueError(f"Cannot merge options: {name} is {mine!r} and {theirs!r}.")

        return self._joined(options, refuse)


_RENAMED = {"experimental_deterministic": "deterministic", "experimental_threading": "threading"}
