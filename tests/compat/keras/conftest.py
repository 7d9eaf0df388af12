"""Tests of ``tf.keras`` may run as programs of 2.x do."""

import pytest

from towerstrat.graph.eager import mode
from towerstrat.graph.ir.shapes import disable_v2_tensorshape, enable_v2_tensorshape


@pytest.fixture
def eagerly():
    """Values at once, and shapes whose dimensions are integers."""
    enable_v2_tensorshape()
    with mode.eager_mode():
        yield
    disable_v2_tensorshape()
