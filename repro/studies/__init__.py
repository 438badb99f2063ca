"""One study per source: its arms, data, models and measures."""
