"""Writes keras_names.json: canonical names, by TensorFlow 2.15, of the functions in ``signatures*.txt``."""

import operator
from pathlib import Path

import tensorflow as tf
from goldens import make
from tensorflow.python.util import tf_export

RUNS = ["2.15"]

found = {}
for file, mount in (("signatures.txt", "compat.v1."), ("signatures_v2.txt", "")):
    for line in Path(__file__).with_name(file).read_text().splitlines():
        if not line.startswith("tf."):
            continue  # a class or a member
        name = mount + line.partition("(")[0].removeprefix("tf.")
        try:
            value = operator.attrgetter(name)(tf)
        except AttributeError:
            continue  # 1.12 alone has it
        canonical = tf_export.get_canonical_name_for_symbol(value, add_prefix_to_v1_names=True)
        if canonical is not None:
            found[name] = canonical
make("keras_names", found)
