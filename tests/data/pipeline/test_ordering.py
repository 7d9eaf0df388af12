"""What passes elements on gives the same ones where a batch takes several of them at once."""

import pytest

import towerstrat.compat.v1 as tf
from tests.data.common import pulled

RECORDS = [b"%d" % i for i in range(10)]


@pytest.mark.parametrize(
    ("chain", "wanted"),
    [
        (lambda records: records.take(6), RECORDS[:6]),
        (lambda records: records.take(5), RECORDS[:5]),
        (lambda records: records.skip(3).take(4), RECORDS[3:7]),
        (lambda records: records.skip(3), RECORDS[3:]),
        (lambda records: records.take(4).repeat(2), RECORDS[:4] * 2),
        (lambda records: records.repeat(2).take(14), RECORDS + RECORDS[:4]),
        (lambda records: records.repeat().take(24), RECORDS * 2 + RECORDS[:4]),
        (lambda records: records.shard(3, 1), RECORDS[1::3]),
        (lambda records: records.prefetch(3).take(6), RECORDS[:6]),
    ],
)
def test_records_in_batches(chain, wanted, tmp_path):
    path = str(tmp_path / "records")
    with tf.python_io.TFRecordWriter(path) as writer:
        for record in RECORDS:
            writer.write(record)
    found = pulled(chain(tf.data.TFRecordDataset(path)).batch(2))
    assert found == [wanted[i : i + 2] for i in range(0, len(wanted), 2)]
