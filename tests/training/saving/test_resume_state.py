"""A run that stops and goes on comes to what the undisturbed run comes to, bit for bit."""

import os
import shutil
import subprocess
import sys

import jax
import jaxlib
import numpy as np
import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.spread import spread
from tests.training.saving import resumed
from towerstrat.checkpoints.side_files import forget, side_files
from towerstrat.platform import logs


@pytest.fixture
def said(caplog):
    """What was logged since the call before, without lines about the restored variables."""

    def messages():
        found = [record.getMessage() for record in caplog.records]
        caplog.clear()
        return [m for m in found if not m.startswith("Restoring parameters")]

    with caplog.at_level("INFO", logger=logs.get_logger().name):
        yield messages


@spread(("towers", "same"), [(3, True), (1, False), (8, False), (1, True), (3, False)], every=5)
def test_training_on_towers(tmp_path, towers, same):
    def comes_to(folder, loops):
        with tf.Graph().as_default():
            return resumed.main(jax.devices()[:towers], str(tmp_path / folder), loops, same)

    wanted = comes_to("undisturbed", 5)
    assert [comes_to("parts", loops) for loops in (2, 4, 5)][-1] == wanted


@pytest.mark.long
def test_killed_training(tmp_path):
    command = [sys.executable, "-m", "tests.training.saving.killing", str(tmp_path), "--chains=2", "--kills=3"]
    done = subprocess.run([*command, "--loops=20"], capture_output=True, text=True)
    assert done.stdout == "6 kills; 2 of 2 chains ended, each equal bit for bit\n", done.stderr


class Program:
    """A graph with an iterator, a counter and random numbers, and a session over it.

    Args:
      change: what happens to the dataset. towers: on which random numbers are drawn.
    """

    def __init__(self, change=lambda d: d, seed=1, more=False, features=None):
        self.graph = tf.Graph()
        with self.graph.as_default():
            tf.set_random_seed(seed)
            values = np.arange(20) if features is None else features
            dataset = change(tf.data.Dataset.from_tensor_slices(values).shuffle(7))
            self.iterator = dataset.make_initializable_iterator()
            self.element = self.iterator.get_next()
            self.draw = tf.random_uniform([2], name="draw")
            self.body = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x + tf.random_normal([])), [0, 0.0])[1]
            self.chosen = tf.cond(self.draw[0] > 2, lambda: 0.0, lambda: tf.random_uniform([], name="inner"))
            self.count = tf.get_variable("count", initializer=0)
            self.counted = self.count.assign_add(1)
            if more:
                tf.get_variable("more", initializer=0)
            self.saver = tf.train.Saver()
            self.other = tf.train.Saver([self.count])
            self.start = tf.global_variables_initializer()
        self.session = tf.Session(graph=self.graph)

    def __call__(self, *fetches):
        return [np.array(v).tolist() for v in self.session.run(fetches)]

    def epoch(self):
        found = []
        while True:
            try:
                found += self(self.element)
            except tf.errors.OutOfRangeError:
                return found


@pytest.fixture
def begun(tmp_path):
    """A program that has run and saved, and where."""
    program = Program()
    program(program.start, program.iterator.initializer)
    for _ in range(3):
        program(program.element, program.draw, program.body, program.chosen, program.counted)
    return program, program.saver.save(program.session, str(tmp_path / "model"))


@spread("order", ["restore, initializer", "restore, local", "initializer, restore", "all, restore"], every=2)
def test_random_numbers_and_iterators_go_on(begun, order, said):
    program, path = begun
    again = Program()
    if order.startswith("all"):
        again(again.start, again.iterator.initializer)
        again(again.element, again.draw)
    elif order.startswith("init"):
        again(again.iterator.initializer)
    again.saver.restore(again.session, path)
    counters = f"Going on with the run of {path}: random counters of 3 operations, "
    if order.startswith("restore"):
        with again.graph.as_default():
            again(tf.local_variables_initializer())
        again(again.iterator.initializer)
        assert said() == [f"{counters}positions of 1 iterator once initialized.", "iterator goes on where it was."]
    else:
        assert said() == ["iterator goes on where it was.", f"{counters}positions of 1 iterator."]
    everything = lambda p: p(p.element, p.draw, p.body, p.chosen)  # noqa: E731
    assert [everything(again) for _ in range(3)] == [everything(program) for _ in range(3)]
    assert again.epoch() == program.epoch()
    again(again.iterator.initializer)
    program(program.iterator.initializer)
    assert again.epoch() == program.epoch()


