"""``tf.app.run``: parse the flags, call ``main`` with the other arguments and exit with what it returns.

    def main(argv):                         # argv: program name, and arguments that are no known flags
        print(FLAGS.steps)
    tf.app.run()                            # python train.py --steps 10 --other: main(["train.py", "--other"])

``--help`` and ``--helpshort`` print the docstring of the main module and its flags, ``--helpfull`` those of all
modules; ``run`` defines them, unless absl or the program has flags of these names.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from absl import flags as absl_flags

from towerstrat.platform import flags


def _usage(everything: bool) -> None:
    doc = sys.modules["__main__"].__doc__
    if doc:
        # A bare %s in the module's docstring stands for the program's name.
        doc = doc.replace("%%", "%") if "%s" not in doc else doc.replace("%s", sys.argv[0])
    else:
        doc = f"\nUSAGE: {sys.argv[0]} [flags]\n"
    listed = str(flags.FLAGS) if everything else flags.FLAGS.main_module_help()
    print(doc + ("\nflags:\n" + listed if listed else ""))


class _HelpFlag(absl_flags.BooleanFlag):
    def __init__(self, name: str, short_name: str | None, text: str, everything: bool):
        super().__init__(name, False, text, short_name=short_name)
        self._everything = everything

    def parse(self, argument: object) -> None:
        if argument in (True, "true", "1", 1):
            _usage(self._everything)
            if not self._everything:
                print("\nTry --helpfull to get a list of all flags.")
            sys.exit(1)


def _define_help() -> None:
    for name, short_name, text, everything in (
        ("help", "h", "show this help", False),
        ("helpshort", None, "show this help", False),
        ("helpfull", None, "show the flags of all modules", True),
    ):
        if name not in absl_flags.FLAGS:
            absl_flags.DEFINE_flag(_HelpFlag(name, short_name, text, everything), module_name="towerstrat")


def run(main: Callable[[Sequence[str]], str | int | None] | None = None, argv: Sequence[str] | None = None) -> None:
    """Parse the flags in ``argv``, call ``main`` with the rest and exit with its result.

    Args:
      main: defaults to the function of that name in the program's main module.
      argv: program name and arguments; defaults to ``sys.argv``.

    Raises:
      SystemExit: always, with what ``main`` returns as the status.
    """
    _define_help()
    remaining = flags.FLAGS(sys.argv if argv is None else argv, known_only=True)
    function = main or sys.modules["__main__"].main
    sys.exit(function(remaining))
