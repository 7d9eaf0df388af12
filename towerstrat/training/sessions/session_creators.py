"""How a monitored session gets the session that it runs: ``tf.train.ChiefSessionCreator`` and its kin.

Source: ``tensorflow/python/training/monitored_session.py``.
"""

from __future__ import annotations

import abc

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.runtime.sessions.session import BaseSession, Session
from towerstrat.platform import messages
from towerstrat.training.sessions.scaffold import Scaffold
from towerstrat.training.sessions.session_manager import SessionManager


class SessionCreator(abc.ABC):
    """Makes a session, and another one each time a monitored session has to recover."""

    @abc.abstractmethod
    def create_session(self) -> BaseSession:
        """A new session, ready to run."""
        raise NotImplementedError(f"create_session is not implemented for {self}.")


class ChiefSessionCreator(SessionCreator):
    """Makes sessions whose variables are restored or initialized.

    Args:
      scaffold: with what; default ``Scaffold()``. It is finalized with the first session.
      master, config: the target and the ``ConfigProto`` of the sessions.
      checkpoint_dir: the folder whose latest checkpoint is restored, if there is one.
      checkpoint_filename_with_path: a checkpoint to restore, instead of a folder.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: messages.ConfigProto | None = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
    ):
        self._scaffold = scaffold or Scaffold()
        self._session_manager: SessionManager | None = None
        self._master = master
        self._config = config
        self._checkpoint_dir = checkpoint_dir
        self._checkpoint_filename_with_path = checkpoint_filename_with_path

    def create_session(self) -> Session:
        scaffold = self._scaffold.finalize()
        self._session_manager = self._session_manager or _manager(scaffold)
        return self._session_manager.prepare_session(
            self._master,
            saver=scaffold.saver,
            checkpoint_dir=self._checkpoint_dir,
            checkpoint_filename_with_path=self._checkpoint_filename_with_path,
            config=self._config,
            init_op=scaffold.init_op,
            init_feed_dict=scaffold.init_feed_dict,
            init_fn=scaffold.init_fn,
        )


class WorkerSessionCreator(SessionCreator):
    """Makes sessions that wait until the model is ready.

    Args:
      scaffold, master, config: as of ``ChiefSessionCreator``.
      max_wait_secs: how many seconds to wait.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: messages.ConfigProto | None = None,
        max_wait_secs: float = 30 * 60,
    ):
        self._scaffold = scaffold or Scaffold()
        self._session_manager: SessionManager | None = None
        self._master = master
        self._config = config
        self._max_wait_secs = max_wait_secs

    def create_session(self) -> Session:
        scaffold = self._scaffold.finalize()
        self._session_manager = self._session_manager or _manager(scaffold)
        return self._session_manager.wait_for_session(self._master, self._config, self._max_wait_secs)


def _manager(scaffold: Scaffold) -> SessionManager:
    """The session manager with what a scaffold has, for the default graph."""
    return SessionManager(
        local_init_op=scaffold.local_init_op,
        ready_op=scaffold.ready_op,
        ready_for_local_init_op=scaffold.ready_for_local_init_op,
        graph=get_default_graph(),
        local_init_feed_dict=scaffold.local_init_feed_dict,
    )
