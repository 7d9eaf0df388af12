"""Hooks that stop training at a step."""

from __future__ import annotations

from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.runtime.plans.runner import Runner
from towerstrat.platform.coordinator import Coordinator
from towerstrat.training.base import global_step as steps
from towerstrat.training.hooks.global_step_read import required_step_read
from towerstrat.training.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from towerstrat.training.hooks.steps_per_run import get_or_create_steps_per_run_variable


def _check_one(num_steps: int | None, last_step: int | None) -> None:
    if num_steps is None and last_step is None:
        raise ValueError("One of num_steps or last_step must be specified.")
    if num_steps is not None and last_step is not None:
        raise ValueError("Only one of num_steps or last_step can be specified.")


class StopAtStepHook(SessionRunHook):
    """Requests to stop when the global step has reached a number.

    Args:
      num_steps: steps from the one that the first session begins with.
      last_step: the global step to stop at; one of the two is given.

    Raises:
      ValueError: neither or both are given.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None):
        _check_one(num_steps, last_step)
        self._num_steps = num_steps
        self._last_step = last_step

    def begin(self) -> None:
        self._global_step_tensor = required_step_read("StopAtStepHook")

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        if self._last_step is None:
            assert self._num_steps is not None
            self._last_step = session.run(self._global_step_tensor) + self._num_steps

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        # What was fetched is the step before the run; whether the run has added one to it is seen only then.
        if run_values.results + 1 >= self._last_step:
            step = run_context.session.run(self._global_step_tensor)
            if step >= self._last_step:
                run_context.request_stop()

    def steps_until_session_use(self, step: int) -> int | None:
        assert self._last_step is not None
        return max(1, int(self._last_step - step))


class MultiStepStopAtStepHook(SessionRunHook):
    """Requests to stop at a step where a run makes several; gives the last run the steps that are left.

    Args:
      num_steps, last_step: as in ``StopAtStepHook``.
      steps_per_run: steps of a run, as ``get_or_create_steps_per_run_variable`` tells the program.

    Raises:
      ValueError: neither or both of the first two are given; ``steps_per_run`` is below 1.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None, steps_per_run: int = 1):
        _check_one(num_steps, last_step)
        if steps_per_run is None or steps_per_run < 1:
            raise ValueError("steps_per_run should be greater than 0")
        self._num_steps = num_steps
        self._last_step = last_step
        self._steps_per_run_initial_value = steps_per_run

    def begin(self) -> None:
        self._global_step_tensor = steps.get_global_step()
        if self._global_step_tensor is None:
            raise RuntimeError("Global step should be created to use StopAtStepHook.")
        self._steps_per_run_variable = get_or_create_steps_per_run_variable()

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        step = session.run(self._global_step_tensor)
        if self._last_step is None:
            assert self._num_steps is not None
            self._last_step = step + self._num_steps
        if isinstance(session, Runner):
            session.remainder_foreseen = (self._last_step - step) % self._steps_per_run_initial_value != 0
        self._load(step, session)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        step = run_context.session.run(self._global_step_tensor)
        if step >= self._last_step:
            run_context.request_stop()
        else:
            self._load(step, run_context.session)

    def steps_until_session_use(self, step: int) -> int | None:
        return 1

    def _load(self, step: int, session: SessionLike) -> None:
        assert self._last_step is not None
        self._steps_per_run_variable.load(
            min(self._last_step - step, self._steps_per_run_initial_value), session=session
        )
