"""``python -m tests.compat.keras.saved_custom FOLDER``: files for ``tests/golden/keras_custom.py``."""

import json
import sys
from pathlib import Path

import towerstrat.compat.v2 as tf
from tests.golden import keras_custom_cases as cases


def main(folder: Path) -> None:
    """Trains and saves the models, and keeps what is asked of each in each form."""
    asked = {}
    for name in cases.CASES:
        (folder / name).mkdir(parents=True, exist_ok=True)
        place = str(folder / name)
        cases.save(tf, name, place)
        asked[name] = {form: cases.loaded(tf, name, place, form) for form in cases.forms(name)}
        (folder / "asked.json").write_text(json.dumps(asked))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
