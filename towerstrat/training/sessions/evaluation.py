"""``tf.contrib.training.evaluate_once`` and ``evaluate_repeatedly``: evaluating checkpoints.

Source: ``tensorflow/python/training/evaluation.py``, ``tensorflow/contrib/training/python/training/evaluation.py``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from towerstrat.graph.ir.default_graph import control_dependencies
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.types import int64
from towerstrat.graph.ops.array.arrays import identity
from towerstrat.graph.ops.math.arithmetic import cast
from towerstrat.graph.scopes.initializers import zeros_initializer
from towerstrat.graph.scopes.variable_scope import get_variable
from towerstrat.graph.variables.variables import GraphKeys, Variable
from towerstrat.platform import logs, messages
from towerstrat.training.hooks.final_ops import FinalOpsHook
from towerstrat.training.hooks.session_run_hook import SessionRunHook
from towerstrat.training.hooks.steps_per_run import get_or_create_steps_per_run_variable
from towerstrat.training.saving.checkpoint_polling import checkpoints_iterator
from towerstrat.training.sessions.evaluation_hooks import (
    EvaluationLimit,
    MultiStepStopAfterNEvalsHook,
    StopAfterNEvalsHook,
)
from towerstrat.training.sessions.monitored_session import MonitoredSession
from towerstrat.training.sessions.scaffold import Scaffold
from towerstrat.training.sessions.session_creators import ChiefSessionCreator

Feeds = Mapping[Any, Any]


def get_or_create_eval_step() -> Variable:
    """The variable that counts evaluations, an int64 scalar, local; made if the graph has none.

    Raises:
      ValueError: the graph has several.
    """
    found = get_default_graph().get_collection(GraphKeys.EVAL_STEP)
    if len(found) > 1:
        raise ValueError("Multiple tensors added to tf.GraphKeys.EVAL_STEP")
    if found:
        return found[0]
    return get_variable(
        "eval_step",
        shape=[],
        dtype=int64,
        initializer=zeros_initializer(),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.EVAL_STEP],
    )


def get_latest_eval_step_value(update_ops: Any) -> Tensor:
    """The eval step after operations.

    Args:
      update_ops: a list of tensors and operations, or a dictionary of them.
    """
    updates = list(update_ops.values()) if isinstance(update_ops, Mapping) else update_ops
    with control_dependencies(updates):
        return identity(get_or_create_eval_step().read_value())


def evaluate_once(
    checkpoint_path: str | None,
    master: str = "",
    scaffold: Scaffold | None = None,
    eval_ops: Any = None,
    feed_dict: Feeds | None = None,
    final_ops: Any = None,
    final_ops_feed_dict: Feeds | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
    config: messages.ConfigProto | None = None,
) -> Any:
    """Evaluates a checkpoint: runs operations until a hook stops or the data ends.

    Args:
      checkpoint_path: the checkpoint.
      master, config: of the session. scaffold: default ``Scaffold()``.
      eval_ops: run again and again: a tensor, a list, or a dictionary; None: nothing. feed_dict: what is fed.
      final_ops: computed once at the end. final_ops_feed_dict: what is fed then.
      hooks: those of the session; ``StopAfterNEvalsHook`` counts the runs.

    Returns:
      The values of ``final_ops``, None where there are none.
    """
    step = get_or_create_eval_step()
    hooks = list(hooks or ())
    if eval_ops is not None:
        several = any(isinstance(hook, MultiStepStopAfterNEvalsHook) for hook in hooks)
        by = cast(get_or_create_steps_per_run_variable(), step.dtype) if several else 1
        eval_ops = _with_count(eval_ops, step.assign_add(by, use_locking=True))
        completed = get_latest_eval_step_value(eval_ops)
        for hook in hooks:
            if isinstance(hook, EvaluationLimit):
                hook._set_evals_completed_tensor(completed)
    logs.info("Starting evaluation at %s", _now())
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_filename_with_path=checkpoint_path)
    final = FinalOpsHook(final_ops, final_ops_feed_dict)
    with MonitoredSession(creator, [*hooks, final]) as session:
        if eval_ops is not None:
            while not session.should_stop():
                session.run(eval_ops, feed_dict)
    logs.info("Finished evaluation at %s", _now())
    return final.final_ops_values


def evaluate_repeatedly(
    checkpoint_dir: str,
    master: str = "",
    scaffold: Scaffold | None = None,
    eval_ops: Any = None,
    feed_dict: Feeds | None = None,
    final_ops: Any = None,
    final_ops_feed_dict: Feeds | None = None,
    eval_interval_secs: float = 60,
    hooks: list[SessionRunHook] | None = None,
    config: messages.ConfigProto | None = None,
    max_number_of_evaluations: int | None = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Any:
    """Evaluates each checkpoint of a folder as it comes; arguments as those of ``evaluate_once``, and:

    Args:
      checkpoint_dir: the folder.
      eval_interval_secs: the least seconds between two evaluations.
      max_number_of_evaluations: None: without end.
      timeout: how many seconds to wait for a checkpoint; None: without end.
      timeout_fn: called then; the evaluation ends where it returns True, or is None.

    Returns:
      The values of ``final_ops`` in the last evaluation, None where there are none.
    """
    step = get_or_create_eval_step()
    hooks = list(hooks or ())
    if eval_ops is not None:
        count = step.assign_add(1)
        for hook in hooks:
            if isinstance(hook, StopAfterNEvalsHook):
                hook._set_evals_completed_tensor(count)
        eval_ops = _with_count(eval_ops, count)
    final = FinalOpsHook(final_ops, final_ops_feed_dict)
    paths = checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn)
    for number, path in enumerate(paths, 1):
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_filename_with_path=path)
        with MonitoredSession(creator, [*hooks, final]) as session:
            logs.info("Starting evaluation at %s", _now())
            if eval_ops is not None:
                while not session.should_stop():
                    session.run(eval_ops, feed_dict)
            logs.info("Finished evaluation at %s", _now())
        if max_number_of_evaluations is not None and number >= max_number_of_evaluations:
            break
    return final.final_ops_values


def _with_count(eval_ops: Any, count: Any) -> Any:
    """What is run in each step of an evaluation, with the operation that counts it."""
    if isinstance(eval_ops, Mapping):
        return {**eval_ops, "update_eval_step": count}
    return [*eval_ops, count] if isinstance(eval_ops, tuple | list) else [eval_ops, count]


def _now() -> str:
    return time.strftime("%Y-%m-%d-%H:%M:%S", time.gmtime())
