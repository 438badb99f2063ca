"""Evidence that travels: results in one file, judged elsewhere, added to a store, or audited."""