@pytest.mark.parametrize("first", ["element", "counted"])
def test_an_iterator_that_begins_later_is_at_the_beginning(begun, first):
    program, path = begun
    again = Program()
    again.saver.restore(again.session, path)
    if first == "counted":
        again(again.counted)
        again(again.iterator.initializer)
    else:
        again(again.iterator.initializer)
        again(again.element)
        again(again.iterator.initializer)
    program(program.iterator.initializer)
    assert again.epoch() == program.epoch()


def test_an_ended_iterator_begins_anew(begun, tmp_path):
    program, _ = begun
    program.epoch()
    path = program.saver.save(program.session, str(tmp_path / "ended"))
    again = Program()
    again.saver.restore(again.session, path)
    again(again.counted)
    again(again.iterator.initializer)
    program(program.iterator.initializer)
    assert again.epoch() == program.epoch()


def test_what_was_not_taken_yet_is_saved_again(begun, tmp_path):
    program, path = begun
    between = Program()
    between.saver.restore(between.session, path)
    path = between.saver.save(between.session, str(tmp_path / "again"))
    again = Program()
    again.saver.restore(again.session, path)
    again(again.iterator.initializer)
    assert again(again.element, again.draw, again.body) == program(program.element, program.draw, program.body)


@spread(
    ("changed", "message"),
    [
        ({"change": lambda d: d.batch(2)}, "was Shuffle <- Slices, and is Batch <- Shuffle <- Slices"),
        ({"change": lambda d: d.shuffle(3)}, "and is Shuffle <- Shuffle <- Slices"),
        ({"features": np.arange(21)}, "has other data, arguments or functions"),
        ({"features": np.arange(20) * 2}, "has other data, arguments or functions"),
        ({"features": np.arange(20.0)}, "has other data, arguments or functions"),
        ({"seed": 2}, "has other data, arguments or functions"),
    ],
    every=2,
)
def test_another_pipeline_of_the_name_begins_at_its_beginning(begun, changed, message, said):
    _, path = begun
    alone, again = Program(**changed), Program(**changed)
    again.saver.restore(again.session, path)
    said()
    for program in (alone, again):
        program(program.iterator.initializer)
    (line,) = said()
    assert line.startswith("The position of iterator is not taken: the pipeline ")
    assert message in line
    alone(alone.element)
    again(again.element)


def test_a_checkpoint_that_is_restored_in_part_is_no_run_to_go_on_with(tmp_path, said):
    program = Program(more=True)
    program(program.start, program.iterator.initializer, program.draw)
    first = program(program.element)
    path = program.saver.save(program.session, str(tmp_path / "model"))
    again = Program()
    again.saver.restore(again.session, path)
    assert said() == [f"A part of {path} is restored: random numbers and input are not those of its run."]
    again(again.iterator.initializer)
    assert again(again.element) == first


@pytest.mark.parametrize("how", ["damaged", "gone", "another"])
def test_a_side_file_that_is_not_its_own_is_named_and_left(how, begun, tmp_path, said):
    program, path = begun
    (side,) = side_files(path)
    if how == "damaged":
        with open(side, "r+b") as file:
            file.seek(60)
            file.write(b"??")
        words = f"{side}: wrong checksum."
    elif how == "gone":
        os.remove(side)
        words = f"The side file of {path}, {path}.resume-*, is gone."
    else:
        program(program.element)
        (other,) = side_files(program.saver.save(program.session, str(tmp_path / "other")))
        shutil.copy(other, side)
        words = f"{side} is another checkpoint's: its SHA-256 is not the one in the index."
    said()
    again = Program()
    again.saver.restore(again.session, path)
    (line,) = said()
    assert line == f"{words} The random numbers and the input of this run begin anew."
    assert again(again.count) == [3]
    again(again.iterator.initializer)
    alone = Program()
    alone(alone.iterator.initializer)
    assert again(again.element, again.draw) == alone(alone.element, alone.draw)


