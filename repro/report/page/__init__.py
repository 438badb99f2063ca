"""The report's page: one file that needs no network and can be sent to a co-author."""
