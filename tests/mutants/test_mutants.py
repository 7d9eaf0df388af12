"""Mutants: what each kind changes, the draw, and that tests which notice or do not are told apart."""

import pytest

from tests.mutants import __main__ as mutants
from tests.mutants import drawing, rooms
from tests.mutants.copies import changed, first_failure
from tests.mutants.kinds import KINDS, Source
from tests.mutants.page import page
from tests.thinning import lines


@pytest.mark.parametrize(
    ("kind", "text", "instead"),
    [
        ("sign", "y = a + b", ["y = a - b"]),
        ("sign", "y = -a - 1", ["y = -a + 1", "y = a - 1"]),
        ("sign", "y = 'a' + b + [1]", []),
        ("factor", "y = a * b / c", ["y = a * b", "y = a / c"]),
        ("bound", "y = a < b", ["y = a <= b"]),
        ("bound", "y = range(n - 1)", ["y = range(n)"]),
        ("effect", "log.info(a)\nseen.add(a)\nf(a)", ["log.info(a)\npass\nf(a)"]),
        ("axis", "y = f(a, axis=0) + f(b, axis=1) + f(c, axis=k)", [
            "y = f(a, axis=-1) + f(b, axis=1) + f(c, axis=k)", "y = f(a, axis=0) + f(b, axis=0) + f(c, axis=k)"]),
        ("byte order", "y = unpack('<q', a), int.from_bytes(b, 'little'), '<tag>'", [
            "y = unpack(\">q\", a), int.from_bytes(b, 'little'), '<tag>'",
            "y = unpack('<q', a), int.from_bytes(b, \"big\"), '<tag>'"]),
        ("byte order", "y = unpack('<B', a), zeros(2, '<u1')", []),
        ("tower", "y = values[tower]", ["y = values[0]"]),
        ("gradient", "y = g * f(g)", ["y = (0 * g) * f(g)", "y = g * f((0 * g))"]),
        ("gradient", "y = lax.stop_gradient(x), isinstance(g, A)", ["y = x, isinstance(g, A)"]),
        ("gradient", "define(differentiable=False)", ["define(differentiable=True)"]),
        ("reset", "def f(self):\n    self.a = None", ["def f(self):\n    pass"]),
        ("reset", "def __init__(self):\n    self.a = None", []),
        ("lock", "with self._lock:\n    a()", ["with __import__('contextlib').nullcontext():\n    a()"]),
        ("lock", "with block:\n    a()", []),
        ("check", "if a:\n    raise E\nelif b:\n    raise E", [
            "if False:\n    raise E\nelif b:\n    raise E", "if a:\n    raise E\nelif False:\n    raise E"]),
    ],
)  # fmt: skip
def test_a_kind_changes_one_place(kind, text, instead):
    found = [mutant.applied(text.encode()).decode() for mutant in Source("f.py", text.encode()).mutants(kind)]
    assert sorted(found) == sorted(instead)


def test_annotations_and_what_type_checkers_read_are_left_alone():
    text = b"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    y = a + b\ndef f(x: a + b) -> a + b: ..."
    assert Source("f.py", text).mutants("sign") == []


def test_letters_outside_of_ascii_do_not_move_the_place():
    (mutant,) = Source("f.py", "x = 'é'; y = a + b  # é".encode()).mutants("sign")
    assert mutant.applied("x = 'é'; y = a + b  # é".encode()).decode() == "x = 'é'; y = a - b  # é"
    with pytest.raises(ValueError, match="another one than the mutant was drawn from"):
        mutant.applied(b"y = a + b")


def test_a_draw_takes_kinds_and_floors_in_turn(monkeypatch):
    text = b"y = a + b\nz = c * d\nx = c < 1\n"
    files = ("towerstrat/data/a.py", "towerstrat/graph/ops/b.py", "towerstrat/models/c.py")
    monkeypatch.setattr(drawing, "sources", lambda: [Source(file, text) for file in files])
    drawn = drawing.draw(3, 9)
    assert drawn == drawing.draw(3, 9)
    assert [m.kind for m in drawn] == ["sign", "factor", "bound"] * 3
    for kind in ("sign", "factor", "bound"):
        assert {drawing.floor_of(m.file) for m in drawn if m.kind == kind} == {"data", "graph/ops", "models"}
    assert len(drawing.draw(3, 100)) == 9


def test_a_row_finds_its_line_again(monkeypatch, tmp_path):
    file = tmp_path / "f.py"
    file.write_text("if a:\n    y = a + b\nelse:\n    y = a + b\n")
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    second = Source("f.py", file.read_bytes()).mutants("sign")[1]
    row = mutants.row_of(1, second)
    assert (row.text, row.instead, row.place) == ("y = a + b", "y = a - b", "1")
    assert row.applied(b"x = 1\n" + file.read_bytes()) == (b"x = 1\nif a:\n    y = a + b\nelse:\n    y = a - b\n", 5)
    with pytest.raises(ValueError, match="mutant 1: f.py has no 'y = a \\+ b' number 1"):
        row.applied(b"y = a + b\n")


def test_the_first_failure_is_named_and_the_change_taken_back(tmp_path):
    (tmp_path / "a.py").write_text("ONE = 1\n")
    (tmp_path / "test_code.py").write_text("import a\ndef test_0(): pass\ndef test_one(): assert a.ONE == 1\n")
    assert first_failure(tmp_path, ["test_code.py"]) == ""
    with changed(tmp_path / "a.py", b"ONE = 2\n"):
        assert first_failure(tmp_path, ["test_code.py"]) == "test_code.py::test_one"
    assert (tmp_path / "a.py").read_text() == "ONE = 1\n"


def test_rooms_of_files(tmp_path):
    file = "towerstrat/training/optimizers/adam.py"
    every = rooms.tests(file, 1, None)
    assert every[0].startswith("tests/training/optimizers/")
    assert set(every) == set(rooms.floor(file))
    lines.write(tmp_path, "tests/training/hooks/test_against_original.py::test", 1.0, 0.0, {file: [148]})
    assert "tests/training/hooks/test_against_original.py" not in rooms.tests(file, 149, tmp_path)
    assert rooms.tests(file, 1, tmp_path) == every  # runs before any test
    assert rooms.tests(file, 148, tmp_path)[0] == "tests/training/hooks/test_against_original.py"
    assert rooms.floor("towerstrat/cli.py") == sorted(f"tests/{f.name}" for f in (rooms.ROOT / "tests").glob("test_*"))


def test_the_table_has_all_kinds_and_is_well_formed():
    rows = mutants.read()
    assert {row.kind for row in rows} == set(KINDS)
    assert [row.number for row in rows] == [str(i) for i in range(1, len(rows) + 1)]
    assert all(row.noticed or row.led_to for row in rows), "a mutant that nothing notices leads to a test or a reason"
    assert all(row.text != row.instead for row in rows)
    assert mutants.PAGE.read_text() == page(rows), "python -m tests.mutants --write writes the page"
