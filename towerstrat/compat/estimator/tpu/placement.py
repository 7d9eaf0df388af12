"""Where an estimator runs in each mode, on how many towers, and with which batch sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from towerstrat.compat.estimator.keys import EstimatorModeKeys
from towerstrat.compat.estimator.tpu.input_modes import BROADCAST, PER_HOST_V2, PER_SHARD_V1, SLICED
from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.mesh import Axis
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.platform import devices, logs

TRAIN, EVAL, PREDICT = EstimatorModeKeys.TRAIN, EstimatorModeKeys.EVAL, EstimatorModeKeys.PREDICT


class Placement:
    """Where an estimator runs: on towers, or on the host as other estimators do.

    Args:
      config: a ``tpu.RunConfig``.
      sizes: mode -> global batch size, None where none was given.
      use_tpu: whether towers are used at all. eval_on_tpu: whether evaluations use them.

    Raises:
      ValueError: more towers than there are devices.
    """

    def __init__(self, config: Any, sizes: Mapping[str, int | None], use_tpu: bool, eval_on_tpu: bool):
        self.config = config
        self.sizes = sizes
        self.use_tpu = use_tpu
        self.eval_on_tpu = eval_on_tpu
        logs.info("_TPUContext: eval_on_tpu %s", eval_on_tpu)
        if not use_tpu and eval_on_tpu:
            logs.warning("eval_on_tpu ignored because use_tpu is False.")
        self.axis = self._axis() if use_tpu else None

    def _axis(self) -> Axis:
        """One position for each tower: all devices, or as many as ``num_shards`` says."""
        tpu = self.config.tpu_config
        each = tpu.num_cores_per_replica or 1
        here = devices.devices()
        towers = tpu.num_shards or len(here) // each
        if towers * each > len(here) or towers < 1:
            raise ValueError(
                f"TPUConfig.num_shards={tpu.num_shards}, num_cores_per_replica={tpu.num_cores_per_replica}: that is "
                f"{max(1, towers) * each} devices, but there {'is' if len(here) == 1 else 'are'} {len(here)} "
                f"{here[0].platform} device(s). Run the program with `towerstrat run --towers {max(1, towers) * each}` "
                "for virtual CPU devices, leave num_shards=None for all devices, or ask for fewer."
            )
        if towers * each < len(here):
            logs.info("TPUConfig.num_shards=%d: %d of %d devices are used.", towers, towers * each, len(here))
        return Axis("tower", here[: towers * each], each, copies_on_write=True)

    @property
    def towers(self) -> int:
        return 1 if self.axis is None else self.axis.size

    @property
    def input_mode(self) -> int:
        mode: int = self.config.tpu_config.per_host_input_for_training
        return mode

    def on_towers(self, mode: str) -> bool:
        """Whether towers are used in a mode.

        Raises:
          ValueError: they are, and the batch size is missing or does not divide.
        """
        if not self.use_tpu:
            return False
        if mode == EVAL and not self.eval_on_tpu:
            logs.info("_is_running_on_cpu: eval_on_tpu disabled")
            return False
        self._check(mode)
        return True

    def _check(self, mode: str) -> None:
        size, name = self.sizes[mode], {TRAIN: "train", EVAL: "eval", PREDICT: "predict"}[mode]
        if size is None:
            verb = {EVAL: ".evaluate", PREDICT: ".predict"}.get(mode, ".train")
            raise ValueError(
                f"{name}_batch_size in TPUEstimator constructor cannot be `None` if {verb} is running on TPU."
            )
        if size % self.towers and self.input_mode != BROADCAST:
            raise ValueError(f"{name} batch size {size} must be divisible by number of replicas {self.towers}")

    def apart(self, mode: str) -> bool:
        """Whether the input function is called on each host, for the towers of that host alone."""
        spans = self.axis is not None and self.axis.is_multi_process
        return spans and mode != PREDICT and self.input_mode not in (BROADCAST, SLICED)

    def hosts(self, mode: str) -> int:
        """How many hosts call the input function."""
        return PROCESSES.count if self.apart(mode) else 1

    def per_call(self, mode: str) -> bool:
        """Whether the input function is called once for each tower."""
        return mode == TRAIN and self.input_mode == PER_SHARD_V1

    def input_batch(self, mode: str) -> int | None:
        """The batch size that the input function is told."""
        size = self.sizes[mode]
        if size is None or not self.on_towers(mode) or self.input_mode == BROADCAST:
            return size
        each = self.per_call(mode) or self.input_mode == PER_HOST_V2
        return size // self.towers if each else size // self.hosts(mode)

    def model_batch(self, mode: str) -> int | None:
        """The batch size that the model function is told: that of a tower."""
        size = self.sizes[mode]
        if size is None or not self.on_towers(mode) or self.input_mode == BROADCAST:
            return size
        return size // self.towers


class TPUContext:
    """What ``params['context']`` tells an input or model function of where it runs.

    Args:
      placement: where. mode: the estimator's.
      invocation: the number of the call of an input function; None: it is for a model function.
    """

    def __init__(self, placement: Placement, mode: str, invocation: int | None = None):
        self._placement = placement
        self._mode = mode
        self._invocation = invocation

    def current_input_fn_deployment(self) -> tuple[str, int, int, int]:
        """(device of the host, number of this call, number of calls, number of towers that this call feeds).

        Raises:
          RuntimeError: called by a model function.
        """
        if self._invocation is None:
            raise RuntimeError("This TPUContext instance must not be called from model_fn.")
        towers = self._placement.towers
        calls = towers if self._placement.per_call(self._mode) else self._placement.hosts(self._mode)
        return (_HOST, self._invocation, calls, towers // calls)

    @property
    def num_replicas(self) -> int:
        """The number of towers."""
        return self._placement.towers

    @property
    def num_hosts(self) -> int:
        """The number of machines that call the input function, or run the model."""
        return self._placement.hosts(self._mode)

    @property
    def current_host(self) -> int | None:
        """The number of the call of the input function."""
        return self._invocation

    @property
    def num_of_replicas_per_host(self) -> int:
        """The number of towers of a host. Raises ValueError where a tower has several devices."""
        if self._placement.config.tpu_config.num_cores_per_replica:
            raise ValueError("num_of_replicas_per_host is not supported for model_parallelism")
        return self._placement.towers // self.num_hosts

    @property
    def device_assignment(self) -> Any:
        if self._invocation is not None:
            raise RuntimeError("This TPUContext instance must not be called from input_fn.")
        if not self._placement.config.tpu_config.num_cores_per_replica:
            return None
        raise UnsupportedError(
            "TPUContext.device_assignment: a tower's operations run on all of its devices; leave tpu.core(...) out."
        )

    def device_for_replica(self, replica_id: int) -> tuple[str, int]:
        """(device of the host, number of the tower's device on it)."""
        return _HOST, replica_id

    @property
    def tpu_host_placement_function(self) -> Callable[..., str]:
        """A function of a host's number: its device."""
        return lambda host_id=0: _HOST


_HOST = "/replica:0/task:0/device:CPU:0"