def test_a_checkpoint_without_a_side_file_says_nothing(begun, said):
    _, path = begun
    forget(path)
    assert side_files(path) == []
    again = Program()
    again.saver.restore(again.session, path)
    assert again(again.count) == [3]
    assert again.saver.save(again.session, path) == path
    assert said() == []


@pytest.mark.parametrize(
    ("target", "value", "words"),
    [
        ("jaxlib.__version__", "0.0.1", f"jaxlib was {jaxlib.__version__}, is 0.0.1"),
        ("os.sched_getaffinity", lambda process: range(999), f"cores was {len(os.sched_getaffinity(0))}, is 999"),
        ("XLA_FLAGS", "--xla_dump_to=x --xla_a=2", "flags no longer --xla_a=1, now --xla_a=2"),
    ],
    ids=["jaxlib", "cores", "flags"],
)
def test_a_run_under_another_frame_goes_on_and_says_what_differs(target, value, words, tmp_path, monkeypatch, said):
    monkeypatch.setenv("XLA_FLAGS", "--xla_a=1")
    program = Program()
    program(program.start, program.iterator.initializer)
    path = program.saver.save(program.session, str(tmp_path / "model"))
    again = Program()
    again.saver.restore(again.session, path)
    assert len(said()) == 1
    if target == "XLA_FLAGS":
        monkeypatch.setenv(target, value)
    else:
        monkeypatch.setattr(target, value)
    again.saver.restore(again.session, path)
    _, line = said()
    assert line == (
        f"The run of {path} goes on under another frame than it was saved under, and its numbers may differ in their "
        f"last bits from those that it would have come to: {words}."
    )
    again(again.iterator.initializer)
    assert again(again.element, again.draw) == program(program.element, program.draw)


def test_operations_that_are_gone_are_named(begun, said):
    _, path = begun
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("count", initializer=0)
        tf.random_uniform([2], name="draw")
        tf.train.Saver().restore(session, path)
    unknown, rest = said()
    assert unknown.startswith("The random counters of 2 operations (")
    assert unknown.endswith("are not taken: this program has no such operations, or another number of towers.")
    assert rest.startswith(f"Going on with the run of {path}: random counters of 1 operation, positions of 1 iterator")


def test_a_session_with_nothing_to_say_has_no_side_file(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(tf.get_variable("v", initializer=0).initializer)
        assert side_files(tf.train.Saver().save(session, str(tmp_path / "model"))) == []


def test_removed_checkpoints_take_their_side_files_along(tmp_path):
    program = Program()
    program(program.start, program.iterator.initializer)
    with program.graph.as_default():
        saver = tf.train.Saver(max_to_keep=1)
    for step in range(3):
        saver.save(program.session, str(tmp_path / "model"), step, write_meta_graph=False)
    assert len(list(tmp_path.glob("*.resume-*"))) == len(side_files(str(tmp_path / "model-2"))) == 1


def test_elements_of_a_generator_are_taken_again(tmp_path, said):
    taken = []

    def numbers():
        for i in range(10):
            taken.append(i)
            yield np.int64(i)

    def program():
        get_next = tf.data.Dataset.from_generator(numbers, tf.int64, []).make_one_shot_iterator().get_next()
        return get_next, tf.get_variable("v", initializer=0).initializer, tf.train.Saver()

    with tf.Graph().as_default(), tf.Session() as session:
        get_next, start, saver = program()
        session.run(start)
        assert [session.run(get_next) for _ in range(4)] == [0, 1, 2, 3]
        path = saver.save(session, str(tmp_path / "model"))
    with tf.Graph().as_default(), tf.Session() as session:
        get_next, _, saver = program()
        saver.restore(session, path)
        assert session.run(get_next) == 4
    assert said()[-1] == "iterator goes on where it was; 4 elements were taken again."
    assert taken == [0, 1, 2, 3, 0, 1, 2, 3, 4]


@pytest.mark.usefixtures("later_behavior")
def test_eager_random_numbers_and_functions_go_on(tmp_path, said):
    tf.set_random_seed(1)
    variable = tf.Variable(1.0, name="v")
    saver = tf.train.Saver([variable])

    @tf2.function
    def noise():
        return tf.random_normal([2])

    def numbers():
        return [np.array(t).tolist() for t in (tf.random_uniform([2]), noise(), noise(), tf.random_uniform([1]))]

    numbers()
    path = saver.save(None, str(tmp_path / "model"))
    wanted = numbers()
    assert numbers() != wanted
    saver.restore(None, path)
    assert numbers() == wanted
    # Eager code of other tests in the process has drawn too, and has iterators.
    assert said()[-1].startswith(f"Going on with the run of {path}: random counters of ")


@spread(("kind", "taken"), [("initializable", 3), ("one shot", 3), ("initializable", 9), ("one shot", 9)], every=3)
def test_an_iterator_may_be_saved_by_name(tmp_path, kind, taken):
    def program():
        tf.set_random_seed(1)
        dataset = tf.data.Dataset.range(9).shuffle(4)
        made = dataset.make_one_shot_iterator() if kind == "one shot" else dataset.make_initializable_iterator()
        tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, tf.data.experimental.make_saveable_from_iterator(made))
        return made, made.get_next(), tf.train.Saver()

    def rest(session, get_next):
        found = []
        with pytest.raises(tf.errors.OutOfRangeError):
            while True:
                found.append(session.run(get_next))
        return found

    with tf.Graph().as_default(), tf.Session() as session:
        made, get_next, saver = program()
        if kind != "one shot":
            session.run(made.initializer)
        for _ in range(taken):
            session.run(get_next)
        if taken == 9:
            assert rest(session, get_next) == []
        path = saver.save(session, str(tmp_path / "model"))
        wanted = rest(session, get_next)
    with tf.Graph().as_default(), tf.Session() as session:
        made, get_next, saver = program()
        saver.restore(session, path)
        assert rest(session, get_next) == wanted
        if kind != "one shot":
            session.run(made.initializer)
            assert len(rest(session, get_next)) == 9


