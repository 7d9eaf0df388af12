"""Programs that train and evaluate by sessions with hooks, run by the original and by ours. Run under Python 3.6 too.

A case is a function of the namespace ``tf`` and a ``Notes`` in which everything that is called and logged is written
down, in order.
"""

import collections
import contextlib
import logging
import os
import re
import threading

import numpy as np


class Notes(logging.Handler):
    """What happened, in order: calls of hooks, lines of the log, what the program saw.

    Args:
      folder: where the case may write; its name is left out of what is noted.
    """

    def __init__(self, folder):
        super().__init__()
        self.folder = folder
        self.entries = []

    def emit(self, record):
        text = record.getMessage().split(" : ")[0]  # What follows in an error only one side says.
        # Nobody knows how fast it is, or when; what is deprecated is not what this is about.
        if not any(part in text for part in ("/sec", "valuation at", "Instructions for updating", "never used")):
            self("log " + record.levelname, re.sub(r"<class '[\w.]*?(\w+)'>", r"<class \1>", text))

    def __call__(self, what, *values):
        self.entries.append([what] + [self.plain(value) for value in values])

    def plain(self, value):
        """A value of plain Python types."""
        if isinstance(value, dict):
            return {k: self.plain(v) for k, v in sorted(value.items())}
        if isinstance(value, (list, tuple)):
            return [self.plain(v) for v in value]
        if isinstance(value, (np.ndarray, np.generic)):
            return self.plain(value.tolist())
        value = value.decode() if isinstance(value, bytes) else value
        return value.replace(self.folder, "FOLDER") if isinstance(value, str) else value

    @contextlib.contextmanager
    def ending(self, what=""):
        """Notes how a part of the program ends; what it raises ends here."""
        try:
            yield
        except Exception as error:
            self("raised" + what, type(error).__name__)
        else:
            self("ended" + what)


def reported(coord, error):
    """Reports an error to a coordinator, as threads do: while it is handled."""
    try:
        raise error
    except Exception as raised:
        coord.request_stop(raised)


def said(error):
    """The text of an error without what only one side says."""
    return str(error).split("error: ")[-1].split("\n")[0]


Built = collections.namedtuple("Built", "step weight up after")


def model(tf, initial=0.0):
    """A model that counts: ``up`` adds one to the step and two to the weight, ``after`` is the weight after that."""
    step = tf.train.get_or_create_global_step()
    weight = tf.get_variable("weight", initializer=tf.constant(initial), use_resource=True)
    up = tf.group(tf.assign_add(step, 1), weight.assign_add(2.0))
    with tf.control_dependencies([up]):
        after = weight.read_value()
    return Built(step, weight, up, after)


def watcher(tf, notes, name="hook", fetches=None, feeds=None, options=None, stop_at=None, raising=None):
    """A hook that notes every call.

    Args:
      fetches: a function without arguments that makes what it fetches, called in ``begin``.
      feeds: likewise a dictionary; options: ``RunOptions``.
      stop_at: the number of the run after which it asks to stop.
      raising: method -> errors that its calls raise, one after the other; None for a call that raises nothing.
    """

    class Watcher(tf.train.SessionRunHook):
        def __init__(self):
            self.runs = 0
            self.raising = {method: list(errors) for method, errors in (raising or {}).items()}

        def note(self, method, *values):
            notes(name + "." + method, *values)
            errors = self.raising.get(method)
            error = errors.pop(0) if errors else None
            if error is not None:
                raise error

        def begin(self):
            self.fetches = fetches and fetches()
            self.feeds = feeds and feeds()
            self.note("begin", tf.get_default_graph().finalized)

        def after_create_session(self, session, coord):
            notes(name + " finds", isinstance(session, tf.Session), tf.get_default_graph().finalized,
                  coord.should_stop())  # fmt: skip
            self.note("after_create_session")

        def before_run(self, run_context):
            fed = run_context.original_args.feed_dict
            notes(
                name + " finds", isinstance(run_context.session, tf.Session), run_context.stop_requested,
                None if fed is None else sorted(getattr(t, "name", t) for t in fed), run_context.original_args.options,
            )  # fmt: skip
            self.note("before_run")
            if (self.fetches, self.feeds, options) == (None, None, None):
                return None
            return tf.train.SessionRunArgs(self.fetches, self.feeds, options)

        def after_run(self, run_context, run_values):
            self.runs += 1
            self.note("after_run", run_values.results, run_context.stop_requested)
            if self.runs == stop_at:
                run_context.request_stop()

        def end(self, session):
            self.note("end", session is None)

    return Watcher()


def scope(made):
    """The name of an operation or tensor, or of the scope in which one side makes it of several."""
    return made.name.split("/")[0].split(":")[0]


def run_all(notes, session, fetches, feed_dict=None):
    while not session.should_stop():
        notes("run", session.run(fetches, feed_dict))


# ---- what hooks see ------------------------------------------------------------------------------------------------


