-- makes: table modelfamily_annotations
-- makes: column modelfamily_annotations.id
-- makes: column modelfamily_annotations.obj_uid
-- makes: column modelfamily_annotations.key
-- makes: column modelfamily_annotations.value
-- makes: index modelfamily_annotations.PRIMARY
-- makes: index modelfamily_annotations.idx_obj_uid_key

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS `modelfamily_annotations` (
  `id` BIGINT NOT NULL AUTO_INCREMENT,
  `obj_uid` VARCHAR(64) NOT NULL,
  `key` VARCHAR(317) NOT NULL,
  `value` MEDIUMTEXT NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `idx_obj_uid_key` (`obj_uid`, `key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
