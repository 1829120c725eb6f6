-- ack_policy all: explicit acks go one by one. max_ack_pending: the server's default of 1000 throttles.
CREATE SOURCE jetlag_events (
    run_id VARCHAR,
    key VARCHAR,
    value BIGINT,
    seq BIGINT,
    producer_ts_ms BIGINT,
    ts TIMESTAMPTZ AS to_timestamp(producer_ts_ms::DOUBLE PRECISION / 1000),
    WATERMARK FOR ts AS ts - INTERVAL '${LATENESS_S} second'
) WITH (
    connector = 'nats',
    server_url = '${NATS_SERVERS}',
    connect_mode = '${CONNECT_MODE}',
    username = '${NATS_USER}',
    password = '${NATS_PASSWORD}',
    stream = 'EVENTS',
    subject = 'events.*',
    scan.startup.mode = 'earliest',
    consumer.durable_name = '${DURABLE}',
    consumer.ack_policy = 'all',
    consumer.max_ack_pending = '100000'
) FORMAT PLAIN ENCODE JSON;
