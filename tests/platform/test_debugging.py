"""Switches of ``tf.debugging``."""

import pytest

from towerstrat.errors import UnsupportedError
from towerstrat.platform import debugging


def test_checking_all_results_is_refused_by_name():
    with pytest.raises(UnsupportedError, match=r"tf\.debugging\.check_numerics\(tensor, message\)"):
        debugging.enable_check_numerics()


def test_what_was_set_is_given_back(monkeypatch):
    monkeypatch.setattr(debugging, "_FILTERING", [True])
    debugging.disable_traceback_filtering()
    assert not debugging.is_traceback_filtering_enabled()
    debugging.enable_traceback_filtering()
    assert debugging.is_traceback_filtering_enabled()
