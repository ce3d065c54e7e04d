"""From records to answers: metrics of many runs, tables, figures, a page, films."""
