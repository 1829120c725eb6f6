"""PySpark: a JetStream source and sink, a TiDB sink, and the jobs built on them.

Shipped to executors as py-files together with bench.contract and bench.wire; nothing else of bench is
imported.
"""
