-- makes: table sparkjob
-- makes: column sparkjob.uid
-- makes: column sparkjob.group_ver
-- makes: column sparkjob.namespace
-- makes: column sparkjob.name
-- makes: column sparkjob.res_version
-- makes: column sparkjob.incarnation
-- makes: column sparkjob.create_time
-- makes: column sparkjob.update_time
-- makes: column sparkjob.delete_time
-- makes: column sparkjob.evict_time
-- makes: column sparkjob.proto
-- makes: column sparkjob.json
-- makes: index sparkjob.PRIMARY
-- makes: index sparkjob.idx_namespace_name
-- makes: index sparkjob.idx_delete_time
-- makes: index sparkjob.idx_create_time

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS `sparkjob` (
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
