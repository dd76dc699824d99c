-- makes: table pipelinerun
-- makes: column pipelinerun.uid
-- makes: column pipelinerun.group_ver
-- makes: column pipelinerun.namespace
-- makes: column pipelinerun.name
-- makes: column pipelinerun.res_version
-- makes: column pipelinerun.incarnation
-- makes: column pipelinerun.create_time
-- makes: column pipelinerun.update_time
-- makes: column pipelinerun.delete_time
-- makes: column pipelinerun.evict_time
-- makes: column pipelinerun.proto
-- makes: column pipelinerun.json
-- makes: column pipelinerun.pipeline_namespace
-- makes: column pipelinerun.pipeline_name
-- makes: column pipelinerun.revision_namespace
-- makes: column pipelinerun.revision_name
-- makes: column pipelinerun.resume_pipeline_run_namespace
-- makes: column pipelinerun.resume_pipeline_run_name
-- makes: column pipelinerun.state
-- makes: column pipelinerun.actor
-- makes: column pipelinerun.end_time
-- makes: column pipelinerun.exception_type
-- makes: index pipelinerun.PRIMARY
-- makes: index pipelinerun.idx_namespace_name
-- makes: index pipelinerun.idx_delete_time
-- makes: index pipelinerun.idx_create_time
-- makes: index pipelinerun.idx_pipeline
-- makes: index pipelinerun.idx_revision
-- makes: index pipelinerun.idx_resume_pipeline_run
-- makes: index pipelinerun.idx_state
-- makes: index pipelinerun.idx_actor
-- makes: index pipelinerun.idx_end_time
-- makes: index pipelinerun.idx_exception_type

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS `pipelinerun` (
  `uid` VARCHAR(64) NOT NULL,
  `group_ver` VARCHAR(128) NOT NULL,
  `namespace` VARCHAR(256) NOT NULL,
  `name` VARCHAR(256) NOT NULL,
  `res_version` BIGINT NOT NULL,
  `incarnation` BIGINT NOT NULL DEFAULT 0,
  `create_time` DATETIME(6) NOT NULL,
  `update_time` DATETIME(6) NOT NULL,
  `delete_time` DATETIME(6) NULL,
  `evict_time` DATETIME(6) NULL,
  `proto` LONGBLOB NOT NULL,
  `json` JSON NOT NULL,
  `pipeline_namespace` VARCHAR(255) NULL,
  `pipeline_name` VARCHAR(255) NULL,
  `revision_namespace` VARCHAR(255) NULL,
  `revision_name` VARCHAR(255) NULL,
  `resume_pipeline_run_namespace` VARCHAR(255) NULL,
  `resume_pipeline_run_name` VARCHAR(255) NULL,
  `state` VARCHAR(255) NULL,
  `actor` VARCHAR(255) NULL,
  `end_time` DATETIME(6) NULL,
  `exception_type` VARCHAR(255) NULL,
  PRIMARY KEY (`uid`),
  KEY `idx_namespace_name` (`namespace`, `name`),
  KEY `idx_delete_time` (`delete_time`),
  KEY `idx_create_time` (`create_time`),
  KEY `idx_pipeline` (`pipeline_namespace`, `pipeline_name`),
  KEY `idx_revision` (`revision_namespace`, `revision_name`),
  KEY `idx_resume_pipeline_run` (`resume_pipeline_run_namespace`, `resume_pipeline_run_name`),
  KEY `idx_state` (`state`),
  KEY `idx_actor` (`actor`),
  KEY `idx_end_time` (`end_time`),
  KEY `idx_exception_type` (`exception_type`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
