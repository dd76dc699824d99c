-- makes: table checkpoint
-- makes: column checkpoint.id
-- makes: column checkpoint.number
-- makes: index checkpoint.PRIMARY

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS `checkpoint` (
  `id` BIGINT NOT NULL,
  `number` BIGINT NOT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
