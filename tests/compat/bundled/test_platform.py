"""``tf.sysconfig`` and ``tf.resource_loader``."""

import os

import pytest

import towerstrat.compat.v1 as tf
from tests.compat.bundled import test_mnist


@pytest.mark.parametrize("name", ["get_compile_flags", "get_include", "get_lib", "get_link_flags"])
def test_nothing_can_be_built_against_it(name):
    with pytest.raises(NotImplementedError, match=rf"tf.sysconfig.{name}\(\): operations in C\+\+ cannot be built"):
        getattr(tf.sysconfig, name)()
    assert tf.sysconfig.CXX11_ABI_FLAG == tf.CXX11_ABI_FLAG


def test_files_beside_the_module():
    folder = os.path.dirname(os.path.abspath(__file__))
    loader = tf.resource_loader
    assert loader.get_data_files_path() == loader.get_root_dir_with_all_resources() == folder
    assert loader.get_path_to_datafile("test_mnist.py") == test_mnist.__file__
    assert loader.load_resource("test_platform.py").startswith(b'"""``tf.sysconfig``')
    assert loader.readahead_file_path("a", readahead="1M") == "a"
