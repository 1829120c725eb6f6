"""The NATS wire, in bulk: what nats-py does a message at a time, done a buffer at a time.

nats-py serves the control plane. On the hot path it costs 23.6 CPU-seconds per million
messages published and 37 per million fetched; docs/performance.md has the table.

Depends on numpy only, and on nothing else of bench: Spark ships it to its executors.
"""
