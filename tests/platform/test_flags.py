"""Flags parse themselves at the first read, and ``app.run`` calls ``main`` with what is no flag."""

import subprocess
import sys

PROGRAM = '''"""Says hello."""
import sys
from towerstrat.platform import app, flags
flags.DEFINE_string("name", "world", "whom")
flags.DEFINE_integer(flag_name="count", default_value=1, docstring="how often")
flags.DEFINE_bool("loud", False, "in capitals")
FLAGS = flags.FLAGS
'''


def run(rest, *arguments):
    done = subprocess.run([sys.executable, "-c", PROGRAM + rest, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_reading_a_flag_parses_the_command_line():
    assert run("print(FLAGS.name, FLAGS.count, FLAGS['loud'].value)", "--name=you", "--loud", "--count", "2")[:2] == (
        0, "you 2 True\n")  # fmt: skip


def test_a_flag_can_be_set_and_listed():
    code = "FLAGS(sys.argv); FLAGS.count = 5; print(FLAGS.count, 'name' in FLAGS, 'name' in list(FLAGS), 'x' in FLAGS)"
    assert run(code)[1] == "5 True True False\n"


def test_run_gives_main_what_is_no_flag_and_exits_with_its_result():
    code = "def main(argv): print(argv[1:], FLAGS.name); return 7\napp.run()"
    assert run(code, "--name=x", "a", "--unknown=1")[:2] == (7, "['a', '--unknown=1'] x\n")
    code = "app.run(lambda argv: print(argv), argv=['p', '--loud', 'b'])"
    assert run(code)[:2] == (0, "['p', 'b']\n")


def test_a_bad_value_is_an_error_that_names_the_flag():
    code, _, error = run("app.run(lambda _: None)", "--count=many")
    assert code == 1
    assert "--count=many" in error


def test_help_shows_the_flags_of_the_main_module():
    code, output, _ = run("app.run(lambda _: None)", "--help")
    assert code == 1
    assert output.startswith("Says hello.")
    assert "how often" in output
