"""Records to rows: one module per producer family, one registry, detection by content."""
