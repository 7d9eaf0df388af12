"""How many towers a run has."""

import jax
import pytest

from towerstrat.platform import devices


@pytest.fixture(autouse=True)
def nothing_asked(monkeypatch):
    monkeypatch.setattr(devices, "_asked", None)


def test_all_devices_unless_fewer_were_asked_for():
    assert devices.devices() == tuple(jax.devices())
    devices.ask(3)
    assert devices.devices() == tuple(jax.devices())[:3]


def test_more_than_there_are(monkeypatch):
    with pytest.raises(RuntimeError, match=r"already started with 8 CPU devices; 9 towers"):
        devices.ask(9)
    monkeypatch.setattr(devices, "_asked", 9)
    with pytest.raises(ValueError, match=r"9 towers were asked for, but there are 8 CPU devices.*JAX_PLATFORMS=cpu"):
        devices.devices()
    with pytest.raises(ValueError, match="at least 1"):
        devices.ask(0)
