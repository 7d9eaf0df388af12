"""Writes records.json: what the original makes of the files of records_cases.py, and files that it wrote.

With a folder as its argument it reads instead what ``tests/data/files/test_record_files.py`` wrote there, files of
every kind of compression, and says whether all is right.
"""

import binascii
import os
import sys
import tempfile

import tensorflow as tf
from goldens import make
from records_cases import CASES, RECORDS, options, outcome, recorded

RUNS = ["1.12"]


def evaluated(case):
    with tf.Graph().as_default(), tempfile.TemporaryDirectory() as folder:
        return outcome(tf, case, folder)


def content(kind):
    folder = tempfile.mkdtemp()
    with open(recorded(tf, folder, "file", options(tf, kind)), "rb") as file:
        return binascii.hexlify(file.read()).decode()


tf.logging.set_verbosity(tf.logging.ERROR)
if sys.argv[1:]:
    for kind in ("", "GZIP", "ZLIB"):
        found = list(tf.python_io.tf_record_iterator(os.path.join(sys.argv[1], "records" + kind), options(tf, kind)))
        assert found == RECORDS, (kind, found)
    print("all right")
else:
    cases = {name: lambda c=case: evaluated(c) for name, case in CASES.items()}
    make("records", dict(cases, files={kind: lambda k=kind: content(k) for kind in ("", "GZIP", "ZLIB")}))
