"""The pytest plugin. A session without claims loads its hooks alone: `repro.plugin.plugin`."""
