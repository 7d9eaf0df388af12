"""What ``tf.contrib.eager`` had of its own besides gradients and metrics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax

from towerstrat.graph.eager import mode
from towerstrat.graph.functions.polymorphic import defun
from towerstrat.graph.scopes import template
from towerstrat.platform import app


class Iterator:
    """Iterates over a dataset, eagerly: by ``for``, ``next(iterator)``, ``next()`` and ``get_next()``.

    Raises:
      RuntimeError: not eagerly.
    """

    def __init__(self, dataset: Any):
        if not mode.executing_eagerly():
            raise RuntimeError(
                "tf.contrib.eager.Iterator is for eager execution; in a graph use dataset.make_one_shot_iterator()."
            )
        self._dataset = dataset
        self._elements = iter(dataset)

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> Any:
        return next(self._elements)

    @property
    def output_types(self) -> Any:
        return self._dataset.output_types

    @property
    def output_shapes(self) -> Any:
        return self._dataset.output_shapes

    @property
    def output_classes(self) -> Any:
        return self._dataset.output_classes

    def next(self) -> Any:
        """The next element. Raises StopIteration at the end."""
        return next(self._elements)

    def get_next(self, name: str | None = None) -> Any:
        """The next element. Raises OutOfRangeError at the end."""
        return self._elements.get_next()


def make_template(
    name_: str, func_: Callable[..., Any], create_scope_now_: bool = False, unique_name_: str | None = None,
    custom_getter_: Callable[..., Any] | None = None, create_graph_function_: bool = False, **kwargs: Any,
) -> template.Template:  # fmt: skip
    """``tf.make_template`` whose function may be a graph function: then its effects happen in the order written."""
    if create_graph_function_:
        func_ = defun(partial(func_, **kwargs) if kwargs else func_)
        kwargs = {}
    return template.make_template(name_, func_, create_scope_now_, unique_name_, custom_getter_, **kwargs)


def list_devices() -> list[str]:
    """The names of the devices."""
    return [f"/job:localhost/replica:0/task:0/device:{d.platform.upper()}:{d.id}" for d in jax.local_devices()]


def run(main: Callable[..., Any] | None = None, argv: Sequence[str] | None = None) -> None:
    """``tf.app.run`` with eager execution."""
    mode.enable_eager_execution()
    app.run(main, argv)
