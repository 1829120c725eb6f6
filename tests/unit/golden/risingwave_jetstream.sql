SET sink_decouple = false
-- ack_policy all: explicit acks go one by one. max_ack_pending: the server's default of 1000 throttles.
CREATE SOURCE jetlag_events (
    run_id VARCHAR,
    key VARCHAR,
    value BIGINT,
    seq BIGINT,
    producer_ts_ms BIGINT,
    ts TIMESTAMPTZ AS to_timestamp(producer_ts_ms::DOUBLE PRECISION / 1000),
    WATERMARK FOR ts AS ts - INTERVAL '1 second'
) WITH (
    connector = 'nats',
    server_url = 'nats://127.0.0.1:4222',
    connect_mode = 'user_and_password',
    username = 'jetlag',
    password = 'it''s secret',
    stream = 'EVENTS',
    subject = 'events.*',
    scan.startup.mode = 'earliest',
    consumer.durable_name = 'dur_C_events_rw',
    consumer.ack_policy = 'all',
    consumer.max_ack_pending = '100000'
) FORMAT PLAIN ENCODE JSON;

CREATE MATERIALIZED VIEW jetlag_windows AS
SELECT
    run_id,
    key,
    (extract(epoch FROM window_end) * 1000)::BIGINT AS window_end_ms,
    count(*) AS count,
    sum(value)::BIGINT AS sum_value,
    max(seq) AS seq,
    max(producer_ts_ms) AS producer_ts_ms
FROM TUMBLE(jetlag_events, ts, INTERVAL '10 seconds')
WHERE run_id = 'run-1'
GROUP BY run_id, key, window_end
EMIT ON WINDOW CLOSE;

-- One sink a partition: its subject is fixed. The partition is the first hex digit of md5(key), folded.
CREATE SINK jetlag_results_0 AS
SELECT run_id, key, window_end_ms, count, sum_value, seq, producer_ts_ms
FROM jetlag_windows
WHERE position(substr(md5(key), 1, 1) IN '02468ace') > 0
WITH (
    connector = 'nats',
    server_url = 'nats://127.0.0.1:4222',
    connect_mode = 'user_and_password',
    username = 'jetlag',
    password = 'it''s secret',
    subject = 'results.rw.0',
    type = 'append-only',
    force_append_only = 'true'
);

-- One sink a partition: its subject is fixed. The partition is the first hex digit of md5(key), folded.
CREATE SINK jetlag_results_1 AS
SELECT run_id, key, window_end_ms, count, sum_value, seq, producer_ts_ms
FROM jetlag_windows
WHERE position(substr(md5(key), 1, 1) IN '13579bdf') > 0
WITH (
    connector = 'nats',
    server_url = 'nats://127.0.0.1:4222',
    connect_mode = 'user_and_password',
    username = 'jetlag',
    password = 'it''s secret',
    subject = 'results.rw.1',
    type = 'append-only',
    force_append_only = 'true'
);
