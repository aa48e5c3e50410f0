package wiring

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// ServiceName is the name of the Service of a component: NS-COMPONENT-service where that reads back in one way only,
// else a slug of both with a hash that no plain name can have. Both arguments may be any label value. The result is a
// DNS-1035 label. Look Services up by label, never by this name: a user's own Service may be in charge.
func ServiceName(namespace, component string) string {
	plain := namespace + "-" + component + "-service"
	if !strings.Contains(namespace, "-") &&
		len(validation.IsDNS1123Label(component)) == 0 && len(validation.IsDNS1035Label(plain)) == 0 {
		return plain
	}
	const (
		maxName = validation.DNS1035LabelMaxLength
		hashLen = 10
	)
	sum := sha256.Sum256([]byte(namespace + "\x00" + component))
	slug := Slug(namespace + "-" + component)
	slug = strings.Trim(slug, "-")
	if slug == "" || slug[0] >= '0' && slug[0] <= '9' {
		slug = "d-" + slug
	}
	if limit := maxName - hashLen - 1; len(slug) > limit {
		slug = slug[:limit]
	}
	return strings.TrimRight(slug, "-") + "-" + hex.EncodeToString(sum[:])[:hashLen]
}

// Slug is what a name of a Kubernetes object can show of any text: lower-case letters and digits, a "-" for each other
// character. It is not unique and may be empty or begin with a "-": callers cut it and add a hash.
func Slug(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		default:
			return '-'
		}
	}, text)
}