def stops(tf, notes):
    built = model(tf)
    hooks = [
        watcher(tf, notes, "one", lambda: {"step": built.step, "both": (built.after, [built.after])}),
        watcher(tf, notes, "two", stop_at=3),
        watcher(tf, notes, "three", lambda: built.after),
    ]
    notes("before", tf.get_default_graph().finalized)
    with tf.train.MonitoredSession(hooks=hooks) as session:
        notes("made", session.should_stop(), session.graph is tf.get_default_graph(), session.graph.finalized)
        run_all(notes, session, built.after)
        with notes.ending(" run after stop"):
            session.run(built.after)
    notes("after", session.should_stop(), session.graph, tf.get_default_graph().finalized)


def finalized_before(tf, notes):
    built = model(tf)
    tf.train.Scaffold().finalize()
    with tf.train.MonitoredSession(hooks=[watcher(tf, notes, stop_at=1)]) as session:
        run_all(notes, session, built.after)
    notes("after", tf.get_default_graph().finalized)


def fetches(tf, notes):
    built = model(tf)
    Pair = collections.namedtuple("Pair", "left right")
    constant = tf.constant([1.0, 2.0])
    rows = tf.IndexedSlices(tf.constant([3.0]), tf.constant([1]))
    sparse = tf.SparseTensor([[0, 1]], [5.0], [1, 2])
    with tf.train.SingularMonitoredSession(
        hooks=[watcher(tf, notes, "hook", lambda: [Pair(built.after, constant)])]
    ) as session:
        for fetched in (
            built.after, built.up, [built.up, constant], {"a": constant, "b": {"c": [built.step]}},
            Pair(constant, (constant,)), collections.OrderedDict([("z", constant), ("a", constant)]), "Const:0", [], {},
            rows, sparse,
        ):  # fmt: skip
            if isinstance(fetched, str):
                fetched = constant.name
            found = session.run(fetched)
            notes("run", type(found).__name__, found)
        notes("order", list(session.run(collections.OrderedDict([("z", constant), ("a", constant)]))))
        notes("mixed keys", sorted(map(str, session.run({1: constant, "one": constant, (1, 2): constant}))))
        for fetched in (None, 3, "nothing", object()):
            with notes.ending(" by fetching"):
                session.run(fetched)
        notes("raw", session.raw_session().run(built.after), isinstance(session.raw_session(), tf.Session))


def ends_by_data(tf, notes):
    data = tf.data.Dataset.range(3).make_one_shot_iterator().get_next()
    hooks = [watcher(tf, notes, "hook", lambda: data * 10)]
    with notes.ending(), tf.train.MonitoredSession(hooks=hooks) as session:
        run_all(notes, session, data)
    notes("after", session.should_stop())


def ends_by_data_without_with(tf, notes):
    data = tf.data.Dataset.range(2).make_one_shot_iterator().get_next()
    session = tf.train.MonitoredSession(hooks=[watcher(tf, notes)])
    with notes.ending():
        run_all(notes, session, data)
    notes("after", session.should_stop())
    with notes.ending():
        session.run(data)
    session.close()
    notes("closed", session.should_stop(), session.graph)
    with notes.ending():
        session.close()


def ends_by_a_failing_run(tf, notes):
    x = tf.placeholder(tf.float32, [])
    checked = tf.check_numerics(x, "x is wrong")
    for kind in (tf.train.MonitoredSession, tf.train.SingularMonitoredSession):
        with notes.ending(" all"), kind(hooks=[watcher(tf, notes)]) as session:
            notes("run", session.run(checked, {x: 1.0}))
            with notes.ending(" run"):
                session.run(checked, {x: float("nan")})
            notes("stop", session.should_stop(), session.run(checked, {x: 2.0}))
            session.run(checked, {x: float("inf")})


def one_hook_twice(tf, notes):
    built = model(tf)
    hook = watcher(tf, notes, "hook", lambda: built.after, stop_at=4)
    with tf.train.MonitoredSession(hooks=(hook, hook)) as session:
        run_all(notes, session, built.after)


def sessions_after_each_other(tf, notes):
    built = model(tf)
    hook = watcher(tf, notes, "hook", lambda: built.after)
    for _ in range(2):
        with tf.train.MonitoredSession(hooks=[hook]) as session:
            notes("run", session.run(built.after))
        tf.constant(1.0)  # The graph is as it was before.
    first = tf.train.MonitoredSession()
    second = tf.train.SingularMonitoredSession()
    notes("two", first.run(built.after), first.run(built.after), second.run(built.after))
    first.close()
    notes("left", tf.get_default_graph().finalized, second.run(built.after))
    second.close()
    notes("none", tf.get_default_graph().finalized)


METHODS = ["begin", "after_create_session", "before_run", "after_run", "end"]


def _raising(method, recover):
    def case(tf, notes):
        for error in (
            ValueError("no"), tf.errors.OutOfRangeError(None, None, "over"), StopIteration("stop"),
            tf.errors.InvalidArgumentError(None, None, "wrong"),
        ):  # fmt: skip
            with tf.Graph().as_default():
                built = model(tf)
                hooks = [
                    watcher(tf, notes, "one"),
                    watcher(tf, notes, "two", raising={method: [error]}),
                    watcher(tf, notes, "three", stop_at=2),
                ]
                kind = tf.train.MonitoredSession if recover else tf.train.SingularMonitoredSession
                with notes.ending(" all"), kind(hooks=hooks) as session:
                    run_all(notes, session, built.after)
                notes("finalized", tf.get_default_graph().finalized)

    case.__name__ = "raises_in_{}{}".format(method, "" if recover else "_singular")
    return case


