"""What the programs of ``examples`` give in several processes, beside what they give in one with as many towers.

    python -m tests.hosts.examples [NAME...]

prints for each program how many numbers it saw, and how far the largest difference is. What is compared is all that its
sessions return, eager values that it reads, its checkpoints and its summaries.
"""

import subprocess
import sys
import tempfile
from functools import reduce
from pathlib import Path
from typing import NamedTuple

import numpy as np

import towerstrat.compat.v1 as tf
from tests.hosts.several import environment

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
TOWERS = 4
TIMES = ("examples/sec", "examples_per_sec", "global_step/sec", "steps_per_second", "_sec")
"""What names of summaries end with that are about time."""


class Program(NamedTuple):
    """A program, and how it is run.

    Attributes:
      script: below ``examples``.
      arguments: of few steps; ``FOLDER`` stands for a folder of the run, ``DATA`` for one of all runs, ``OWN`` for a
        process' number of towers.
      needs: the packages that it needs.
      api: 1 or 2. data: whether the program makes its data, in one process.
      spans: whether its towers are on all processes; else each runs the program by itself.
      by_tower: whether its input function is called for batches of one tower (``PER_HOST_V2``).
      steps: how many sums over towers follow each other in what is compared.
    """

    script: str
    arguments: str = ""
    needs: tuple[str, ...] = ()
    api: int = 1
    data: bool = False
    spans: bool = True
    by_tower: bool = False
    steps: int = 2

    @property
    def bound(self):
        """How far numbers may differ: processes add in another order, which rounds each term of a sum anew."""
        return self.steps * TOWERS * float(np.finfo(np.float32).eps)

    @property
    def together(self):
        """Programs of one group run in one interpreter."""
        return self.api, "sonnet" in self.needs

    def commands(self, folder, data, processes):
        """The arguments of each start."""
        texts = ["--make_data --data_dir=DATA"] if self.data and processes == 1 else []
        stand = {"FOLDER": str(folder), "DATA": str(data), "OWN": str(TOWERS // processes)}
        return [[reduce(lambda word, at: word.replace(*at), stand.items(), word) for word in text.split()]
                for text in (*texts, self.arguments)]  # fmt: skip


DIGITS, SLIM = ("sklearn",), ("tf_slim",)
MADE = "--data_dir=DATA --model_dir=FOLDER "
PROGRAMS = {
    "merge_call": Program("merge_call.py"),
    "digits": Program("digits.py", "--runs=2 --steps_per_run=3", DIGITS),
    "digits_estimator": Program(
        "digits_estimator.py", "--steps=6 --steps_per_run=3 --model_dir=FOLDER", DIGITS
    ),
    "digits_resumed": Program("digits_resumed.py", "--runs=2 --steps_per_run=3 --folder=FOLDER", DIGITS),
    "mirrored_loop": Program("mirrored_loop.py", "--steps=6", DIGITS, steps=6),
    "mirrored_loop, devices named": Program("mirrored_loop.py", "--steps=3 --on_cpu=OWN", DIGITS, steps=3),
    "hand_written_towers": Program("hand_written_towers.py", "--steps=6", DIGITS, spans=False),
    "digits_monitored": Program("digits_monitored.py", "--steps=6 --every=3 --folder=FOLDER", DIGITS, spans=False),
    "digits_checkpoint": Program("digits_checkpoint.py", "--steps=6 --save=FOLDER/model", DIGITS, spans=False),
    "text_classifier": Program("text_classifier.py", "--steps=6", spans=False),
    "libraries/bert_towers": Program("libraries/bert_towers.py", "", ("bert", *SLIM)),
    "libraries/bert_tiny": Program("libraries/bert_tiny.py", "", ("bert", *SLIM), spans=False),
    "libraries/kfac_mlp": Program("libraries/kfac_mlp.py", "", ("kfac",), spans=False),
    "libraries/slim_nets": Program("libraries/slim_nets.py", "resnet_small", SLIM, spans=False),
    "libraries/sonnet_nets": Program("libraries/sonnet_nets.py", "", ("sonnet", *SLIM), spans=False),
    "libraries/trfl_qlearning": Program("libraries/trfl_qlearning.py", "", ("trfl",), spans=False),
    "tpu/mnist": Program("tpu/mnist.py", MADE + "--train_steps=6 --iterations=3", data=True),
    # Noise that is drawn for a host's batch is another one than for the batch of all. Gradients that are 0 but for
    # rounding move weights as others do: a low rate keeps that small.
    "tpu/dcgan": Program(
        "tpu/dcgan.py",
        "--train_steps=4 --train_steps_per_eval=2 --iterations=2 --learning_rate=1e-7 --model_dir=FOLDER",
        by_tower=True,
    ),
    "tpu/language_model": Program(
        "tpu/language_model.py", "--train_steps=6 --iterations=3 --learning_rate=1e-4 --model_dir=FOLDER"
    ),
    "tpu/recommendation": Program("tpu/recommendation.py", MADE + "--epochs=1 --iterations=20", data=True),
    "tpu/resnet": Program("tpu/resnet.py", MADE + "--train_steps=4 --iterations_per_loop=2", data=True),
    "tpu/bert": Program(
        "tpu/bert/run_classifier.py",
        "--num_train_epochs=0.2 --iterations_per_loop=3 --data_dir=DATA --output_dir=FOLDER",
        SLIM, data=True,
    ),
    "keras/fit_on_towers": Program(
        "keras/fit_on_towers.py", "--epochs=1 --learning_rate=1e-5 --weights=FOLDER/weights.h5", ("keras", *DIGITS)
    ),
    "digits_v2": Program("digits_v2.py", "--steps=20", DIGITS, api=2, spans=False),
    "digits_distributed": Program("digits_distributed.py", "--calls=2 --steps_per_call=3", DIGITS, api=2),
    "keras/loop": Program("keras/loop.py", "--epochs=1", ("keras", *DIGITS), api=2),
    "keras/fit": Program("keras/fit.py", "--epochs=2 --folder=FOLDER", ("keras", *DIGITS), api=2),
}  # fmt: skip


def groups(names):
    """Lists of those that run together."""
    found = {}
    for name in names:
        found.setdefault(PROGRAMS[name].together, []).append(name)
    return list(found.values())


def observe(processes, names, out, data):
    """Runs programs of one group, which write into folders of ``out``. The run in one process makes their data."""
    api, older = PROGRAMS[names[0]].together
    several = ["launch", "-n", str(processes), "--devices", str(TOWERS // processes)]
    how = several if processes > 1 else ["run", "--towers", str(TOWERS), "--steps-per-return", "1"]
    command = [sys.executable, "-m", "towerstrat", *how, "--api", str(api), "--quiet"]
    given = environment() | {"JAX_PLATFORMS": "cpu"}
    if older:  # dm-sonnet brings messages that were generated for an older protobuf
        given["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"
    done = subprocess.run(
        [*command, str(Path(__file__).parent / "observed.py"), str(out), str(data), *names],
        env=given, cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-6000:]


def seen(folder, process):
    """The numbers that a program saw in a process."""
    with np.load(folder / f"seen-{process}.npz") as found:
        return {f"number {i}": found[name] for i, name in enumerate(found.files)}


def written(folder):
    """The values in a program's checkpoints and summaries, by name."""
    found = {}
    for index in sorted(folder.rglob("*.index")):
        path = str(index.with_suffix(""))
        for name, _ in tf.train.list_variables(path):
            value = np.asarray(tf.train.load_variable(path, name))
            if value.dtype.kind in "biufc":
                found[f"{name} in {index.relative_to(folder)}"] = value
    for path in sorted(folder.rglob("*.tfevents.*")):
        place = str(path.relative_to(folder).parent)
        for event in tf.train.summary_iterator(str(path)):
            for value in event.summary.value:
                if value.HasField("simple_value") and not value.tag.endswith(TIMES):
                    found[f"{value.tag} of step {event.step} in {place}"] = np.float32(value.simple_value)
    return found


def difference(found, wanted):
    """How far numbers differ at most, those above 1 relative to what they are; integers must be equal."""
    assert list(found) == list(wanted)
    largest = 0.0
    for name, value in wanted.items():
        other = found[name]
        assert (other.dtype, other.shape) == (value.dtype, value.shape), name
        if value.dtype.kind in "biu":
            np.testing.assert_array_equal(other, value, name)
        elif value.size:
            largest = max(largest, float((np.abs(other - value) / np.maximum(1.0, np.abs(value))).max()))
    return largest


def compared(name, processes, alone, together):
    """(how many numbers there are, the largest difference) of a program in several processes."""
    wanted, largest = seen(alone / name, 0), 0.0
    for process in range(processes):
        largest = max(largest, difference(seen(together / name, process), wanted))
    files, others = (written(place / name / "files") for place in (alone, together))
    return len(wanted) + len(files), max(largest, difference(others, files))


def main(*names):
    chosen = list(names or PROGRAMS)
    with tempfile.TemporaryDirectory() as place:
        for group in groups(chosen):
            for processes in (1, 2, 4):
                observe(processes, group, Path(place) / str(processes), Path(place) / "data")
        for name in chosen:
            for processes in (2, 4):
                count, largest = compared(name, processes, Path(place) / "1", Path(place) / str(processes))
                how = "" if PROGRAMS[name].spans else "  (each by itself)"
                print(f"{name:30}  {processes} processes  {count:5} numbers  {largest:.1e}{how}")


if __name__ == "__main__":
    main(*sys.argv[1:])
