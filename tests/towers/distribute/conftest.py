"""Fixtures of the tests of the later surface."""

import pytest

from towerstrat.graph import shapes


@pytest.fixture
def sizes_of_2x(later_behavior):
    """Eagerly; == compares values, and sizes are integers or None."""
    shapes.enable_v2_tensorshape()
    yield
    shapes.disable_v2_tensorshape()
