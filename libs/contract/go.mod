module github.com/flotilla-dev/flotilla/libs/contract

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
)

require golang.org/x/text v0.43.0 // indirect
