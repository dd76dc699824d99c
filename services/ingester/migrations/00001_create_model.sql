-- makes: table model
-- makes: column model.uid
-- makes: column model.group_ver
-- makes: column model.namespace
-- makes: column model.name
-- makes: column model.res_version
-- makes: column model.incarnation
-- makes: column model.create_time
-- makes: column model.update_time
-- makes: column model.delete_time
-- makes: column model.evict_time
-- makes: column model.proto
-- makes: column model.json
-- makes: column model.algorithm
-- makes: column model.training_framework
-- makes: column model.owner
-- makes: column model.source
-- makes: column model.description
-- makes: column model.model_kind
-- makes: column model.package_type
-- makes: column model.revision_id
-- makes: column model.src_pipeline_run_namespace
-- makes: column model.src_pipeline_run_name
-- makes: column model.model_family_namespace
-- makes: column model.model_family_name
-- makes: column model.feature_eval_report_namespace
-- makes: column model.feature_eval_report_name
-- makes: column model.performance_eval_report_namespace
-- makes: column model.performance_eval_report_name
-- makes: column model.feature_quality_report_namespace
-- makes: column model.feature_quality_report_name
-- makes: column model.explainability_report_namespace
-- makes: column model.explainability_report_name
-- makes: index model.PRIMARY
-- makes: index model.idx_namespace_name
-- makes: index model.idx_delete_time
-- makes: index model.idx_create_time
-- makes: index model.idx_algorithm
-- makes: index model.idx_training_framework
-- makes: index model.idx_owner
-- makes: index model.idx_source
-- makes: index model.idx_description
-- makes: index model.idx_model_kind
-- makes: index model.idx_package_type
-- makes: index model.idx_revision_id
-- makes: index model.idx_src_pipeline_run
-- makes: index model.idx_model_family
-- makes: index model.idx_feature_eval_report
-- makes: index model.idx_performance_eval_report
-- makes: index model.idx_feature_quality_report
-- makes: index model.idx_explainability_report

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS `model` (
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
  `algorithm` VARCHAR(255) NULL,
  `training_framework` VARCHAR(255) NULL,
  `owner` VARCHAR(255) NULL,
  `source` VARCHAR(255) NULL,
  `description` VARCHAR(768) NULL,
  `model_kind` VARCHAR(255) NULL,
  `package_type` VARCHAR(255) NULL,
  `revision_id` INT NULL,
  `src_pipeline_run_namespace` VARCHAR(255) NULL,
  `src_pipeline_run_name` VARCHAR(255) NULL,
  `model_family_namespace` VARCHAR(255) NULL,
  `model_family_name` VARCHAR(255) NULL,
  `feature_eval_report_namespace` VARCHAR(255) NULL,
  `feature_eval_report_name` VARCHAR(255) NULL,
  `performance_eval_report_namespace` VARCHAR(255) NULL,
  `performance_eval_report_name` VARCHAR(255) NULL,
  `feature_quality_report_namespace` VARCHAR(255) NULL,
  `feature_quality_report_name` VARCHAR(255) NULL,
  `explainability_report_namespace` VARCHAR(255) NULL,
  `explainability_report_name` VARCHAR(255) NULL,
  PRIMARY KEY (`uid`),
  KEY `idx_namespace_name` (`namespace`, `name`),
  KEY `idx_delete_time` (`delete_time`),
  KEY `idx_create_time` (`create_time`),
  KEY `idx_algorithm` (`algorithm`),
  KEY `idx_training_framework` (`training_framework`),
  KEY `idx_owner` (`owner`),
  KEY `idx_source` (`source`),
  KEY `idx_description` (`description`),
  KEY `idx_model_kind` (`model_kind`),
  KEY `idx_package_type` (`package_type`),
  KEY `idx_revision_id` (`revision_id`),
  KEY `idx_src_pipeline_run` (`src_pipeline_run_namespace`, `src_pipeline_run_name`),
  KEY `idx_model_family` (`model_family_namespace`, `model_family_name`),
  KEY `idx_feature_eval_report` (`feature_eval_report_namespace`, `feature_eval_report_name`),
  KEY `idx_performance_eval_report` (`performance_eval_report_namespace`, `performance_eval_report_name`),
  KEY `idx_feature_quality_report` (`feature_quality_report_namespace`, `feature_quality_report_name`),
  KEY `idx_explainability_report` (`explainability_report_namespace`, `explainability_report_name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