def _recovering(method):
    def case(tf, notes):
        lost = [tf.errors.AbortedError(None, None, "lost"), None, tf.errors.UnavailableError(None, None, "gone")]
        built = model(tf)
        hooks = [
            watcher(tf, notes, "one"),
            watcher(tf, notes, "two", raising={method: lost}),
            watcher(tf, notes, "three", lambda: built.step, stop_at=4),
        ]
        with notes.ending(" all"), tf.train.MonitoredSession(hooks=hooks) as session:
            for _ in range(3):
                if not session.should_stop():
                    notes("run", session.run(built.after))

    case.__name__ = f"recovers_in_{method}"
    return case


def not_recovering(tf, notes):
    built = model(tf)
    lost = {"before_run": [None, tf.errors.AbortedError(None, None, "lost")]}
    with notes.ending(), tf.train.SingularMonitoredSession(hooks=[watcher(tf, notes, raising=lost)]) as session:
        run_all(notes, session, built.after)


def recovers_from_a_checkpoint(tf, notes):
    built = model(tf)
    lost = {"before_run": [None, None, None, tf.errors.AbortedError(None, None, "lost")]}
    hooks = [watcher(tf, notes, "one", raising=lost, stop_at=5)]
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=notes.folder, hooks=hooks, save_checkpoint_steps=2, save_checkpoint_secs=None,
        save_summaries_steps=None, log_step_count_steps=None,
    ) as session:  # fmt: skip
        run_all(notes, session, [built.after])
    notes("files", kept(notes.folder))


def kept(folder):
    """The checkpoints in a folder, and the text of the state file but for times and the folder's name."""
    with open(os.path.join(folder, "checkpoint")) as file:
        state = [line.strip().replace(folder + "/", "") for line in file if "timestamp" not in line]
    return sorted(n for n in os.listdir(folder) if n.endswith((".index", ".meta", ".pbtxt"))), state


# ---- feeds and options ---------------------------------------------------------------------------------------------


def feeds(tf, notes):
    x, y, z = [tf.placeholder(tf.float32, [], name=name) for name in "xyz"]
    total = x + 10 * y + 100 * z
    with tf.train.MonitoredSession(
        hooks=[
            watcher(tf, notes, "one", feeds=lambda: {x: 1.0}),
            watcher(tf, notes, "two", lambda: total, lambda: {y: 2.0}),
        ]
    ) as session:
        notes("run", session.run(total, {z: 3.0}))
        with notes.ending(" without z"):
            session.run(total)
        for fed in ({x: 5.0, z: 3.0}, {y: 1.0, x: 1.0}):
            try:
                session.run(total, fed)
            except RuntimeError as error:
                notes("conflict", str(error).split(" Conflict")[0])
    try:
        with tf.train.MonitoredSession(
            hooks=[watcher(tf, notes, "one", feeds=lambda: {x: 1.0}), watcher(tf, notes, "two", feeds=lambda: {x: 1.0})]
        ) as session:
            session.run(total, {z: 3.0})
    except RuntimeError as error:
        notes("conflict", str(error).split(" Conflict")[0])
    with tf.train.MonitoredSession(hooks=[watcher(tf, notes, "one")]) as session:
        notes("only the program feeds", session.run(total, {x: 1.0, y: 2.0, z: 3.0}))


def options(tf, notes):
    built = model(tf)

    class Looks(tf.train.SessionRunHook):
        def after_run(self, run_context, run_values):
            asked, found = run_values.options, run_values.run_metadata
            notes("options", asked.trace_level, asked.output_partition_graphs, asked.inter_op_thread_pool,
                  asked.debug_options.reset_disk_byte_usage,
                  len(asked.debug_options.debug_tensor_watch_opts))  # fmt: skip
            notes("metadata", len(found.step_stats.dev_stats) > 0, len(found.partition_graphs) > 0)

    given = [tf.RunOptions(trace_level=tf.RunOptions.SOFTWARE_TRACE), tf.RunOptions(output_partition_graphs=True)]
    hooks = [watcher(tf, notes, "one", options=given[0]), watcher(tf, notes, "two", options=given[1]), Looks()]
    with tf.train.MonitoredSession(hooks=hooks) as session:
        session.run(built.up)
        metadata = tf.RunMetadata()
        asked = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(built.up, options=asked, run_metadata=metadata)
        notes("given", asked.output_partition_graphs, len(metadata.step_stats.dev_stats) > 0)
    with tf.train.MonitoredSession(hooks=[Looks()]) as session:
        session.run(built.up)
        session.run(built.up, run_metadata=metadata)
        notes("given", len(metadata.step_stats.dev_stats) > 0)


# ---- scaffolds and session managers --------------------------------------------------------------------------------


