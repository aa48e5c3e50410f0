package validate_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/identity/identitytest"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// copied is a pod that shares nothing with p; labels come in pairs, and "-" takes one away.
func copied(t *testing.T, p *pod.Pod, pairs ...string) *pod.Pod {
	t.Helper()
	c, err := pod.Decode(jsonOf(t, p))
	require.NoError(t, err)
	if c.Metadata.Labels == nil {
		c.Metadata.Labels = map[string]string{}
	}
	for i := 0; i < len(pairs); i += 2 {
		if c.Metadata.Labels[pairs[i]] = pairs[i+1]; pairs[i+1] == "-" {
			delete(c.Metadata.Labels, pairs[i])
		}
	}
	return c
}

func TestPodUpdate(t *testing.T) {
	const bad = "identity-changed"
	wired := func(p *pod.Pod) *pod.Pod { return mutated(t, jsonOf(t, p), wiring.Settings{}) }
	worker := wired(labelled(running(vllm), ns, "a", component, "chat", role, "decode"))
	broken := wired(labelled(running(vllm+" --namespace b"), ns, "a"))
	ended := func(phase string) *pod.Pod {
		p := copied(t, worker, component, "other")
		p.Status.Phase = phase
		return p
	}
	deleted := copied(t, worker, component, "other")
	deleted.Metadata.DeletionTimestamp = "2026-01-01T00:00:00Z"
	pending := copied(t, worker, component, "other")
	pending.Status.Phase = "Pending"
	unwired := labelled(running(vllm, "DYN_NAMESPACE=a"), "app", "x")
	out := copied(t, worker, wiring.LabelDiscoveryEnabled, "false")

	var all strings.Builder
	for _, tc := range []struct {
		name         string
		old, updated *pod.Pod
		rules        string
	}{
		{"component", worker, copied(t, worker, component, "other"), bad},
		{"namespace", worker, copied(t, worker, ns, "b"), bad},
		{"type", worker, copied(t, worker, role, "worker"), bad},
		{"all", worker, copied(t, worker, ns, "b", component, "other", role, "worker"), bad + " " + bad + " " + bad},
		{"taken away", worker, copied(t, worker, component, "-"), bad},
		{"emptied", worker, copied(t, worker, ns, ""), bad},
		{"this alone is reported", worker, copied(t, worker, ns, "b.c", role, "frontend"), bad + " " + bad},
		{"a stamped label", wired(labelled(running(frontend), ns, "a")), copied(t, wired(labelled(running(frontend), ns, "a")), component, "gateway"), bad},
		{"not assigned yet", worker, pending, bad},
		{"a label that the pod never had", copied(t, worker, role, "-"), copied(t, worker, role, "prefill"), bad},
		{"a program of one's own", labelled(running("/server"), component, "x"), labelled(running("/server"), component, "y"), bad},
		{"all labels off", worker, copied(t, worker, ns, "-", component, "-", role, "-", wiring.LabelDiscoveryEnabled, "-", wiring.LabelDiscoveryBackend, "-"), bad + " " + bad + " " + bad},
		{"what was wrong before and this", broken, copied(t, broken, component, "other"), bad},

		{"nothing", worker, copied(t, worker), ""},
		{"another label", worker, copied(t, worker, "team", "blue"), ""},
		{"the label says what it is", unwired, copied(t, unwired, ns, "a", component, "backend"), ""},
		{"opts out", worker, out, ""},
		{"opts out and changes", worker, copied(t, out, component, "other"), ""},
		{"was opted out", out, copied(t, out, component, "other", wiring.LabelDiscoveryEnabled, "true"), "component-mismatch"},
		{"succeeded", worker, ended("Succeeded"), "component-mismatch"},
		{"failed", worker, ended("Failed"), "component-mismatch"},
		{"is being deleted", worker, deleted, "component-mismatch"},
		{"not Dynamo's until now", labelled(running("/server")), labelled(running("/server"), component, "x"), "unprovable-command"},
		{"the operator's", copied(t, worker, wiring.LabelOperatorSelector, "x"), copied(t, worker, wiring.LabelOperatorSelector, "x", component, "y"), ""},
		{"what was wrong before", broken, copied(t, broken, "team", "blue"), ""},
		{"what is wrong now", worker, func() *pod.Pod {
			p := copied(t, worker)
			p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env, pod.EnvVar{Name: "DYN_STORE_KV"})
			return p
		}(), "stale-env"},
	} {
		ids := []string{}
		for _, f := range validate.PodUpdate(tc.old, tc.updated, wiring.Settings{}) {
			ids = append(ids, f.Rule)
			all.WriteString(tc.name + "\n  " + f.String() + "\n")
		}
		assert.Equal(t, tc.rules, strings.Join(ids, " "), tc.name)
	}
	golden(t, "identity-changed.txt", all.String())

	off := wiring.Settings{Rules: map[string]wiring.Action{bad: wiring.ActionOff}}
	for _, f := range validate.PodUpdate(worker, copied(t, worker, component, "other"), off) {
		assert.NotEqual(t, bad, f.Rule)
	}
}

