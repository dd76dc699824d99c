-- makes: table incarnation
-- makes: column incarnation.cluster_uid
-- makes: column incarnation.incarnation
-- makes: column incarnation.raised_at
-- makes: index incarnation.PRIMARY

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS `incarnation` (
  `cluster_uid` VARCHAR(64) NOT NULL,
  `incarnation` BIGINT NOT NULL,
  `raised_at` DATETIME(6) NOT NULL,
  PRIMARY KEY (`cluster_uid`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
