-- makes: table triggerrun
-- makes: column triggerrun.uid
-- makes: column triggerrun.group_ver
-- makes: column triggerrun.namespace
-- makes: column triggerrun.name
-- makes: column triggerrun.res_version
-- makes: column triggerrun.incarnation
-- makes: column triggerrun.create_time
-- makes: column triggerrun.update_time
-- makes: column triggerrun.delete_time
-- makes: column triggerrun.evict_time
-- makes: column triggerrun.proto
-- makes: column triggerrun.json
-- makes: column triggerrun.pipeline_namespace
-- makes: column triggerrun.pipeline_name
-- makes: column triggerrun.revision_namespace
-- makes: column triggerrun.revision_name
-- makes: column triggerrun.state
-- makes: column triggerrun.auto_flip
-- makes: index triggerrun.PRIMARY
-- makes: index triggerrun.idx_namespace_name
-- makes: index triggerrun.idx_delete_time
-- makes: index triggerrun.idx_create_time
-- makes: index triggerrun.idx_pipeline
-- makes: index triggerrun.idx_revision
-- makes: index triggerrun.idx_state
-- makes: index triggerrun.idx_auto_flip

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS `triggerrun` (
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
  `pipeline_namespace` VARCHAR(255) NULL,
  `pipeline_name` VARCHAR(255) NULL,
  `revision_namespace` VARCHAR(255) NULL,
  `revision_name` VARCHAR(255) NULL,
  `state` VARCHAR(255) NULL,
  `auto_flip` TINYINT(1) NULL,
  PRIMARY KEY (`uid`),
  KEY `idx_namespace_name` (`namespace`, `name`),
  KEY `idx_delete_time` (`delete_time`),
  KEY `idx_create_time` (`create_time`),
  KEY `idx_pipeline` (`pipeline_namespace`, `pipeline_name`),
  KEY `idx_revision` (`revision_namespace`, `revision_name`),
  KEY `idx_state` (`state`),
  KEY `idx_auto_flip` (`auto_flip`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
