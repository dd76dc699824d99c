-- makes: table deployment_annotations
-- makes: column deployment_annotations.id
-- makes: column deployment_annotations.obj_uid
-- makes: column deployment_annotations.key
-- makes: column deployment_annotations.value
-- makes: index deployment_annotations.PRIMARY
-- makes: index deployment_annotations.idx_obj_uid_key

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS `deployment_annotations` (
  `id` BIGINT NOT NULL AUTO_INCREMENT,
  `obj_uid` VARCHAR(64) NOT NULL,
  `key` VARCHAR(317) NOT NULL,
  `value` MEDIUMTEXT NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `idx_obj_uid_key` (`obj_uid`, `key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
