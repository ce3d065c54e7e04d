"""What records say: tidy frames, metrics, intervals, labels and references."""
