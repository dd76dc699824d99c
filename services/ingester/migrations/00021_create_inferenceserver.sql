-- makes: table inferenceserver
-- makes: column inferenceserver.uid
-- makes: column inferenceserver.group_ver
-- makes: column inferenceserver.namespace
-- makes: column inferenceserver.name
-- makes: column inferenceserver.res_version
-- makes: column inferenceserver.incarnation
-- makes: column inferenceserver.create_time
-- makes: column inferenceserver.update_time
-- makes: column inferenceserver.delete_time
-- makes: column inferenceserver.evict_time
-- makes: column inferenceserver.proto
-- makes: column inferenceserver.json
-- makes: column inferenceserver.state
-- makes: index inferenceserver.PRIMARY
-- makes: index inferenceserver.idx_namespace_name
-- makes: index inferenceserver.idx_delete_time
-- makes: index inferenceserver.idx_create_time
-- makes: index inferenceserver.idx_state

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS `inferenceserver` (
  `uid` VARCHAR(64) NOT NULL,
  `group_ver` VARCHAR(128) NOT NULL,
  `namespace` VARCHAR(256) NOT NULL,
  `name` VARCHAR(256) NOT NULL,
  `res_version` BIGINT NOT NULL,
  `incarnation` BIGINT NOT NULL DEFAULT 0,
  `create_time` DATETIME(6) NOT NULL,
  `update_time` DATETIME(6) NOT NULL,
  `delete_time` DATETIME(6) NULL,
  `evict_time` DATETIME(6) NULL,
  `proto` LONGBLOB NOT NULL,
  `json` JSON NOT NULL,
  `state` VARCHAR(255) NULL,
  PRIMARY KEY (`uid`),
  KEY `idx_namespace_name` (`namespace`, `name`),
  KEY `idx_delete_time` (`delete_time`),
  KEY `idx_create_time` (`create_time`),
  KEY `idx_state` (`state`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
