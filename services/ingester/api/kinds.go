package api

// Kinds returns the kinds that the ingester stores, in their canonical order.
//
// Source: specification 003, "Schema Layout"; order of reference section 1.
func Kinds() []string {
	return []string{
		"Model", "ModelFamily", "Pipeline", "PipelineRun", "Deployment", "InferenceServer", "Project",
		"Revision", "Cluster", "RayCluster", "RayJob", "SparkJob", "TriggerRun",
	}
}
