"""How many towers a run has."""

from types import SimpleNamespace

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


@pytest.mark.parametrize(("platforms", "expected"), [("cpu", False), ("tpu,cpu", True), ("cuda", True)])
def test_an_accelerator_is_expected_where_jax_may_look_for_one(monkeypatch, platforms, expected):
    monkeypatch.setattr(devices, "jax", SimpleNamespace(config=SimpleNamespace(jax_platforms=platforms)))
    assert devices.may_be_accelerated() is expected


def test_without_a_choice_plug_ins_tell(monkeypatch):
    monkeypatch.setattr(devices, "jax", SimpleNamespace(config=SimpleNamespace(jax_platforms=None)))
    for library, plugins, expected in ((None, (), False), ("libtpu", (), True), (None, ("cuda",), True)):
        monkeypatch.setattr(devices, "find_spec", lambda name, found=library: found)
        monkeypatch.setattr(devices, "entry_points", lambda group, found=plugins: found)
        assert devices.may_be_accelerated() is expected
