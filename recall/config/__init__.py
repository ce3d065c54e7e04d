"""Configuration: presets, settings files and options, and the spec of a fleet."""
