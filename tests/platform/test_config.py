"""``tf.config``: devices and settings."""

import subprocess
import sys

import jax
import pytest

from towerstrat.platform import config

CPU = config.PhysicalDevice("/physical_device:CPU:0", "CPU")


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch):
    monkeypatch.setattr(config, "_SETTINGS", config._Settings())


def test_devices_of_a_machine_without_accelerators():
    assert config.list_physical_devices() == config.list_physical_devices("CPU") == [CPU]
    assert repr(CPU) == "PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')"
    assert config.list_physical_devices("GPU") == config.list_logical_devices("GPU") == []
    assert config.list_logical_devices("TPU") == [config.LogicalDevice(f"/device:TPU:{i}", "TPU") for i in range(8)]
    assert config.list_logical_devices() == [
        config.LogicalDevice(f"/device:CPU:{i}", "CPU") for i in range(len(jax.devices("cpu")))
    ]
    assert config.get_device_details(CPU) == {}


class Accelerator:
    def __init__(self, number):
        self.number, self.platform, self.device_kind = number, "gpu", "H1"

    def memory_stats(self):
        return {"bytes_in_use": 10 + self.number, "peak_bytes_in_use": 20}


def test_accelerators(monkeypatch):
    monkeypatch.setattr(config, "_accelerators", lambda: (Accelerator(0), Accelerator(1)))
    gpus = config.list_physical_devices("GPU")
    assert [d.name for d in gpus] == ["/physical_device:GPU:0", "/physical_device:GPU:1"]
    assert config.get_device_details(gpus[1]) == {"device_name": "H1"}
    assert config.get_memory_info("GPU:1") == {"current": 11, "peak": 20}
    assert config.get_memory_usage("/device:GPU:0") == 10
    config.set_visible_devices(gpus[1], "GPU")
    assert config.list_logical_devices("GPU") == [config.LogicalDevice("/device:GPU:1", "GPU")]
    assert config.get_visible_devices() == [CPU, gpus[1]]
    config.set_visible_devices([], "GPU")
    assert config.get_visible_devices() == [CPU]
    config.set_memory_growth(gpus[0], True)
    assert [config.get_memory_growth(g) for g in gpus] == [True, False]
    with pytest.raises(ValueError, match="each accelerator as one device"):
        config.set_logical_device_configuration(gpus[0], [config.LogicalDeviceConfiguration()] * 2)
    with pytest.raises(ValueError, match="got 'GPU:2'"):
        config.get_memory_info("GPU:2")


def test_logical_devices_when_jax_has_started():
    jax.devices()
    assert config.get_logical_device_configuration(CPU) is None
    config.set_logical_device_configuration(CPU, [config.LogicalDeviceConfiguration()] * 3)
    assert len(config.list_logical_devices("CPU")) == 3
    assert len(config.get_logical_device_configuration(CPU)) == 3
    with pytest.raises(RuntimeError, match=r"already started with 8 CPU devices; 9 logical"):
        config.set_logical_device_configuration(CPU, [config.LogicalDeviceConfiguration()] * 9)


def test_logical_devices_before_jax_starts():
    program = (
        "from towerstrat.platform import config\n"
        "cpu = config.list_physical_devices('CPU')[0]\n"
        "config.set_logical_device_configuration(cpu, [config.LogicalDeviceConfiguration()] * 5)\n"
        "import jax; print(len(jax.devices('cpu')), len(config.list_logical_devices()))"
    )
    environment = {"PATH": "", "JAX_PLATFORMS": "cpu"}
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert ran.stdout.split() == ["5", "5"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: config.get_logical_device_configuration(3), "Unrecognized device: 3"),
        (lambda: config.set_memory_growth(config.PhysicalDevice("x", "CPU"), True), "Unrecognized device"),
        (lambda: config.set_visible_devices([config.PhysicalDevice("x", "GPU")]), "Unrecognized device"),
        (lambda: config.set_visible_devices([CPU], "GPU"), "is no GPU"),
        (
            lambda: config.set_logical_device_configuration(CPU, [config.LogicalDeviceConfiguration(memory_limit=1)]),
            "memory limit",
        ),
        (lambda: config.get_memory_info("CPU:0"), "Expected an accelerator"),
        (lambda: config.set_jit("foo"), "'foo'"),
        (lambda: config.set_device_policy("foo"), "'foo'"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_settings_are_given_back():
    assert config.get_jit() == ""
    assert config.get_soft_device_placement()
    config.set_jit(True)
    config.set_soft_device_placement(False)
    config.set_inter_op_parallelism_threads(2)
    config.set_intra_op_parallelism_threads(3)
    config.set_experimental_options({"constant_folding": True})
    config.set_synchronous_execution(False)
    config.set_device_policy("warn")
    config.enable_tensor_float_32_execution(False)
    assert config.get_jit() == "autoclustering"
    assert not config.get_soft_device_placement()
    assert (config.get_inter_op_parallelism_threads(), config.get_intra_op_parallelism_threads()) == (2, 3)
    assert config.get_experimental_options() == {"constant_folding": True}
    assert not config.get_synchronous_execution()
    assert config.get_device_policy() == "warn"
    assert not config.tensor_float_32_execution_enabled()
    config.set_log_device_placement(True)
    assert config.get_log_device_placement()
    config.set_jit(False)
    assert config.get_jit() == ""
