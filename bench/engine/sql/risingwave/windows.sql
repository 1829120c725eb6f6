CREATE MATERIALIZED VIEW jetlag_windows AS
SELECT
    run_id,
    key,
    (extract(epoch FROM window_end) * 1000)::BIGINT AS window_end_ms,
    count(*) AS count,
    sum(value)::BIGINT AS sum_value,
    max(seq) AS seq,
    max(producer_ts_ms) AS producer_ts_ms
FROM TUMBLE(jetlag_events, ts, INTERVAL '${WINDOW_S} seconds')
WHERE run_id = '${RUN_ID}'
GROUP BY run_id, key, window_end
EMIT ON WINDOW CLOSE;
