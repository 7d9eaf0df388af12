"""Parts of all tests: together they are the whole, and each test is in one."""

import argparse

import pytest

from tests.shards import shard


def test_each_test_is_in_one_part():
    names = [f"tests/test_{i}.py::test_x[{i}]" for i in range(400)]
    parts = [[n for n in names if shard(f"{k}/8").has(n)] for k in range(1, 9)]
    assert sorted(n for part in parts for n in part) == sorted(names)
    assert all(30 <= len(part) <= 70 for part in parts)


@pytest.mark.parametrize("text", ["0/8", "9/8", "3", "3/", "a/b", "-1/8"])
def test_parts_that_there_are_not_are_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match="expected K/N with K from 1 to N"):
        shard(text)
