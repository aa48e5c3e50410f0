package wiring_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/dynawire/dynawire/pkg/wiring"
)

func TestRulesOfANamespace(t *testing.T) {
	rules := func(text string) (map[string]wiring.Action, []string) {
		s, warnings := wiring.SettingsOf(map[string]string{wiring.AnnotationRules: text})
		return s.Rules, warnings
	}
	got, warnings := rules("role-mismatch=warn, stale-env = audit,component-mismatch=off,,invalid-name=deny,")
	assert.Equal(t, map[string]wiring.Action{
		"role-mismatch": wiring.ActionWarn, "stale-env": wiring.ActionAudit, "component-mismatch": wiring.ActionOff, "invalid-name": wiring.ActionDeny,
	}, got)
	assert.Empty(t, warnings)

	got, warnings = rules("a=warn,a=off")
	assert.Equal(t, map[string]wiring.Action{"a": wiring.ActionOff}, got, "the last one counts")
	assert.Empty(t, warnings)

	got, warnings = rules("a=enforce,b,=warn,c=Deny,d=warn=off")
	assert.Empty(t, got)
	assert.Equal(t, []string{
		`annotation dynawire.io/validation-rules has "a=enforce", want RULE=deny, warn, audit or off; it is ignored`,
		`annotation dynawire.io/validation-rules has "b", want RULE=deny, warn, audit or off; it is ignored`,
		`annotation dynawire.io/validation-rules has "=warn", want RULE=deny, warn, audit or off; it is ignored`,
		`annotation dynawire.io/validation-rules has "c=Deny", want RULE=deny, warn, audit or off; it is ignored`,
		`annotation dynawire.io/validation-rules has "d=warn=off", want RULE=deny, warn, audit or off; it is ignored`,
	}, warnings)

	got, warnings = rules("")
	assert.Nil(t, got)
	assert.Empty(t, warnings)
}

// Every part is either a known action of a named rule or warned of.
func FuzzRulesOfANamespace(f *testing.F) {
	f.Add("role-mismatch=warn,stale-env=audit")
	f.Add("=,a=,=b,a=off=")
	f.Fuzz(func(t *testing.T, text string) {
		s, warnings := wiring.SettingsOf(map[string]string{wiring.AnnotationRules: text})
		parts := 0
		for _, part := range strings.Split(text, ",") {
			if strings.TrimSpace(part) != "" {
				parts++
			}
		}
		if len(s.Rules)+len(warnings) > parts || parts > 0 && len(s.Rules)+len(warnings) == 0 {
			t.Fatalf("%q: %v %q", text, s.Rules, warnings)
		}
		for id, action := range s.Rules {
			switch action {
			case wiring.ActionDeny, wiring.ActionWarn, wiring.ActionAudit, wiring.ActionOff:
			default:
				t.Fatalf("%q is no action", action)
			}
			if id == "" || strings.ContainsAny(id, ",=") {
				t.Fatalf("%q is no rule", id)
			}
		}
	})
}

func TestIsName(t *testing.T) {
	for _, name := range []string{"a", "VllmDecode", "kv_dc", "0-9", strings.Repeat("x", 63)} {
		assert.True(t, wiring.IsName(name), name)
	}
	for _, name := range []string{"", "a.b", "-a", "a_", "a b", strings.Repeat("x", 64)} {
		assert.False(t, wiring.IsName(name), name)
	}
	s, warnings := wiring.SettingsOf(map[string]string{wiring.AnnotationDynamoNamespace: "team.a"})
	assert.Empty(t, s.Namespace())
	assert.Equal(t, []string{`annotation nvidia.com/dynamo-namespace is "team.a", want letters, digits, '-' and '_', at most 63; "dynamo" is used`}, warnings)
}
