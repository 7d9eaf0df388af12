"""Programs with hooks of sessions that the original and ours both run. Runs under Python 3.6 too.

A case is a function of the namespace ``tf`` and a folder that returns plain facts; a ``World`` is what it looks at: the
clock, which goes on by a second in each run, the log, and what is in the folder afterwards.
"""

import contextlib
import glob
import logging
import os
import re
from time import sleep
from unittest import mock

import numpy as np

from tests.golden.plain_values import plain


class World(logging.Handler):
    """A folder, the log, a clock, and a program that trains."""

    def __init__(self, tf, folder, inside):
        super().__init__()
        self.tf, self.folder, self.inside, self.now, self.lines, self.calls = tf, folder, inside, 1500000000.0, [], []

    def emit(self, record):
        self.lines.append(record.levelname + " " + record.getMessage().replace(self.folder, "DIR"))

    def clock(self):
        return self.now

    @contextlib.contextmanager
    def watched(self):
        """Inside of it the clock is ours, and the log is kept."""
        logger = logging.getLogger("tensorflow")
        logger.addHandler(self)
        before = logger.level
        logger.setLevel(logging.INFO)
        try:
            with mock.patch("time.time", self.clock):
                yield
        finally:
            logger.removeHandler(self)
            logger.setLevel(before)

    def model(self, by=1, nan_from=None):
        """A training step: w is halved, and the global step goes on by ``by`` late in the run.

        The loss is not a number from the step ``nan_from`` on.
        """
        tf = self.tf
        self.step = tf.train.get_or_create_global_step()
        w = tf.get_variable("w", initializer=64.0)
        loss = w * w if nan_from is None else tf.where(self.step >= nan_from, tf.constant(np.nan), w * w)
        self.loss = tf.identity(loss, name="loss")
        # What is fetched is read before it changes: the original leaves that to chance.
        with tf.control_dependencies([self.loss]):
            update = tf.train.GradientDescentOptimizer(0.25).minimize(self.loss)
        with tf.control_dependencies([update]):
            late = tf.py_func(self.late, [np.int64(by)], tf.int64)
        self.train_op = self.step.assign_add(tf.reshape(late, []))
        return self.train_op

    def late(self, by):
        sleep(0.003)
        return by

    def session(self, hooks, checkpoint_dir=None, scaffold=None):
        tf = self.tf
        creator = tf.train.ChiefSessionCreator(scaffold=scaffold, checkpoint_dir=checkpoint_dir)
        return tf.train.MonitoredSession(creator, hooks)

    def train(self, hooks, limit=30, checkpoint_dir=None, scaffold=None, fetches=None):
        """Runs until a hook stops, at most ``limit`` times; the number of runs."""
        runs = 0
        fetches = self.train_op if fetches is None else fetches
        with self.session(hooks, checkpoint_dir, scaffold) as session:
            while not session.should_stop() and runs < limit:
                session.run(fetches)
                runs += 1
                self.now += 1
        return runs

    def events(self, folder=None):
        """What the event files of a folder say: kind, step, and what can be compared."""
        found = []
        self.tf.summary.FileWriterCache.clear()
        self.now += 1  # files are called after the second that they begin in
        for path in sorted(glob.glob(os.path.join(folder or self.folder, "events.*"))):
            for event in self.tf.train.summary_iterator(path):
                found.append([event.WhichOneof("what"), event.step, self._what(event)])
        return found

    def _what(self, event):
        kind = event.WhichOneof("what")
        if kind == "summary":
            return [[v.tag, v.simple_value] for v in event.summary.value]
        if kind == "session_log":
            return [event.session_log.status, event.session_log.checkpoint_path.replace(self.folder, "DIR")]
        return event.tagged_run_metadata.tag if kind == "tagged_run_metadata" else None

    def files(self):
        """The names in the folder, but for event files, side files and profiles, which are ours."""
        names = [n for n in sorted(os.listdir(self.folder)) if not n.startswith(("events.", ".", "plugins"))]
        return [n for n in names if not re.search(r"\.(data-|resume)", n)]

    def facts(self, **more):
        return plain(dict(more, log=self.lines, events=self.events(), files=self.files(), calls=self.calls))


