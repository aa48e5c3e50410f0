package kube

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/wiring"
)

const (
	kvPrefix = "dynawire-kv-"
	// maxKey keeps keys far below what annotations hold (256 KiB in all).
	maxKey  = 1024
	maxSlug = 63
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

func checkKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: it is empty", runtime.ErrInvalidKey)
	case len(key) > maxKey:
		return fmt.Errorf("%w: %d bytes, at most %d", runtime.ErrInvalidKey, len(key), maxKey)
	case !utf8.ValidString(key):
		return fmt.Errorf("%w: it is not UTF-8", runtime.ErrInvalidKey)
	}
	return nil
}
