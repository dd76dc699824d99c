-- makes: table sparkjob_annotations
-- makes: column sparkjob_annotations.id
-- makes: column sparkjob_annotations.obj_uid
-- makes: column sparkjob_annotations.key
-- makes: column sparkjob_annotations.value
-- makes: index sparkjob_annotations.PRIMARY
-- makes: index sparkjob_annotations.idx_obj_uid_key

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS `sparkjob_annotations` (
  `id` BIGINT NOT NULL AUTO_INCREMENT,
  `obj_uid` VARCHAR(64) NOT NULL,
  `key` VARCHAR(317) NOT NULL,
  `value` MEDIUMTEXT NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `idx_obj_uid_key` (`obj_uid`, `key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
