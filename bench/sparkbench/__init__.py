"""What Spark keeps of its speed when its events come through JetStream: `make bench-spark`."""