def test_a_saved_iterator_over_other_data_is_refused(tmp_path):
    def saver(count):
        made = tf.contrib.data.make_saveable_from_iterator(tf.data.Dataset.range(count).make_one_shot_iterator())
        return tf.train.Saver([made])

    with tf.Graph().as_default(), tf.Session() as session:
        path = saver(9).save(session, str(tmp_path / "model"))
    refused = pytest.raises(tf.errors.InvalidArgumentError, match="the pipeline Range has other data")
    with tf.Graph().as_default(), tf.Session() as session, refused:
        saver(8).restore(session, path)
    with tf.Graph().as_default():
        named = tf.data.Iterator.from_string_handle(tf.placeholder(tf.string), tf.int64)
        with pytest.raises(ValueError, match="string handle"):
            tf.contrib.data.make_saveable_from_iterator(named)


def test_checkpoints_of_objects_in_graphs(begun, tmp_path, said):
    program, _ = begun
    with program.graph.as_default():
        path = tf.train.Checkpoint(count=program.count).save(str(tmp_path / "objects"), session=program.session)
    again = Program()
    with again.graph.as_default():
        status = tf.train.Checkpoint(count=again.count).restore(path)
    status.initialize_or_restore(again.session)
    again(again.iterator.initializer)
    assert said()[-1] == "iterator goes on where it was."
    assert again(again.element, again.draw, again.count) == program(program.element, program.draw, program.count)


@pytest.mark.usefixtures("later_behavior")
def test_checkpoints_of_objects_eagerly(tmp_path):
    tf2.random.set_seed(1)
    checkpoint = tf2.train.Checkpoint(v=tf2.Variable(1.0))
    tf2.random.normal([2])
    path = checkpoint.save(str(tmp_path / "objects"))
    wanted = [tf2.random.normal([2]).numpy().tolist() for _ in range(2)]
    checkpoint.restore(path)
    assert [tf2.random.normal([2]).numpy().tolist() for _ in range(2)] == wanted


@pytest.mark.usefixtures("later_behavior")
def test_eager_passes_over_a_dataset_go_on(tmp_path):
    passes = tf2.data.Dataset.range(9).shuffle(9)
    order = lambda: [int(each) for each in passes]  # noqa: E731
    first, checkpoint = order(), tf2.train.Checkpoint(v=tf2.Variable(1.0))
    path = checkpoint.save(str(tmp_path / "objects"))
    wanted = [order(), order()]
    checkpoint.restore(path)
    assert [order(), order()] == wanted
    assert first not in wanted
