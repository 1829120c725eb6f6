"""What producer, engine, writer and validator agree on, and nothing else.

Standard library only: Spark ships this package to its executors.
"""
