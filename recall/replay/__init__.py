"""Replay: batches, buffers on the device, and the log on disk that can restore them."""
