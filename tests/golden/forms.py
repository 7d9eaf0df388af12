"""Writes forms.json: in which forms the original takes the integers of forms_cases.py.

Each call runs in a process of its own, since some forms end the original's. Run it with the Python that has TensorFlow
1.12.3: ``python tests/golden/forms.py``.
"""

import json
import os

import forms_cases
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)


def apart(function):
    """The JSON of what ``function()`` gives in a child process; None where that dies."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, json.dumps(function()).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        text = file.read()
    os.waitpid(child, 0)
    return json.loads(text.decode()) if text else None


golden = {}
for name, call in forms_cases.CALLS.items():
    forms = forms_cases.FORMS
    found = apart(lambda call=call: [forms_cases.outcome(tf, call, form) for form in forms_cases.FORMS])
    if found is None:
        found = [apart(lambda call=call, form=form: forms_cases.outcome(tf, call, form)) or ["error"] for form in forms]
    golden[name] = dict(zip(forms, found))  # noqa: B905
with open(os.path.splitext(os.path.abspath(__file__))[0] + ".json", "w") as file:
    json.dump(golden, file, indent=0, sort_keys=True)
