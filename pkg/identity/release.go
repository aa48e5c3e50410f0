package identity

import "strings"

// Release is the version of Dynamo that an image's tag names. The zero value is unknown.
type Release struct {
	Major, Minor int
}

// Known reports whether the tag was a version.
func (r Release) Known() bool { return r != Release{} }

// Before reports whether the release is known and older than major.minor.
func (r Release) Before(major, minor int) bool {
	return r.Known() && (r.Major < major || r.Major == major && r.Minor < minor)
}

// From reports whether the release is known and major.minor or newer.
func (r Release) From(major, minor int) bool { return r.Known() && !r.Before(major, minor) }

// ReleaseOf reads the tag of an image: 1.3.1, v1.3.1, 1.3.1-cuda13. A digest says nothing.
func ReleaseOf(image string) Release {
	if at := strings.IndexByte(image, '@'); at >= 0 {
		image = image[:at]
	}
	colon := strings.LastIndexByte(image, ':')
	if colon < 0 || strings.IndexByte(image[colon:], '/') >= 0 {
		return Release{}
	}
	tag := strings.TrimPrefix(image[colon+1:], "v")
	major, rest, ok := leadingNumber(tag)
	if !ok || rest == "" || rest[0] != '.' {
		return Release{}
	}
	minor, rest, ok := leadingNumber(rest[1:])
	if !ok || rest != "" && rest[0] != '.' && rest[0] != '-' && rest[0] != '_' {
		return Release{}
	}
	return Release{Major: major, Minor: minor}
}

// leadingNumber takes up to four digits; longer ones are dates and build numbers.
func leadingNumber(s string) (n int, rest string, ok bool) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		n = n*10 + int(s[i]-'0')
		i++
		if i > 4 {
			return 0, s, false
		}
	}
	return n, s[i:], i > 0
}
