"""Collection: worker processes that roll out chunks and episodes with a NumPy copy of the actor."""
