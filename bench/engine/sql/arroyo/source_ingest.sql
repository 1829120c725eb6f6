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
    servers = '${NATS_SERVERS}',
    'auth.type' = '${AUTH_TYPE}',
    'auth.username' = '${NATS_USER}',
    'auth.password' = '${NATS_PASSWORD}',
    stream = 'EVENTS',
    'consumer.filter_subjects' = '${EVENTS_SUBJECT}',
    'consumer.rate_limit' = '0',
    format = 'json'
);
