// Writes the bill of materials of an image; outside go.work, as tools/ is, and apart from it, so that a Dockerfile needs
// no more than this folder.
module github.com/flotilla-dev/flotilla/deploy/images/sbom

go 1.26.0

require github.com/CycloneDX/cyclonedx-go v0.12.0
