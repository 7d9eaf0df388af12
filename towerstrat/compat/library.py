"""The two namespaces as packages of this library: ``towerstrat.compat.v1`` and ``towerstrat.compat.v2``."""

from towerstrat.platform.deferred import without_collections

with without_collections():
    from towerstrat.compat.names.namespace import build

    v1, v2 = build("towerstrat.compat.v1", "towerstrat.compat.v2")
