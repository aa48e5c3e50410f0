package kube

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"github.com/dynawire/dynawire/pkg/wiring"
)

const (
	kvPrefix = "dynawire-kv-"
	maxSlug  = 63
	// hashLen is 130 bits of the hash in base32.
	hashLen = 26
)

// configMapName is the ConfigMap of a key: a prefix, what can be read of the key, and a hash of all of it. Keys are
// arbitrary ("mdc/Qwen3-32B"); names are lower-case DNS subdomains.
func configMapName(key string) string {
	slug := wiring.Slug(key)
	slug = strings.Trim(slug[:min(len(slug), maxSlug)], "-")
	if slug != "" {
		slug += "-"
	}
	sum := sha256.Sum256([]byte(key))
	hash := strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
	return kvPrefix + slug + hash[:hashLen]
}
