-- Tables of the obsolete schema of five kinds: two names that are ours in another shape, two that are not.
CREATE TABLE pipeline_run (uid VARCHAR(255) NOT NULL PRIMARY KEY, status VARCHAR(255) NOT NULL) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
INSERT INTO pipeline_run VALUES ('x', 'done');
CREATE TABLE dataset (uid VARCHAR(255) NOT NULL PRIMARY KEY);
CREATE TABLE deployment (
  uid VARCHAR(255) NOT NULL,
  namespace VARCHAR(255) NOT NULL,
  name VARCHAR(255) NOT NULL,
  deployment_type VARCHAR(100) CHARACTER SET latin1 NOT NULL,
  status VARCHAR(255) NOT NULL,
  replicas INT NOT NULL DEFAULT 1,
  create_time DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (uid),
  KEY status (status)
) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
INSERT INTO deployment (uid, namespace, name, deployment_type, status, create_time) VALUES ('d-1', 'default', 'one', 'blue', 'up', '2024-01-01 00:00:00');
