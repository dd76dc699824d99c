package query

import "github.com/flotilla-dev/flotilla/services/ingester/storage"

// templates are all predefined queries, by kind. Fields are proto paths; a test compiles each
// template for its kind.
var templates = []Template{
	{
		ID: "created-since", Description: "Objects that were created at a time or later, the newest first.",
		Conditions: []Condition{since("metadata.creation_timestamp"), inNamespace},
	},
	{
		ID: "updated-since", Description: "Objects that storage wrote at a time or later, the last one first.",
		Conditions: []Condition{since("metadata.update_timestamp"), inNamespace},
		Order:      []storage.OrderBy{{Field: "metadata.update_timestamp", Dir: storage.SortDesc}},
	},

	{
		ID: "models-by-family", Kind: "Model", Description: "Models of a model family, the newest first.",
		Conditions: []Condition{refersTo("spec.model_family")},
	},
	{
		ID: "latest-model-of-family", Kind: "Model", Description: "The newest model of a model family.",
		Conditions: []Condition{refersTo("spec.model_family")}, Limit: 1,
	},
	{
		ID: "models-of-run", Kind: "Model", Description: "Models that a pipeline run made.",
		Conditions: []Condition{refersTo("spec.source_pipeline_run")},
	},
	{
		ID: "models-by-owner", Kind: "Model", Description: "Models of an owner.",
		Conditions: []Condition{equals("owner", "spec.owner.name"), inNamespace},
	},
	{
		ID: "models-by-algorithm", Kind: "Model", Description: "Models that were trained with an algorithm.",
		Conditions: []Condition{equals("algorithm", "spec.algorithm"), inNamespace},
	},

	{
		ID: "families-by-name", Kind: "ModelFamily", Description: "Model families with a display name.",
		Conditions: []Condition{equals("family", "spec.name"), inNamespace},
	},

	{
		ID: "pipelines-by-owner", Kind: "Pipeline", Description: "Pipelines of an owner.",
		Conditions: []Condition{equals("owner", "spec.owner.name"), inNamespace},
	},
	{
		ID: "pipelines-by-type", Kind: "Pipeline", Description: "Pipelines of a type, such as PIPELINE_TYPE_TRAIN.",
		Conditions: []Condition{equals("type", "spec.type"), inNamespace},
	},

	{
		ID: "runs-of-pipeline", Kind: "PipelineRun", Description: "Runs of a pipeline, the newest first.",
		Conditions: []Condition{refersTo("spec.pipeline")},
	},
	{
		ID: "latest-run-of-pipeline", Kind: "PipelineRun", Description: "The newest run of a pipeline.",
		Conditions: []Condition{refersTo("spec.pipeline")}, Limit: 1,
	},
	{
		ID: "runs-of-revision", Kind: "PipelineRun", Description: "Runs of a revision of a pipeline.",
		Conditions: []Condition{refersTo("spec.revision")},
	},
	{
		ID: "runs-by-state-since", Kind: "PipelineRun", Description: "Runs in a state, such as PIPELINE_RUN_STATE_FAILED, that were created at a time or later.",
		Conditions: []Condition{equals("state", "status.state"), since("metadata.creation_timestamp"), inNamespace},
	},
	{
		ID: "runs-ended-since", Kind: "PipelineRun", Description: "Runs that ended at a time or later, the last one first.",
		Conditions: []Condition{since("status.end_time"), inNamespace},
		Order:      []storage.OrderBy{{Field: "status.end_time", Dir: storage.SortDesc}},
	},
	{
		ID: "unfinished-runs", Kind: "PipelineRun", Description: "Runs that have not ended, the oldest first.",
		Conditions: []Condition{{Field: "status.end_time", Operator: storage.OpIsNull}, inNamespace},
		Order:      []storage.OrderBy{{Field: "metadata.creation_timestamp", Dir: storage.SortAsc}},
	},
	{
		ID: "runs-by-actor", Kind: "PipelineRun", Description: "Runs that a user started.",
		Conditions: []Condition{equals("actor", "spec.actor.name"), inNamespace},
	},
	{
		ID: "runs-resumed-from", Kind: "PipelineRun", Description: "Runs that resumed another run.",
		Conditions: []Condition{refersTo("spec.resume.pipeline_run")},
	},

	{
		ID: "deployments-of-revision", Kind: "Deployment", Description: "Deployments that serve a revision.",
		Conditions: []Condition{refersTo("status.current_revision")},
	},
	{
		ID: "deployments-by-state", Kind: "Deployment", Description: "Deployments in a state, such as DEPLOYMENT_STATE_UNHEALTHY.",
		Conditions: []Condition{equals("state", "status.state"), inNamespace},
	},
	{
		ID: "servers-by-state", Kind: "InferenceServer", Description: "Inference servers in a state, such as INFERENCE_SERVER_STATE_FAILED.",
		Conditions: []Condition{equals("state", "status.state"), inNamespace},
	},
	{
		ID: "projects-by-tier", Kind: "Project", Description: "Projects of a tier; 1 is the most important one.",
		Conditions: []Condition{equals("tier", "spec.tier"), inNamespace},
	},

	{
		ID: "revisions-of", Kind: "Revision", Description: "Revisions of an object, the newest first; type is its kind.",
		Conditions: []Condition{refersTo("spec.base_resource"), optionally("type", "spec.base_type.kind")},
	},
	{
		ID: "latest-revision-of", Kind: "Revision", Description: "The newest revision of an object; type is its kind.",
		Conditions: []Condition{refersTo("spec.base_resource"), optionally("type", "spec.base_type.kind")}, Limit: 1,
	},
	{
		ID: "revisions-by-commit", Kind: "Revision", Description: "Revisions that were made from a commit.",
		Conditions: []Condition{equals("git_ref", "spec.commit.git_ref"), optionally("branch", "spec.commit.branch"), inNamespace},
	},

	{
		ID: "triggers-of-pipeline", Kind: "TriggerRun", Description: "Trigger runs of a pipeline.",
		Conditions: []Condition{refersTo("spec.pipeline")},
	},
	{
		ID: "triggers-by-state", Kind: "TriggerRun", Description: "Trigger runs in a state, such as TRIGGER_RUN_STATE_RUNNING.",
		Conditions: []Condition{equals("state", "status.state"), inNamespace},
	},
}

var inNamespace = optionally("namespace", "metadata.namespace")

func equals(parameter, field string) Condition {
	return Condition{Parameter: parameter, Field: field, Operator: storage.OpEqual}
}

func optionally(parameter, field string) Condition {
	return Condition{Parameter: parameter, Optional: true, Field: field, Operator: storage.OpEqual}
}

func since(field string) Condition {
	return Condition{Parameter: "since", Field: field, Operator: storage.OpGreaterThanOrEqual}
}

func refersTo(field string) Condition { return Condition{Field: field, Reference: true} }
