"""``tf.distribute`` of 1.14 to 2.x: a thin surface over the towers."""

from towerstrat.towers.distribute import default

__all__ = ["default"]
