module github.com/flotilla-dev/flotilla/test/node

go 1.26.0
