"""Writes ``keras_names.json``: canonical names, by TensorFlow 2.15, of the functions in ``signatures*.txt``."""

import json
import operator
from pathlib import Path

import tensorflow as tf
from tensorflow.python.util import tf_export

HERE = Path(__file__).parent


def main():
    found = {}
    for file, mount in (("signatures.txt", "compat.v1."), ("signatures_v2.txt", "")):
        for line in (HERE / file).read_text().splitlines():
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
    (HERE / "keras_names.json").write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
