package api

// Group and version of all Michelangelo kinds.
const (
	Group        = "michelangelo.api"
	Version      = "v2"
	GroupVersion = Group + "/" + Version
)

// IngesterFinalizer keeps a deleted object in the cluster until its final state is
// stored in MySQL and the row is closed.
const IngesterFinalizer = "michelangelo/Ingester"

// Annotations that the ingester obeys. Each is active only with the value [AnnotationTrue].
const (
	// DeletingAnnotation asks for deletion without the object ever being Terminating:
	// the row is closed first, then the object is deleted.
	DeletingAnnotation = "michelangelo/Deleting"
	// ImmutableAnnotation says that the object never changes again: it is stored one
	// last time and then leaves the cluster, while its row stays live.
	ImmutableAnnotation = "michelangelo/Immutable"
)

// AnnotationTrue is the only value that makes one of the annotations active.
const AnnotationTrue = "true"

// Labels that Michelangelo's API server sets: when the object, or its spec, last
// changed, in microseconds since 1970.
const (
	UpdateTimestampLabel     = "michelangelo/UpdateTimestamp"
	SpecUpdateTimestampLabel = "michelangelo/SpecUpdateTimestamp"
)

// IsSet says whether one of the annotations is active.
func IsSet(annotations map[string]string, annotation string) bool {
	return annotations[annotation] == AnnotationTrue
}
