"""Estimators whose task TF_CONFIG says: each does what the original's does, and trains to one process's numbers."""

import numpy as np
import pytest

from tests.hosts import several


@pytest.mark.long
@pytest.mark.parametrize("case", ["train", "train_and_evaluate", "master", "strategy", "strategy slowly"])
def test_each_task_does_its_part(case):
    case, *how = case.split()
    (wanted,) = several.values(1, 4, "tests.hosts.estimators", [case])
    first, second = several.values(2, 2, "tests.hosts.estimators", [case, *how])
    assert first["says"] == ["master" if case == "master" else "chief", 0, True, 2]
    assert second["says"] == ["worker", 0, False, 2]
    np.testing.assert_allclose(first["weights"], wanted["weights"], rtol=1e-6, atol=1e-6)
    # Towers of all processes are one estimator, whose checkpoints the first one finds; others have their own folder.
    assert second["weights"] == (first["weights"] if case == "strategy" else None)
    assert (first["evaluated"], second["evaluated"]) == (case == "master", False)
