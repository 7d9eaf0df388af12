"""``python -m tests.compat.keras.saved FOLDER``: saves the models that ``tests/golden/keras_saving.py`` reads there."""

import json
import sys
from pathlib import Path

import towerstrat.compat.v2 as tf
from tests.golden import keras_saving_cases as cases


def main(folder: Path) -> None:
    asked = {}
    for case in [*cases.MODELS, "mlp-legacy", "convolutions-legacy"]:
        name, _, legacy = case.partition("-")
        (folder / case).mkdir(parents=True, exist_ok=True)
        asked[case] = cases.save(tf, name, str(folder / case), bool(legacy))
        print(case, asked[case]["losses"])
    (folder / "asked.json").write_text(json.dumps(asked))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