def scaffold_makes(tf, notes):
    model(tf)
    tf.get_variable("local", initializer=1.0, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    scaffold = tf.train.Scaffold()
    pieces = [
        "init_op", "ready_op", "ready_for_local_init_op", "local_init_op", "summary_op", "saver", "init_feed_dict",
        "init_fn",
    ]  # fmt: skip
    notes("before", [getattr(scaffold, piece) is None for piece in pieces])
    notes("same", scaffold.finalize() is scaffold)
    notes("after", [getattr(scaffold, piece) is None for piece in pieces])
    for piece in pieces[:4]:
        collected = tf.get_collection(piece)
        notes(piece, scope(getattr(scaffold, piece)), collected[0] is getattr(scaffold, piece), len(collected))
    notes("saver", tf.get_collection(tf.GraphKeys.SAVERS) == [scaffold.saver])
    with tf.Session() as session:
        for piece in ("ready_for_local_init_op", "ready_op", "init_op", "ready_op", "local_init_op", "ready_op"):
            found = session.run(getattr(scaffold, piece))
            notes(piece, found if found is None else sorted(found.tolist()))
    again = tf.train.Scaffold().finalize()
    notes("again", [getattr(again, piece) is getattr(scaffold, piece) for piece in pieces])


def scaffold_takes(tf, notes):
    built = model(tf)
    other = tf.get_variable("other", initializer=0.0, use_resource=True)
    x = tf.placeholder(tf.float32, [])

    def begins(scaffold, session):
        notes("init_fn", scaffold is given, session.run([built.weight, other]))
        other.load(9.0, session)

    local = tf.group(tf.local_variables_initializer(), other.assign_add(0.5))
    given = tf.train.Scaffold(
        init_op=tf.group(tf.global_variables_initializer(), name="mine"), init_feed_dict={x: 1.0}, init_fn=begins,
        ready_op=tf.report_uninitialized_variables(),
        ready_for_local_init_op=tf.report_uninitialized_variables([other]), local_init_op=local,
        saver=tf.train.Saver([built.weight]),
    )  # fmt: skip
    copied = tf.train.Scaffold(local_init_op=tf.no_op("none"), copy_from_scaffold=given)
    pieces = [
        "init_op", "ready_op", "ready_for_local_init_op", "local_init_op", "summary_op", "saver", "init_feed_dict",
    ]  # fmt: skip
    notes("copied", [getattr(copied, piece) is getattr(given, piece) for piece in pieces], copied.init_fn is None)
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(given), [watcher(tf, notes)]) as session:
        notes("values", session.run([built.weight, other]))
    with notes.ending(" copying"):
        tf.train.Scaffold(copy_from_scaffold=3)
    notes("collected", [len(tf.get_collection(key)) for key in ("init_op", "ready_op", "local_init_op", "savers")])


def scaffold_feeds(tf, notes):
    x = tf.placeholder(tf.float32, [])
    fed = tf.get_variable("fed", initializer=x * 2, use_resource=True)
    scaffold = tf.train.Scaffold(init_feed_dict={x: 4.0})
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold)) as session:
        notes("value", session.run(fed))


def scaffold_collections(tf, notes):
    model(tf)
    for _ in range(2):
        tf.add_to_collection(tf.GraphKeys.READY_OP, tf.report_uninitialized_variables())
    with notes.ending():
        tf.train.Scaffold().finalize()
    notes("default", tf.train.Scaffold.get_or_default("mine", "mine", lambda: None), tf.get_collection("mine"),
          tf.train.Scaffold.get_or_default("mine", "mine", lambda: 3), tf.get_collection("mine"),
          tf.train.Scaffold.get_or_default("mine", "mine", lambda: 4))  # fmt: skip
    notes("local", tf.train.Scaffold.default_local_init_op().name)


def not_ready(tf, notes):
    built = model(tf)
    missing = tf.Variable(1.0, name="missing", collections=["elsewhere"])
    names = tf.report_uninitialized_variables([missing])
    for given in (
        {"ready_op": names}, {"ready_for_local_init_op": names}, {"init_op": tf.no_op()},
        {"init_op": tf.no_op(), "ready_for_local_init_op": tf.constant([], tf.string)},
    ):  # fmt: skip
        try:
            tf.train.MonitoredSession(tf.train.ChiefSessionCreator(tf.train.Scaffold(**given)), [watcher(tf, notes)])
        except RuntimeError as error:
            notes("not ready", str(error).split(".")[0], said(error))
        tf.get_default_graph()._unsafe_unfinalize()
    notes("step", built.step.name)


def initializing_locally(tf, notes):
    built = model(tf, 3.0)
    local = tf.get_variable(
        "local", initializer=built.weight.initialized_value() * 2, trainable=False,
        collections=[tf.GraphKeys.LOCAL_VARIABLES], use_resource=True,
    )  # fmt: skip
    table = tf.contrib.lookup.HashTable(
        tf.contrib.lookup.KeyValueTensorInitializer([1, 2], [10, 20], tf.int64, tf.int64), -1
    )
    found = table.lookup(tf.constant([2, 3], tf.int64))
    iterator = tf.data.Dataset.range(4).make_initializable_iterator()
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    element = iterator.get_next()
    with tf.train.MonitoredSession(hooks=[watcher(tf, notes)]) as session:
        run_all_of = [local, found, element]
        for _ in range(2):
            notes("run", session.run(run_all_of))
        run_all(notes, session, run_all_of)


