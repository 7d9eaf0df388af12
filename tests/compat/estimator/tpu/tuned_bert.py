"""Fine-tunes BERT on eight towers into a folder, for TensorFlow 1.12 to read.

    python -m tests.compat.estimator.tpu.tuned_bert FOLDER
    $(scripts/oracle) tests/golden/bert.py FOLDER

The second command, run by hand, predicts with the checkpoint of the first, and says how far apart predictions are.
"""

import json
import sys
from pathlib import Path

import jax

import towerstrat.compat.v1 as tf
from tests.golden import bert_cases as cases

if __name__ == "__main__":
    jax.config.update("jax_num_cpu_devices", 8)
    folder = sys.argv[1]
    found = cases.fine_tuned(tf, folder, use_tpu=True, iterations_per_loop=10, num_shards=8)
    (Path(folder) / "probabilities.json").write_text(json.dumps(found["probabilities"]))
