-- The table model as the design of the ingester shows it.
CREATE TABLE model (
  uid VARCHAR(64) NOT NULL,
  group_ver VARCHAR(128),
  namespace VARCHAR(256),
  name VARCHAR(256),
  res_version BIGINT,
  create_time DATETIME(6),
  update_time DATETIME(6),
  delete_time DATETIME(6),
  proto LONGBLOB,
  json JSON,
  algorithm VARCHAR(128),
  PRIMARY KEY (uid),
  INDEX idx_namespace_name (namespace, name),
  INDEX idx_delete_time (delete_time)
);
INSERT INTO model (uid, group_ver, namespace, name, res_version, create_time, update_time, proto, json, algorithm)
  VALUES ('m-1', 'michelangelo.api/v2', 'default', 'one', 7, '2024-01-01 00:00:00.123456', '2024-01-02 00:00:00.654321', X'0A00', '{"kind":"Model"}', 'xgboost');
INSERT INTO model (uid, json) VALUES ('m-2', '{"apiVersion":"michelangelo.api/v2","metadata":{"namespace":"team","name":"two"}}');
INSERT INTO model (uid) VALUES ('m-3');
