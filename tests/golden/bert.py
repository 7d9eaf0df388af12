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
from goldens import make

RUNS = ["1.12"]


def compare(folder):
    with open(os.path.join(folder, "probabilities.json")) as file:
        wanted = json.load(file)
    run = bert_cases.program(tf)
    estimator = bert_cases.make(tf, run, folder, use_tpu=False, checkpoint=None)
    found = bert_cases.probabilities(run, estimator, bert_cases.features(run)["test"])
    print(len(found), "predictions, at most", np.max(np.abs(np.subtract(found, wanted))), "apart")


def fine_tuned(settings):
    with tempfile.TemporaryDirectory() as folder:
        return bert_cases.fine_tuned(tf, folder, use_tpu=False, **settings)


tf.logging.set_verbosity(tf.logging.ERROR)
if sys.argv[1:]:
    compare(sys.argv[1])
else:
    if not os.path.exists(bert_cases.CHECKPOINT + ".index"):
        bert_cases.pretrained(tf)
    cases = {name: lambda s=settings: fine_tuned(s) for name, settings in bert_cases.CASES.items()}
    make("bert", dict(cases, by_hand=lambda: bert_cases.on_towers_by_hand(tf, 8)))
