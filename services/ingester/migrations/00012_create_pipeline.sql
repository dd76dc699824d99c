-- makes: table pipeline
-- makes: column pipeline.uid
-- makes: column pipeline.group_ver
-- makes: column pipeline.namespace
-- makes: column pipeline.name
-- makes: column pipeline.res_version
-- makes: column pipeline.incarnation
-- makes: column pipeline.create_time
-- makes: column pipeline.update_time
-- makes: column pipeline.delete_time
-- makes: column pipeline.evict_time
-- makes: column pipeline.proto
-- makes: column pipeline.json
-- makes: column pipeline.owner
-- makes: column pipeline.pipeline_type
-- makes: index pipeline.PRIMARY
-- makes: index pipeline.idx_namespace_name
-- makes: index pipeline.idx_delete_time
-- makes: index pipeline.idx_create_time
-- makes: index pipeline.idx_owner
-- makes: index pipeline.idx_pipeline_type

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS `pipeline` (
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
  `owner` VARCHAR(255) NULL,
  `pipeline_type` VARCHAR(255) NULL,
  PRIMARY KEY (`uid`),
  KEY `idx_namespace_name` (`namespace`, `name`),
  KEY `idx_delete_time` (`delete_time`),
  KEY `idx_create_time` (`create_time`),
  KEY `idx_owner` (`owner`),
  KEY `idx_pipeline_type` (`pipeline_type`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
