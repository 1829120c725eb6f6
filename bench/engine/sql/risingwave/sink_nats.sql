-- One sink a partition: its subject is fixed. The partition is the first hex digit of md5(key), folded.
CREATE SINK jetlag_results_${PARTITION} AS
SELECT run_id, key, window_end_ms, count, sum_value, seq, producer_ts_ms
FROM jetlag_windows
WHERE position(substr(md5(key), 1, 1) IN '${HEX_DIGITS}') > 0
WITH (
    connector = 'nats',
    server_url = '${NATS_SERVERS}',
    connect_mode = '${CONNECT_MODE}',
    username = '${NATS_USER}',
    password = '${NATS_PASSWORD}',
    subject = '${RESULTS_SUBJECT}',
    type = 'append-only',
    force_append_only = 'true'
);
