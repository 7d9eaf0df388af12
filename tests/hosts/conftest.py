"""Programs among the tests that are run by ``towerstrat``, for which there is a ``tensorflow``."""

collect_ignore = ["keras_stopping.py"]
