//go:build e2e

package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/dynawire/dynawire/internal/cli/audit"
	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

var update = flag.Bool("update", false, "write the golden files anew")

// What a user sees of each rule: testdata/rules/RULE.yaml is applied by itself, and as the template of a Deployment;
// testdata/rules/RULE.txt is what kubectl apply, kubectl get events and kubectl dynawire audit say then.
func TestRules(t *testing.T) {
	ns := optedIn(t, nil)
	seen := map[string]*transcript{}
	for _, rule := range validate.Rules() {
		seen[rule.ID] = showRule(t, ns, rule)
	}
	events, findings := everythingSeen(t, ns)
	for _, rule := range validate.Rules() {
		t.Run(rule.ID, func(t *testing.T) {
			s := seen[rule.ID]
			s.say("kubectl get events", linesOf(events, "/"+rule.ID+" ")...)
			s.say("kubectl dynawire audit", linesOf(findings, " "+rule.ID+" ")...)
			assert.Contains(t, s.said[0], "["+rule.ID+"]", "the first answer names the rule")
			golden(t, filepath.Join("testdata", "rules", rule.ID+".txt"), strings.ReplaceAll(s.String(), ns, "NAMESPACE"))
		})
	}
}

// transcript is commands and what they said.
type transcript struct{ said []string }

func (s *transcript) say(command string, lines ...string) {
	s.said = append(s.said, strings.Join(append([]string{"$ " + command}, lines...), "\n"))
}

func (s *transcript) String() string { return strings.Join(s.said, "\n\n") + "\n" }

// showRule breaks a rule.
func showRule(t *testing.T, ns string, rule validate.Rule) *transcript {
	t.Helper()
	file := rule.ID + ".yaml"
	data, err := os.ReadFile(filepath.Join("testdata", "rules", file))
	require.NoError(t, err, "each rule has a manifest that breaks it")
	s := &transcript{}
	run := func(stdin, shown string, refused bool, args ...string) {
		out, err := tryKubectl(t, stdin, append([]string{"-n", ns}, args...)...)
		assert.Equal(t, refused, err != nil, "%s: %s: %s", rule.ID, shown, out)
		s.say("kubectl "+shown, strings.Split(strings.TrimSpace(out), "\n")...)
	}
	switch rule.Objects[0] {
	case "Service":
		run(string(data), "apply -f "+file, true, "apply", "-f", "-")
	case "DynamoWorkerMetadata":
		as := "--as=system:serviceaccount:" + ns + ":" + wiring.ServiceAccount
		mayWriteMetadata(t, ns)
		run(string(data), "apply -f "+file+" "+as, true, "apply", "-f", "-", as)
	case "PodUpdate":
		kubectl(t, idle(t, data), "-n", ns, "apply", "-f", "-")
		label := []string{"label", "pod", rule.ID, "--overwrite", wiring.LabelComponent + "=prefill"}
		run("", strings.Join(label, " "), true, label...)
	default:
		pod := idle(t, data)
		run(pod, "apply -f "+file, rule.Severity == validate.Deny, "apply", "-f", "-")
		run(deploymentOf(t, pod), "apply -f "+file+" # as the template of a Deployment", false, "apply", "-f", "-")
	}
	return s
}

// idle is a pod that is let in and never runs: only what admission says is looked at.
func idle(t *testing.T, manifest []byte) string {
	t.Helper()
	var pod map[string]any
	require.NoError(t, yaml.UnmarshalStrict(manifest, &pod))
	pod["spec"].(map[string]any)["schedulingGates"] = []any{map[string]any{"name": "e2e.dynawire.io/never"}}
	out, err := json.Marshal(pod)
	require.NoError(t, err)
	return string(out)
}

// deploymentOf has a pod as its template.
func deploymentOf(t *testing.T, manifest string) string {
	t.Helper()
	var pod struct {
		Metadata struct {
			Name   string            `json:"name"`
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
		Spec json.RawMessage `json:"spec"`
	}
	require.NoError(t, json.Unmarshal([]byte(manifest), &pod))
	labels := map[string]string{"app": pod.Metadata.Name}
	for k, v := range pod.Metadata.Labels {
		labels[k] = v
	}
	out, err := json.Marshal(map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": pod.Metadata.Name},
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": map[string]string{"app": pod.Metadata.Name}},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": pod.Spec},
		},
	})
	require.NoError(t, err)
	return string(out)
}

