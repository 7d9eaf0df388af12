"""Prints the share of the names in a list that work, weighted by how many programs use each.

The list has a row for each name (``tf.nn.relu``, ``tensorflow.python.framework.ops.Graph``), tab-separated, with the
columns ``symbol`` and ``programs``. A name works where it does in one of the two namespaces.

    python scripts/share_of_names.py SYMBOLS.TSV [--missing N]
"""

import argparse
import csv
import pathlib

from towerstrat.compat.program.name_resolution import Resolver


def main() -> None:
    parser = argparse.ArgumentParser(description="the share of the names in a list that work")
    parser.add_argument("list", type=pathlib.Path)
    parser.add_argument("--missing", type=int, metavar="N", help="list the missing names that N programs or more use")
    arguments = parser.parse_args()
    resolvers = Resolver(1), Resolver(2)
    with arguments.list.open(newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["programs"].isdigit()]
    programs = {row["symbol"]: int(row["programs"]) for row in rows}
    works = {name: any(resolver.verdict(_in_tf(name)).works for resolver in resolvers) for name in programs}
    for name, count in sorted(programs.items(), key=lambda item: -item[1]):
        if arguments.missing is not None and count >= arguments.missing and not works[name]:
            print(f"{count}\t{name}")
    working = sum(count for name, count in programs.items() if works[name])
    total = sum(programs.values())
    print(f"{100 * working / total:.1f}% of the uses by programs work; {sum(works.values())} of {len(works)} names")


def _in_tf(name: str) -> str:
    return "tf" + name.removeprefix("tensorflow") if name.startswith("tensorflow.") else name


if __name__ == "__main__":
    main()
