"""What came in the original's wheel beside its names: readers of data, an example's model, helpers of tests."""
