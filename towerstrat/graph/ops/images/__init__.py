"""Images: decoding, sizes, colours, boxes, measures; kernels for devices with forms on numpy arrays for the host."""
