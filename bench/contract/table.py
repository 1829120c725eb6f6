"""Table bench.window_results: its definition and the statements every sink path shares.

`key` and `count` are words of SQL, hence the quotes.

The index by_insert_time lets the validator read only what is new: its cost per poll does not
grow with the table. It costs the writer one more index entry a row: TiDB used 69–82 µs of CPU a row
with it and 44–54 without, about half as much again, and took 5,200–13,200 rows/s against 8,100–17,700
(medians of three sittings; best rounds 22,400 and 33,300). Measured with 500-row upserts from one
connection into the embedded TiDB (v8.4, unistore), 66 rounds of 10,000 or 20,000 rows in turns, on a
2-core machine busy with other work: the CPU is the steadier figure.
"""

from __future__ import annotations

from bench.contract.result import Result

DATABASE = "bench"
TABLE = "bench.window_results"

CREATE_TABLE = f"""
CREATE TABLE IF NOT EXISTS {TABLE} (
    variant        VARCHAR(16)  NOT NULL,
    run_id         VARCHAR(48)  NOT NULL,
    `key`          VARCHAR(64)  NOT NULL,
    window_end_ms  BIGINT       NOT NULL,
    `count`        BIGINT       NOT NULL,
    sum_value      BIGINT       NOT NULL,
    seq            BIGINT       NOT NULL,
    producer_ts_ms BIGINT       NOT NULL,
    db_insert_ts   TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    PRIMARY KEY (variant, run_id, `key`, window_end_ms) CLUSTERED,
    KEY by_insert_time (variant, run_id, db_insert_ts, seq)
)
"""

COLUMNS = "(variant, run_id, `key`, window_end_ms, `count`, sum_value, seq, producer_ts_ms)"

#: The first insert's db_insert_ts stays: a replayed row must not look later than it was.
ON_DUPLICATE = (
    "ON DUPLICATE KEY UPDATE `count`=VALUES(`count`), sum_value=VALUES(sum_value), "
    "seq=VALUES(seq), producer_ts_ms=VALUES(producer_ts_ms)"
)

Row = tuple[str, str, str, int, int, int, int, int]


def row_of(variant: str, result: Result) -> Row:
    return (
        variant,
        result.run_id,
        result.key,
        result.window_end_ms,
        result.count,
        result.sum_value,
        result.seq,
        result.producer_ts_ms,
    )
