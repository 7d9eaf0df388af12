"""What a strategy says of the only process, and of each of several that do the same, of which the first one writes."""

from __future__ import annotations


class Chief:
    """The process initializes variables, saves checkpoints and writes summaries, and the graph is its own."""

    @property
    def between_graph(self) -> bool:
        return False

    @property
    def should_init(self) -> bool:
        return True

    @property
    def should_checkpoint(self) -> bool:
        return True

    @property
    def should_save_summary(self) -> bool:
        return True
