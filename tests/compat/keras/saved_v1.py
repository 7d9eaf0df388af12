"""``python -m tests.compat.keras.saved_v1 FOLDER``: saves the models of 1.x that ``tests/golden/keras_files.py`` reads."""

import json
import sys
from pathlib import Path

import towerstrat.compat.v1 as tf
from tests.golden import keras_files_cases as cases


def main(folder: Path) -> None:
    """Trains and saves every model, and keeps what is asked of it in each form."""
    asked = {}
    for name in cases.CASES:
        (folder / name).mkdir(parents=True, exist_ok=True)
        cases.save(tf, name, str(folder / name))
        asked[name] = cases.loaded(tf, name, str(folder / name))
        print(name)
    (folder / "asked.json").write_text(json.dumps(asked))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
