"""Writes records.json: what the original makes of the files of records_cases.py, and files that it wrote.

Run with 1.12's Python. With a folder, ``python tests/golden/records.py FOLDER``, it reads instead what
``tests/data/files/test_record_files.py`` wrote there, files of every kind of compression, and says whether all is
right.
"""

import binascii
import json
import os
import sys
import tempfile

import tensorflow as tf
from records_cases import CASES, RECORDS, options, outcome, recorded

tf.logging.set_verbosity(tf.logging.ERROR)


def evaluated(case):
    with tf.Graph().as_default(), tempfile.TemporaryDirectory() as folder:
        return outcome(tf, case, folder)


def content(kind):
    folder = tempfile.mkdtemp()
    with open(recorded(tf, folder, "file", options(tf, kind)), "rb") as file:
        return binascii.hexlify(file.read()).decode()


if len(sys.argv) > 1:
    for kind in ("", "GZIP", "ZLIB"):
        found = list(tf.python_io.tf_record_iterator(os.path.join(sys.argv[1], "records" + kind), options(tf, kind)))
        assert found == RECORDS, (kind, found)
    print("all right")
else:
    found = {name: evaluated(case) for name, case in CASES.items()}
    found["files"] = {kind: content(kind) for kind in ("", "GZIP", "ZLIB")}
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "records.json"), "w") as file:
        json.dump(found, file, indent=0, sort_keys=True)
        file.write("\n")
