-- makes: table installation
-- makes: column installation.id
-- makes: column installation.cluster_name
-- makes: column installation.recorded_at
-- makes: index installation.PRIMARY

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS `installation` (
  `id` BIGINT NOT NULL,
  `cluster_name` VARCHAR(253) NOT NULL,
  `recorded_at` DATETIME(6) NOT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
