"""The configuration of TensorBoard's projector."""

import pytest
from google.protobuf import text_format

import towerstrat.compat.v1 as tf

projector = tf.contrib.tensorboard.plugins.projector


def test_the_configuration_is_in_the_folder_of_the_writer(tmp_path):
    config = projector.ProjectorConfig(model_checkpoint_path="model.ckpt-1")
    embedding = config.embeddings.add(tensor_name="words:0", metadata_path="words.tsv", tensor_shape=[5, 2])
    embedding.sprite.image_path = "sprite.png"
    embedding.sprite.single_image_dim.extend([28, 28])
    projector.visualize_embeddings(tf.summary.FileWriter(str(tmp_path)), config)
    text = (tmp_path / "projector_config.pbtxt").read_text()
    assert text_format.Parse(text, projector.ProjectorConfig()) == config
    assert 'tensor_name: "words:0"' in text


def test_a_writer_without_a_folder_is_refused():
    class Nowhere:
        def get_logdir(self):
            return None

    with pytest.raises(ValueError, match="must have a logdir"):
        projector.visualize_embeddings(Nowhere(), projector.ProjectorConfig())
