"""``tf.train.Scaffold``: the operations that a session is prepared, checked, saved and summarized with.

Source: ``tensorflow/python/training/monitored_session.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.ir.default_graph import add_to_collection, get_collection
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ops.array.arrays import concat
from towerstrat.graph.ops.control.branches import group
from towerstrat.graph.ops.tables.table_classes import tables_initializer
from towerstrat.graph.variables.variable_ops import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)
from towerstrat.graph.variables.variables import GraphKeys
from towerstrat.platform import logs
from towerstrat.training.saving.checkpoint import Checkpoint, CheckpointV1
from towerstrat.training.saving.object_saver import frozen_saver
from towerstrat.training.saving.saver import Saver
from towerstrat.training.summaries.summary import merge_all

_KEPT = 5
"""How many checkpoints a saver keeps, where nothing else is said."""
InitFn = Callable[["Scaffold", SessionLike], object]


class Scaffold:
    """The pieces that a session needs besides the model.

    A piece that is not given is taken from its collection of the graph when the scaffold is finalized; where there is
    none, the usual one is made and added there.

    Args:
      init_op: initializes the global variables, unless they are restored.
      init_feed_dict: what is fed to it.
      init_fn: called as ``init_fn(scaffold, session)`` after it.
      ready_op: a string tensor ``[n]``: the names of what has no value yet; the model is ready when it is empty.
      ready_for_local_init_op: likewise, of what ``local_init_op`` needs.
      local_init_op: initializes local variables, tables and iterators, in every new session.
      summary_op: a scalar string tensor, a serialized ``Summary``.
      saver: a ``Saver``, or a ``tf.train.Checkpoint``, whose objects are then saved as such, as in 1.14 and later.
      copy_from_scaffold: gives what is not given here.
      local_init_feed_dict: what is fed to ``local_init_op``.

    Raises:
      TypeError: ``copy_from_scaffold`` is no scaffold.
    """

    def __init__(
        self,
        init_op: Operation | None = None,
        init_feed_dict: Mapping[Any, Any] | None = None,
        init_fn: InitFn | None = None,
        ready_op: Tensor | None = None,
        ready_for_local_init_op: Tensor | None = None,
        local_init_op: Operation | None = None,
        summary_op: Tensor | None = None,
        saver: Saver | CheckpointV1 | Checkpoint | None = None,
        copy_from_scaffold: Scaffold | None = None,
        local_init_feed_dict: Mapping[Any, Any] | None = None,
    ):
        other = copy_from_scaffold
        if other is not None and not isinstance(other, Scaffold):
            raise TypeError("copy_from_scaffold is not a Scaffold instance.")
        self._user_init_fn = _chosen(init_fn, other, "_user_init_fn")
        self._init_op = _chosen(init_op, other, "init_op")
        self._init_feed_dict = _chosen(init_feed_dict, other, "init_feed_dict")
        self._ready_op = _chosen(ready_op, other, "ready_op")
        self._ready_for_local_init_op = _chosen(ready_for_local_init_op, other, "ready_for_local_init_op")
        self._local_init_op = _chosen(local_init_op, other, "local_init_op")
        self._local_init_feed_dict = _chosen(local_init_feed_dict, other, "local_init_feed_dict")
        self._summary_op = _chosen(summary_op, other, "summary_op")
        self._saver = _chosen(saver, other, "saver")

    def finalize(self) -> Scaffold:
        """Makes what is missing, and finalizes the graph: nothing can be added to it any more.

        Raises:
          RuntimeError: a collection has several pieces, of which none was given here.
        """
        default = self.get_or_default
        if self._init_op is None:
            self._init_op = default("init_op", GraphKeys.INIT_OP, _default_init_op)
        if self._ready_op is None:
            self._ready_op = default("ready_op", GraphKeys.READY_OP, _default_ready_op)
        if self._ready_for_local_init_op is None:
            self._ready_for_local_init_op = default(
                "ready_for_local_init_op", GraphKeys.READY_FOR_LOCAL_INIT_OP, _default_ready_for_local_init_op
            )
        if self._local_init_op is None:
            self._local_init_op = default("local_init_op", GraphKeys.LOCAL_INIT_OP, self.default_local_init_op)
        if self._summary_op is None:
            self._summary_op = default("summary_op", GraphKeys.SUMMARY_OP, merge_all)
        if self._saver is None:
            self._saver = default("saver", GraphKeys.SAVERS, _default_saver)
        if isinstance(self._saver, CheckpointV1 | Checkpoint):
            self._saver = frozen_saver(self._saver, max_to_keep=_KEPT)
        self._saver.build()
        get_default_graph().finalize()
        logs.info("Graph was finalized.")
        return self

    @property
    def init_fn(self) -> Callable[[SessionLike], object] | None:
        """A function of a session; None where none was given."""
        given = self._user_init_fn
        return None if given is None else lambda session: given(self, session)

    @property
    def init_op(self) -> Operation | None:
        return self._init_op

    @property
    def ready_op(self) -> Tensor | None:
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Tensor | None:
        return self._ready_for_local_init_op

    @property
    def local_init_op(self) -> Operation | None:
        return self._local_init_op

    @property
    def local_init_feed_dict(self) -> Mapping[Any, Any] | None:
        return self._local_init_feed_dict

    @property
    def summary_op(self) -> Tensor | None:
        return self._summary_op

    @property
    def saver(self) -> Saver | None:
        # A ``tf.train.Checkpoint`` that was given, until the graph is final.
        found: Saver | None = self._saver
        return found

    @property
    def init_feed_dict(self) -> Mapping[Any, Any] | None:
        return self._init_feed_dict

    @staticmethod
    def get_or_default(arg_name: str, collection_key: str, default_constructor: Callable[[], Any]) -> Any:
        """The one entry of a collection of the default graph, made and added there where there is none.

        Args:
          arg_name: the argument of ``Scaffold`` by which it can be given, for the error.

        Raises:
          RuntimeError: there are several.
        """
        found = get_collection(collection_key)
        if len(found) > 1:
            raise RuntimeError(
                f'More than one item in the collection "{collection_key}". Please indicate which one to use by '
                f"passing it to the tf.Scaffold constructor as:  tf.Scaffold({arg_name}=item to use)"
            )
        if found:
            return found[0]
        made = default_constructor()
        if made is not None:
            add_to_collection(collection_key, made)
        return made

    @staticmethod
    def default_local_init_op() -> Operation:
        """An operation that initializes local variables, tables and the iterators that are among those."""
        return group(local_variables_initializer(), tables_initializer())


def _chosen(given: Any, other: Scaffold | None, name: str) -> Any:
    """What was given, else what the other scaffold has by this name."""
    return given if given is not None or other is None else getattr(other, name)


def _default_init_op() -> Operation:
    return group(global_variables_initializer(), *get_collection("saved_model_initializers"))


def _default_ready_op() -> Tensor:
    # One operation more than it needs, as in the original: others are called as they are there.
    return concat([report_uninitialized_variables()], 0)


def _default_ready_for_local_init_op() -> Tensor:
    return report_uninitialized_variables(global_variables())


def _default_saver() -> Saver:
    return Saver(sharded=True, allow_empty=True)