def recorder(world, name, fetch=None, stop_at=None):
    """A hook that writes down each call with what it fetched, and stops in its run number ``stop_at``."""

    class Recorder(world.tf.train.SessionRunHook):
        def __init__(self):
            self.runs = 0

        def note(self, what, *more):
            world.calls.append([name, what] + list(more))

        def begin(self):
            self.note("begin")

        def after_create_session(self, session, coord):
            self.note("after_create_session", session.run(world.step), coord is not None)

        def before_run(self, run_context):
            self.runs += 1
            self.note("before_run", run_context.stop_requested, run_context.session.run(world.step))
            return None if fetch is None else world.tf.train.SessionRunArgs(fetch)

        def after_run(self, run_context, run_values):
            results = run_values.results
            self.note("after_run", results, run_context.stop_requested, run_context.session.run(world.step))
            if self.runs == stop_at:
                run_context.request_stop()

        def end(self, session):
            self.note("end", session.run(world.step))

    return Recorder()


def refused(function):
    """The type and the message of the error that a function raises."""
    try:
        function()
    except Exception as error:
        return [type(error).__name__, str(error)]
    return "nothing"


# ---- cases ---------------------------------------------------------------------------------------------------------


def timers(tf, world):
    found = []
    for kwargs in ({"every_steps": 3}, {"every_steps": 1}, {"every_secs": 2}, {"every_secs": 0.5}, {"every_secs": 0}):
        timer = tf.train.SecondOrStepTimer(**kwargs)
        for step in (0, 0, 1, 2, 3, 4, 4, 9, 10, 12, 13, 5, 16):
            due = timer.should_trigger_for_step(step)
            found.append([step, due, timer.last_triggered_step()])
            if due:
                found.append(timer.update_last_triggered_step(step))
            world.now += 0.75
        timer.reset()
        found.append([timer.should_trigger_for_step(3), timer.last_triggered_step()])
    return plain(found)


def stopping(tf, world):
    found = []
    for kwargs in ({"last_step": 5}, {"num_steps": 3}, {"last_step": 1}, {"last_step": 0}, {"num_steps": 1}):
        with tf.Graph().as_default():
            world.model()
            hook = tf.train.StopAtStepHook(**kwargs)
            found.append(world.train([hook, recorder(world, str(kwargs))]))
    return world.facts(runs=found)


def stopping_again(tf, world):
    """A hook counts from where its session began, and keeps its last step in the second session."""
    found = []
    for kwargs in ({"num_steps": 4}, {"num_steps": 4}, {"last_step": 9}, {"last_step": 9}):
        with tf.Graph().as_default():
            world.model()
            saver = tf.train.Saver()
            tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
            hooks = [tf.train.StopAtStepHook(**kwargs), tf.train.CheckpointSaverHook(world.folder, save_steps=100)]
            found.append(world.train(hooks, checkpoint_dir=world.folder))
    return world.facts(runs=found)


def several_steps_a_run(tf, world):
    found = []
    for by, last in ((3, 10), (2, 7), (5, 4)):
        with tf.Graph().as_default():
            world.model(by)
            saver = tf.train.Saver()
            folder = os.path.join(world.folder, str(by))
            hooks = [tf.train.StopAtStepHook(last_step=last), tf.train.StepCounterHook(4, output_dir=folder)]
            hooks.append(tf.train.CheckpointSaverHook(folder, save_steps=4, saver=saver))
            hooks.append(tf.train.SummarySaverHook(2, output_dir=folder, summary_op=tf.summary.scalar("l", world.loss)))
            for hook in hooks[1:3]:
                hook._set_steps_per_run(by)
            found += [
                world.train(hooks),
                world.events(folder),
                sorted(tf.train.get_checkpoint_state(folder).all_model_checkpoint_paths),
            ]
    return plain([world.lines, [str(f).replace(world.folder, "DIR") for f in found]])


