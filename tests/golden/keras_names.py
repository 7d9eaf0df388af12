"""Writes ``keras_names.json``: canonical names, by TensorFlow 2.15, of the functions that ``signatures_v2.txt`` lists."""

import json
import operator
from pathlib import Path

import tensorflow as tf
from tensorflow.python.util import tf_export

HERE = Path(__file__).parent


def main():
    found = {}
    for line in (HERE / "signatures_v2.txt").read_text().splitlines():
        name = line.partition("(")[0]
        if not name.startswith("tf."):
            continue  # a class or a member
        value = operator.attrgetter(name.removeprefix("tf."))(tf)
        canonical = tf_export.get_canonical_name_for_symbol(value, add_prefix_to_v1_names=True)
        if canonical is not None:
            found[name.removeprefix("tf.")] = canonical
    (HERE / "keras_names.json").write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
