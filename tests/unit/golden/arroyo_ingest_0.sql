-- Windows by the time at which JetStream stored the event: Arroyo's own default, its watermark 1 s behind.
CREATE TABLE events (
    run_id TEXT NOT NULL,
    key TEXT NOT NULL,
    value BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    producer_ts_ms BIGINT NOT NULL
) WITH (
    connector = 'nats',
    type = 'source',
    servers = 'nats://127.0.0.1:4222',
    'auth.type' = 'credentials',
    'auth.username' = 'jetlag',
    'auth.password' = 'it''s secret',
    stream = 'EVENTS',
    'consumer.filter_subjects' = 'events.0',
    'consumer.rate_limit' = '0',
    format = 'json'
);

CREATE VIEW windows AS
SELECT
    run_id,
    key,
    tumble(INTERVAL '10 seconds') AS w,
    count(*) AS cnt,
    sum(value) AS sv,
    max(seq) AS ms,
    max(producer_ts_ms) AS mp
FROM events
WHERE run_id = 'run-1'
GROUP BY 1, 2, 3;

-- One pipeline a partition: the subject of a sink is fixed, and several sinks in one pipeline made Arroyo crash.
CREATE TABLE results (
    run_id TEXT,
    key TEXT,
    window_end_ms BIGINT,
    count BIGINT,
    sum_value BIGINT,
    seq BIGINT,
    producer_ts_ms BIGINT
) WITH (
    connector = 'nats',
    type = 'sink',
    servers = 'nats://127.0.0.1:4222',
    'auth.type' = 'credentials',
    'auth.username' = 'jetlag',
    'auth.password' = 'it''s secret',
    subject = 'results.arroyo.0',
    format = 'json'
);

INSERT INTO results
SELECT
    run_id,
    key,
    CAST(extract(epoch FROM w.end) AS BIGINT) * 1000 AS window_end_ms,
    cnt AS count,
    sv AS sum_value,
    ms AS seq,
    mp AS producer_ts_ms
FROM windows;
