"""Writes mirrored_random.json: what the programs of mirrored_programs.py come to on 2 and 4 virtual devices.

Run it with the Python that has TensorFlow 1.12.3: ``python tests/golden/mirrored_random.py``. A key is the seed and
the number of towers; one program a line.
"""

import json
import os

import mirrored_programs
import tensorflow as tf

SEEDS = 200

if __name__ == "__main__":
    tf.logging.set_verbosity(tf.logging.ERROR)
    lines = []
    for seed in range(SEEDS):
        for towers in (2, 4):
            found = json.dumps(mirrored_programs.facts(tf, seed, towers), sort_keys=True, separators=(",", ":"))
            lines.append(f'"{seed} {towers}":{found}')
    with open(os.path.splitext(os.path.abspath(__file__))[0] + ".json", "w") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")
