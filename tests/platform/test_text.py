"""Strings, bytes, kinds of numbers and devices."""

import jax
import numpy as np
import pytest

from towerstrat.platform import local, text


def test_strings_and_bytes():
    assert text.as_bytes("ä") == text.as_bytes("ä".encode()) == b"\xc3\xa4"
    assert text.as_text(b"\xc3\xa4") == text.as_str("ä") == "ä"
    assert text.as_bytes("ä", "latin-1") == b"\xe4"
    assert text.as_str_any(b"a") == "a"
    assert text.as_str_any(3) == "3"
    for function in (text.as_bytes, text.as_text):
        with pytest.raises(TypeError, match="Expected bytes or a string, got 3"):
            function(3)


def test_paths(tmp_path):
    assert text.path_to_str(tmp_path) == str(tmp_path)
    assert text.path_to_str("a") == "a"


def test_kinds_of_numbers():
    assert isinstance(np.int8(1), text.integral_types)
    assert not isinstance(1.0, text.integral_types)
    assert isinstance(np.float16(1), text.real_types)
    assert not isinstance(1j, text.real_types)
    assert isinstance(np.complex64(1), text.complex_types)
    assert isinstance(b"", text.bytes_or_text_types)


def test_compatibility_ends_where_the_release_did():
    assert text.forward_compatible(2018, 6, 1)
    assert not text.forward_compatible(2019, 6, 1)


class Gpu:
    platform = "gpu"
    id = 0
    device_kind = "H"

    def __init__(self, capability):
        self.compute_capability = capability

    def memory_stats(self):
        return {"bytes_limit": 5}


def test_without_a_gpu():
    assert (local.num_gpus(), local.gpu_device_name(), local.is_gpu_available(), local.is_built_with_cuda()) == (
        0, "", False, False)  # fmt: skip
    assert [(d.name, d.device_type) for d in local.list_local_devices()][:2] == [
        ("/device:CPU:0", "CPU"),
        ("/device:CPU:1", "CPU"),
    ]


def test_with_a_gpu(monkeypatch):
    monkeypatch.setattr(jax, "local_devices", lambda: [Gpu("8.6")])
    assert (local.num_gpus(), local.gpu_device_name()) == (1, "/device:GPU:0")
    assert local.is_gpu_available(True, (8, 6))
    assert not local.is_gpu_available(True, (9, 0))
    assert local.is_built_with_cuda()
    assert local.list_local_devices()[0].memory_limit == 5
    monkeypatch.setattr(jax, "local_devices", lambda: [Gpu("gfx90a")])
    assert local.is_gpu_available()
    assert not local.is_gpu_available(cuda_only=True)
