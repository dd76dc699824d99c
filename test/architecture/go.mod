module github.com/flotilla-dev/flotilla/test/architecture

go 1.26.0
