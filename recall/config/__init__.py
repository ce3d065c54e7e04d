"""Configuration: presets, conversion of plain data to settings, and the spec of a fleet."""
