package contract

// Names of the streams and of the key-value bucket.
const (
	StreamObservations = "FLOTILLA_OBS"
	StreamHeartbeats   = "FLOTILLA_HB"
	StreamLifecycle    = "FLOTILLA_LIFECYCLE"
	StreamChanges      = "FLOTILLA_CHANGES"
	StreamDeadLetters  = "FLOTILLA_DLQ"
	BucketStatus       = "FLOTILLA_STATUS"
)
