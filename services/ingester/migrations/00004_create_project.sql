-- makes: table project
-- makes: column project.uid
-- makes: column project.group_ver
-- makes: column project.namespace
-- makes: column project.name
-- makes: column project.res_version
-- makes: column project.incarnation
-- makes: column project.create_time
-- makes: column project.update_time
-- makes: column project.delete_time
-- makes: column project.evict_time
-- makes: column project.proto
-- makes: column project.json
-- makes: column project.tier
-- makes: index project.PRIMARY
-- makes: index project.idx_namespace_name
-- makes: index project.idx_delete_time
-- makes: index project.idx_create_time
-- makes: index project.idx_tier

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS `project` (
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
  `tier` INT NULL,
  PRIMARY KEY (`uid`),
  KEY `idx_namespace_name` (`namespace`, `name`),
  KEY `idx_delete_time` (`delete_time`),
  KEY `idx_create_time` (`create_time`),
  KEY `idx_tier` (`tier`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
