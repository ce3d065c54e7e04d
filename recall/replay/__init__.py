"""Replay: batches, the buffers on the device, and the log that can fill them again."""
