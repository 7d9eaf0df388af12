"""Input of several processes: the numbers of one process, and ends and errors that all meet together."""

import json
from itertools import chain

import pytest

from tests.hosts import several

SAME = [
    "parsed_records", "eager_elements", "functions", "step_loops", "single_elements", "alike_estimators",
    "alike_functions",
]  # fmt: skip
"""Cases of one pipeline that all processes have."""


def cases(processes, devices, names, place):
    """What each process found in each case, by name."""
    printed = several.lines(processes, devices, "tests.hosts.input_program", [",".join(names), str(place)])
    return [dict(json.loads(line) for line in lines) for lines in printed]


def steps_of(lengths, start=0):
    """The elements that two processes of two towers take of pipelines of so many batches of two."""
    both = [[[100.0 * i + 2 * n, 100.0 * i + 2 * n + 1] for n in range(length)] for i, length in enumerate(lengths)]
    return [
        [*both[0][2 * i : 2 * i + 2], *both[1][2 * i : 2 * i + 2]] for i in range(start, min(n // 2 for n in lengths))
    ]


def course(lengths):
    """The total after each step: half of what it was and the sum of the step's elements."""
    total, found = 0.0, []
    for step in steps_of(lengths):
        total = total * 0.5 + sum(map(sum, step))
        found.append(total)
    return found


def ended(lengths):
    """Whose data ends first, as messages say it; nothing where it is everybody's."""
    steps = [length // 2 for length in lengths]
    if steps[0] == steps[1]:
        return ""
    return f": the data of process {steps.index(min(steps))}, of 2, has ended"


@pytest.mark.parametrize("shape", [(2, 2), pytest.param((4, 1), marks=pytest.mark.long)], ids=str)
@pytest.mark.parametrize("names", [["functions"], pytest.param(SAME, marks=pytest.mark.long)], ids=len)
def test_one_pipeline_gives_the_numbers_of_one_process(shape, names, tmp_path):
    (alone,) = cases(1, 4, names, tmp_path)
    for process in cases(*shape, names, tmp_path):
        assert process == alone


@pytest.mark.long
def test_a_process_decodes_the_images_of_its_own_rows(tmp_path):
    (alone,) = cases(1, 4, ["own_images"], tmp_path)
    both = cases(2, 2, ["own_images"], tmp_path)
    for process in both:
        assert process["own_images"][::2] == alone["own_images"][::2]
    made = [[count["made"] for count in process["own_images"][1::2]] for process in (alone, *both)]
    # Of 3 images each of four replicas gets one, or none; of a batch that is left out nothing is decoded.
    assert made == [[0, 3, 8, 13, 13, 16], [0, 2, 4, 8, 4, 8], [0, 1, 4, 5, 4, 8]]


@pytest.mark.long
def test_a_process_decodes_the_batches_of_its_own_towers(tmp_path):
    (alone,) = cases(1, 4, ["dealt_images"], tmp_path)
    both = cases(2, 2, ["dealt_images"], tmp_path)
    assert [process["dealt_images"] for process in both] == [[alone["dealt_images"][0], 8]] * 2


def check_bad_image(process, i):
    steps = [[[8 * k + 2 * r, 8 * k + 2 * r + 1] for r in range(4)] for k in range(3)]
    *singles, in_loop, after = process["bad_image"]
    one_by_one, in_function = singles[:4], singles[4:]
    assert one_by_one == [steps[0], "InvalidArgumentError", steps[2], "StopIteration"]
    assert in_function == [steps[0], "InvalidArgumentError", steps[2], "OutOfRangeError"]
    assert "process 1, of 2" in in_loop[1]
    assert after == steps[2]


def check_bad_image_in_steps(process, i):
    first, third = sum(range(8)), sum(range(16, 24))
    failed, then, end = process["bad_image_in_steps"]
    assert failed == ["InvalidArgumentError", first, True]
    assert then == first + third
    assert end[:2] == ["OutOfRangeError", first + third]


def check_contexts(process, i):
    told, elements = process["contexts_of_input"]
    assert told == [[2, i, 4], 2]
    assert elements == [[[0], [2], [1], [3]], [[4], [6], [5], [7]]]


def check_elements(process, i):
    rest = iter(process["own_elements"])
    for lengths, elements in rest:
        assert elements == steps_of(lengths)
        assert next(rest) == f"End of sequence{ended(lengths)}"
        # What one process has more is the next thing that it gives.
        left = lengths[i] // 2 > min(lengths) // 2
        first = 2 * (min(lengths) // 2)
        batches = [[100.0 * i + 2 * n, 100.0 * i + 2 * n + 1] for n in (first, first + 1)]
        assert next(rest) == [i, batches if left else None]


def check_loops(process, i):
    for lengths, total in process["own_loops"]:
        assert total == pytest.approx(([0.0, *course(lengths)])[-1], rel=1e-6)


def steps_until_all_end(lengths, batch=2):
    """The steps of two processes of two towers that go on until both have ended, with batches of nothing."""
    both = [
        [[100.0 * i + batch * n + k for k in range(batch)] for n in range(length)] for i, length in enumerate(lengths)
    ]
    steps = max(-(-length // 2) for length in lengths)
    return [[part for mine in both for part in [*mine[2 * s : 2 * s + 2], [], []][:2]] for s in range(steps)]


def check_all_ended(process, i):
    *cases, endless, of_unknown_shapes = process["until_all_have_ended"]
    for (lengths, spec, elements), *loops in zip(cases[::3], cases[1::3], cases[2::3], strict=True):
        steps = steps_until_all_end(lengths)
        assert elements == steps
        assert "shape=(None,)" in spec
        total = 0.0
        for step in steps:
            total = total * 0.5 + sum(map(sum, step))
        for found in loops:
            assert found == [pytest.approx(total, rel=1e-6), 2 * sum(lengths)]
    assert "shape=(2,)" in endless
    assert of_unknown_shapes == steps_until_all_end([2, 5])


def check_waiting(process, i):
    state, *rest = process["waiting_is_a_place"]
    assert "place" in state
    assert rest == [steps_until_all_end([2, 6])[2:]] * 2


def check_texts(process, i):
    first = [["a", "bb"], ["", "d\0"], ["bb", "bb"], ["\xff\0", "d\0"]]
    second = [["a"], [], ["d\0", "a"], ["long" * 9]]
    numbers = {"a": 1, "bb": 20, "d\0": 300}
    sums = [sum(numbers.get(text, -1000) for text in chain(*step)) for step in (first, second)]
    assert process["own_texts"] == [[first, sums[0]], [second, sums[1]], ["a", "bb", "bb", "bb"]]


def check_uneven(process, i):
    assert process["own_uneven"] == [[[0, 0], [1, 1], [0], [1, 1, 1]], [[2, 2], [3], [2, 2], [3, 3]]]


def check_errors(process, i):
    first, second, raised, after, in_loop, (total, then) = process["own_errors"]
    assert (first, second) == ([[0.0], [1.0]] * 2, [[2.0], [3.0]] * 2)
    for kind, message in (raised, in_loop):
        assert kind == "raised"
        assert "process 1, of 2" in message
        assert "bad element" in message
    # The first replica of process 1 had its element already; it comes again.
    assert after == then == [[4.0], [5.0], [4.0], [6.0]]
    assert total == 12.0


def check_step_loops(process, i):
    *ends, (failed, total, (_, used)) = process["own_step_loops"]
    for lengths, steps, runs in ends:
        totals = course(lengths)
        whole = len(totals) // steps
        for number, run in enumerate(runs[:-1]):
            if number < whole:
                assert run == pytest.approx(totals[(number + 1) * steps - 1], rel=1e-6)
                continue
            done = len(totals) - whole * steps if number == whole else 0
            kind, message, now = run
            assert (kind, now) == ("OutOfRangeError", pytest.approx([0.0, *totals][-1], rel=1e-6))
            assert message.startswith(f"End of sequence{ended(lengths)}: {done} of {steps} steps had their data")
        asked = min(len(totals), steps * 4)
        assert runs[-1] == [i, asked]
    kind, message, at_error = failed
    assert kind == "InvalidArgumentError"
    assert "process 1, of 2" in message
    assert at_error == 11.0
    assert total == pytest.approx(72.0625)
    assert used == 6 + i


def check_policies(process, i):
    found = process["policies"]
    lines = [[10 * file + n for n in range(4)] for file in range(6)]

    def shared(numbers):
        return [[numbers[8 * n + 2 * r : 8 * n + 2 * r + 2] for r in range(4)] for n in range(3)]

    in_turn = [n for a, b in zip(lines[::2], lines[1::2], strict=True) for pair in zip(a, b, strict=True) for n in pair]
    for kind, numbers in (("files", list(chain(*lines))), ("interleaved", in_turn)):
        whole = shared(numbers)
        # One pipeline of all: each replica gets the rows that it would get from one process.
        assert found[f"{kind} AUTO"] == found[f"{kind} DATA"] == whole
        # Each process has all of the data: its two replicas get the four parts of each batch in two steps.
        assert found[f"{kind} OFF"] == [[*batch[k : k + 2]] * 2 for batch in whole for k in (0, 2)]
        # Each process has every other file.
        for process_of, part in ((0, slice(0, 2)), (1, slice(2, 4))):
            batches = chain(*(step[part] for step in found[f"{kind} FILE"]))
            assert sorted(chain(*batches)) == sorted(chain(*lines[process_of::2]))
    assert found["files FILE"][0] == [[0, 1], [2, 3], [10, 11], [12, 13]]


def check_different(process, i):
    message = process["different_pipelines"]
    assert "Process 1 differs from process 0, of 2" in message
    assert "Range" in message
    assert "24" in message


def check_sharded(process, i):
    steps = [[[0], [2], [1], [3]], [[4], [6], [5], [7]], [[8], [10], [9], [11]]]
    assert process["sharded_by_hand"] == [*steps, *steps]


def check_resumed(process, i):
    for cut, gone_on, undisturbed in process["resumed"]:
        assert cut != undisturbed
        assert gone_on == undisturbed


def check_estimators(process, i):
    found = process["estimators"]
    assert {kind: told for kind, (told, _, _) in found.items()} == {
        "PER_HOST_V1": [[2, i, i, 2, 2, 4]] * 2,
        "PER_HOST_V2": [[2, i, i, 2, 2, 2]] * 2,
        "PER_SHARD_V1": [*([2, call, call, 4, 1, 2] for call in range(4)), [2, i, i, 2, 2, 4]],
        "BROADCAST": [[1, 0, 0, 1, 4, 8]] * 2,
    }
    total = 0.0
    for step in range(4):
        total += 0.1 * 2.0 * (8 * step + 3.5 - total)
    for _, trained, evaluated in found.values():
        assert (trained, evaluated) == (pytest.approx(total), 11.5)


CHECKS = {
    "contexts_of_input": check_contexts,
    "own_elements": check_elements,
    "own_loops": check_loops,
    "own_texts": check_texts,
    "own_uneven": check_uneven,
    "until_all_have_ended": check_all_ended,
    "waiting_is_a_place": check_waiting,
    "own_errors": check_errors,
    "own_step_loops": check_step_loops,
    "policies": check_policies,
    "different_pipelines": check_different,
    "sharded_by_hand": check_sharded,
    "resumed": check_resumed,
    "estimators": check_estimators,
    "bad_image": check_bad_image,
    "bad_image_in_steps": check_bad_image_in_steps,
}


@pytest.mark.parametrize(
    "names",
    [
        ["contexts_of_input", "own_elements", "waiting_is_a_place", "resumed"],
        pytest.param(list(CHECKS), marks=pytest.mark.long),
    ],
    ids=len,
)
def test_pipelines_of_their_own_end_and_fail_together(names, tmp_path):
    for i, process in enumerate(cases(2, 2, names, tmp_path)):
        for name in names:
            CHECKS[name](process, i)
