CREATE VIEW windows AS
SELECT
    run_id,
    key,
    tumble(INTERVAL '${WINDOW_S} seconds') AS w,
    count(*) AS cnt,
    sum(value) AS sv,
    max(seq) AS ms,
    max(producer_ts_ms) AS mp
FROM events
WHERE run_id = '${RUN_ID}'
GROUP BY 1, 2, 3;
