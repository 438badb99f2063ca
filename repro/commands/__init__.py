"""Commands that judge tables: of runs that exist, without pytest and without a file of claims."""
