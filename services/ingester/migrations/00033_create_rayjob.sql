-- makes: table rayjob
-- makes: column rayjob.uid
-- makes: column rayjob.group_ver
-- makes: column rayjob.namespace
-- makes: column rayjob.name
-- makes: column rayjob.res_version
-- makes: column rayjob.incarnation
-- makes: column rayjob.create_time
-- makes: column rayjob.update_time
-- makes: column rayjob.delete_time
-- makes: column rayjob.evict_time
-- makes: column rayjob.proto
-- makes: column rayjob.json
-- makes: index rayjob.PRIMARY
-- makes: index rayjob.idx_namespace_name
-- makes: index rayjob.idx_delete_time
-- makes: index rayjob.idx_create_time

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS `rayjob` (
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
