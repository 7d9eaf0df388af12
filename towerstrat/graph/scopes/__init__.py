"""Variable scopes and their stores, templates, initializers and random generators."""
