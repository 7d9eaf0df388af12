"""Files that stand in for modules of the standard library that are gone."""