def managing(tf, notes):
    built = model(tf)
    init, saver = tf.global_variables_initializer(), tf.train.Saver()
    ready = tf.report_uninitialized_variables()
    manager = tf.train.SessionManager(ready_op=ready, recovery_wait_secs=0.01)
    session, recovered = manager.recover_session("", saver, notes.folder)
    notes("nothing to recover", recovered)
    session, recovered = manager.recover_session("", saver, notes.folder, wait_for_checkpoint=True, max_wait_secs=0.02)
    notes("waited", recovered)
    for arguments in ({}, {"saver": saver, "checkpoint_dir": notes.folder}):
        with notes.ending(" without initializer"):
            manager.prepare_session("", **arguments)
    session = manager.prepare_session(
        "", init, saver, notes.folder, init_fn=lambda s: notes("init_fn", s.run(built.after))
    )
    saver.save(session, os.path.join(notes.folder, "model"), built.step)
    session = manager.prepare_session("", init, saver, notes.folder, init_fn=lambda s: notes("not called"))
    notes("restored", session.run([built.step, built.weight]), [os.path.basename(p) for p in saver.last_checkpoints])
    path = os.path.join(notes.folder, "model-1")
    session = manager.prepare_session("", saver=saver, checkpoint_filename_with_path=path)
    notes("restored", session.run([built.step, built.weight]))
    with notes.ending(" both"):
        manager.prepare_session("", init, saver, notes.folder, path)
    session, recovered = manager.recover_session("", saver, notes.folder)
    notes("recovered", recovered, session.run(built.weight))
    more = tf.get_variable("more", initializer=1.0)
    all_ready = tf.report_uninitialized_variables()
    needs_more = tf.report_uninitialized_variables([more])
    session, recovered = tf.train.SessionManager(ready_op=all_ready).recover_session("", saver, notes.folder)
    notes("not ready", recovered)
    local = tf.no_op("local")
    manager = tf.train.SessionManager(local, all_ready, needs_more)
    session, recovered = manager.recover_session("", saver, notes.folder)
    notes("not ready for local initialization", recovered)
    with notes.ending(" without local_init_op"):
        tf.train.SessionManager(ready_for_local_init_op=ready)
    session = tf.train.SessionManager(local).prepare_session("")
    notes("only local", isinstance(session, tf.Session))


def waiting_for_session(tf, notes):
    weight = tf.get_variable("weight", initializer=1.0)
    for ready, local in (
        (tf.report_uninitialized_variables([]), None),
        (tf.report_uninitialized_variables([weight]), None),
        (tf.report_uninitialized_variables([]), tf.report_uninitialized_variables([weight])),
    ):
        manager = tf.train.SessionManager(tf.no_op(), ready, local, recovery_wait_secs=0.4)
        with notes.ending(" waiting"):
            notes("session", isinstance(manager.wait_for_session("", max_wait_secs=0.6), tf.Session))
    with notes.ending(" worker"):
        tf.train.MonitoredTrainingSession(is_chief=False, hooks=[watcher(tf, notes)], max_wait_secs=0.1)


def worker_that_is_ready(tf, notes):
    constant = tf.constant(1.0)
    chiefs = [watcher(tf, notes, "chief")]
    with tf.train.MonitoredTrainingSession(
        is_chief=False, hooks=[watcher(tf, notes, stop_at=1)], chief_only_hooks=chiefs, checkpoint_dir=notes.folder
    ) as session:
        run_all(notes, session, constant)
    notes("files", os.listdir(notes.folder))


# ---- step functions, threads, queues -------------------------------------------------------------------------------


def step_functions(tf, notes):
    built = model(tf)

    def step_fn(step_context):
        notes("step_fn", isinstance(step_context.session, tf.Session), step_context.session.run(built.after))
        return step_context.run_with_hooks([built.after])

    def stopping(step_context):
        step_context.request_stop()

    class Program:
        def step(self, step_context):
            return step_context.run_with_hooks(fetches=built.after)

    with notes.ending(), tf.train.MonitoredSession(hooks=[watcher(tf, notes, stop_at=3)]) as session:
        notes("returned", session.run_step_fn(step_fn))
        notes("returned", session.run_step_fn(Program().step))
        notes("stop", session.should_stop())
        for wrong in (lambda: 1, lambda context: 1, lambda step_context, more: 1):
            with notes.ending(" wrong"):
                session.run_step_fn(wrong)
        session.run_step_fn(stopping)
        notes("not here")
    lost = {"before_run": [tf.errors.AbortedError(None, None, "lost")]}
    with tf.train.MonitoredSession(hooks=[watcher(tf, notes, "lost", raising=lost)]) as session:
        notes("returned", session.run_step_fn(lambda step_context: step_context.run_with_hooks(built.after)))
    hooks = [watcher(tf, notes, "single")]
    with notes.ending(" singular"), tf.train.SingularMonitoredSession(hooks=hooks) as session:
        notes("returned", session.run_step_fn(step_fn))
        session.run_step_fn(stopping)


