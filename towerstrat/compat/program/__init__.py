"""Running an old program unedited: what it is written for, and the process that it runs in."""
