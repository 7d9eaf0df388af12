"""What to say about a name that is not here."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cache
from importlib import resources

from towerstrat import errors

ORIGINAL = "TensorFlow 1.12"

HINTS = {
    "tf.keras": "tf.layers has the layers (dense, conv2d, batch_normalization, ...) as functions and classes.",
    "tf.contrib.keras": "tf.layers has the layers as functions and classes.",
    "tf.estimator": "Run the training loop yourself: strategy.run_steps_on_dataset gives a run_op for a tf.Session.",
    "tf.contrib.estimator": "Run the training loop yourself: strategy.run_steps_on_dataset gives a run_op.",
    "tf.contrib.learn": "Run the training loop yourself: strategy.run_steps_on_dataset gives a run_op.",
    "tf.contrib.tpu": "tf.contrib.distribute.TPUStrategy runs a step function on every tower.",
    "tf.tpu": "tf.contrib.distribute.TPUStrategy runs a step function on every tower.",
    "tf.contrib.layers": "tf.layers has the layers as functions and classes.",
    "tf.contrib.slim": "tf.layers, tf.losses and tf.train have the same layers, losses and optimizers.",
    "tf.contrib.eager": "Programs run as graphs: build the graph, then fetch values with tf.Session.run.",
    "tf.enable_eager_execution": "Programs run as graphs: fetch values with tf.Session.run.",
    "tf.contrib.distribute": "tf.contrib.distribute.TPUStrategy and OneDeviceStrategy are here.",
    "tf.distribute": "tf.contrib.distribute.TPUStrategy and OneDeviceStrategy are here.",
    "tf.train.Saver": "session.run(variables) gives values as numpy arrays, variable.load(value, session) sets them.",
    "tf.train.Checkpoint": "session.run(variables) gives values, variable.load(value, session) sets them.",
    "tf.train.MonitoredSession": "Use tf.Session and run the initializers first.",
    "tf.train.MonitoredTrainingSession": "Use tf.Session and run the initializers first.",
    "tf.train.SingularMonitoredSession": "Use tf.Session and run the initializers first.",
    "tf.train.Supervisor": "Use tf.Session and run the initializers first.",
    "tf.train.start_queue_runners": "Input comes from tf.data; there are no queues to start.",
    "tf.train.Coordinator": "Input comes from tf.data; there are no threads to coordinate.",
    "tf.train.QueueRunner": "Input comes from tf.data; there are no queues to run.",
    "tf.summary": "Fetch the values with Session.run and write them with any logger.",
    "tf.contrib.summary": "Fetch the values with Session.run and write them with any logger.",
    "tf.Summary": "Fetch the values with Session.run and write them with any logger.",
    "tf.saved_model": "session.run(variables) gives values as numpy arrays to save.",
    "tf.feature_column": "Give numeric tensors to the layers; tf.nn.embedding_lookup and tf.one_hot encode ids.",
    "tf.image": "Prepare images with numpy in tf.data.Dataset.from_generator.",
    "tf.parse_single_example": "Read records with Python in tf.data.Dataset.from_generator.",
    "tf.parse_example": "Read records with Python in tf.data.Dataset.from_generator.",
    "tf.FixedLenFeature": "Read records with Python in tf.data.Dataset.from_generator.",
    "tf.python_io": "Read and write records with Python.",
    "tf.examples": "Load the data with Python and give it to tf.data.Dataset.from_tensor_slices.",
    "tf.RunOptions": "Profile with jax.profiler.",
    "tf.RunMetadata": "Profile with jax.profiler.",
    "tf.nn.rnn_cell": "Write the recurrence with tf.while_loop.",
    "tf.nn.dynamic_rnn": "Write the recurrence with tf.while_loop.",
    "tf.nn.nce_loss": "tf.nn.sigmoid_cross_entropy_with_logits over sampled rows makes this loss.",
    "tf.nn.sampled_softmax_loss": "tf.nn.softmax_cross_entropy_with_logits_v2 over sampled rows makes this loss.",
    "tf.make_template": "tf.variable_scope(..., reuse=tf.AUTO_REUSE) shares variables between calls.",
    "tf.contrib": "tf.contrib.distribute and tf.contrib.cluster_resolver are here.",
}
"""What to use instead, by the dotted beginning of the missing name; the longest that fits is said."""


@cache
def original_names() -> frozenset[str]:
    """Every public name of the original, and of the modules that hold them."""
    names: set[str] = set()
    text = resources.files("towerstrat.compat").joinpath("original_names.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        module, _, members = line.partition(":")
        parts = module.split(".")
        names.update(".".join(parts[:i]) for i in range(1, len(parts) + 1))
        names.update(f"{module}.{member}" for member in members.split())
    return frozenset(names)


_HERE: set[str] = set()


def announce(names: Iterable[str]) -> None:
    """Tells which names are here, for suggestions."""
    _HERE.update(names)


def hint(name: str) -> str:
    """What to use instead of ``name``, a sentence, or ''."""
    parts = name.split(".")
    for length in range(len(parts), 1, -1):
        found = HINTS.get(".".join(parts[:length]))
        if found:
            return found
    near = _elsewhere(parts[-1]) if name in original_names() else nearest(name)
    return f"The nearest name here is {near}." if near else ""


def nearest(name: str) -> str | None:
    """The name here that is most like ``name``: the same last part elsewhere, or a similar spelling."""
    module, _, last = name.rpartition(".")
    same = _elsewhere(last)
    if same:
        return same
    beside = [n for n in _HERE if n.rpartition(".")[0] == module]
    for candidates, cutoff in ((beside, 0.6), (sorted(_HERE), 0.75)):
        close = difflib.get_close_matches(name, candidates, n=1, cutoff=cutoff)
        if close and difflib.SequenceMatcher(None, close[0].rpartition(".")[2], last).ratio() >= 0.5:
            return close[0]
    return None


def _elsewhere(last: str) -> str | None:
    """The shortest name here that ends in ``last``."""
    return min((n for n in _HERE if n.rpartition(".")[2] == last), key=lambda n: (n.count("."), n), default=None)


def describe(name: str) -> str:
    """What is known about a missing ``name``, and what to use instead."""
    if not name.startswith("tf."):
        public = _elsewhere(name.rpartition(".")[2])
        return f"{name} is inside TensorFlow and not here. Use {public or 'the public names, tf.*'} instead."
    if name in original_names():
        return f"{name} is a name of {ORIGINAL} that towerstrat does not have. {hint(name)}".rstrip()
    return f"Neither towerstrat nor {ORIGINAL} has the name {name}. {hint(name)}".rstrip()


def missing(name: str) -> AttributeError:
    """The error for a missing ``name``: UnknownSymbolError where the original has it, else a plain AttributeError."""
    kind = errors.UnknownSymbolError if name in original_names() else AttributeError
    return kind(describe(name))