def coordinated(tf, notes):
    built = model(tf)
    for error in (None, ValueError("thread"), tf.errors.OutOfRangeError(None, None, "over")):

        class Keeps(tf.train.SessionRunHook):
            def after_create_session(self, session, coord):
                self.coord = coord

        keeps = Keeps()
        with notes.ending(" all"), tf.train.MonitoredSession(hooks=[keeps, watcher(tf, notes)]) as session:
            notes("run", session.run(built.after))
            reported(keeps.coord, error) if error else keeps.coord.request_stop()
            notes("stop", session.should_stop())
            with notes.ending(" run"):
                notes("run", session.run(built.after))


def aborted_in_a_thread(tf, notes):
    built = model(tf)

    class Aborts(tf.train.SessionRunHook):
        times = 0

        def after_create_session(self, session, coord):
            self.coord = coord

        def before_run(self, run_context):
            Aborts.times += 1
            if Aborts.times == 2:
                reported(self.coord, tf.errors.AbortedError(None, None, "lost"))
                raise ValueError("because of that")

    with notes.ending(), tf.train.MonitoredSession(hooks=[Aborts(), watcher(tf, notes, stop_at=3)]) as session:
        for _ in range(3):
            notes("run", session.run(built.after))


def queues(tf, notes):
    queue = tf.FIFOQueue(10, [tf.int32], [[]])
    count = tf.get_variable("count", initializer=0, trainable=False, use_resource=True)
    limited = tf.train.limit_epochs(tf.constant(7), 3)
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue([limited])]))
    taken = queue.dequeue()
    with notes.ending(), tf.train.MonitoredSession(hooks=[watcher(tf, notes)]) as session:
        run_all(notes, session, taken)
    notes("count", count.name)
    notes("threads of a monitored session", tf.train.start_queue_runners(session))


def failing_queues(tf, notes):
    queue = tf.FIFOQueue(2, [tf.float32], [[]])
    x = tf.get_variable("x", initializer=3.0, use_resource=True)
    checked = tf.check_numerics(1.0 / x.assign_sub(1.0), "no more")
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue([checked])]))

    class Waits(tf.train.SessionRunHook):
        def after_create_session(self, session, coord):
            coord.wait_for_stop(60)

    with notes.ending(" all"), tf.train.MonitoredSession(hooks=[Waits(), watcher(tf, notes)]) as session:
        notes("stop", session.should_stop())


def threads_that_do_not_stop(tf, notes):
    built = model(tf)
    end = threading.Event()

    class Starts(tf.train.SessionRunHook):
        def after_create_session(self, session, coord):
            self.thread = threading.Thread(target=end.wait, name="laggard")
            self.thread.start()
            coord.register_thread(self.thread)

    starts = Starts()
    with tf.train.MonitoredSession(hooks=[starts, watcher(tf, notes)], stop_grace_period_secs=0.2) as session:
        notes("run", session.run(built.after))
    notes("alive", starts.thread.is_alive())
    end.set()
    starts.thread.join()


# ---- training ------------------------------------------------------------------------------------------------------


def training(tf, notes):
    for part in range(3):
        with tf.Graph().as_default():
            built = model(tf)
            chiefs = [watcher(tf, notes, "chief")] if part == 1 else None
            hooks = [watcher(tf, notes, "one", lambda built=built: built.step), tf.train.StopAtStepHook(num_steps=4)]
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=notes.folder, hooks=hooks, chief_only_hooks=chiefs, save_checkpoint_steps=3,
                save_checkpoint_secs=None, save_summaries_steps=2,
            ) as session:  # fmt: skip
                run_all(notes, session, built.after)
            notes("files", kept(notes.folder))


def training_plainly(tf, notes):
    built = model(tf)
    with tf.train.MonitoredTrainingSession(hooks=[watcher(tf, notes, stop_at=2)]) as session:
        run_all(notes, session, built.after)
    notes("files", os.listdir(notes.folder))


def training_without_hooks(tf, notes):
    built = model(tf)
    arguments = {"log_step_count_steps": 0, "save_checkpoint_secs": 0, "save_summaries_secs": 0}
    arguments["checkpoint_dir"] = notes.folder
    with tf.train.MonitoredTrainingSession(hooks=[watcher(tf, notes, stop_at=2)], **arguments) as session:
        run_all(notes, session, built.after)
    notes("files", os.listdir(notes.folder))


def training_without_step(tf, notes):
    weight = tf.get_variable("weight", initializer=1.0)
    for arguments in ({"checkpoint_dir": notes.folder}, {"summary_dir": notes.folder}, {}):
        hooks = [watcher(tf, notes, stop_at=1)]
        with notes.ending(), tf.train.MonitoredTrainingSession(hooks=hooks, **arguments) as session:
            run_all(notes, session, weight)


def summaries_of(tf, folder):
    """What event files of a folder say: step, tags and values, and the status of sessions."""
    tf.summary.FileWriterCache.clear()  # Closes them.
    found = []
    for name in sorted(os.listdir(folder)):
        if name.startswith("events"):
            for event in tf.train.summary_iterator(os.path.join(folder, name)):
                values = [[v.tag, v.simple_value] for v in event.summary.value if "/sec" not in v.tag]
                if values:
                    found.append([event.step, values])
                elif event.HasField("session_log"):
                    found.append([event.step, event.session_log.status, event.session_log.checkpoint_path])
    return found