def steps_of_a_run(tf, world):
    """The variable that says how many steps a run makes follows the hook."""
    _MultiStepStopAtStepHook = world.inside("basic_session_run_hooks", "_MultiStepStopAtStepHook")
    get_or_create_steps_per_run_variable = world.inside("training", "get_or_create_steps_per_run_variable")
    found = []
    for kwargs in ({"last_step": 10}, {"num_steps": 7}, {"last_step": 2}):
        with tf.Graph().as_default():
            world.step = tf.train.get_or_create_global_step()
            variable = get_or_create_steps_per_run_variable()
            assert get_or_create_steps_per_run_variable() is variable
            found.append([variable.name, variable.dtype.base_dtype.name, variable in tf.local_variables()])
            world.train_op = world.step.assign_add(tf.cast(variable, tf.int64))
            hook = _MultiStepStopAtStepHook(steps_per_run=4, **kwargs)
            found.append(world.train([hook, recorder(world, str(kwargs))]))
    found += [refused(lambda: _MultiStepStopAtStepHook()), refused(lambda: _MultiStepStopAtStepHook(1, 2))]
    found += [refused(lambda: _MultiStepStopAtStepHook(1, steps_per_run=0))]
    return world.facts(runs=found)


def logging_tensors(tf, world):
    for kwargs in (
        {"every_n_iter": 3}, {"every_n_iter": 1}, {"every_n_secs": 2}, {"at_end": True},
        {"every_n_iter": 4, "at_end": True}, {"every_n_iter": 2, "formatter": "{a} then {b}".format_map},
    ):  # fmt: skip
        with tf.Graph().as_default():
            world.model()
            small = tf.constant([0.25, 100000.5], name="small")
            for tensors in ({"b": "loss", "a": world.step, "c": "small:0"}, [world.loss, "small"], ("loss:0",)):
                if "formatter" not in kwargs or isinstance(tensors, dict):
                    hook = tf.train.LoggingTensorHook(tensors, **kwargs)
                    world.lines.append("-- {} {}".format(*(sorted(kwargs), type(tensors).__name__)))
                    world.train([hook], limit=6)
            del small
    return world.facts()


def counting(tf, world):
    found = []
    for i, kwargs in enumerate(
        ({"every_n_steps": 2}, {"every_n_steps": 5}, {"every_n_steps": None, "every_n_secs": 3}, {})
    ):
        with tf.Graph().as_default():
            world.model()
            folder = os.path.join(world.folder, str(i))
            found.append(world.train([tf.train.StepCounterHook(output_dir=folder, **kwargs)], limit=12))
            found.append(world.events(folder))
    with tf.Graph().as_default():
        world.model()
        writer = tf.summary.FileWriter(world.folder)
        world.train([tf.train.StepCounterHook(3, summary_writer=writer), tf.train.StepCounterHook(4)], limit=9)
        writer.close()
    return world.facts(found=found)


def standing_still(tf, world):
    """The step stays as it is: a warning, once in twenty runs."""
    with tf.Graph().as_default():
        world.model()
        world.train([tf.train.StepCounterHook(2)], limit=65, fetches=world.loss)
    return world.facts()


def saving(tf, world):
    found = []
    for i, (kwargs, limit) in enumerate((
        ({"save_steps": 3}, 10), ({"save_steps": 1}, 3), ({"save_secs": 2}, 7), ({"save_steps": 5}, 10),
        ({"save_steps": 100, "checkpoint_basename": "other"}, 4),
    )):  # fmt: skip
        with tf.Graph().as_default():
            world.model()
            folder = os.path.join(world.folder, str(i))
            scaffold = tf.train.Scaffold(saver=tf.train.Saver(max_to_keep=2))
            hook = tf.train.CheckpointSaverHook(folder, scaffold=scaffold, **kwargs)
            found += [world.train([hook], limit=limit, scaffold=scaffold), world.events(folder)]
            state = tf.train.get_checkpoint_state(folder)
            found += [[os.path.basename(path) for path in state.all_model_checkpoint_paths]]
            found += [[n for n in sorted(os.listdir(folder)) if n.endswith((".meta", ".index", ".pbtxt"))]]
            found += [tf.train.load_variable(folder, "w"), tf.train.load_variable(folder, "global_step")]
    return world.facts(found=found)


