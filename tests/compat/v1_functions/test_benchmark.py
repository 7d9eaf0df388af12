"""``tf.test.Benchmark`` measures and reports."""

import json

import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from towerstrat.platform import messages


class Sums(tf.test.Benchmark):
    runs = 0

    def benchmarkSum(self):
        with tf.Graph().as_default(), tf.Session(config=tf.test.benchmark_config()) as session:
            runs = tf.get_variable("runs", initializer=0)
            x = tf.placeholder(tf.float32, [2])
            session.run(runs.initializer)
            with tf.control_dependencies([tf.assign_add(runs, 1)]):
                total = tf.reduce_sum(x)
            self.found = self.run_op_benchmark(
                session, total, {x: [1.0, 2.0]}, min_iters=4, store_trace=True, extras={"size": 2, "kind": "sum"}, mbs=8
            )
            type(self).runs = session.run(runs)

    def other(self):
        raise AssertionError


def report(folder, name):
    return messages.BenchmarkEntries.FromString((folder / f"report_{name}").read_bytes()).entry[0]


def test_an_operation_is_measured_and_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("TEST_REPORT_FILE_PREFIX", f"{tmp_path}/report_")
    sums = Sums()
    sums.benchmarkSum()
    assert Sums.runs == 2 + 4 + 1
    assert (sums.found["iters"], sums.found["name"]) == (4, None)
    assert sums.found["throughput"] == 8 / sums.found["wall_time"] > 0
    assert json.loads(sums.found["extras"].pop("full_trace_chrome_format"))["traceEvents"]
    assert sums.found["extras"] == {"size": 2, "kind": "sum"}
    entry = report(tmp_path, "Sums.benchmarkSum")
    assert (entry.name, entry.iters, entry.wall_time) == ("Sums.benchmarkSum", 4, sums.found["wall_time"])
    assert {key: getattr(v, v.WhichOneof("kind")) for key, v in entry.extras.items()} == {"size": 2.0, "kind": "sum"}
    with pytest.raises(FileExistsError):
        sums.benchmarkSum()


def test_what_is_asked_for_on_the_command_line_runs(capsys):
    for argument in ("--benchmarks=Sums.bench", "-benchmarks=all", "--benchmark_filter=.*Sum$"):
        Sums.runs = 0
        argv = ["program", argument, "--more"]
        tf.test.main(argv)
        assert (Sums.runs, argv) == (7, ["program", "--more"])
    assert capsys.readouterr().out.count('name: "Sums.benchmarkSum"') == 3
    with pytest.raises(ValueError, match="No benchmarks matched the pattern: 'none'"):
        tf.test.main(["program", "--benchmarks=none"])


def test_reports_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.setenv("TEST_REPORT_FILE_PREFIX", f"{tmp_path}/report_")
    metrics = [{"name": "loss", "value": 0.5, "max_value": 1.0}]
    Sums().report_benchmark(cpu_time=2.0, name="a/b", metrics=metrics)
    entry = report(tmp_path, "Sums.a__b")
    assert (entry.name, entry.cpu_time, entry.metrics[0].max_value.value) == ("Sums.a/b", 2.0, 1.0)
    assert not entry.metrics[0].HasField("min_value")
    with pytest.raises(TypeError, match="extras must be a dict"):
        Sums().report_benchmark(name="x", extras=[1])
    with pytest.raises(TypeError, match="must have a 'value' field"):
        Sums().report_benchmark(name="x", metrics=[{"name": "loss"}])
    Sums().report_benchmark(iters=3)
    assert report(tmp_path, "Sums.report_benchmark").iters == 3


def test_it_is_one_class_of_both_namespaces():
    assert tf.test.Benchmark is tf2.test.Benchmark
    assert (tf.test.Benchmark.is_abstract(), Sums.is_abstract()) == (True, False)
    with tf.Graph().as_default(), tf.Session():
        assert Sums().evaluate([tf.constant(1), tf.constant(2.0)]) == [1, 2.0]
