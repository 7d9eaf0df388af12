"""Writes sparse_forms.json: what the original makes of the cases of sparse_forms_cases.py."""

import tensorflow as tf
from goldens import make
from sparse_forms_cases import CASES, evaluate, plain

RUNS = ["1.12"]


def outcome(case):
    with tf.Graph().as_default(), tf.Session() as session:
        try:
            made = evaluate(tf, case)
            kept = [x for x in made if x is not None] if isinstance(made, list) else made
            return plain(session.run(kept))
        except Exception as error:
            return "raises " + type(error).__name__


tf.logging.set_verbosity(tf.logging.ERROR)
make("sparse_forms", {case: lambda c=case: outcome(c) for case in CASES})
