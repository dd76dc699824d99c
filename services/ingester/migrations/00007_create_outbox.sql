-- makes: table outbox
-- makes: column outbox.id
-- makes: column outbox.kind
-- makes: column outbox.namespace
-- makes: column outbox.name
-- makes: column outbox.uid
-- makes: column outbox.generation
-- makes: column outbox.res_version
-- makes: column outbox.operation
-- makes: column outbox.committed_at
-- makes: column outbox.traceparent
-- makes: index outbox.PRIMARY

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS `outbox` (
  `id` BIGINT NOT NULL AUTO_INCREMENT,
  `kind` VARCHAR(63) NOT NULL,
  `namespace` VARCHAR(256) NOT NULL,
  `name` VARCHAR(256) NOT NULL,
  `uid` VARCHAR(64) NOT NULL,
  `generation` BIGINT NOT NULL,
  `res_version` BIGINT NOT NULL,
  `operation` VARCHAR(16) NOT NULL,
  `committed_at` DATETIME(6) NOT NULL,
  `traceparent` VARCHAR(64) NOT NULL DEFAULT '',
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
