-- makes: table sparkjob_labels
-- makes: column sparkjob_labels.id
-- makes: column sparkjob_labels.obj_uid
-- makes: column sparkjob_labels.key
-- makes: column sparkjob_labels.value
-- makes: index sparkjob_labels.PRIMARY
-- makes: index sparkjob_labels.idx_obj_uid_key
-- makes: index sparkjob_labels.idx_key_value

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS `sparkjob_labels` (
  `id` BIGINT NOT NULL AUTO_INCREMENT,
  `obj_uid` VARCHAR(64) NOT NULL,
  `key` VARCHAR(317) NOT NULL,
  `value` VARCHAR(63) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `idx_obj_uid_key` (`obj_uid`, `key`),
  KEY `idx_key_value` (`key`, `value`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
