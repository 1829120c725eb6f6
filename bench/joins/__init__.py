"""The suite `joins`: enrichment and multi-stream joins on Spark over JetStream, with the truth known.

A generator publishes topics whose joined rows are known one by one beforehand; Spark joins them; then
what it stored is compared row by row. Goals: a row that is missing, doubled, wrongly matched or late cannot
hide behind a good rate. Non-goals: joins by anything but an equal key.
"""
