"""Checkpoints of objects by the original, 1.12.3 or 2.15: ``python tests/golden/checkpoints_objects.py FOLDER``.

Writes a checkpoint after two steps, and ``objects.json`` with its keys and the values then and one step later.
With ``--read PREFIX`` it restores a checkpoint that towerstrat wrote instead, and prints these values.
"""

import json
import sys

import tensorflow
from checkpoints_objects_cases import Holder

tf = tensorflow.compat.v1 if tensorflow.__version__.startswith("2") else tensorflow


def main(folder):
    """Writes."""
    holder = Holder(tf)
    holder.train()
    holder.train()
    path = holder.checkpoint.save(folder + "/objects")
    then = [holder.values(), holder.other()]
    holder.train()
    found = {"path": path.split("/")[-1], "keys": [n for n, _ in tf.train.list_variables(path)], "then": then}
    with open(folder + "/objects.json", "w") as file:
        json.dump(dict(found, later=holder.values()), file, sort_keys=True, indent=1)


def read(prefix):
    """Reads what was written elsewhere."""
    holder = Holder(tf)
    holder.change()
    status = holder.checkpoint.restore(prefix)
    then = [holder.values(), holder.other()]
    holder.train()
    status.assert_consumed()
    print(json.dumps({"then": then, "later": holder.values()}))


if __name__ == "__main__":
    tf.enable_eager_execution()
    main(sys.argv[1]) if sys.argv[1] != "--read" else read(sys.argv[2])
