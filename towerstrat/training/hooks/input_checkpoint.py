"""``tf.data.experimental.CheckpointInputPipelineHook``: saves where the input is, apart from the model."""

from __future__ import annotations

from typing import Any, Protocol

from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.training.hooks.checkpoint_saver import CheckpointSaverHook
from towerstrat.training.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from towerstrat.training.saving.iterator_saveables import iterators_of
from towerstrat.training.saving.latest_checkpoint import latest_checkpoint
from towerstrat.training.saving.saver import Saver


class RunSettings(Protocol):
    """What the hook needs of a ``RunConfig``."""

    num_worker_replicas: int
    task_type: str
    task_id: int
    save_checkpoints_secs: float | None
    save_checkpoints_steps: int | None


class HasSettings(Protocol):
    """What the hook needs of an ``Estimator``."""

    model_dir: str
    _config: RunSettings


class InputSaver(Saver):
    """A ``Saver`` whose state file has a name of its own, beside that of the model.

    Args:
      var_list: what is saved. latest_filename: the name of the state file.
    """

    def __init__(self, var_list: Any, latest_filename: str):
        super().__init__(var_list)
        self._latest_filename = latest_filename

    def save(
        self,
        sess: Any,
        save_path: str,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str | None:
        return super().save(
            sess, save_path, global_step, latest_filename or self._latest_filename, meta_graph_suffix,
            write_meta_graph, write_state, strip_default_attrs, save_debug_info,
        )  # fmt: skip


class CheckpointInputPipelineHook(SessionRunHook):
    """Saves the positions of all iterators of the graph where an ``Estimator`` saves its model, and goes on from there.

    The first run restores the latest of these checkpoints, or saves the first one. Checkpoints of the model have the
    positions too, and a run that restores them goes on from there: this hook is for programs that want them apart.

    Args:
      estimator: its folder and intervals are taken.
    """

    def __init__(self, estimator: HasSettings):
        config = estimator._config
        prefix = "input"
        if config.num_worker_replicas > 1:
            prefix += f"_{config.task_type}_{config.task_id}"
        # Held, not inherited from: an Estimator adds no hook for its model where it finds a CheckpointSaverHook.
        self._checkpoint_saver_hook = CheckpointSaverHook(
            estimator.model_dir,
            save_secs=config.save_checkpoints_secs,
            save_steps=config.save_checkpoints_steps,
            checkpoint_basename=f"{prefix}.ckpt",
        )
        self._latest_filename = f"checkpoint_{prefix}"
        self._first_run = True

    def begin(self) -> None:
        hook = self._checkpoint_saver_hook
        if hook._saver is None:
            hook._saver = InputSaver(iterators_of(get_default_graph()), self._latest_filename)
        hook.begin()

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        if self._first_run:
            # Not in after_create_session: other hooks initialize iterators there.
            self._restore_or_save(run_context.session)
            self._first_run = False
        return self._checkpoint_saver_hook.before_run(run_context)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        self._checkpoint_saver_hook.after_run(run_context, run_values)

    def end(self, session: SessionLike) -> None:
        self._checkpoint_saver_hook.end(session)

    def steps_until_session_use(self, step: int) -> int | None:
        return self._checkpoint_saver_hook.steps_until_session_use(step)

    def _restore_or_save(self, session: SessionLike) -> None:
        hook = self._checkpoint_saver_hook
        latest = latest_checkpoint(hook._checkpoint_dir, self._latest_filename)
        if latest is not None:
            hook._get_saver().restore(session, latest)
        else:
            step = session.run(hook._global_step_tensor)
            hook._save(session, step)
            hook._timer.update_last_triggered_step(step)