def listening(tf, world):
    class Listener(tf.train.CheckpointSaverListener):
        def __init__(self, name, stop_at=None):
            self.name, self.stop_at = name, stop_at

        def begin(self):
            world.calls.append([self.name, "begin"])

        def before_save(self, session, step):
            world.calls.append([self.name, "before_save", step, session.run(world.step)])

        def after_save(self, session, step):
            world.calls.append([self.name, "after_save", step, tf.train.latest_checkpoint(world.folder)[-1]])
            return step == self.stop_at

        def end(self, session, step):
            world.calls.append([self.name, "end", step, session.run(world.step)])

        def __str__(self):
            return "Listener " + self.name

    found = []
    for stop_at in (None, 4, 2):
        with tf.Graph().as_default():
            world.model()
            tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
            listeners = [Listener("one"), Listener("two", stop_at)]
            hook = tf.train.CheckpointSaverHook(world.folder, save_steps=2, listeners=listeners)
            found.append(world.train([recorder(world, "before"), hook, recorder(world, "after")], limit=5))
    return world.facts(runs=found)


def summarizing(tf, world):
    found = []
    for i, kwargs in enumerate(({"save_steps": 1}, {"save_steps": 2}, {"save_steps": 3}, {"save_secs": 2})):
        with tf.Graph().as_default():
            world.model()
            first, second = tf.summary.scalar("loss", world.loss), tf.summary.scalar("step", world.step)
            folder = os.path.join(world.folder, str(i))
            summary = {"summary_op": [first, second]} if i % 2 else {"summary_op": tf.summary.merge_all()}
            hook = tf.train.SummarySaverHook(output_dir=folder, **dict(kwargs, **summary))
            found += [world.train([hook], limit=8), world.events(folder)]
    with tf.Graph().as_default():
        world.model()
        tf.summary.scalar("loss", world.loss)
        scaffold = tf.train.Scaffold()
        writer = tf.summary.FileWriter(world.folder)
        hooks = [
            tf.train.SummarySaverHook(2, summary_writer=writer, scaffold=scaffold),
            tf.train.SummarySaverHook(2, summary_op=tf.summary.scalar("nowhere", world.loss)),
        ]
        found.append(world.train(hooks, limit=5, scaffold=scaffold))
        writer.close()
    with tf.Graph().as_default():
        world.model()
        hook = tf.train.SummarySaverHook(2, output_dir=os.path.join(world.folder, "none"), scaffold=tf.train.Scaffold())
        found += [world.train([hook], limit=3), world.events(os.path.join(world.folder, "none"))]
    return world.facts(found=found)


def not_a_number(tf, world):
    found = []
    for fail in (True, False):
        with tf.Graph().as_default():
            world.model(nan_from=3)
            hooks = [tf.train.NanTensorHook(world.loss, fail), recorder(world, str(fail), fetch=world.loss)]
            try:
                found.append(world.train(hooks, limit=8))
            except tf.train.NanLossDuringTrainingError as error:
                found.append([type(error).__name__, str(error), isinstance(error, RuntimeError)])
    world.calls = [["nan" if value != value else value for value in plain(call)] for call in world.calls]
    return world.facts(runs=found)


