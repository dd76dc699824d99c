-- makes: table deployment
-- makes: column deployment.uid
-- makes: column deployment.group_ver
-- makes: column deployment.namespace
-- makes: column deployment.name
-- makes: column deployment.res_version
-- makes: column deployment.incarnation
-- makes: column deployment.create_time
-- makes: column deployment.update_time
-- makes: column deployment.delete_time
-- makes: column deployment.evict_time
-- makes: column deployment.proto
-- makes: column deployment.json
-- makes: column deployment.state
-- makes: column deployment.target_definition_type
-- makes: column deployment.current_revision_namespace
-- makes: column deployment.current_revision_name
-- makes: column deployment.deletion_requested_timestamp
-- makes: index deployment.PRIMARY
-- makes: index deployment.idx_namespace_name
-- makes: index deployment.idx_delete_time
-- makes: index deployment.idx_create_time
-- makes: index deployment.idx_state
-- makes: index deployment.idx_target_definition_type
-- makes: index deployment.idx_current_revision
-- makes: index deployment.idx_deletion_requested_timestamp

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS `deployment` (
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
  `target_definition_type` VARCHAR(255) NULL,
  `current_revision_namespace` VARCHAR(255) NULL,
  `current_revision_name` VARCHAR(255) NULL,
  `deletion_requested_timestamp` DATETIME(6) NULL,
  PRIMARY KEY (`uid`),
  KEY `idx_namespace_name` (`namespace`, `name`),
  KEY `idx_delete_time` (`delete_time`),
  KEY `idx_create_time` (`create_time`),
  KEY `idx_state` (`state`),
  KEY `idx_target_definition_type` (`target_definition_type`),
  KEY `idx_current_revision` (`current_revision_namespace`, `current_revision_name`),
  KEY `idx_deletion_requested_timestamp` (`deletion_requested_timestamp`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
