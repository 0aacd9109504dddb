"""The client of the platform: one transport, datasets, agents, hub, credentials."""
