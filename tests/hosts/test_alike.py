"""Whether processes have the same pipeline is seen from what it is made of; axes need a device of each process."""

import jax
import pytest

import towerstrat.compat.v1 as tf
from towerstrat.compat.estimator.tpu.input_modes import pipeline_of
from towerstrat.data.pipeline.fingerprint import pieces
from towerstrat.graph.ir.mesh import Axis

OF_PROCESS = {
    "shard": lambda i: tf.data.Dataset.range(8).shard(tf.constant(2, tf.int64), tf.constant(i, tf.int64)),
    "files": lambda i: tf.data.TFRecordDataset(tf.constant([f"/data/part-{i}"])),
    "rows": lambda i: tf.data.Dataset.from_tensor_slices(tf.constant([i, 2])),
    "map": lambda i: _captured(i, lambda k: tf.data.Dataset.range(8).map(lambda x: x + k)),
    "filter": lambda i: tf.data.Dataset.range(8).filter(lambda x: tf.equal(x % 2, i)),
    "interleave": lambda i: _captured(
        i, lambda k: tf.data.Dataset.range(3).interleave(lambda x: tf.data.Dataset.range(x + k), 2)
    ),
    "tensors": lambda i: _captured(i, lambda k: tf.data.Dataset.range(8).shard(2, k)).make_one_shot_iterator(),
}
"""Pipelines of process ``i``."""


def _captured(i, make):
    return make(tf.constant(i, tf.int64) * 2)


def described(name, i):
    with tf.Graph().as_default():
        made = OF_PROCESS[name](i)
        if name == "tensors":
            made = tf.data.Dataset._made(pipeline_of(made.get_next()))
        return [text for text, _ in pieces(made.node)]


@pytest.mark.parametrize("name", OF_PROCESS)
def test_pipelines_that_processes_divide_themselves_are_not_alike(name):
    assert described(name, 0) == described(name, 0)
    assert described(name, 0) != described(name, 1)


def test_towers_on_some_of_the_processes_are_refused(monkeypatch):
    monkeypatch.setattr(jax, "process_count", lambda: 4)
    monkeypatch.setattr(jax, "process_index", lambda: 2)
    with pytest.raises(ValueError, match=r"2 tower\(s\) on devices of the processes \[0\], in a run of 4 processes"):
        Axis("tower", jax.devices()[:2])
