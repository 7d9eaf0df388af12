"""The original's checkpoint files, read and written on numpy alone: names, arrays and folders, no graphs."""
