-- makes: table raycluster
-- makes: column raycluster.uid
-- makes: column raycluster.group_ver
-- makes: column raycluster.namespace
-- makes: column raycluster.name
-- makes: column raycluster.res_version
-- makes: column raycluster.incarnation
-- makes: column raycluster.create_time
-- makes: column raycluster.update_time
-- makes: column raycluster.delete_time
-- makes: column raycluster.evict_time
-- makes: column raycluster.proto
-- makes: column raycluster.json
-- makes: index raycluster.PRIMARY
-- makes: index raycluster.idx_namespace_name
-- makes: index raycluster.idx_delete_time
-- makes: index raycluster.idx_create_time

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS `raycluster` (
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
