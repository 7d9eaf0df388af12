"""What TensorBoard shows of event files, through its HTTP interface.

The command is that of the environment, or what ``TENSORBOARD`` in the environment names.
"""

import json
import os
import re
import shutil
import subprocess
import time
from urllib import error, parse, request

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from towerstrat.graph.eager.mode import eager_mode

COMMAND = os.environ.get("TENSORBOARD") or shutil.which("tensorboard")
pytestmark = [pytest.mark.long, pytest.mark.skipif(COMMAND is None, reason="TensorBoard is not installed")]
IMAGE = np.linspace(0, 1, 48, dtype=np.float32).reshape(1, 4, 4, 3)


def first_run(folder):
    """A run of 1.x: a graph, and summaries of each kind."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        tf.summary.scalar("loss", tf.reduce_mean(x * x, name="mean"))
        tf.summary.histogram("values", x)
        tf.summary.image("picture", IMAGE)
        tf.summary.text("words", tf.constant("some *words*"))
        tf.summary.audio("sound", np.zeros([1, 100], np.float32), 8000.0)
        merged = tf.summary.merge_all()
        with tf.summary.FileWriter(folder, graph) as writer:
            for step in range(5):
                writer.add_summary(session.run(merged, {x: [step, step + 1.0]}), step)


def later_run(folder):
    """A run of 2.x."""
    with eager_mode(), tf2.summary.create_file_writer(folder).as_default():
        for step in range(5):
            tf2.summary.scalar("loss", step * 2.0, step=step)
        tf2.summary.histogram("values", [1.0, 2.0, 3.0], step=1)
        tf2.summary.image("picture", IMAGE, step=1)
        tf2.summary.text("words", "more words", step=1)


def scalar(tag, value):
    return tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=value)])


def killed_run(folder):
    """A run that recorded steps 0 to 9, was killed while it wrote the last one, and went on from step 6."""
    writer = tf.summary.FileWriter(folder)
    writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START), 0)
    for step in range(10):
        writer.add_summary(scalar("loss", step), step)
    (name,) = os.listdir(folder)
    with open(f"{folder}/{name}", "r+b") as file:
        file.truncate(os.path.getsize(f"{folder}/{name}") - 5)
    restarted = tf.summary.FileWriter(folder)
    restarted.add_session_log(tf.SessionLog(status=tf.SessionLog.START), 6)
    for step in range(6, 9):
        restarted.add_summary(scalar("loss", step + 0.5), step)


class Server:
    def __init__(self, address):
        self.address = address

    def read(self, path, **query):
        with request.urlopen(f"{self.address}/data/{path}?{parse.urlencode(query)}") as answer:
            return answer.read()

    def json(self, path, **query):
        return json.loads(self.read(path, **query))

    def loaded(self, path, wanted, **query):
        """What is at a path once it fits; TensorBoard loads runs while it answers."""
        for _ in range(600):
            try:
                found = self.json(path, **query)
                if wanted(found):
                    return found
            except error.HTTPError:
                pass
            time.sleep(0.1)
        raise AssertionError(f"{path} is {found}")


@pytest.fixture(scope="module", params=["false", "true"], ids=["in Python", "fast"])
def server(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name, run in (("first", first_run), ("later", later_run), ("killed", killed_run)):
        run(str(folder / name))
    command = [COMMAND, f"--logdir={folder}", "--port=0", "--host=127.0.0.1", f"--load_fast={request.param}"]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            lines = []
            for line in process.stderr:
                lines.append(line)
                if found := re.search(r"(http://127\.0\.0\.1:\d+)/", line):
                    yield Server(found[1])
                    break
            else:
                raise AssertionError("".join(lines))
        finally:
            process.terminate()


def test_numbers(server):
    def tags(found):
        return {run: {t for t in tags if t == "loss"} for run, tags in found.items()}

    server.loaded("plugin/scalars/tags", lambda f: tags(f) == {r: {"loss"} for r in ("first", "later", "killed")})
    for run, wanted in (
        ("first", [(s, (s * s + (s + 1) ** 2) / 2) for s in range(5)]),
        ("later", [(s, s * 2.0) for s in range(5)]),
        ("killed", [*((s, float(s)) for s in range(6)), *((s, s + 0.5) for s in range(6, 9))]),
    ):
        found = server.loaded("plugin/scalars/scalars", lambda f, w=wanted: len(f) == len(w), run=run, tag="loss")
        assert [(step, value) for _, step, value in found] == wanted, run


def test_distributions(server):
    for run, total in (("first", 2), ("later", 3)):
        found = server.loaded("plugin/histograms/histograms", len, run=run, tag="values")
        assert sum(count for _, _, count in found[0][2]) == total


def test_images(server):
    for run, tag in (("first", "picture/image/0"), ("later", "picture")):
        (found, *_) = server.loaded("plugin/images/images", len, run=run, tag=tag, sample=0)
        data = server.read("plugin/images/individualImage", **dict(parse.parse_qsl(found["query"])))
        assert data.startswith(b"\x89PNG")


def test_texts_and_sounds(server):
    for run, wanted in (("first", "<em>words</em>"), ("later", "more words")):
        (found, *_) = server.loaded("plugin/text/text", len, run=run, tag="words")
        assert wanted in found["text"]
    assert server.loaded("plugin/audio/audio", len, run="first", tag="sound/audio/0", sample=0)


def test_the_graph(server):
    server.loaded("plugin/graphs/info", lambda found: "first" in found)
    text = server.read("plugin/graphs/graph", run="first").decode()
    assert 'name: "mean"' in text
    assert 'op: "Placeholder"' in text