def feeding_and_final(tf, world):
    with tf.Graph().as_default():
        world.model()
        x = tf.placeholder(tf.float32, [])
        given = iter(range(100))
        feed = tf.train.FeedFnHook(lambda: {x: next(given)})
        final = tf.train.FinalOpsHook({"step": world.step, "x": [x * 2]}, {x: 21.0})
        nothing = tf.train.FinalOpsHook(None)
        before = final.final_ops_values
        stop = tf.train.StopAtStepHook(num_steps=3)
        world.train([feed, stop, final, nothing, recorder(world, "x", fetch={"x": x, "s": [world.step]})])
        found = [before, final.final_ops_values, nothing.final_ops_values]
    with tf.Graph().as_default():
        world.model()
        element = tf.data.Dataset.range(2).make_one_shot_iterator().get_next()
        final = tf.train.FinalOpsHook(element)
        found.append(refused(lambda: world.train([final], fetches=[world.train_op, element]))[0])
        found.append(final.final_ops_values)
    return world.facts(found=found)


def waiting(tf, world):
    with tf.Graph().as_default():
        world.model()
        more = world.step.assign_add(1500)
        calls = []

        def slept(seconds):
            calls.append(seconds)
            holder[0].run(more)

        holder = []

        class First(tf.train.SessionRunHook):
            def after_create_session(self, session, coord):
                holder.append(session)

        for wait in (0, 4000):
            with mock.patch("time.sleep", slept):
                del holder[:]
                world.train([First(), tf.train.GlobalStepWaiterHook(wait), recorder(world, str(wait))], limit=2)
    return world.facts(slept=calls)


def order(tf, world):
    """Hooks are called in their order, those of the program last; each sees what the others did to the session."""
    with tf.Graph().as_default():
        world.model()
        saver = tf.train.Saver()
        summary = tf.summary.scalar("loss", world.loss)
        hooks = [
            recorder(world, "a", fetch=world.loss),
            tf.train.LoggingTensorHook({"loss": world.loss, "tenth": tf.constant(0.1)}, every_n_iter=3, at_end=True),
            recorder(world, "b", fetch=[world.loss, {"loss": world.loss}], stop_at=9),
            tf.train.CheckpointSaverHook(world.folder, save_steps=4, saver=saver),
            tf.train.StepCounterHook(3, output_dir=world.folder),
            tf.train.SummarySaverHook(2, output_dir=world.folder, summary_op=summary),
            tf.train.StopAtStepHook(last_step=20),
            recorder(world, "c"),
        ]
        found = world.train(hooks)
    return world.facts(runs=found)


def end_of_data(tf, world):
    with tf.Graph().as_default():
        element = tf.data.Dataset.range(5).make_one_shot_iterator().get_next()
        with tf.control_dependencies([element]):
            world.model()
        hooks = [
            tf.train.CheckpointSaverHook(world.folder, save_steps=2, saver=tf.train.Saver()),
            tf.train.LoggingTensorHook({"x": element}, every_n_iter=2, at_end=False),
            recorder(world, "x", fetch=element),
        ]
        found = world.train(hooks, fetches=[world.train_op, element])
    return world.facts(runs=found)


def input_pipeline(tf, world):
    """The second session goes on with the input where the first one saved it; the model begins anew."""

    class Starts(tf.train.SessionRunHook):
        def after_create_session(self, session, coord):
            session.run(self.initializer)

    class Settings:
        num_worker_replicas, task_type, task_id, save_checkpoints_secs, save_checkpoints_steps = 1, "worker", 0, None, 2

    class Estimator:
        model_dir, _config = world.folder, Settings()

    found = []
    for workers, limit in ((1, 5), (1, 3), (2, 3)):
        with tf.Graph().as_default():
            iterator = tf.data.Dataset.range(20).repeat().make_initializable_iterator()
            element = iterator.get_next()
            world.model()
            Settings.num_worker_replicas = workers
            hook = tf.data.experimental.CheckpointInputPipelineHook(Estimator())
            starts = Starts()
            starts.initializer = iterator.initializer
            hooks = [hook, starts, recorder(world, str(workers), fetch=element)]
            found.append(world.train(hooks, limit, fetches=[world.train_op, element]))
    names = sorted(os.path.basename(path) for path in glob.glob(os.path.join(world.folder, "checkpoint*")))
    return world.facts(runs=found, names=names)