def training_with_summaries(tf, notes):
    for part in range(2):
        with tf.Graph().as_default():
            built = model(tf)
            tf.summary.scalar("after", built.after)
            x = tf.constant(0.5)
            tf.summary.scalar("half", x)
            hooks = [watcher(tf, notes), tf.train.StopAtStepHook(num_steps=4)]
            folder, summaries = os.path.join(notes.folder, "checkpoints"), os.path.join(notes.folder, "summaries")
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=folder if part else None, summary_dir=summaries, hooks=hooks, save_summaries_steps=2
            ) as session:
                run_all(notes, session, built.after)
            notes("folders", sorted(os.listdir(notes.folder)))
    notes("checkpoints", summaries_of(tf, folder))
    notes("summaries", sorted(map(str, summaries_of(tf, summaries))))  # Files of one second have no order.


def using_the_session(tf, notes):
    built = model(tf)
    saver = tf.train.Saver()
    path = os.path.join(notes.folder, "model")
    with tf.train.SingularMonitoredSession(hooks=[watcher(tf, notes)]) as session:
        with notes.ending(" saving by it"):
            saver.save(session, path)
        notes("saved", saver.save(session.raw_session(), path))
        notes("eval", built.weight.eval(session), built.after.eval(session=session))
        built.weight.load(20.0, session)
        notes("loaded", session.run(built.weight))
        saver.restore(session, path)
        notes("restored", session.run(built.weight))
        notes("step", tf.train.global_step(session, built.step))


# ---- supervisors ---------------------------------------------------------------------------------------------------


def supervising(tf, notes):
    for _ in range(2):
        with tf.Graph().as_default():
            built = model(tf)
            local = tf.get_variable("local", initializer=1.0, collections=[tf.GraphKeys.LOCAL_VARIABLES])
            supervisor = tf.train.Supervisor(
                logdir=notes.folder, save_summaries_secs=0, save_model_secs=0,
                init_fn=lambda s, built=built: notes("init_fn", s.run(built.weight)),
            )  # fmt: skip
            notes("made", supervisor.is_chief, tf.get_default_graph().finalized, supervisor.save_path,
                  supervisor.global_step.name, supervisor.init_op.name, scope(supervisor.ready_op),
                  supervisor.summary_op, supervisor.ready_for_local_init_op, supervisor.save_model_secs,
                  supervisor.init_feed_dict, supervisor.should_stop())  # fmt: skip
            with supervisor.managed_session() as session:
                for _ in range(3):
                    notes("run", session.run([built.after, local]))
                supervisor.saver.save(session, supervisor.save_path, supervisor.global_step)
                supervisor.request_stop()
                notes("stop", supervisor.should_stop())
            notes("files", kept(notes.folder))


def supervised_loop(tf, notes):
    built = model(tf)
    supervisor = tf.train.Supervisor(saver=None, logdir=None)
    lost = [tf.errors.AbortedError(None, None, "lost")]

    def step_fn(session, by, stop_at):
        found = session.run(built.after) * by
        notes("step", found)
        if found == stop_at:
            supervisor.request_stop()
        if found == 20 and lost:
            raise lost.pop()

    tf.train.basic_train_loop(supervisor, step_fn, [10], {"stop_at": 60})
    for error in (ValueError("no"), tf.errors.OutOfRangeError(None, None, "over"), StopIteration("stop")):
        with notes.ending(" all"), supervisor.managed_session(start_standard_services=False) as session:
            notes("run", session.run(built.after))
            raise error


def supervised_thread(tf, notes):
    built = model(tf)
    supervisor = tf.train.Supervisor(logdir=notes.folder, save_model_secs=0, save_summaries_secs=0)
    calls = []
    with notes.ending(), supervisor.managed_session() as session:

        def called(what, more):
            calls.append((what, more))
            if len(calls) == 2:
                raise ValueError("thread")

        supervisor.loop(0.01, called, ["a"], {"more": 1})
        supervisor.wait_for_stop()
        notes("run", session.run(built.after))
    notes("called", calls)
    with notes.ending(" not chief"), tf.Graph().as_default():
        tf.train.Supervisor(is_chief=False).start_standard_services(None)


def supervised_summaries(tf, notes):
    built = model(tf)
    summary = tf.summary.scalar("after", built.after)
    supervisor = tf.train.Supervisor(logdir=notes.folder, summary_op=None, save_summaries_secs=0, save_model_secs=0)
    with supervisor.managed_session() as session:
        for _ in range(2):
            supervisor.summary_computed(session, session.run(summary))
        supervisor.summary_computed(session, session.run(summary), 20)
    notes("events", summaries_of(tf, notes.folder))
    with tf.Graph().as_default(), notes.ending(" without writer"):
        tf.train.Supervisor().summary_computed(None, b"")


# ---- evaluations ---------------------------------------------------------------------------------------------------


