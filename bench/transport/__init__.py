"""The suite `transport`: JetStream itself, on a cluster of three servers.

Goals: publish and delivery rates over layouts, storages, replicas, publish modes, sizes and numbers of
clients, each with a ledger (every subscriber got every message, once, in order) and beside `nats bench` in
the same run; a soak that gates on drift; faults under load with the acknowledged messages accounted for.
Non-goals: engines and databases, which are the cases' business.
"""
