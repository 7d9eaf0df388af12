"""Hooks that train the generator and the discriminator around each run of a monitored session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.training.gan.gan_models import GANTrainOps, GANTrainSteps
from towerstrat.training.hooks.session_run_hook import SessionRunContext, SessionRunHook

MakeHooks = Callable[[GANTrainOps], list[SessionRunHook]]

_ONCE_EACH = GANTrainSteps(1, 1)


class RunTrainOpsHook(SessionRunHook):
    """Runs operations a number of times before each run.

    Args:
      train_ops: an operation or tensor, or a list or tuple of them. train_steps: how many times.
    """

    def __init__(self, train_ops: Operation | Tensor | Sequence[Any], train_steps: int):
        self._train_ops = train_ops if isinstance(train_ops, list | tuple) else [train_ops]
        self._train_steps = train_steps

    def before_run(self, run_context: SessionRunContext) -> None:
        for _ in range(self._train_steps):
            run_context.session.run(self._train_ops)

    def steps_until_session_use(self, step: int) -> int | None:
        return 1 if self._train_steps else None


def get_sequential_train_hooks(train_steps: GANTrainSteps = _ONCE_EACH) -> MakeHooks:
    """A function from ``GANTrainOps`` to hooks that run all steps of the generator, then all of the discriminator.

    Args:
      train_steps: how many steps of each.
    """

    def get_hooks(train_ops: GANTrainOps) -> list[SessionRunHook]:
        return [
            RunTrainOpsHook(train_ops.generator_train_op, train_steps.generator_train_steps),
            RunTrainOpsHook(train_ops.discriminator_train_op, train_steps.discriminator_train_steps),
        ]

    return get_hooks


def get_joint_train_hooks(train_steps: GANTrainSteps = _ONCE_EACH) -> MakeHooks:
    """A function from ``GANTrainOps`` to hooks that run steps of both at once, then what is left of either.

    Args:
      train_steps: how many steps of each.
    """
    generating, judging = train_steps.generator_train_steps, train_steps.discriminator_train_steps
    both = min(generating, judging)

    def get_hooks(train_ops: GANTrainOps) -> list[SessionRunHook]:
        return [
            RunTrainOpsHook([train_ops.generator_train_op, train_ops.discriminator_train_op], both),
            RunTrainOpsHook(train_ops.generator_train_op, generating - both),
            RunTrainOpsHook(train_ops.discriminator_train_op, judging - both),
        ]

    return get_hooks
