package kube

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestConfigMapNamesAreLegalAndApart(t *testing.T) {
	seen := map[string]string{}
	for _, key := range []string{
		"a/b", "a_b", "a-b", "A-b", "mdc/Qwen3-32B", "mdc/qwen3-32b", "...", "日本", "\x00", strings.Repeat("x", 1000), "-", "é",
	} {
		name := configMapName(key)
		assert.Empty(t, validation.IsDNS1123Subdomain(name), "%q -> %s", key, name)
		assert.Empty(t, seen[name], "%q and %q share %s", key, seen[name], name)
		seen[name] = key
	}
	assert.Regexp(t, `^dynawire-kv-mdc-qwen3-32b-[a-z2-7]{26}$`, configMapName("mdc/Qwen3-32B"))
}

func FuzzConfigMapName(f *testing.F) {
	f.Add("mdc/Qwen3-32B")
	f.Fuzz(func(t *testing.T, key string) {
		if errs := validation.IsDNS1123Subdomain(configMapName(key)); len(errs) > 0 {
			t.Fatalf("%q: %v", key, errs)
		}
	})
}
