-- makes: table inferenceserver_labels
-- makes: column inferenceserver_labels.id
-- makes: column inferenceserver_labels.obj_uid
-- makes: column inferenceserver_labels.key
-- makes: column inferenceserver_labels.value
-- makes: index inferenceserver_labels.PRIMARY
-- makes: index inferenceserver_labels.idx_obj_uid_key
-- makes: index inferenceserver_labels.idx_key_value

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS `inferenceserver_labels` (
  `id` BIGINT NOT NULL AUTO_INCREMENT,
  `obj_uid` VARCHAR(64) NOT NULL,
  `key` VARCHAR(317) NOT NULL,
  `value` VARCHAR(63) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `idx_obj_uid_key` (`obj_uid`, `key`),
  KEY `idx_key_value` (`key`, `value`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
