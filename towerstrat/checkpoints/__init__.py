"""TensorFlow's checkpoint files (V1 and V2), read and written on numpy alone: names, arrays and folders, no graphs."""
