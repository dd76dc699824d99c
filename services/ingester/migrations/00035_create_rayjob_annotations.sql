-- makes: table rayjob_annotations
-- makes: column rayjob_annotations.id
-- makes: column rayjob_annotations.obj_uid
-- makes: column rayjob_annotations.key
-- makes: column rayjob_annotations.value
-- makes: index rayjob_annotations.PRIMARY
-- makes: index rayjob_annotations.idx_obj_uid_key

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS `rayjob_annotations` (
  `id` BIGINT NOT NULL AUTO_INCREMENT,
  `obj_uid` VARCHAR(64) NOT NULL,
  `key` VARCHAR(317) NOT NULL,
  `value` MEDIUMTEXT NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `idx_obj_uid_key` (`obj_uid`, `key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
