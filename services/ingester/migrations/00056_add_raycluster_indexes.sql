-- makes: index raycluster.idx_delete_time_evict_time
-- makes: index raycluster.idx_delete_time_create_time
-- makes: index raycluster.idx_namespace_delete_time_create_time

-- +goose NO TRANSACTION
-- +goose Up
SET @changes = CONCAT_WS(', ',
  IF(EXISTS (SELECT 1 FROM information_schema.statistics
    WHERE table_schema = DATABASE() AND table_name = 'raycluster' AND index_name = 'idx_delete_time_evict_time'), NULL,
    'ADD KEY `idx_delete_time_evict_time` (`delete_time`, `evict_time`)'),
  IF(EXISTS (SELECT 1 FROM information_schema.statistics
    WHERE table_schema = DATABASE() AND table_name = 'raycluster' AND index_name = 'idx_delete_time_create_time'), NULL,
    'ADD KEY `idx_delete_time_create_time` (`delete_time`, `create_time`)'),
  IF(EXISTS (SELECT 1 FROM information_schema.statistics
    WHERE table_schema = DATABASE() AND table_name = 'raycluster' AND index_name = 'idx_namespace_delete_time_create_time'), NULL,
    'ADD KEY `idx_namespace_delete_time_create_time` (`namespace`, `delete_time`, `create_time`)'));
SET @ddl = IF(@changes = '', 'DO 0', CONCAT('ALTER TABLE `raycluster` ', @changes));
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;