// mayWriteMetadata waits until the account that dynawire makes in a namespace has its rights.
func mayWriteMetadata(t *testing.T, ns string) {
	t.Helper()
	eventually(t, "the rights of the account", func() error {
		out, err := tryKubectl(t, "", "-n", ns, "auth", "can-i", "patch", "dynamoworkermetadatas",
			"--as=system:serviceaccount:"+ns+":"+wiring.ServiceAccount)
		if err != nil {
			return fmt.Errorf("%s: %w", out, err)
		}
		return nil
	})
}

// everythingSeen waits until each rule is in the Events and the Report that it belongs in, and gives both as kubectl shows
// them, without what differs from run to run.
func everythingSeen(t *testing.T, ns string) (events, findings []string) {
	t.Helper()
	eventually(t, "an Event of each rule that denies", func() error {
		list, err := client.CoreV1().Events(ns).List(t.Context(), metav1.ListOptions{FieldSelector: "source=dynawire"})
		if err != nil {
			return err
		}
		var got []string
		for _, e := range list.Items {
			got = append(got, e.InvolvedObject.Kind+"/"+e.InvolvedObject.Name+" "+e.Reason)
		}
		var missing []string
		for _, rule := range validate.Rules() {
			for _, want := range wantEvents(rule) {
				if !slices.Contains(got, want) {
					missing = append(missing, want)
				}
			}
		}
		return listed("Events", missing)
	})
	eventually(t, "each rule in the report", func() error {
		var got []audit.Finding
		if err := json.Unmarshal([]byte(kubectlDynawire(t, "audit", "-n", ns, "-o", "json")), &got); err != nil {
			return err
		}
		var have, missing []string
		for _, f := range got {
			have = append(have, f.Object+" "+f.Rule+" "+f.Outcome)
		}
		for _, rule := range validate.Rules() {
			for _, want := range wantFindings(rule) {
				if !slices.Contains(have, want) {
					missing = append(missing, want)
				}
			}
		}
		return listed("findings", missing)
	})
	events = strings.Split(kubectl(t, "", "-n", ns, "get", "events", "--field-selector", "source=dynawire", "--no-headers",
		"-o", "custom-columns=:type,:reason,:involvedObject.kind,:involvedObject.name,:message"), "\n")
	for i, line := range events {
		events[i] = eventColumns.ReplaceAllString(line, "$1  $2  $3/$4  ")
	}
	findings = strings.Split(kubectlDynawire(t, "audit", "-n", ns), "\n")
	for i, line := range findings {
		columns := strings.Fields(line) // age, object, rule, outcome, count
		if len(columns) != 5 || columns[3] == "running" {
			findings[i] = "" // what the scan for drift finds: TestDrift
			continue
		}
		findings[i] = strings.Join(columns[1:4], "  ")
	}
	return events, findings
}

var eventColumns = regexp.MustCompile(`^ *(\S+) +(\S+) +(\S+) +(\S+) +`)

func wantEvents(rule validate.Rule) []string {
	switch {
	case rule.Severity != validate.Deny:
		return nil
	case rule.Objects[0] == "Pod":
		return []string{"Pod/" + rule.ID + " DynamoPodRefused", "Deployment/" + rule.ID + " DynamoPodFindings", "Deployment/" + rule.ID + " DynamoPodRefused"}
	case rule.Objects[0] == "PodUpdate":
		return []string{"Pod/" + rule.ID + " DynamoPodRefused"}
	default:
		return []string{rule.Objects[0] + "/" + rule.ID + " DynamoObjectRefused"}
	}
}

func wantFindings(rule validate.Rule) []string {
	switch {
	case rule.Objects[0] == "PodUpdate":
		return []string{"Pod/" + rule.ID + " " + rule.ID + " refused"}
	case rule.Objects[0] != "Pod":
		return []string{rule.Objects[0] + "/" + rule.ID + " " + rule.ID + " refused"}
	case rule.Severity == validate.Deny:
		return []string{
			"Pod/" + rule.ID + " " + rule.ID + " refused",
			"Deployment/" + rule.ID + " " + rule.ID + " refused", "Deployment/" + rule.ID + " " + rule.ID + " warned",
		}
	default:
		return []string{"Pod/" + rule.ID + " " + rule.ID + " warned", "Deployment/" + rule.ID + " " + rule.ID + " warned"}
	}
}

func listed(what string, missing []string) error {
	if len(missing) > 0 {
		return fmt.Errorf("%d %s are missing: %s", len(missing), what, strings.Join(missing, ", "))
	}
	return nil
}

// linesOf are the lines with a word, sorted and each once.
func linesOf(lines []string, word string) []string {
	var out []string
	for _, line := range lines {
		if strings.Contains(line, word) {
			out = append(out, strings.TrimSpace(line))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run with -update")
	assert.Equal(t, string(want), got)
}
