"""Writes sparse_forms.json: what the original makes of the cases of sparse_forms_cases.py.

Run it with the Python that has TensorFlow 1.12.3: ``python tests/golden/sparse_forms.py``.
"""

import json
import os

import tensorflow as tf
from sparse_forms_cases import CASES, evaluate, plain

tf.logging.set_verbosity(tf.logging.ERROR)


def outcome(case):
    with tf.Graph().as_default(), tf.Session() as session:
        try:
            made = evaluate(tf, case)
            kept = [x for x in made if x is not None] if isinstance(made, list) else made
            return plain(session.run(kept))
        except Exception as error:
            return "raises " + type(error).__name__


found = {case: outcome(case) for case in CASES}
with open(os.path.splitext(os.path.abspath(__file__))[0] + ".json", "w") as file:
    json.dump(found, file, indent=0, sort_keys=True)
    file.write("\n")
