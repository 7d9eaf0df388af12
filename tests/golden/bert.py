"""Writes bert.json and the checkpoint in bert/: how TensorFlow 1.12.3 fine-tunes the model of bert_cases.

With a folder as its argument it writes nothing: it reads the checkpoint there, which towerstrat has trained
(``python -m tests.compat.estimator.tpu.tuned_bert FOLDER``), and says how far its predictions are from those that
towerstrat kept beside it.
"""

import json
import os
import sys
import tempfile

import bert_cases
import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
if sys.argv[1:]:
    folder = sys.argv[1]
    with open(os.path.join(folder, "probabilities.json")) as file:
        wanted = json.load(file)
    run = bert_cases.program(tf)
    estimator = bert_cases.make(tf, run, folder, use_tpu=False, checkpoint=None)
    found = bert_cases.probabilities(run, estimator, bert_cases.features(run)["test"])
    print(len(found), "predictions, at most", np.max(np.abs(np.subtract(found, wanted))), "apart")
else:
    bert_cases.pretrained(tf)
    found = {}
    for name, settings in bert_cases.CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            found[name] = bert_cases.fine_tuned(tf, folder, use_tpu=False, **settings)
    found["by_hand"] = bert_cases.on_towers_by_hand(tf, 8)
    with open(os.path.join(bert_cases.HERE, "bert.json"), "w") as file:
        json.dump(found, file, sort_keys=True, separators=(",", ":"))
        file.write("\n")
    print({name: found[name]["result"] for name in bert_cases.CASES}, found["by_hand"])
