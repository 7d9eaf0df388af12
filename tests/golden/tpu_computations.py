"""What the originals return and refuse: run by 1.12.3 ($(scripts/oracle)) and by 1.15.5 ($(scripts/oracle --last)).

Writes ``tpu_computations.json``: what each version found, by the version.
"""

import json
import os

import tensorflow as tf
from tpu_computations_cases import found

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tpu_computations.json")

if __name__ == "__main__":
    kept = {}
    if os.path.exists(PATH):
        with open(PATH) as file:
            kept = json.load(file)
    kept[".".join(tf.__version__.split(".")[:2])] = found(tf)
    with open(PATH, "w") as file:
        json.dump(kept, file, indent=1, sort_keys=True)
        file.write("\n")
