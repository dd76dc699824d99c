-- affected 0
BEGIN;
-- affected 1
INSERT INTO model (uid, group_ver, namespace, name, res_version, create_time, update_time, proto, json, algorithm, revision_id, owner) VALUES ('rel-1', 'michelangelo.api/v2', 'default', 'one', '101', '2024-05-01 12:00:00', '2024-05-01 12:00:01.123456', X'0a00', '{"kind":"Model","apiVersion":"michelangelo.api/v2"}', 'xgboost', 3, 'ada') ON DUPLICATE KEY UPDATE res_version = VALUES(res_version), update_time = VALUES(update_time), proto = VALUES(proto), json = VALUES(json), algorithm = VALUES(algorithm), revision_id = VALUES(revision_id), owner = VALUES(owner);
-- affected 0
DELETE FROM model_labels WHERE obj_uid = 'rel-1';
-- affected 1
INSERT INTO model_labels (obj_uid, `key`, `value`) VALUES ('rel-1', 'team', 'growth');
-- affected 1
INSERT INTO model_labels (obj_uid, `key`, `value`) VALUES ('rel-1', 'Team', '');
-- affected 0
DELETE FROM model_annotations WHERE obj_uid = 'rel-1';
-- affected 1
INSERT INTO model_annotations (obj_uid, `key`, `value`) VALUES ('rel-1', 'note', 'first');
-- affected 0
COMMIT;
-- affected 0
BEGIN;
-- affected 2
INSERT INTO model (uid, group_ver, namespace, name, res_version, create_time, update_time, proto, json, algorithm, revision_id, owner) VALUES ('rel-1', 'michelangelo.api/v2', 'default', 'one', '102', '2024-05-01 12:00:00', '2024-05-01 12:00:02.123456', X'0a00', '{"kind":"Model","apiVersion":"michelangelo.api/v2"}', 'lightgbm', 3, 'ada') ON DUPLICATE KEY UPDATE res_version = VALUES(res_version), update_time = VALUES(update_time), proto = VALUES(proto), json = VALUES(json), algorithm = VALUES(algorithm), revision_id = VALUES(revision_id), owner = VALUES(owner);
-- affected 2
DELETE FROM model_labels WHERE obj_uid = 'rel-1';
-- affected 1
INSERT INTO model_labels (obj_uid, `key`, `value`) VALUES ('rel-1', 'team', 'growth');
-- affected 1
DELETE FROM model_annotations WHERE obj_uid = 'rel-1';
-- affected 1
INSERT INTO model_annotations (obj_uid, `key`, `value`) VALUES ('rel-1', 'note', 'second');
-- affected 0
COMMIT;
-- affected 1
INSERT INTO project (uid, group_ver, namespace, name, res_version, create_time, update_time, proto, json, tier) VALUES ('rel-2', 'michelangelo.api/v2', 'default', 'rel-project', '103', '2024-05-01 12:00:00', '2024-05-01 12:00:01', X'0a00', '{}', 3) ON DUPLICATE KEY UPDATE res_version = VALUES(res_version), update_time = VALUES(update_time), proto = VALUES(proto), json = VALUES(json), tier = VALUES(tier);
-- affected 1
INSERT INTO triggerrun (uid, group_ver, namespace, name, res_version, create_time, update_time, proto, json, pipeline_namespace, pipeline_name, revision_namespace, revision_name, state, auto_flip) VALUES ('rel-3', 'michelangelo.api/v2', 'default', 'rel-trigger', '104', '2024-05-01 12:00:00', '2024-05-01 12:00:01', X'0a00', '{}', '', 'train', NULL, NULL, 'TRIGGER_RUN_STATE_RUNNING', true) ON DUPLICATE KEY UPDATE res_version = VALUES(res_version), update_time = VALUES(update_time), proto = VALUES(proto), json = VALUES(json), state = VALUES(state), auto_flip = VALUES(auto_flip);
-- affected 1
INSERT INTO pipelinerun (uid, group_ver, namespace, name, res_version, create_time, update_time, proto, json, state, actor, end_time) VALUES ('rel-4', 'michelangelo.api/v2', 'default', 'rel-run', '105', '2024-05-01 12:00:00', '2024-05-01 12:00:01', X'0a00', '{}', 'PIPELINE_RUN_STATE_RUNNING', 'ada', NULL) ON DUPLICATE KEY UPDATE res_version = VALUES(res_version), update_time = VALUES(update_time), proto = VALUES(proto), json = VALUES(json), state = VALUES(state), actor = VALUES(actor), end_time = VALUES(end_time);
-- asked
SELECT proto FROM model WHERE namespace = 'default' AND name = 'one' AND delete_time IS NULL LIMIT 1;
-- asked
SELECT proto FROM model WHERE uid = 'rel-1' AND delete_time IS NULL;
-- asked
SELECT proto FROM model WHERE delete_time IS NULL AND namespace = 'default' ORDER BY create_time DESC LIMIT 10;
-- asked
SELECT proto FROM model WHERE delete_time IS NULL ORDER BY create_time DESC;
-- affected 1
UPDATE model SET delete_time = '2024-05-01 13:00:00' WHERE namespace = 'default' AND name = 'one' AND delete_time IS NULL;
-- affected 0
UPDATE model SET delete_time = '2024-05-01 13:00:00' WHERE namespace = 'default' AND name = 'one' AND delete_time IS NULL;
