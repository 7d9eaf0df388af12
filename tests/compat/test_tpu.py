"""Programs that start the TPU system themselves run."""

import pytest

import towerstrat.compat.v1 as tf
from towerstrat.errors import UnsupportedError


def test_starting_and_stopping_are_operations():
    start, stop = tf.contrib.tpu.initialize_system(), tf.contrib.tpu.shutdown_system()
    assert (start.name, stop.name) == ("ConfigureDistributedTPU", "ShutdownDistributedTPU")
    with tf.Session() as session:
        assert session.run([start, stop]) == [None, None]


def test_embedding_tables_are_refused():
    with pytest.raises(UnsupportedError, match="embedding_lookup"):
        tf.contrib.tpu.initialize_system(embedding_config=object())
