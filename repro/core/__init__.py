"""The one training engine that every study goes through."""