def _checkpoint(tf, notes, weights):
    """Writes checkpoints of the model with these weights; the paths."""
    with tf.Graph().as_default():
        built = model(tf)
        saver = tf.train.Saver()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            paths = []
            for weight in weights:
                built.weight.load(weight, session)
                paths.append(saver.save(session, os.path.join(notes.folder, f"model-{weight}")))
    return paths


def evaluating_once(tf, notes):
    (path,) = _checkpoint(tf, notes, [5.0])
    training = tf.contrib.training
    for eval_ops in (lambda v: v, lambda v: [v, v * 2], lambda v: {"value": v}, lambda v: None):
        with tf.Graph().as_default():
            built = model(tf)
            data = tf.to_float(tf.data.Dataset.range(100).make_one_shot_iterator().get_next())
            mean, update = tf.metrics.mean(data * built.weight)
            hooks = [training.StopAfterNEvalsHook(3), watcher(tf, notes)]
            notes(
                "evaluated",
                training.evaluate_once(
                    path, eval_ops=eval_ops(update), final_ops={"mean": mean, "weight": built.weight}, hooks=hooks
                ),
            )
            step = training.get_or_create_eval_step()
            notes("step", step.name, step.dtype.base_dtype.name, step in tf.local_variables(),
                  tf.get_collection(tf.GraphKeys.EVAL_STEP) == [step])  # fmt: skip


def evaluating_many(tf, notes):
    (path,) = _checkpoint(tf, notes, [5.0])
    training = tf.contrib.training
    for count, logged in ((25, True), (2, False), (None, True)):
        with tf.Graph().as_default():
            built = model(tf)
            data = tf.data.Dataset.range(30).make_one_shot_iterator().get_next()
            x = tf.placeholder(tf.float32, [])
            notes(
                "evaluated",
                training.evaluate_once(
                    path, eval_ops=[data, x], feed_dict={x: 1.0}, final_ops=built.weight * x,
                    final_ops_feed_dict={x: 3.0}, hooks=[training.StopAfterNEvalsHook(count, logged)],
                ),
            )  # fmt: skip


def evaluating_repeatedly(tf, notes):
    paths = _checkpoint(tf, notes, [1.0, 2.0])
    training = tf.contrib.training
    built = model(tf)
    total = tf.get_variable("total", initializer=0.0, collections=[tf.GraphKeys.LOCAL_VARIABLES], use_resource=True)
    hooks = [training.StopAfterNEvalsHook(2), watcher(tf, notes)]
    asked = []

    def on_timeout():
        asked.append(1)
        notes("timeout")
        if len(asked) == 1:
            tf.train.update_checkpoint_state(notes.folder, paths[0])
            return False
        return True

    notes(
        "evaluated",
        training.evaluate_repeatedly(
            notes.folder, eval_ops=total.assign_add(built.weight), final_ops=total, eval_interval_secs=0, hooks=hooks,
            timeout=0.1, timeout_fn=on_timeout,
        ),
    )  # fmt: skip
    notes(
        "evaluated",
        training.evaluate_repeatedly(
            notes.folder, final_ops=built.weight, eval_interval_secs=0, max_number_of_evaluations=1
        ),
    )


def evaluating_with_summaries(tf, notes):
    (path,) = _checkpoint(tf, notes, [5.0])
    training = tf.contrib.training
    with notes.ending(" without folder"):
        training.SummaryAtEndHook()
    for part in range(2):
        with tf.Graph().as_default():
            built = model(tf)
            x = tf.placeholder_with_default(1.0, [])
            first, second = tf.summary.scalar("first", built.weight), tf.summary.scalar("second", built.weight * x)
            more = {"summary_op": second, "feed_dict": {x: 3.0}} if part else {}
            folder = os.path.join(notes.folder, str(part))
            training.evaluate_once(path, hooks=[watcher(tf, notes), training.SummaryAtEndHook(folder, **more)])
            notes("events", summaries_of(tf, folder), first.name)


CASES = [
    stops, finalized_before, fetches, ends_by_data, ends_by_data_without_with, ends_by_a_failing_run, one_hook_twice,
    sessions_after_each_other,
    *[_raising(method, recover) for recover in (True, False) for method in METHODS],
    *[_recovering(method) for method in METHODS], not_recovering, recovers_from_a_checkpoint,
    feeds, options,
    scaffold_makes, scaffold_takes, scaffold_feeds, scaffold_collections, not_ready, initializing_locally,
    managing, waiting_for_session, worker_that_is_ready,
    step_functions, coordinated, aborted_in_a_thread, queues, failing_queues, threads_that_do_not_stop,
    training, training_plainly, training_without_hooks, training_without_step, training_with_summaries,
    using_the_session,
    supervising, supervised_loop, supervised_thread, supervised_summaries,
    evaluating_once, evaluating_many, evaluating_repeatedly, evaluating_with_summaries,
]  # fmt: skip


def run(tf, case, folder):
    """What a case notes."""
    notes = Notes(folder)
    logger = logging.getLogger("tensorflow")
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(notes)
    try:
        with tf.Graph().as_default():
            case(tf, notes)
    finally:
        logger.removeHandler(notes)
        logger.setLevel(level)
    return notes.entries
