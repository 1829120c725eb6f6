"""Measures the driver itself, side by side with what users would pick instead: nats-py and `nats bench`.

Goals: every figure that is compared comes out of one run, in which the contestants take turns; what a peer
is given is at least what we take (its start-up is not counted, its own report of its rate is believed).
Non-goals: measuring JetStream, or a rate to quote for another machine.
"""
