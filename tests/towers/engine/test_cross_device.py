"""How devices are to add up, as programs say it."""

import pytest

import towerstrat.compat.v1 as tf


def test_the_names_of_all_versions_are_one_set_of_classes():
    lib = tf.contrib.distribute
    assert lib.AllReduceCrossTowerOps is lib.AllReduceCrossDeviceOps
    assert lib.ReductionToOneDeviceCrossTowerOps is tf.distribute.ReductionToOneDevice
    assert lib.CrossTowerOps is tf.distribute.CrossDeviceOps is tf.compat.v2.distribute.CrossDeviceOps
    for made in (
        lib.AllReduceCrossDeviceOps("hierarchical_copy", num_packs=2),
        tf.distribute.HierarchicalCopyAllReduce(num_packs=2),
    ):
        assert isinstance(made, tf.distribute.CrossDeviceOps)
        assert (made.all_reduce_alg, made.num_packs) == ("hierarchical_copy", 2)
    assert tf.distribute.NcclAllReduce().all_reduce_alg == "nccl"
    assert tf.distribute.ReductionToOneDevice().accumulation_fn is tf.add_n.__wrapped__


def test_packs_are_counted():
    with pytest.raises(ValueError, match="num_packs from 0, got -1"):
        tf.distribute.NcclAllReduce(num_packs=-1)
