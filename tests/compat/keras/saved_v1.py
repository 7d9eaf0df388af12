"""``python -m tests.compat.keras.saved_v1 FOLDER [NAME ...]``: files for ``tests/golden/keras_files.py``."""

import json
import sys
from pathlib import Path

import towerstrat.compat.v1 as tf
from tests.golden import keras_files_cases as cases


def main(folder: Path, names: list[str]) -> None:
    """Trains and saves models, all by default, and keeps what is asked of each in each form."""
    asked = {}
    for name in names or cases.CASES:
        (folder / name).mkdir(parents=True, exist_ok=True)
        cases.save(tf, name, str(folder / name))
        asked[name] = cases.loaded(tf, name, str(folder / name))
        print(name)
        (folder / "asked.json").write_text(json.dumps(asked))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
