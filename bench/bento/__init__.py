"""Bento, the MIT continuation of Benthos: case E's way into TiDB, and an engine by its own windows."""
