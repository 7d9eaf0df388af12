"""Workers with a graph each: the numbers of one process, one end of the data for all, and failures by name."""

import numpy as np
import pytest

from tests.hosts import several


@pytest.mark.parametrize("which", ["", pytest.param("long", marks=pytest.mark.long)])
def test_workers_train_together(which):
    first, second = several.values(2, 1, "tests.hosts.workers", [which])
    assert first.keys() == second.keys()
    for name in first.keys() - {"refusals", "ends", "passes", "branch", "loop", "fails", "afterwards"}:
        together, alone = first[name]
        assert second[name][0] == together, name
        for value, wanted in zip(together, alone, strict=True):
            np.testing.assert_allclose(value, wanted, rtol=1e-6, atol=1e-6, err_msg=name)
        assert together[-1] == 3, name
    # The data of the first process ends, and so does the pass of both.
    assert first["ends"][:2] == second["ends"][:2] == [2, "OutOfRangeError"]
    assert "The data of process 0 of 2 has ended" in second["ends"][2]
    assert "End of sequence" in first["ends"][2]
    assert first["passes"] == second["passes"] == [[2, 2, 2]] * 2
    # Gradients towards 1 and 2 are applied where both processes go the same way, and else both say which way each goes.
    for name, what, decides in (("branch", "cond/If", "predicate"), ("loop", "while/While", "condition")):
        assert first[name] == second[name]
        one, same, said, still, last = first[name]
        assert [one, same, still, last] == [1.5] * 4, name
        assert said.startswith(f"The {decides} of {what} (type {what.split('/')[1]}, created at ")
        assert "is True in process 1 and False in process 0, of 2. They average gradients inside" in said
    # The second process' own error is its own; the first hears of it, and nothing goes on.
    assert first["fails"][:2] == [0, "AbortedError"]
    assert first["fails"][2].startswith("Process 1 of 2 failed: InvalidArgumentError: a bad row")
    assert second["fails"][:2] == [0, "InvalidArgumentError"]
    assert first["afterwards"][:2] == second["afterwards"][:2] == [0, "AbortedError"]
    for said in (first, second):
        others, task = said["refusals"]
        assert "3 tasks that train (worker 0, worker 1, worker 2), in a run of 2 processes" in others
        assert "towerstrat launch -n 3 SCRIPT" in others
    assert "of /job:worker/task:1 in process 0 of 2: the processes are, in order, worker 0, worker 1" in task.replace(
        "task:0 in process 1", "task:1 in process 0"
    )
