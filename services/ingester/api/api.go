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

// Annotations that control the ingester. Each is active only with the value [AnnotationTrue].
const (
	// DeletingAnnotation requests deletion without a terminating object: the row is
	// closed first, then the object is deleted.
	DeletingAnnotation = "michelangelo/Deleting"
	// ImmutableAnnotation marks an object that never changes again: it is stored one
	// last time and then evicted from the cluster, while its row stays live.
	ImmutableAnnotation = "michelangelo/Immutable"
)

// AnnotationTrue is the only value that makes one of the annotations active.
const AnnotationTrue = "true"

// Labels that Michelangelo's API server sets: the time of the last change of the
// object, or of its spec, in microseconds since 1970.
const (
	UpdateTimestampLabel     = "michelangelo/UpdateTimestamp"
	SpecUpdateTimestampLabel = "michelangelo/SpecUpdateTimestamp"
)

// IsSet reports whether an annotation is active.
func IsSet(annotations map[string]string, annotation string) bool {
	return annotations[annotation] == AnnotationTrue
}
