-- makes: table revision
-- makes: column revision.uid
-- makes: column revision.group_ver
-- makes: column revision.namespace
-- makes: column revision.name
-- makes: column revision.res_version
-- makes: column revision.incarnation
-- makes: column revision.create_time
-- makes: column revision.update_time
-- makes: column revision.delete_time
-- makes: column revision.evict_time
-- makes: column revision.proto
-- makes: column revision.json
-- makes: column revision.base_resource_namespace
-- makes: column revision.base_resource_name
-- makes: column revision.base_type
-- makes: column revision.commit_branch
-- makes: column revision.git_ref
-- makes: column revision.owner
-- makes: index revision.PRIMARY
-- makes: index revision.idx_namespace_name
-- makes: index revision.idx_delete_time
-- makes: index revision.idx_create_time
-- makes: index revision.idx_base_resource
-- makes: index revision.idx_base_type
-- makes: index revision.idx_commit_branch
-- makes: index revision.idx_git_ref
-- makes: index revision.idx_owner

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS `revision` (
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
  `base_resource_namespace` VARCHAR(255) NULL,
  `base_resource_name` VARCHAR(255) NULL,
  `base_type` VARCHAR(255) NULL,
  `commit_branch` VARCHAR(255) NULL,
  `git_ref` VARCHAR(255) NULL,
  `owner` VARCHAR(255) NULL,
  PRIMARY KEY (`uid`),
  KEY `idx_namespace_name` (`namespace`, `name`),
  KEY `idx_delete_time` (`delete_time`),
  KEY `idx_create_time` (`create_time`),
  KEY `idx_base_resource` (`base_resource_namespace`, `base_resource_name`),
  KEY `idx_base_type` (`base_type`),
  KEY `idx_commit_branch` (`commit_branch`),
  KEY `idx_git_ref` (`git_ref`),
  KEY `idx_owner` (`owner`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