func TestAction(t *testing.T) {
	deny, warn := validate.Finding{Rule: "role-mismatch", Severity: validate.Deny}, validate.Finding{Rule: "stale-env", Severity: validate.Warning}
	for _, tc := range []struct {
		mode       wiring.Mode
		rules      string
		deny, warn wiring.Action
	}{
		{"", "", wiring.ActionDeny, wiring.ActionWarn},
		{wiring.Enforce, "", wiring.ActionDeny, wiring.ActionWarn},
		{wiring.Warn, "", wiring.ActionWarn, wiring.ActionWarn},
		{wiring.Audit, "", wiring.ActionAudit, wiring.ActionAudit},
		{wiring.Enforce, "role-mismatch=warn,stale-env=audit", wiring.ActionWarn, wiring.ActionAudit},
		{wiring.Enforce, "role-mismatch=audit,stale-env=off", wiring.ActionAudit, wiring.ActionOff},
		{wiring.Warn, "role-mismatch=deny", wiring.ActionDeny, wiring.ActionWarn},
		{wiring.Audit, "role-mismatch=deny,stale-env=warn", wiring.ActionDeny, wiring.ActionWarn},
		{wiring.Enforce, "stale-env=deny", wiring.ActionDeny, wiring.ActionWarn},
	} {
		s, warnings := wiring.SettingsOf(map[string]string{wiring.AnnotationValidation: string(tc.mode), wiring.AnnotationRules: tc.rules})
		require.Empty(t, warnings)
		assert.Equal(t, tc.deny, validate.Action(deny, s), "%s %s", tc.mode, tc.rules)
		assert.Equal(t, tc.warn, validate.Action(warn, s), "%s %s", tc.mode, tc.rules)
	}
}

func TestCheckSettings(t *testing.T) {
	s, _ := wiring.SettingsOf(map[string]string{wiring.AnnotationRules: "role-mismatch=deny,stale-env=deny,x=warn,rolemismatch=off,publish-not-ready=warn,identity-changed=off"})
	assert.Equal(t, []string{
		`annotation dynawire.io/validation-rules names rule "rolemismatch", which does not exist; it is ignored`,
		`annotation dynawire.io/validation-rules has "stale-env=deny", but that rule never refuses; "warn" is used`,
		`annotation dynawire.io/validation-rules names rule "x", which does not exist; it is ignored`,
	}, validate.CheckSettings(s))
	assert.Empty(t, validate.CheckSettings(wiring.Settings{}))
}

func TestARuleThatIsOffFindsNothing(t *testing.T) {
	p := labelled(running(vllm+" --namespace b", "DYN_STORE_KV=x"), ns, "a")
	require.Len(t, validate.Pod(p, wiring.Settings{}), 2)
	findings := validate.Pod(p, wiring.Settings{Rules: map[string]wiring.Action{"namespace-mismatch": wiring.ActionOff, "stale-env": wiring.ActionWarn}})
	require.Len(t, findings, 1)
	assert.Equal(t, "stale-env", findings[0].Rule)
}

// The catalogue is the contract of metric labels and of the annotation.
func TestRules(t *testing.T) {
	data, err := json.MarshalIndent(validate.Rules(), "", " ")
	require.NoError(t, err)
	golden(t, "rules.json", string(data)+"\n")
	seen := map[string]bool{}
	for _, r := range validate.Rules() {
		assert.False(t, seen[r.ID], r.ID)
		seen[r.ID] = true
		assert.NotEmpty(t, r.Objects, r.ID)
		assert.Regexp(t, `^[a-z]+(-[a-z]+)+$`, r.ID)
	}
}

func BenchmarkPod(b *testing.B) {
	for _, name := range []string{"small", "worker", "large"} {
		p, err := pod.Decode(identitytest.ReviewPod(b, name))
		require.NoError(b, err)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				validate.Pod(p, wiring.Settings{})
			}
		})
	}
}
