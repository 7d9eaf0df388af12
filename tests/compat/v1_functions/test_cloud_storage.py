"""``tf.contrib.cloud``: its settings are taken and change nothing, which is said."""

import towerstrat.compat.v1 as tf
from towerstrat.compat.v1_functions import cloud_storage


def test_configure_gcs_says_once_that_it_has_no_effect(caplog):
    with tf.Session() as sess, caplog.at_level("WARNING", logger="tensorflow"):
        for _ in range(2):
            cloud_storage.configure_gcs(
                sess, credentials={"refresh_token": ""}, block_cache=cloud_storage.BlockCacheParams()
            )
    assert sum("no effect" in record.message for record in caplog.records) == 1


def test_the_cache_has_room_for_two_blocks_by_default():
    assert cloud_storage.BlockCacheParams(block_size=3).max_bytes == 6
    assert cloud_storage.BlockCacheParams(block_size=3, max_bytes=4).max_bytes == 4
    assert cloud_storage.BlockCacheParams().block_size == 2**27
