-- old nodes: may run
-- What senders of alerts need: a channel is claimed as a whole, so that its order is kept.
ALTER TABLE alert_channel
    ADD COLUMN shown_url text NOT NULL DEFAULT '',
    ADD COLUMN subject_template text,
    ADD COLUMN text_template text,
    ADD COLUMN claimed_by text,
    ADD COLUMN claimed_until timestamptz;
COMMENT ON COLUMN alert_channel.shown_url IS 'Its URL without secrets.';
COMMENT ON COLUMN alert_channel.subject_template IS 'The subject of its messages, with ${...} for values; null = the usual one. So also text_template.';
COMMENT ON COLUMN alert_channel.claimed_by IS 'The sender that alone sends to it now, and which claim of it.';
COMMENT ON COLUMN alert_channel.claimed_until IS 'Until when, by the database''s clock; then its sender sends nothing more.';

ALTER TABLE alert_delivery
    DROP COLUMN claimed_by,
    DROP COLUMN claimed_until,
    ADD COLUMN waits_since timestamptz NOT NULL DEFAULT clock_timestamp(),
    ADD COLUMN grouped_with bigint,
    ADD COLUMN is_test boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN alert_delivery.waits_since IS 'Since when it is tried; it is FAILED when that was too long ago.';
COMMENT ON COLUMN alert_delivery.grouped_with IS 'GROUPED: the alert with which it was sent as one message.';
COMMENT ON COLUMN alert_delivery.is_test IS 'A person asked for it now: it waits for no older one, and is tried once.';
-- Statement: the tests of each channel that wait.
CREATE INDEX alert_delivery_test ON alert_delivery (channel_id, alert_id) WHERE state = 'WAIT' AND is_test;
-- Statement: what could not be delivered.
CREATE INDEX alert_delivery_failed ON alert_delivery (alert_id) WHERE state = 'FAILED';
-- Statement: when a channel last worked.
CREATE INDEX alert_delivery_sent ON alert_delivery (channel_id, sent_at) WHERE sent_at IS NOT NULL;

INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (20, 'alert_sending', true);
