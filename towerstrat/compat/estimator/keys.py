"""The strings by which estimators and what is exported call their parts."""

from __future__ import annotations

import os


class EstimatorModeKeys:
    """The modes in which a ``model_fn`` is called."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


class KerasModeKeys:
    """The same modes as Keras calls them."""

    TRAIN = "train"
    TEST = "test"
    PREDICT = "predict"


class TaskType:
    """The kinds of tasks in a cluster."""

    MASTER = "master"
    PS = "ps"
    WORKER = "worker"
    CHIEF = "chief"
    EVALUATOR = "evaluator"


SINGLE_FEATURE_DEFAULT_NAME = "feature"
SINGLE_RECEIVER_DEFAULT_NAME = "input"
SINGLE_LABEL_DEFAULT_NAME = "label"
DEFAULT_SERVING_SIGNATURE_DEF_KEY = "serving_default"


def get_variables_dir(export_dir: str) -> str:
    """The folder of the checkpoint in a saved model."""
    return os.path.join(os.fsdecode(export_dir), "variables")


def get_variables_path(export_dir: str) -> str:
    """The prefix of the checkpoint in a saved model."""
    return os.path.join(get_variables_dir(export_dir), "variables")
