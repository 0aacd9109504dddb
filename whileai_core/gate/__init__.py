"""The embedded platform: an ASGI app over SQLAlchemy and a blob store."""
