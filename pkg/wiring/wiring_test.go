package wiring_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// The ids were computed with Rust's own DefaultHasher; the last is the one that a real worker (1.6.1) wrote.
func TestInstanceIDIsDynamos(t *testing.T) {
	for name, want := range map[string]uint64{
		"worker-0":          1186445869714687,
		"worker-99999":      7410589986301036,
		"worker-0-engine-0": 8051026481054291,
		"pod":               2785687001209096,
		"a":                 7688582637611507,
		"":                  121655548788207,
		"deployment-with-hash-suffix-a1b2c3d4e5f6": 2590930466072916,
		"mocker-v161-6747464465-tj4s8":             0x17706b83e31f0c,
	} {
		assert.Equal(t, want, wiring.InstanceID(name), name)
	}
}

func TestServiceName(t *testing.T) {
	for _, tc := range []struct{ ns, component, want string }{
		{"dynamo", "backend", "dynamo-backend-service"},
		{"dynamo", "my-worker", "dynamo-my-worker-service"},
		{"vllm-disagg", "decode", "vllm-disagg-decode-"},
		{"dynamo", "VllmDecode", "dynamo-vllmdecode-"},
		{"0team", "backend", "d-0team-backend-"},
		{"a_b", "c.d", "a-b-c-d-"},
		{strings.Repeat("x", 60), "backend", strings.Repeat("x", 52) + "-"},
		{"---", "_", "d-"},
	} {
		got := wiring.ServiceName(tc.ns, tc.component)
		assert.Empty(t, validation.IsDNS1035Label(got), got)
		if tc.ns == "vllm-disagg" {
			assert.Regexp(t, `^vllm-disagg-decode-[0-9a-f]{10}$`, got)
			continue
		}
		assert.Truef(t, strings.HasPrefix(got, tc.want), "%s for %s/%s, want %s…", got, tc.ns, tc.component, tc.want)
	}
}

func TestServiceNamesDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, p := range [][2]string{
		{"a", "b-c"}, {"a-b", "c"}, {"A", "b-c"}, {"a", "B-c"}, {"a", "b-c-service"}, {"a_b", "c"}, {"a.b", "c"},
	} {
		name := wiring.ServiceName(p[0], p[1])
		assert.Empty(t, seen[name], "%v and %s share %s", p, seen[name], name)
		seen[name] = p[0] + "/" + p[1]
	}
}

func FuzzServiceName(f *testing.F) {
	f.Add("dynamo", "backend")
	f.Add("Ünïcode", "\x00")
	f.Fuzz(func(t *testing.T, ns, component string) {
		if errs := validation.IsDNS1035Label(wiring.ServiceName(ns, component)); len(errs) > 0 {
			t.Fatalf("%q %q: %v", ns, component, errs)
		}
	})
}

func TestSettingsOf(t *testing.T) {
	s, warnings := wiring.SettingsOf(map[string]string{
		wiring.AnnotationDynamoNamespace: "team-a", wiring.AnnotationValidation: "warn", wiring.AnnotationFrontendScope: "all",
	})
	assert.Equal(t, wiring.Settings{DynamoNamespace: "team-a", FrontendScope: wiring.ScopeAll, Validation: wiring.Warn}, s)
	assert.Empty(t, warnings)

	s, warnings = wiring.SettingsOf(map[string]string{
		wiring.AnnotationValidation: "Enforced", wiring.AnnotationFrontendScope: "everything",
	})
	assert.Equal(t, wiring.Settings{}, s)
	assert.Equal(t, []string{
		`annotation dynawire.io/validation is "Enforced", want enforce, warn or audit; "enforce" is used`,
		`annotation dynawire.io/frontend-scope is "everything", want exact, prefix or all; "exact" is used`,
	}, warnings)
}
