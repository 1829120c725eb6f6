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
    servers = '${NATS_SERVERS}',
    'auth.type' = '${AUTH_TYPE}',
    'auth.username' = '${NATS_USER}',
    'auth.password' = '${NATS_PASSWORD}',
    subject = '${RESULTS_SUBJECT}',
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
