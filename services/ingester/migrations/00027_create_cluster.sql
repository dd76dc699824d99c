-- makes: table cluster
-- makes: column cluster.uid
-- makes: column cluster.group_ver
-- makes: column cluster.namespace
-- makes: column cluster.name
-- makes: column cluster.res_version
-- makes: column cluster.incarnation
-- makes: column cluster.create_time
-- makes: column cluster.update_time
-- makes: column cluster.delete_time
-- makes: column cluster.evict_time
-- makes: column cluster.proto
-- makes: column cluster.json
-- makes: index cluster.PRIMARY
-- makes: index cluster.idx_namespace_name
-- makes: index cluster.idx_delete_time
-- makes: index cluster.idx_create_time

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS `cluster` (
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
  PRIMARY KEY (`uid`),
  KEY `idx_namespace_name` (`namespace`, `name`),
  KEY `idx_delete_time` (`delete_time`),
  KEY `idx_create_time` (`create_time`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
