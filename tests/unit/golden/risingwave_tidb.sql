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
    consumer.durable_name = 'dur_F_events_rw',
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

-- Case F: upserts on the table's own primary key, so that a replay after a recovery changes nothing.
CREATE SINK jetlag_results_tidb AS
SELECT 'rw' AS variant, run_id, key, window_end_ms, count, sum_value, seq, producer_ts_ms
FROM jetlag_windows
WITH (
    connector = 'jdbc',
    jdbc.url = 'jdbc:mysql://127.0.0.1:4000/bench?user=jetlag&password=p%26ss%27wd',
    table.name = 'window_results',
    type = 'upsert',
    primary_key = 'variant,run_id,key,window_end_ms'
);
