module github.com/flotilla-dev/flotilla/services/engine-operator/api

go 1.26.0

require (
	github.com/flotilla-dev/flotilla/libs/conditions v0.0.0
	github.com/flotilla-dev/flotilla/libs/contract v0.0.0
)

replace (
	github.com/flotilla-dev/flotilla/libs/conditions => ../../../libs/conditions
	github.com/flotilla-dev/flotilla/libs/contract => ../../../libs/contract
)
