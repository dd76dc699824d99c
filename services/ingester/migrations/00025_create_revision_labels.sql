-- makes: table revision_labels
-- makes: column revision_labels.id
-- makes: column revision_labels.obj_uid
-- makes: column revision_labels.key
-- makes: column revision_labels.value
-- makes: index revision_labels.PRIMARY
-- makes: index revision_labels.idx_obj_uid_key
-- makes: index revision_labels.idx_key_value

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS `revision_labels` (
  `id` BIGINT NOT NULL AUTO_INCREMENT,
  `obj_uid` VARCHAR(64) NOT NULL,
  `key` VARCHAR(317) NOT NULL,
  `value` VARCHAR(63) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `idx_obj_uid_key` (`obj_uid`, `key`),
  KEY `idx_key_value` (`key`, `value`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
