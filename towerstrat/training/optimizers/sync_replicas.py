"""``tf.train.SyncReplicasOptimizer``: collects the gradients of several replicas, and applies their mean.

Source: ``tensorflow/python/training/sync_replicas_optimizer.py`` of 1.12.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from towerstrat.data.queues.conditional_accumulators import (
    ConditionalAccumulator,
    ConditionalAccumulatorBase,
    SparseConditionalAccumulator,
)
from towerstrat.data.queues.queue_runner import QueueRunner
from towerstrat.data.queues.queues import FIFOQueue
from towerstrat.errors import CancelledError, OutOfRangeError, UnsupportedError
from towerstrat.graph.ir.default_graph import colocate_with, control_dependencies, device, name_scope
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.types import int32
from towerstrat.graph.ops.array.arrays import fill
from towerstrat.graph.ops.control.branches import group, no_op
from towerstrat.graph.variables.variable_ops import global_variables, report_uninitialized_variables
from towerstrat.graph.variables.variables import GraphKeys, create_variable
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.platform import logs
from towerstrat.platform.coordinator import Coordinator
from towerstrat.training.hooks.session_run_hook import SessionRunHook
from towerstrat.training.optimizers.between_graph_replication import synchronized
from towerstrat.training.optimizers.exponential_averages import ExponentialMovingAverage
from towerstrat.training.optimizers.optimizer_wrapper import OptimizerWrapper
from towerstrat.training.sessions.session_manager import what_is_missing


class SyncReplicasOptimizer(OptimizerWrapper):
    """An optimizer whose steps are the mean gradients of several replicas, of which none is of an earlier step.

    A replica's ``apply_gradients`` hands its gradients to accumulators, and waits for a token: the step to go on with.
    The chief's queue runner takes the mean of ``replicas_to_aggregate`` gradients, applies it, and hands out tokens.
    Replicas are sessions of one process: runs of one session, or threads with sessions of one ``tf.train.Server``.
    Where several processes have servers of one cluster each is one replica, and all of them make each step: without
    accumulators and tokens, by the mean over processes that every optimizer takes.

    Args:
      opt: the optimizer that applies the means.
      replicas_to_aggregate: how many gradients make a step; not more than there are processes, of several.
      total_num_replicas: how many replicas there are; more than make a step: the last ones' gradients are dropped;
        fewer: each makes several. Default ``replicas_to_aggregate``.
      variable_averages: an ``ExponentialMovingAverage`` that is updated after each step.
      variables_to_average: the variables that it averages.
      use_locking: changes nothing: the order of effects is fixed.
      name: the name scope of the accumulators.

    Raises:
      UnsupportedError: a step would take several gradients of each process.
    """

    def __init__(
        self, opt: Any, replicas_to_aggregate: int, total_num_replicas: int | None = None,
        variable_averages: ExponentialMovingAverage | None = None, variables_to_average: Sequence[Any] | None = None,
        use_locking: bool = False, name: str = "sync_replicas",
    ):  # fmt: skip
        super().__init__(opt, name)
        self._in_step = PROCESSES.count > 1 and not PROCESSES.united
        if self._in_step and replicas_to_aggregate > PROCESSES.count:
            raise UnsupportedError(
                f"SyncReplicasOptimizer(replicas_to_aggregate={replicas_to_aggregate}) in a run of {PROCESSES.count} "
                f"processes, of which each gives one gradient to a step. Use "
                f"replicas_to_aggregate={PROCESSES.count}, and "
                "larger batches."
            )
        self._use_locking = use_locking
        self._replicas_to_aggregate = replicas_to_aggregate
        self._total_num_replicas = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        logs.info(
            "SyncReplicasV2: replicas_to_aggregate=%s; total_num_replicas=%s",
            replicas_to_aggregate, self._total_num_replicas,
        )  # fmt: skip
        self._tokens_per_step = max(self._total_num_replicas, replicas_to_aggregate)
        self._variable_averages = variable_averages
        self._variables_to_average = variables_to_average
        self._global_step: Any = None
        self._sync_token_queue: FIFOQueue | None = None
        self._chief_queue_runner: QueueRunner | None = None
        self._accumulator_list: list[tuple[ConditionalAccumulatorBase, str]] = []

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """The gradients of the optimizer inside, of this replica."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars: Iterable[Any], global_step: Any = None, name: str | None = None) -> Any:
        """The operation of one replica's step: it hands the gradients over, waits for a token and has it as its value.

        Args:
          grads_and_vars: (gradient, variable) pairs.
          global_step: the variable that counts the steps, by which gradients of earlier ones are told.
          name: changes nothing: operations are named after the optimizer.

        Raises:
          ValueError: no pairs, no global step, or a gradient of another kind.
          RuntimeError: eagerly.
        """
        pairs = list(grads_and_vars)
        if get_default_graph().executing_eagerly:
            raise RuntimeError(
                "tf.train.SyncReplicasOptimizer collects gradients in a graph, and operations are executed eagerly "
                "here: build the model inside `with tf.Graph().as_default():`, or use the optimizer inside it alone."
            )
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        self._global_step = global_step
        with colocate_with(no_op()):
            self._local_step = create_variable(
                initial_value=0, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES],
                dtype=global_step.dtype.base_dtype, name="sync_rep_local_step",
            )  # fmt: skip
        self.local_step_init_op = self._local_step.assign(global_step)
        self.ready_for_local_init_op = report_uninitialized_variables(global_variables())
        if self._in_step:
            return self._applied_in_step(pairs)
        with name_scope(None, self._name):
            handed, taken = self._exchanged(pairs)
            with device(global_step.device), name_scope(""):
                update = self._opt.apply_gradients(taken, global_step)
                train_op = self._synchronized(handed, update)
            self.chief_init_op = group(self.local_step_init_op, *self._steps_set())
        return train_op

    def _applied_in_step(self, pairs: Sequence[Any]) -> Any:
        """The operation of a step of all processes; the queue runner's thread has nothing to do but to wait."""
        with name_scope(None, self._name):
            with synchronized(), device(self._global_step.device), name_scope(""):
                update = self._opt.apply_gradients(pairs, self._global_step)
                if self._variable_averages is not None:
                    with control_dependencies([update]):
                        update = self._variable_averages.apply(self._variables_to_average)
            waiting = FIFOQueue(1, int32, shapes=(), name="dummy_queue", shared_name="dummy_queue")
            self._chief_queue_runner = QueueRunner(
                waiting, [waiting.dequeue()], queue_closed_exception_types=(OutOfRangeError, CancelledError)
            )
            self.chief_init_op = group(self.local_step_init_op)
            with control_dependencies([update]):
                return self._local_step.assign(self._global_step)

    def _exchanged(self, pairs: Sequence[Any]) -> tuple[list[Operation], list[tuple[Any, Any]]]:
        """The operations that hand gradients over, and the pairs of mean gradients and variables."""
        handed: list[Operation] = []
        taken: list[tuple[Any, Any]] = []
        for grad, var in pairs:
            with device(var.device):
                if grad is None:
                    taken.append((None, var))
                    continue
                shared_name = f"{var.name}/grad_accum"
                if isinstance(grad, Tensor):
                    dense = ConditionalAccumulator(grad.dtype, shape=var.shape, shared_name=shared_name)
                    handed.append(dense.apply_grad(grad, local_step=self._local_step))
                    taken.append((dense.take_grad(self._replicas_to_aggregate), var))
                    self._accumulator_list.append((dense, var.device))
                elif isinstance(grad, IndexedSlices):
                    rows = SparseConditionalAccumulator(grad.dtype, shape=(), shared_name=shared_name)
                    handed.append(rows.apply_indexed_slices_grad(grad, local_step=self._local_step))
                    taken.append((rows.take_indexed_slices_grad(self._replicas_to_aggregate), var))
                    self._accumulator_list.append((rows, var.device))
                else:
                    raise ValueError(f"Unknown grad type! {var.name} needs a Tensor or IndexedSlices, got {grad!r}.")
        return handed, taken

    def _synchronized(self, handed: Sequence[Operation], update: Any) -> Any:
        """Makes the queue runner of the chief, and the operation that waits for a token."""
        kind = self._global_step.dtype.base_dtype
        self._sync_token_queue = tokens = FIFOQueue(
            -1, kind, shapes=(), name="sync_token_q", shared_name="sync_token_q"
        )
        # The runner closes its queue when it stops, and replicas may still wait for tokens.
        stopping = FIFOQueue(1, int32, shapes=(), name="dummy_queue", shared_name="dummy_queue")
        with control_dependencies(handed):
            token = tokens.dequeue()
        train_op = self._local_step.assign(token)
        with control_dependencies([update]):
            sync_op = tokens.enqueue_many((fill([self._tokens_per_step], self._global_step),))
        if self._variable_averages is not None:
            with control_dependencies([sync_op]), name_scope(""):
                sync_op = self._variable_averages.apply(self._variables_to_average)
        # One that waits for gradients would not notice that the queue is closed.
        stops = [accumulator.stop_taking() for accumulator, _ in self._accumulator_list]
        self._chief_queue_runner = QueueRunner(
            stopping, [sync_op], cancel_op=group(stopping.close(cancel_pending_enqueues=True), *stops),
            queue_closed_exception_types=(OutOfRangeError, CancelledError),
        )  # fmt: skip
        return train_op

    def _steps_set(self) -> list[Operation]:
        """The operations that tell the accumulators the step that a session begins with."""
        found = []
        for accumulator, where in self._accumulator_list:
            with device(where):
                found.append(accumulator.set_global_step(self._global_step, name="SetGlobalStep"))
        return found

    def get_chief_queue_runner(self) -> QueueRunner:
        """The queue runner whose thread makes the steps; the chief starts it.

        Raises:
          ValueError: ``apply_gradients`` was not called.
        """
        if self._chief_queue_runner is None:
            raise ValueError("Should be called after apply_gradients().")
        return self._chief_queue_runner

    def get_init_tokens_op(self, num_tokens: int = -1) -> Operation:
        """The operation that hands out the first tokens; the chief runs it before training.

        Args:
          num_tokens: how many; default ``replicas_to_aggregate``.

        Raises:
          ValueError: ``apply_gradients`` was not called, or the first step could not end with so few.
        """
        if self._in_step and self._chief_queue_runner is not None:
            return no_op(name="no_init_tokens")
        if self._sync_token_queue is None:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens == -1:
            num_tokens = self._replicas_to_aggregate
        elif num_tokens < needed:
            raise ValueError(f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} (needed)")
        if num_tokens <= 0:
            return no_op(name="no_init_tokens")
        with device(self._global_step.device), name_scope(""):
            return self._sync_token_queue.enqueue_many((fill([num_tokens], self._global_step),))

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SessionRunHook:
        """The hook that prepares a session for training: it initializes, and the chief's starts the queue runner.

        Args:
          is_chief: whether the session is the chief's. num_tokens: as of ``get_init_tokens_op``.
        """
        return _SyncReplicasOptimizerHook(self, is_chief, num_tokens)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        return self._opt.get_slot_names(*args, **kwargs)


