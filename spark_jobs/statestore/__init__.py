"""A workflow engine's load on one keyed store: transformWithState over RocksDB, fed by JetStream."""
