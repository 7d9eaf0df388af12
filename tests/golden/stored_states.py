"""Stores states of runs, in ``tests/golden/stored_states``: ``python tests/golden/stored_states.py``.

Those that are there were stored by version 0.1.0 before its modules got the names that they have. They show that later
code goes on from files of earlier code, which states stored anew would not: add some beside them and keep these.
"""

import contextlib
import json
import os
import pathlib
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[2]
os.environ |= {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
sys.path.insert(0, str(ROOT))

from tests.golden import stored_states_cases as cases  # noqa: E402

FOLDER = ROOT / "tests/golden/stored_states"


def store_pipelines(found):
    os.chdir(tempfile.mkdtemp())
    cases.write_files()
    runs = cases.Pipelines()
    found["taken"] = runs.take(cases.TAKEN)
    for name in ("cached", "snapshot"):  # what pipelines wrote themselves until now
        if os.path.exists(name):
            (shutil.copytree if os.path.isdir(name) else shutil.copy)(name, FOLDER / name)
    runs.saver.save(runs.session, str(FOLDER / "pipelines" / "model"), write_meta_graph=False)
    found["left"] = runs.take(cases.LEFT)


def store_training(found):
    for train, runs in cases.TRAINING.items():
        name = train.__name__
        found[name] = train(tempfile.mkdtemp(), [])
        folder = pathlib.Path(tempfile.mkdtemp())
        with contextlib.suppress(cases.Killed):
            train(str(folder), [cases.Kill(runs)])
        (FOLDER / name).mkdir()
        for path in folder.glob(f"model.ckpt-{cases.STOP}.*"):
            if path.suffix != ".meta":
                shutil.copy(path, FOLDER / name)
        (FOLDER / name / "checkpoint").write_text(f'model_checkpoint_path: "model.ckpt-{cases.STOP}"\n')


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    found = {}
    store_pipelines(found)
    store_training(found)
    (FOLDER / "elements.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