class _SyncReplicasOptimizerHook(SessionRunHook):
    """Prepares sessions for a ``SyncReplicasOptimizer``."""

    def __init__(self, sync_optimizer: SyncReplicasOptimizer, is_chief: bool, num_tokens: int):
        self._sync_optimizer = sync_optimizer
        self._is_chief = is_chief
        self._num_tokens = num_tokens

    def begin(self) -> None:
        optimizer = self._sync_optimizer
        if optimizer._chief_queue_runner is None:
            raise ValueError("SyncReplicasOptimizer.apply_gradient should be called before using the hook.")
        self._local_init_op = optimizer.chief_init_op if self._is_chief else optimizer.local_step_init_op
        self._q_runner = optimizer.get_chief_queue_runner() if self._is_chief else None
        self._init_tokens_op = optimizer.get_init_tokens_op(self._num_tokens) if self._is_chief else None

    def after_create_session(self, session: Any, coord: Coordinator) -> None:
        ready = self._sync_optimizer.ready_for_local_init_op
        missing = what_is_missing(ready, session, "Model is not ready for SyncReplicasOptimizer local init.")
        if missing is not None:
            raise RuntimeError(
                "Init operations did not make model ready for SyncReplicasOptimizer local_init. "
                f"Init op: {self._local_init_op.name}, error: {missing}"
            )
        session.run(self._local_init_op)
        if self._init_tokens_op is not None:
            session.run(self._init_tokens_op)
        if self._q_runner is not None:
            self._q_runner.create_threads(session, coord=coord, daemon=True, start=True)