def profiling(tf, world):
    with tf.Graph().as_default():
        world.model()
        hooks = [
            tf.train.ProfilerHook(save_steps=3, output_dir=world.folder),
            tf.train.ProfilerHook(save_secs=4, output_dir=world.folder + "/more", show_memory=True),
        ]
        found = [world.train(hooks, limit=11), sorted(n for n in os.listdir(world.folder + "/more") if "json" in n)]
        found.append(world.events(world.folder + "/more"))
    return world.facts(found=found)


def without_a_step(tf, world):
    names = ("StopAtStepHook", "CheckpointSaverHook", "StepCounterHook", "SummarySaverHook", "ProfilerHook",
             "GlobalStepWaiterHook")  # fmt: skip
    arguments = {
        "StopAtStepHook": {"last_step": 1}, "CheckpointSaverHook": {"checkpoint_dir": world.folder, "save_steps": 1},
        "StepCounterHook": {}, "SummarySaverHook": {"save_steps": 1, "summary_op": "x"},
        "ProfilerHook": {"save_steps": 1, "output_dir": world.folder}, "GlobalStepWaiterHook": {"wait_until_step": 1},
    }  # fmt: skip
    found = []
    for name in names:
        with tf.Graph().as_default():
            found.append(refused(getattr(tf.train, name)(**arguments[name]).begin))
    return plain(found)


def arguments(tf, world):
    train = tf.train
    with tf.Graph().as_default():
        world.model()
        tf.split(tf.zeros([2]), 2, name="two")
        saver = train.Saver()
        folder = world.folder
        trials = [
            lambda: train.SecondOrStepTimer(), lambda: train.SecondOrStepTimer(1, 2), lambda: train.StopAtStepHook(),
            lambda: train.StopAtStepHook(1, 2), lambda: train.LoggingTensorHook(["a"]),
            lambda: train.LoggingTensorHook(["a"], 1, 2), lambda: train.LoggingTensorHook(["a"], 1, 2, at_end=True),
            lambda: train.LoggingTensorHook(["a"], 0), lambda: train.LoggingTensorHook(["a"], -3),
            lambda: train.LoggingTensorHook(["two"], 1).begin(), lambda: train.StepCounterHook(1, 2),
            lambda: train.StepCounterHook(None), lambda: train.CheckpointSaverHook(folder),
            lambda: train.CheckpointSaverHook(folder, 1, 2),
            lambda: train.CheckpointSaverHook(folder, 1, saver=saver, scaffold=train.Scaffold()),
            lambda: train.CheckpointSaverHook(folder, 1)._get_saver(), lambda: train.SummarySaverHook(1),
            lambda: train.SummarySaverHook(1, scaffold=train.Scaffold(), summary_op="x"),
            lambda: train.SummarySaverHook(summary_op="x"), lambda: train.SummarySaverHook(1, 2, summary_op="x"),
        ]  # fmt: skip
        found = [refused(trial) for trial in trials]
        for _ in range(2):
            tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
        found.append(refused(lambda: train.CheckpointSaverHook(folder, 1)._get_saver()))
    return plain(found)


CASES = [
    timers, stopping, stopping_again, several_steps_a_run, steps_of_a_run, logging_tensors, counting, standing_still,
    saving, listening, summarizing, not_a_number, feeding_and_final, waiting, order, end_of_data, input_pipeline,
    profiling, without_a_step, arguments,
]  # fmt: skip


def facts(tf, case, folder, inside):
    """What a case finds in a world of its own; ``inside(module, name)`` is of ``tensorflow.python.training``."""
    world = World(tf, folder, inside)
    with world.watched(), tf.Graph().as_default():
        return case(tf, world)
