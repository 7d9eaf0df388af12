"""Fixtures of the tests of the later surface."""

import jax
import pytest

from towerstrat.graph.ir import shapes


@pytest.fixture
def sizes_of_2x(later_behavior):
    """Eagerly; == compares values, and sizes are integers or None."""
    shapes.enable_v2_tensorshape()
    yield
    shapes.disable_v2_tensorshape()


@pytest.fixture
def compiled(monkeypatch):
    """The names of what is compiled from here on."""
    names = []
    compile = jax.stages.Lowered.compile

    def noted(lowered, *args, **kwargs):
        names.append(lowered.as_text().partition("@")[2].partition(" ")[0].removeprefix("jit_").lstrip("_"))
        return compile(lowered, *args, **kwargs)

    monkeypatch.setattr(jax.stages.Lowered, "compile", noted)
    return names
