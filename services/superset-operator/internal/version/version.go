package version

import (
	"regexp"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// Compare returns the direction of the change from one image to another, each given
// as repository:tag. Images with the same tag or digest, and flavors of the same
// version, are a Rebuild.
func Compare(from, to string) v1alpha1.UpgradeDirection {
	if pin := digest(from); pin != "" && pin == digest(to) {
		return v1alpha1.DirectionRebuild
	}
	if digest(from) != "" || digest(to) != "" {
		return v1alpha1.DirectionUnknown
	}
	if tag := Tag(from); tag != "" && tag == Tag(to) {
		return v1alpha1.DirectionRebuild
	}
	old, current := parse(Tag(from)), parse(Tag(to))
	if old == nil || current == nil {
		return v1alpha1.DirectionUnknown
	}
	switch current.Compare(old) {
	case 1:
		return v1alpha1.DirectionUpgrade
	case -1:
		return v1alpha1.DirectionDowngrade
	default:
		return v1alpha1.DirectionRebuild
	}
}

// Tag returns the tag of an image given as repository:tag, without a digest;
// empty if it has none. The port of a registry is not a tag.
func Tag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	colon := strings.LastIndex(image, ":")
	if colon < strings.LastIndex(image, "/") || colon < 0 {
		return ""
	}
	return image[colon+1:]
}

func digest(image string) string {
	_, pin, _ := strings.Cut(image, "@")
	return pin
}

// tagPattern parses a tag: the numbers, a pre-release with its number, and a flavor
// such as -dev or -py311, which does not affect the order.
var tagPattern = regexp.MustCompile(`^v?(\d+\.\d+\.\d+)(?:[-.]?(alpha|beta|rc|a|b)[-.]?(\d{0,4}))?(?:-[0-9A-Za-z][0-9A-Za-z._-]*)?$`)

// preReleases are the names under which semantic versions sort as they should.
var preReleases = map[string]string{"a": "alpha", "alpha": "alpha", "b": "beta", "beta": "beta", "rc": "rc"}

// firstYear is the lowest major version that counts as a date.
const firstYear = 1000

// parse returns nil for a tag that cannot be ordered.
func parse(tag string) *semver.Version {
	parts := tagPattern.FindStringSubmatch(tag)
	if parts == nil {
		return nil
	}
	text := parts[1]
	if name := preReleases[parts[2]]; name != "" {
		number := parts[3]
		if number == "" {
			number = "0"
		}
		text += "-" + name + "." + number
	}
	v, err := semver.StrictNewVersion(text)
	if err != nil || v.Major() >= firstYear {
		return nil
	}
	return v
}
