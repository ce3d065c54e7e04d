"""Build reports from records: metrics of many runs as tables, figures and a page."""
