"""Launching of many fleets, each in its own process, on this machine or on a Ray cluster."""
