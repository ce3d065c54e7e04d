"""What a user can set: presets, conversion from plain data, the spec of a fleet."""
