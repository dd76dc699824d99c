-- The 39 tables in the shape of an earlier installation (reference section 2).

CREATE TABLE IF NOT EXISTS model (
  uid VARCHAR(255) NOT NULL,
  group_ver VARCHAR(255) NOT NULL,
  namespace VARCHAR(255) NOT NULL,
  name VARCHAR(255) NOT NULL,
  res_version BIGINT UNSIGNED NOT NULL,
  create_time DATETIME NOT NULL,
  update_time DATETIME,
  delete_time DATETIME,
  proto MEDIUMBLOB,
  json JSON,
  algorithm VARCHAR(255),
  training_framework VARCHAR(255),
  owner VARCHAR(255),
  source VARCHAR(255),
  description VARCHAR(768),
  model_kind VARCHAR(255),
  package_type VARCHAR(255),
  revision_id VARCHAR(255),
  src_pipeline_run_namespace VARCHAR(255),
  src_pipeline_run_name VARCHAR(255),
  model_family_namespace VARCHAR(255),
  model_family_name VARCHAR(255),
  feature_eval_report_namespace VARCHAR(255),
  feature_eval_report_name VARCHAR(255),
  performance_eval_report_namespace VARCHAR(255),
  performance_eval_report_name VARCHAR(255),
  feature_quality_report_namespace VARCHAR(255),
  feature_quality_report_name VARCHAR(255),
  explainability_report_namespace VARCHAR(255),
  explainability_report_name VARCHAR(255),
  PRIMARY KEY (uid),
  KEY model_namespace_name (namespace, name),
  KEY model_create_time (create_time),
  KEY model_algorithm (algorithm),
  KEY model_owner (owner)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS model_labels (
  id BIGINT NOT NULL AUTO_INCREMENT,
  obj_uid VARCHAR(255) NOT NULL,
  `key` VARCHAR(255) NOT NULL,
  `value` VARCHAR(63),
  PRIMARY KEY (id),
  KEY model_labels_uid (obj_uid),
  KEY model_labels_key_value (`key`, `value`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS model_annotations (
  id BIGINT NOT NULL AUTO_INCREMENT,
  obj_uid VARCHAR(255) NOT NULL,
  `key` VARCHAR(255) NOT NULL,
  `value` TEXT,
  PRIMARY KEY (id),
  KEY model_annotations_uid (obj_uid)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS modelfamily (
  uid VARCHAR(255) NOT NULL,
  group_ver VARCHAR(255) NOT NULL,
  namespace VARCHAR(255) NOT NULL,
  name VARCHAR(255) NOT NULL,
  res_version BIGINT UNSIGNED NOT NULL,
  create_time DATETIME NOT NULL,
  update_time DATETIME,
  delete_time DATETIME,
  proto MEDIUMBLOB,
  json JSON,
  model_family_name VARCHAR(255),
  PRIMARY KEY (uid),
  KEY modelfamily_namespace_name (namespace, name),
  KEY modelfamily_create_time (create_time)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS modelfamily_labels (
  id BIGINT NOT NULL AUTO_INCREMENT,
  obj_uid VARCHAR(255) NOT NULL,
  `key` VARCHAR(255) NOT NULL,
  `value` VARCHAR(63),
  PRIMARY KEY (id),
  KEY modelfamily_labels_uid (obj_uid),
  KEY modelfamily_labels_key_value (`key`, `value`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS modelfamily_annotations (
  id BIGINT NOT NULL AUTO_INCREMENT,
  obj_uid VARCHAR(255) NOT NULL,
  `key` VARCHAR(255) NOT NULL,
  `value` TEXT,
  PRIMARY KEY (id),
  KEY modelfamily_annotations_uid (obj_uid)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS pipeline (
  uid VARCHAR(255) NOT NULL,
  group_ver VARCHAR(255) NOT NULL,
  namespace VARCHAR(255) NOT NULL,
  name VARCHAR(255) NOT NULL,
  res_version BIGINT UNSIGNED NOT NULL,
  create_time DATETIME NOT NULL,
  update_time DATETIME,
  delete_time DATETIME,
  proto MEDIUMBLOB,
  json JSON,
  owner VARCHAR(255),
  pipeline_type VARCHAR(255),
  PRIMARY KEY (uid),
  KEY pipeline_namespace_name (namespace, name),
  KEY pipeline_create_time (create_time),
  KEY pipeline_owner (owner)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS pipeline_labels (
  id BIGINT NOT NULL AUTO_INCREMENT,
  obj_uid VARCHAR(255) NOT NULL,
  `key` VARCHAR(255) NOT NULL,
  `value` VARCHAR(63),
  PRIMARY KEY (id),
  KEY pipeline_labels_uid (obj_uid),
  KEY pipeline_labels_key_value (`key`, `value`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS pipeline_annotations (
  id BIGINT NOT NULL AUTO_INCREMENT,
  obj_uid VARCHAR(255) NOT NULL,
  `key` VARCHAR(255) NOT NULL,
  `value` TEXT,
  PRIMARY KEY (id),
  KEY pipeline_annotations_uid (obj_uid)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS pipelinerun (
  uid VARCHAR(255) NOT NULL,
  group_ver VARCHAR(255) NOT NULL,
  namespace VARCHAR(255) NOT NULL,
  name VARCHAR(255) NOT NULL,
  res_version BIGINT UNSIGNED NOT NULL,
  create_time DATETIME NOT NULL,
  update_time DATETIME,
  delete_time DATETIME,
  proto MEDIUMBLOB,
  json JSON,
  pipeline_namespace VARCHAR(255),
  pipeline_name VARCHAR(255),
  revision_namespace VARCHAR(255),
  revision_name VARCHAR(255),
  resume_pipeline_run_namespace VARCHAR(255),
  resume_pipeline_run_name VARCHAR(255),
  state VARCHAR(255),
  actor VARCHAR(255),
  end_time DATETIME,
  exception_type VARCHAR(255),
  PRIMARY KEY (uid),
  KEY pipelinerun_namespace_name (namespace, name),
  KEY pipelinerun_create_time (create_time),
  KEY pipelinerun_pipeline (pipeline_namespace, pipeline_name),
  KEY pipelinerun_state (state)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS pipelinerun_labels (
  id BIGINT NOT NULL AUTO_INCREMENT,
  obj_uid VARCHAR(255) NOT NULL,
  `key` VARCHAR(255) NOT NULL,
  `value` VARCHAR(63),
  PRIMARY KEY (id),
  KEY pipelinerun_labels_uid (obj_uid),
  KEY pipelinerun_labels_key_value (`key`, `value`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS pipelinerun_annotations (
  id BIGINT NOT NULL AUTO_INCREMENT,
  obj_uid VARCHAR(255) NOT NULL,
  `key` VARCHAR(255) NOT NULL,
  `value` TEXT,
  PRIMARY KEY (id),
  KEY pipelinerun_annotations_uid (obj_uid)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS deployment (
  uid VARCHAR(255) NOT NULL,
  group_ver VARCHAR(255) NOT NULL,
  namespace VARCHAR(255) NOT NULL,
  name VARCHAR(255) NOT NULL,
  res_version BIGINT UNSIGNED NOT NULL,
  create_time DATETIME NOT NULL,
  update_time DATETIME,
  delete_time DATETIME,
  proto MEDIUMBLOB,
  json JSON,
  state VARCHAR(255),
  target_definition_type VARCHAR(255),
  current_revision_namespace VARCHAR(255),
  current_revision_name VARCHAR(255),
  deletion_requested_timestamp DATETIME,
  PRIMARY KEY (uid),
  KEY deployment_namespace_name (namespace, name),
  KEY deployment_create_time (create_time),
  KEY deployment_state (state)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS deployment_labels (
  id BIGINT NOT NULL AUTO_INCREMENT,
  obj_uid VARCHAR(255) NOT NULL,
  `key` VARCHAR(255) NOT NULL,
  `value` VARCHAR(63),
  PRIMARY KEY (id),
  KEY deployment_labels_uid (obj_uid),
  KEY deployment_labels_key_value (`key`, `value`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS deployment_annotations (
  id BIGINT NOT NULL AUTO_INCREMENT,
  obj_uid VARCHAR(255) NOT NULL,
  `key` VARCHAR(255) NOT NULL,
  `value` TEXT,
  PRIMARY KEY (id),
  KEY deployment_annotations_uid (obj_uid)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS inferenceserver (
  uid VARCHAR(255) NOT NULL,
  group_ver VARCHAR(255) NOT NULL,
  namespace VARCHAR(255) NOT NULL,
  name VARCHAR(255) NOT NULL,
  res_version BIGINT UNSIGNED NOT NULL,
  create_time DATETIME NOT NULL,
  update_time DATETIME,
  delete_time DATETIME,
  proto MEDIUMBLOB,
  json JSON,
  state VARCHAR(255),
  PRIMARY KEY (uid),
  KEY inferenceserver_namespace_name (namespace, name),
  KEY inferenceserver_create_time (create_time),
  KEY inferenceserver_state (state)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS inferenceserver_labels (
  id BIGINT NOT NULL AUTO_INCREMENT,
  obj_uid VARCHAR(255) NOT NULL,
  `key` VARCHAR(255) NOT NULL,
  `value` VARCHAR(63),
  PRIMARY KEY (id),
  KEY inferenceserver_labels_uid (obj_uid),
  KEY inferenceserver_labels_key_value (`key`, `value`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS inferenceserver_annotations (
  id BIGINT NOT NULL AUTO_INCREMENT,
  obj_uid VARCHAR(255) NOT NULL,
  `key` VARCHAR(255) NOT NULL,
  `value` TEXT,
  PRIMARY KEY (id),
  KEY inferenceserver_annotations_uid (obj_uid)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS project (
  uid VARCHAR(255) NOT NULL,
  group_ver VARCHAR(255) NOT NULL,
  namespace VARCHAR(255) NOT NULL,
  name VARCHAR(255) NOT NULL,
  res_version BIGINT UNSIGNED NOT NULL,
  create_time DATETIME NOT NULL,
  update_time DATETIME,
  delete_time DATETIME,
  proto MEDIUMBLOB,
  json JSON,
  tier VARCHAR(255),
  PRIMARY KEY (uid),
  KEY project_namespace_name (namespace, name),
  KEY project_create_time (create_time)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS project_labels (
  id BIGINT NOT NULL AUTO_INCREMENT,
  obj_uid VARCHAR(255) NOT NULL,
  `key` VARCHAR(255) NOT NULL,
  `value` VARCHAR(63),
  PRIMARY KEY (id),
  KEY project_labels_uid (obj_uid),
  KEY project_labels_key_value (`key`, `value`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS project_annotations (
  id BIGINT NOT NULL AUTO_INCREMENT,
  obj_uid VARCHAR(255) NOT NULL,
  `key` VARCHAR(255) NOT NULL,
  `value` TEXT,
  PRIMARY KEY (id),
  KEY project_annotations_uid (obj_uid)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS revision (
  uid VARCHAR(255) NOT NULL,
  group_ver VARCHAR(255) NOT NULL,
  namespace VARCHAR(255) NOT NULL,
  name VARCHAR(255) NOT NULL,
  res_version BIGINT UNSIGNED NOT NULL,
  create_time DATETIME NOT NULL,
  update_time DATETIME,
  delete_time DATETIME,
  proto MEDIUMBLOB,
  json JSON,
  base_resource_namespace VARCHAR(255),
  base_resource_name VARCHAR(255),
  base_type VARCHAR(255),
  commit_branch VARCHAR(255),
  git_ref VARCHAR(255),
  owner VARCHAR(255),
  PRIMARY KEY (uid),
  KEY revision_namespace_name (namespace, name),
  KEY revision_create_time (create_time),
  KEY revision_base_resource (base_resource_namespace, base_resource_name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS revision_labels (
  id BIGINT NOT NULL AUTO_INCREMENT,
  obj_uid VARCHAR(255) NOT NULL,
  `key` VARCHAR(255) NOT NULL,
  `value` VARCHAR(63),
  PRIMARY KEY (id),
  KEY revision_labels_uid (obj_uid),
  KEY revision_labels_key_value (`key`, `value`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS revision_annotations (
  id BIGINT NOT NULL AUTO_INCREMENT,
  obj_uid VARCHAR(255) NOT NULL,
  `key` VARCHAR(255) NOT NULL,
  `value` TEXT,
  PRIMARY KEY (id),
  KEY revision_annotations_uid (obj_uid)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS cluster (
  uid VARCHAR(255) NOT NULL,
  group_ver VARCHAR(255) NOT NULL,
  namespace VARCHAR(255) NOT NULL,
  name VARCHAR(255) NOT NULL,
  res_version BIGINT UNSIGNED NOT NULL,
  create_time DATETIME NOT NULL,
  update_time DATETIME,
  delete_time DATETIME,
  proto MEDIUMBLOB,
  json JSON,
  PRIMARY KEY (uid),
  KEY cluster_namespace_name (namespace, name),
  KEY cluster_create_time (create_time)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS cluster_labels (
  id BIGINT NOT NULL AUTO_INCREMENT,
  obj_uid VARCHAR(255) NOT NULL,
  `key` VARCHAR(255) NOT NULL,
  `value` VARCHAR(63),
  PRIMARY KEY (id),
  KEY cluster_labels_uid (obj_uid),
  KEY cluster_labels_key_value (`key`, `value`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS cluster_annotations (
  id BIGINT NOT NULL AUTO_INCREMENT,
  obj_uid VARCHAR(255) NOT NULL,
  `key` VARCHAR(255) NOT NULL,
  `value` TEXT,
  PRIMARY KEY (id),
  KEY cluster_annotations_uid (obj_uid)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS raycluster (
  uid VARCHAR(255) NOT NULL,
  group_ver VARCHAR(255) NOT NULL,
  namespace VARCHAR(255) NOT NULL,
  name VARCHAR(255) NOT NULL,
  res_version BIGINT UNSIGNED NOT NULL,
  create_time DATETIME NOT NULL,
  update_time DATETIME,
  delete_time DATETIME,
  proto MEDIUMBLOB,
  json JSON,
  PRIMARY KEY (uid),
  KEY raycluster_namespace_name (namespace, name),
  KEY raycluster_create_time (create_time)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS raycluster_labels (
  id BIGINT NOT NULL AUTO_INCREMENT,
  obj_uid VARCHAR(255) NOT NULL,
  `key` VARCHAR(255) NOT NULL,
  `value` VARCHAR(63),
  PRIMARY KEY (id),
  KEY raycluster_labels_uid (obj_uid),
  KEY raycluster_labels_key_value (`key`, `value`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS raycluster_annotations (
  id BIGINT NOT NULL AUTO_INCREMENT,
  obj_uid VARCHAR(255) NOT NULL,
  `key` VARCHAR(255) NOT NULL,
  `value` TEXT,
  PRIMARY KEY (id),
  KEY raycluster_annotations_uid (obj_uid)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS rayjob (
  uid VARCHAR(255) NOT NULL,
  group_ver VARCHAR(255) NOT NULL,
  namespace VARCHAR(255) NOT NULL,
  name VARCHAR(255) NOT NULL,
  res_version BIGINT UNSIGNED NOT NULL,
  create_time DATETIME NOT NULL,
  update_time DATETIME,
  delete_time DATETIME,
  proto MEDIUMBLOB,
  json JSON,
  PRIMARY KEY (uid),
  KEY rayjob_namespace_name (namespace, name),
  KEY rayjob_create_time (create_time)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS rayjob_labels (
  id BIGINT NOT NULL AUTO_INCREMENT,
  obj_uid VARCHAR(255) NOT NULL,
  `key` VARCHAR(255) NOT NULL,
  `value` VARCHAR(63),
  PRIMARY KEY (id),
  KEY rayjob_labels_uid (obj_uid),
  KEY rayjob_labels_key_value (`key`, `value`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS rayjob_annotations (
  id BIGINT NOT NULL AUTO_INCREMENT,
  obj_uid VARCHAR(255) NOT NULL,
  `key` VARCHAR(255) NOT NULL,
  `value` TEXT,
  PRIMARY KEY (id),
  KEY rayjob_annotations_uid (obj_uid)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS sparkjob (
  uid VARCHAR(255) NOT NULL,
  group_ver VARCHAR(255) NOT NULL,
  namespace VARCHAR(255) NOT NULL,
  name VARCHAR(255) NOT NULL,
  res_version BIGINT UNSIGNED NOT NULL,
  create_time DATETIME NOT NULL,
  update_time DATETIME,
  delete_time DATETIME,
  proto MEDIUMBLOB,
  json JSON,
  PRIMARY KEY (uid),
  KEY sparkjob_namespace_name (namespace, name),
  KEY sparkjob_create_time (create_time)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS sparkjob_labels (
  id BIGINT NOT NULL AUTO_INCREMENT,
  obj_uid VARCHAR(255) NOT NULL,
  `key` VARCHAR(255) NOT NULL,
  `value` VARCHAR(63),
  PRIMARY KEY (id),
  KEY sparkjob_labels_uid (obj_uid),
  KEY sparkjob_labels_key_value (`key`, `value`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS sparkjob_annotations (
  id BIGINT NOT NULL AUTO_INCREMENT,
  obj_uid VARCHAR(255) NOT NULL,
  `key` VARCHAR(255) NOT NULL,
  `value` TEXT,
  PRIMARY KEY (id),
  KEY sparkjob_annotations_uid (obj_uid)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS triggerrun (
  uid VARCHAR(255) NOT NULL,
  group_ver VARCHAR(255) NOT NULL,
  namespace VARCHAR(255) NOT NULL,
  name VARCHAR(255) NOT NULL,
  res_version BIGINT UNSIGNED NOT NULL,
  create_time DATETIME NOT NULL,
  update_time DATETIME,
  delete_time DATETIME,
  proto MEDIUMBLOB,
  json JSON,
  pipeline_namespace VARCHAR(255),
  pipeline_name VARCHAR(255),
  revision_namespace VARCHAR(255),
  revision_name VARCHAR(255),
  state VARCHAR(255),
  auto_flip VARCHAR(255),
  PRIMARY KEY (uid),
  KEY triggerrun_namespace_name (namespace, name),
  KEY triggerrun_create_time (create_time),
  KEY triggerrun_pipeline (pipeline_namespace, pipeline_name),
  KEY triggerrun_state (state)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS triggerrun_labels (
  id BIGINT NOT NULL AUTO_INCREMENT,
  obj_uid VARCHAR(255) NOT NULL,
  `key` VARCHAR(255) NOT NULL,
  `value` VARCHAR(63),
  PRIMARY KEY (id),
  KEY triggerrun_labels_uid (obj_uid),
  KEY triggerrun_labels_key_value (`key`, `value`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS triggerrun_annotations (
  id BIGINT NOT NULL AUTO_INCREMENT,
  obj_uid VARCHAR(255) NOT NULL,
  `key` VARCHAR(255) NOT NULL,
  `value` TEXT,
  PRIMARY KEY (id),
  KEY triggerrun_annotations_uid (obj_uid)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
