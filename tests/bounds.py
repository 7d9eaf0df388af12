"""How far apart two results of one computation may be: as far as the arithmetic says, on any machine."""

from typing import Any

import numpy as np


def close(found: Any, wanted: Any, terms: int, size: float | None = None, what: str = "") -> None:
    """Asserts that results differ by no more than rounding, whatever the order of additions.

    A floating-point sum of n terms, added in any order, is off by at most (n - 1) eps / 2 times the sum of the terms'
    magnitudes (Higham, *Accuracy and Stability of Numerical Algorithms*, 2002, section 4.2). Two such sums are then
    within ``n * eps * size`` of each other. A relative bound alone is wrong wherever terms cancel.

    Args:
      found: an array or numbers, of the type whose precision counts.
      wanted: what it should be, of the same shape; best computed in float64.
      terms: how many terms go into one element, one after the other: n for a product of [m, n] and [n, k], and for a
        training loop those of a step times the number of steps. A factor or an elementary function counts as one.
      size: the largest sum of the magnitudes of the terms; by default the largest magnitude in ``wanted``, which is
        right where nothing cancels.
      what: what is compared, for the message.
    """
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape, what
    size = np.max(np.abs(wanted), initial=0.0) if size is None else size
    np.testing.assert_allclose(found, wanted, rtol=0, atol=terms * np.finfo(found.dtype).eps * size, err_msg=what)
