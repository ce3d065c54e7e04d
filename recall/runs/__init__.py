"""The folder of a fleet: its files and their schema, policies and archives."""
