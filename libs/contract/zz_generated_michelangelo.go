// Code generated from the registry of the ingester. DO NOT EDIT.

package contract

var michelangeloKinds = []string{
	"Model",
	"ModelFamily",
	"Pipeline",
	"PipelineRun",
	"Deployment",
	"InferenceServer",
	"Project",
	"Revision",
	"Cluster",
	"RayCluster",
	"RayJob",
	"SparkJob",
	"TriggerRun",
}
