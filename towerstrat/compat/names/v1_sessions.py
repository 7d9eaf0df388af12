"""The public names of the 1.x namespace for sessions that call hooks, and loops over them. Data, by module."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import Rows

ROWS: Rows = (
    ("training.sessions.scaffold", {
        "tf.train": "Scaffold",
    }),
    ("training.sessions.session_manager", {
        "tf.train": "SessionManager",
    }),
    ("training.sessions.session_creators", {
        "tf.train": "ChiefSessionCreator SessionCreator WorkerSessionCreator",
    }),
    ("training.sessions.monitored_session", {
        "tf.train": "MonitoredSession SingularMonitoredSession",
    }),
    ("training.sessions.monitored_training_session", {
        "tf.train": "MonitoredTrainingSession",
    }),
    ("training.sessions.supervisor", {
        "tf.train": "Supervisor",
    }),
    ("training.sessions.basic_train_loop", {
        "tf.train": "basic_train_loop",
    }),
    ("training.sessions.evaluation", {
        "tf.contrib.training": "evaluate_once evaluate_repeatedly get_or_create_eval_step",
    }),
    ("training.sessions.evaluation_hooks", {
        "tf.contrib.training": "StopAfterNEvalsHook SummaryAtEndHook",
    }),
)  # fmt: skip
