-- makes: index outbox.idx_uid
-- makes: index outbox.idx_kind

-- +goose NO TRANSACTION
-- +goose Up
SET @ddl = IF((SELECT COUNT(*) FROM information_schema.statistics
  WHERE table_schema = DATABASE() AND table_name = 'outbox' AND index_name = 'idx_uid') = 0,
  'ALTER TABLE `outbox` ADD KEY `idx_uid` (`uid`)', 'DO 0');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;
SET @ddl = IF((SELECT COUNT(*) FROM information_schema.statistics
  WHERE table_schema = DATABASE() AND table_name = 'outbox' AND index_name = 'idx_kind') = 0,
  'ALTER TABLE `outbox` ADD KEY `idx_kind` (`kind`)', 'DO 0');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;
