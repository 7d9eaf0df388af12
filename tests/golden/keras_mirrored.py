"""Writes keras_mirrored.json: models of graphs on two mirrored towers."""

import tensorflow as tf
from goldens import make
from keras_mirrored_cases import CASES, DEVICES, WAYS, Program

RUNS = ["1.15"]


def run(case, way):
    tf.keras.backend.clear_session()
    return {key: [round(v, 6) for v in values] for key, values in case(Program(tf, way)).items()}


virtual = tf.config.experimental
processor = virtual.list_physical_devices("CPU")[0]
virtual.set_virtual_device_configuration(processor, [virtual.VirtualDeviceConfiguration()] * len(DEVICES))
runs = {f"{name}: {way}": lambda c=case, w=way: run(c, w) for name, case in CASES.items() for way in WAYS}
make("keras_mirrored", runs)
