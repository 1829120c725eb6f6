-- Windows by producer_ts_ms. A watermark's expression must not be NULL, hence CAST and not to_timestamp_millis.
CREATE TABLE events (
    run_id TEXT NOT NULL,
    key TEXT NOT NULL,
    value BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    producer_ts_ms BIGINT NOT NULL,
    ts TIMESTAMP NOT NULL GENERATED ALWAYS AS (CAST(producer_ts_ms/1000 AS TIMESTAMP)),
    WATERMARK FOR ts AS (CAST(producer_ts_ms/1000 AS TIMESTAMP) - INTERVAL '${LATENESS_S} second')
) WITH (
    connector = 'nats',
    type = 'source',
    servers = '${NATS_SERVERS}',
    'auth.type' = '${AUTH_TYPE}',
    'auth.username' = '${NATS_USER}',
    'auth.password' = '${NATS_PASSWORD}',
    stream = 'EVENTS',
    'consumer.filter_subjects' = '${EVENTS_SUBJECT}',
    'consumer.rate_limit' = '0',
    format = 'json'
);
