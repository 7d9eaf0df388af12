"""What ``towerstrat check`` found, as text, as JSON and as a page with the sources beside it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from towerstrat.compat.program import usage_check as check
from towerstrat.compat.program.name_resolution import Status
from towerstrat.compat.program.usage_check import Checked, Finding

_WORKS = Status.WORKS.value


def lines(checked: Sequence[Checked], everything: bool = False) -> Iterator[str]:
    """``path:line:column code message`` for each finding, and the share of the names that work.

    Args:
      everything: names that work too.
    """
    for file in checked:
        for finding in file.findings:
            if everything or finding.code != _WORKS:
                yield f"{_shown(file.path)}:{finding.line}:{finding.column} {finding.code} {finding.message}"
    yield f"{check.share(checked)}; {_eras(checked)}."


def as_json(checked: Sequence[Checked], everything: bool = False) -> str:
    """The same for programs: an object with ``files`` and the ``share``."""
    share = check.share(checked)
    files = [
        {
            "path": _shown(file.path),
            "api": file.decision.api,
            "version": file.decision.version,
            "reason": file.decision.reason,
            "findings": [
                {"line": f.line, "column": f.column, "code": f.code, "name": f.name, "message": f.message}
                for f in file.findings
                if everything or f.code != _WORKS
            ],
        }
        for file in checked
    ]
    return json.dumps({"files": files, "share": {"working": share.working, "names": share.names}}, indent=1)


def _shown(path: Path) -> str:
    """Relative to the current folder where it is inside of it."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


def _eras(checked: Sequence[Checked]) -> str:
    """Which names ``tensorflow`` has in how many files; the reason where there is one for all."""
    reasons: dict[int, list[str | None]] = {1: [], 2: []}
    for file in checked:
        if any(finding.name for finding in file.findings):
            reasons[file.decision.api].append(file.decision.reason)
    eras = []
    for api, found in reasons.items():
        why = f" ({found[0] or 'nothing tells otherwise'})" if len(set(found)) == 1 else ""
        eras += [f"{len(found)} with {api}.x names{why}"] * bool(found)
    return ", ".join([f"{len(checked)} file{'s' * (len(checked) != 1)}", *eras])


# ---- the page ------------------------------------------------------------------------------------------------------

_STYLE = """
:root { color-scheme: light dark; --good: #18794e; --bad: #c62828; --note: #8a6100; --dim: #8884; }
@media (prefers-color-scheme: dark) { :root { --good: #4cc38a; --bad: #ff8f8f; --note: #f1c04d; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 110rem; padding: 0 1.5rem; }
h1 { font-size: 1.4rem; } summary { cursor: pointer; font-weight: 600; padding: .4rem 0; }
.bar { background: color-mix(in srgb, var(--bad) 35%, transparent);
  border-radius: 4px; height: .6rem; max-width: 30rem; }
.bar div { background: var(--good); border-radius: 4px; height: 100%; }
table { border-collapse: collapse; width: 100%; } td { padding: 0 .6rem; vertical-align: top; }
.source td { font: 13px/1.55 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
.source td:first-child { opacity: .5; text-align: right; width: 3rem; user-select: none; }
.source td:last-child { font: 13px/1.55 system-ui, sans-serif; width: 42%; border-left: 2px solid var(--dim); }
.names td { border-bottom: 1px solid var(--dim); padding: .2rem .6rem; }
mark { background: none; color: inherit; border-bottom: 2px solid; }
b { font-weight: 600; } .works { color: var(--good); } .no-effect, .tried { color: var(--note); }
.missing, .other-era, .unknown, .python2, .unreadable { color: var(--bad); }
"""


def page(checked: Sequence[Checked]) -> str:
    """One HTML file: the share, what is missing with its uses, and each source with what is said beside its lines."""
    share = check.share(checked)
    percent = 100 * share.working / max(share.names, 1)
    body = [
        "<h1>towerstrat check</h1>",
        f"<p>{escape(str(share))}; {escape(_eras(checked))}.</p>",
        f'<div class="bar"><div style="width: {percent:.1f}%"></div></div>',
        f"<p>{' · '.join(f'<b class={code}>{code}</b> {escape(text)}' for code, text in check.CODES.items())}</p>",
        *_index(checked),
        *(part for number, file in enumerate(checked) for part in _file(number, file)),
    ]
    head = f'<meta charset="utf-8"><title>towerstrat check</title><style>{_STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{chr(10).join(body)}\n</body></html>\n'


def _index(checked: Sequence[Checked]) -> Iterator[str]:
    """What does not work, the most used first, each with links to its lines."""
    uses: dict[tuple[str, str, str], list[str]] = {}
    for number, file in enumerate(checked):
        for f in file.findings:
            if f.code != _WORKS:
                link = f'<a href="#{number}-{f.line}">{escape(_shown(file.path))}:{f.line}</a>'
                uses.setdefault((f.code, f.name, f.message), []).append(link)
    yield '<table class="names">'
    for (code, name, message), links in sorted(uses.items(), key=lambda entry: -len(entry[1])):
        yield (
            f"<tr><td><b class={code}>{code}</b></td><td><code>{escape(name)}</code></td>"
            f"<td>{escape(message)}</td><td>{', '.join(links)}</td></tr>"
        )
    yield "</table>"


def _file(number: int, file: Checked) -> Iterator[str]:
    lacking = sum(finding.code != _WORKS for finding in file.findings)
    counts = f"{len(file.findings)} found, {lacking} to look at" if file.findings else "no names of tensorflow"
    yield f"<details{' open' * bool(lacking)}><summary>{escape(_shown(file.path))} — {counts}</summary>"
    yield '<table class="source">'
    by_line: dict[int, list[Finding]] = {}
    for finding in file.findings:
        by_line.setdefault(finding.line, []).append(finding)
    for line, text in enumerate(file.text.split("\n"), 1):
        found = by_line.get(line, [])
        said = dict.fromkeys(f"<b class={f.code}>{f.code}</b> {escape(f.message)}" for f in found if f.code != _WORKS)
        notes = "<br>".join(said)
        yield f'<tr id="{number}-{line}"><td>{line}</td><td>{_marked(text, found)}</td><td>{notes}</td></tr>'
    yield "</table></details>"


def _marked(text: str, findings: Sequence[Finding]) -> str:
    """A line of source with its names marked."""
    parts, end = [], 0
    for finding in findings:
        start = finding.column - 1
        if start >= end and finding.width:
            name = escape(text[start : start + finding.width])
            parts += [escape(text[end:start]), f"<mark class={finding.code} title={_quoted(finding)}>{name}</mark>"]
            end = start + finding.width
    return "".join([*parts, escape(text[end:])])


def _quoted(finding: Finding) -> str:
    return f'"{escape(finding.message)}"'
