"""NATS JetStream for Spark Structured Streaming: `spark.dataSource.register(JetStreamSource)`, then
`spark.readStream.format("jetstream")` and `df.writeStream.format("jetstream")`.

Goals: offsets are stream sequences, so a replayed micro-batch reads the very same events; payloads cross
into the JVM as Arrow columns; publishes are acknowledged and deduplicated. Non-goals: push consumers, key-
value and object stores.
"""

from spark_jobs.jetstream.source import JetStreamSource

__all__ = ["JetStreamSource"]
