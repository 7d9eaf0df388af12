"""Tests of ``tf.keras`` run eagerly, as programs of 2.x do, unless they say otherwise."""

import pytest

from towerstrat.graph.eager import mode


@pytest.fixture
def eagerly():
    with mode.eager_mode():
        yield
