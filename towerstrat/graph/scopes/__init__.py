"""Variable scopes and their stores, initializers, modules and random generators."""
