"""Writes ``keras_mirrored.json``: models of graphs on two mirrored towers. Wants TensorFlow 1.15."""

import json
import os

import keras_mirrored_cases as cases
import tensorflow as tf

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "keras_mirrored.json")

if __name__ == "__main__":
    virtual = tf.config.experimental
    processor = virtual.list_physical_devices("CPU")[0]
    virtual.set_virtual_device_configuration(processor, [virtual.VirtualDeviceConfiguration()] * len(cases.DEVICES))
    found = {}
    for name, case in cases.CASES.items():
        for way in cases.WAYS:
            tf.keras.backend.clear_session()
            numbers = case(cases.Program(tf, way))
            found[f"{name}: {way}"] = {key: [round(v, 6) for v in values] for key, values in numbers.items()}
    with open(FILE, "w") as file:
        json.dump(found, file, sort_keys=True, indent=0)
        file.write("\n")
