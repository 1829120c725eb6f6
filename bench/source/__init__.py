"""The suite `source`: how much of an engine's speed is left when its events come through its own source.

The same events lie in a JetStream stream and in files. An engine that reads files shows what it could do, a
bare reader shows what the broker could give; the engine behind its source is measured against the slower
of the two. Goals: the loss of a source cannot go unseen. Non-goals: latency end to end (cases C to F).
"""
