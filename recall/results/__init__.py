"""Results: records in one versioned schema, and the metrics computed from them."""
