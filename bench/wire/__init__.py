"""The NATS wire, in bulk: what nats-py does a message at a time, done a buffer at a time.

nats-py serves the control plane: on the hot path it costs some 30 times the CPU, as `make bench-driver` shows
(docs/performance.md).

Depends on numpy only, and on nothing else of bench: Spark ships it to its executors.
"""
