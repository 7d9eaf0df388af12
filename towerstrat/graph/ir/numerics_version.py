"""Which original's numbers a process computes, where 1.x and 2.x differ in them."""


class _Original:
    """The original that the process stands for.

    Attributes:
      later: it is 2.x: means of integers are summed in 64 bits, functions with poles are NaN where the sign is open.
    """

    later = False


ORIGINAL = _Original()
