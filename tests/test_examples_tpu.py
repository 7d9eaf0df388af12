"""Programs with a TPUEstimator train, evaluate and predict, on one tower and on eight: those of ``examples/tpu``."""

import re
from importlib.util import find_spec

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.test_examples import run

pytestmark = [pytest.mark.long, pytest.mark.parametrize("towers", [1, 8])]


def numbers(pattern, output):
    """The groups of each line that matches, as numbers."""
    return [[float(found) for found in line.groups()] for line in re.finditer(f"^{pattern}$", output, re.M)]


@pytest.mark.skipif(find_spec("tf_slim") is None, reason="tf.contrib.layers needs the package tf-slim")
def test_bert(towers, tmp_path):
    folder = f"--data_dir={tmp_path}"
    run("tpu/bert/run_classifier.py", "--make_data", folder)
    output = run("tpu/bert/run_classifier.py", folder, f"--output_dir={tmp_path / 'tuned'}", towers=towers)
    assert "global_step = 120" in output
    assert numbers(r"eval_accuracy = (\S+)", output)[0][0] > 0.95
    found = np.loadtxt(tmp_path / "tuned" / "test_results.tsv")
    wanted = [int(line[0]) for line in (tmp_path / "test.tsv").read_text().splitlines()]
    assert np.mean(found.argmax(1) == wanted) > 0.9


def test_mnist(towers, tmp_path):
    folder = f"--data_dir={tmp_path}"
    run("tpu/mnist.py", "--make_data", folder)
    output = run("tpu/mnist.py", folder, towers=towers)
    ((step, _, accuracy),) = numbers(r"step (\d+)  loss (\S+)  accuracy (\S+)", output)
    assert step == 300
    assert accuracy > 0.9
    (found,) = re.findall(r"^digits: ([\d ]+)$", output, re.M)
    wanted = np.fromfile(tmp_path / "t10k-labels-idx1-ubyte", np.uint8)[8:40]
    assert np.mean(np.array(found.split(), int) == wanted) > 0.8


def test_adversarial_networks(towers, tmp_path):
    output = run("tpu/dcgan.py", f"--model_dir={tmp_path}", towers=towers)
    evaluations = numbers(r"step +(\d+)  discriminator (\S+)  generator (\S+)  brightness (\S+)", output)
    assert [row[0] for row in evaluations] == [150, 300]
    ((count, middle, border),) = numbers(r"(\d+) images drawn: (\S+) in the middle, (\S+) at the border", output)
    assert count == 16
    assert middle > 0.2 > -0.6 > border
    assert np.load(tmp_path / "drawn.npy").shape == (16, 16, 16, 1)


def test_recommendations(towers, tmp_path):
    folder = f"--data_dir={tmp_path}"
    run("tpu/recommendation.py", "--make_data", folder)
    output = run("tpu/recommendation.py", folder, towers=towers)
    rows = numbers(r"step +(\d+)  hit rate (\S+)  NDCG (\S+)", output)
    assert [row[0] for row in rows] == list(range(40, 241, 40))
    assert rows[-1][1] > 0.7 > 0.3 > rows[0][1]  # chance puts one in ten among the first
    assert rows[-1][1] > rows[-1][2] > rows[0][2]
    (found,) = re.findall(r"^for the first user: ([\d ]+)$", output, re.M)
    chosen = [line.split(",") for line in (tmp_path / "ratings.csv").read_text().splitlines()]
    kind = int(next(item for user, item in chosen if user == "0")) % 6
    assert np.mean(np.array(found.split(), int) % 6 == kind) > 0.7


def test_a_language_model_and_its_host_call(towers, tmp_path):
    output = run("tpu/language_model.py", f"--model_dir={tmp_path}", towers=towers)
    ((step, perplexity, _),) = numbers(r"step (\d+)  perplexity (\S+)  accuracy (\S+)", output)
    assert step == 300
    assert perplexity < 3.5
    assert len(re.findall(r"^[\d+=;]{32} -> [\d+=;]{12}$", output, re.M)) == 8
    written = {}
    for name in tmp_path.glob("events*"):
        for event in tf.train.summary_iterator(str(name)):
            for value in event.summary.value:
                written.setdefault(value.tag, []).append(event.step)
    assert written["loss_of_step"] == written["learning_rate"] == list(range(1, 301))


def test_a_residual_network_of_images_in_records(towers, tmp_path):
    folder = f"--data_dir={tmp_path}"
    run("tpu/resnet.py", "--make_data", folder)
    output = run("tpu/resnet.py", folder, towers=towers)
    ((step, _, first, second),) = numbers(r"step (\d+)  loss (\S+)  accuracy (\S+), (\S+)", output)
    assert step == 80
    assert second >= first > 0.4  # chance finds one in four
    assert len(re.findall(r"disc|square|cross|stripes", output)) == 12
