package conditions

// Fold computes the conditions of one object.
func Fold(in Input) Result { return Result{Memory: in.Memory} }

// MaxEvidence is the greatest number of findings in [Result.Evidence].
const MaxEvidence = 10
