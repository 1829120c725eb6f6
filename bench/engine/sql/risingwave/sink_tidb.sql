-- Case F: upserts on the table's own primary key, so that a replay after a recovery changes nothing.
CREATE SINK jetlag_results_tidb AS
SELECT 'rw' AS variant, run_id, key, window_end_ms, count, sum_value, seq, producer_ts_ms
FROM jetlag_windows
WITH (
    connector = 'jdbc',
    jdbc.url = '${JDBC_URL}',
    table.name = 'window_results',
    type = 'upsert',
    primary_key = 'variant,run_id,key,window_end_ms'
);
