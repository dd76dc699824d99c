-- makes: table taken_over
-- makes: column taken_over.id
-- makes: column taken_over.table_name
-- makes: column taken_over.uid
-- makes: column taken_over.namespace
-- makes: column taken_over.name
-- makes: column taken_over.note
-- makes: column taken_over.was
-- makes: column taken_over.noted_at
-- makes: index taken_over.PRIMARY

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS `taken_over` (
  `id` BIGINT NOT NULL AUTO_INCREMENT,
  `table_name` VARCHAR(64) NOT NULL,
  `uid` VARCHAR(64) NOT NULL DEFAULT '',
  `namespace` VARCHAR(256) NOT NULL DEFAULT '',
  `name` VARCHAR(256) NOT NULL DEFAULT '',
  `note` VARCHAR(1024) NOT NULL,
  `was` MEDIUMTEXT NULL,
  `noted_at` DATETIME(6) NOT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
