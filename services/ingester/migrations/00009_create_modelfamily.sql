-- makes: table modelfamily
-- makes: column modelfamily.uid
-- makes: column modelfamily.group_ver
-- makes: column modelfamily.namespace
-- makes: column modelfamily.name
-- makes: column modelfamily.res_version
-- makes: column modelfamily.incarnation
-- makes: column modelfamily.create_time
-- makes: column modelfamily.update_time
-- makes: column modelfamily.delete_time
-- makes: column modelfamily.evict_time
-- makes: column modelfamily.proto
-- makes: column modelfamily.json
-- makes: column modelfamily.model_family_name
-- makes: index modelfamily.PRIMARY
-- makes: index modelfamily.idx_namespace_name
-- makes: index modelfamily.idx_delete_time
-- makes: index modelfamily.idx_create_time
-- makes: index modelfamily.idx_model_family_name

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS `modelfamily` (
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
  `model_family_name` VARCHAR(255) NULL,
  PRIMARY KEY (`uid`),
  KEY `idx_namespace_name` (`namespace`, `name`),
  KEY `idx_delete_time` (`delete_time`),
  KEY `idx_create_time` (`create_time`),
  KEY `idx_model_family_name` (`model_family_name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
