"""The real services under test, NATS JetStream and TiDB, behind three providers: local, containers, external.

Goals: one small class a service, all with the same interface (service.py); nothing left behind after a stop,
a Ctrl-C, a crash or a kill -9 of this process (leash.py); credentials never reach a command line or a log.
Non-goals: what flows through the services (streams, tables), and building their binaries (bench.setup).
"""
