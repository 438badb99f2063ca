"""The page that is sent to a co-author: one file that opens from disk and asks no network."""
