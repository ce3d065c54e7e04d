"""Build reports from records: metrics of many runs as tables, figures, a page and films."""
