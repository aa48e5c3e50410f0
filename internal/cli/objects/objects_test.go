package objects_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/internal/cli/manifest"
	"github.com/dynawire/dynawire/internal/cli/objects"
	"github.com/dynawire/dynawire/pkg/pod"
)

func TestTemplates(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"pod":                         {"{kind: Pod, metadata: {name: a}}", "Pod/a()"},
		"generated name":              {"{kind: Pod, metadata: {generateName: a-}}", "Pod/a-()"},
		"deployment":                  {"{kind: Deployment, spec: {template: {}}}", "Deployment/(spec.template.)"},
		"deployment without template": {"{kind: Deployment}", "Deployment/"},
		"replication controller":      {"{kind: ReplicationController, spec: {template: {}}}", "ReplicationController/(spec.template.)"},
		"pod template":                {"{kind: PodTemplate, template: {}}", "PodTemplate/(template.)"},
		"cron job":                    {"{kind: CronJob, spec: {jobTemplate: {spec: {template: {}}}}}", "CronJob/(spec.jobTemplate.spec.template.)"},
		"leader and workers": {
			"{kind: LeaderWorkerSet, spec: {leaderWorkerTemplate: {workerTemplate: {}, leaderTemplate: {}}}}",
			"LeaderWorkerSet/(spec.leaderWorkerTemplate.leaderTemplate.)(spec.leaderWorkerTemplate.workerTemplate.)",
		},
		"job set": {
			"{kind: JobSet, spec: {replicatedJobs: [{}, {template: {spec: {template: {}}}}]}}",
			"JobSet/(spec.replicatedJobs[1].template.spec.template.)",
		},
		"service":       {"{kind: Service, spec: {template: {}}}", "Service/"},
		"list":          {"{kind: List, items: [{kind: Pod}, {kind: List, items: [{kind: A}]}]}", "Pod/() A/"},
		"list of pods":  {"{kind: PodList, items: [{metadata: {name: a}}]}", "Pod/a()"},
		"empty list":    {"{kind: List, items: null}", ""},
		"not a list":    {"{kind: AccessList, spec: {}}", "AccessList/"},
		"kind by alias": {"{a: &k Pod, kind: *k}", "Pod/()"},
		"no kind":       {"{a: b}", "f: document 1, line 1: kind is missing: this is no Kubernetes object; leave the file out, or add kind and apiVersion"},
		"list of text":  {"{kind: List, items: x}", "f: document 1, line 1: List: items is no list, want one of objects; put a \"-\" in front of each"},
		"number":        {"{kind: 1}", "f: document 1, line 1: kind: 1 is no string; put it in quotes"},
		"null in list":  {"{kind: List, items: [~]}", "f: document 1, line 1: an item of the list is no object: want one with apiVersion and kind; remove what is no object"},
		"text in list":  {"{kind: List, items: [x]}", "f: document 1, line 1: an item of the list is no object: want one with apiVersion and kind; remove what is no object"},
	} {
		t.Run(name, func(t *testing.T) {
			documents, err := manifest.Parse("f", []byte(c.text))
			require.NoError(t, err)
			_, objects, err := objects.Open(&documents[0])
			if err != nil {
				assert.Equal(t, c.want, err.Error())
				return
			}
			var got []string
			for i := range objects {
				text := objects[i].String()
				for _, template := range objects[i].Templates {
					text += "(" + template.Prefix + ")"
				}
				got = append(got, text)
			}
			assert.Equal(t, c.want, strings.Join(got, " "))
		})
	}
}

// What the API server would refuse is told with its place, what was found and what is wanted.
func TestDecodeRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"boolean":        {"- name: A\n      value: yes", "line 7: Pod/p: spec.containers[0].env[0].value: yes is a boolean, want a string; put it in quotes"},
		"on":             {"- {name: A, value: on}", "line 6: Pod/p: spec.containers[0].env[0].value: on is a boolean, want a string; put it in quotes"},
		"octal":          {"- {name: A, value: 0777}", "spec.containers[0].env[0].value: 0777 is a number, want a string; put it in quotes"},
		"number":         {"- {name: A, value: 1_000}", "spec.containers[0].env[0].value: 1_000 is a number, want a string; put it in quotes"},
		"float":          {"- {name: A, value: 1e3}", "spec.containers[0].env[0].value: 1e3 is a number, want a string; put it in quotes"},
		"list":           {"- {name: A, value: [a]}", "spec.containers[0].env[0].value: it is a list, want a string"},
		"no list":        {"  A: b", "spec.containers[0].env: it is an object, want a list"},
		"text in a list": {"- A", "spec.containers[0].env[0]: \"A\" is a string, want an object"},
		"not a number":   {"- {name: A, value: .nan}", "line 6: Pod/p: .nan is no number in JSON"},
		"port":           {"- {name: A}\n    ports: [{containerPort: x}]", "spec.containers[0].ports[0].containerPort: \"x\" is a string, want a whole number"},
		"port in quotes": {"- {name: A}\n    ports: [{containerPort: '80'}]", "spec.containers[0].ports[0].containerPort: \"80\" is a string, want a whole number up to 2147483647; take the quotes away"},
		"port too large": {"- {name: A}\n    ports: [{containerPort: 99999999999}]", "containerPort: 99999999999 is a number, want a whole number up to 2147483647"},
		"null":           {"- {name: A}\n    -\n", "line 7: Pod/p: spec.containers[0].env[1] is null, want an item of the list; remove its \"-\" or write what is missing"},
		"null in words":  {"- {name: A}\n    args: [a, ~]\n", "line 7: Pod/p: spec.containers[0].args[1] is null, want an item of the list"},
		"command line":   {"- {name: A}\n    command: python3 -m x\n", "line 7: Pod/p: spec.containers[0].command: \"python3 -m x\" is a string, want a list; write each word as an item of its own"},
		"fraction":       {"- {name: A}\n    ports: [{containerPort: 1.5}]", "spec.containers[0].ports[0].containerPort: 1.5 is a number, want a whole number"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decode(t, "kind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - env:\n    "+c.text+"\n")
			require.Error(t, err)
			assert.Contains(t, err.Error(), c.says)
			assert.Contains(t, err.Error(), "f: document 1, line ")
		})
	}
}

// What the API server takes is what kubectl would send.
func TestDecodeIsKubectls(t *testing.T) {
	for value, want := range map[string]string{
		`"yes"`: "yes", `'0777'`: "0777", "~": "", "null": "", "": "", "2001-01-01": "2001-01-01", "1:30": "1:30", "!!str on": "on", "|\n        no": "no", "oN": "oN", "a: b": "a: b",
	} {
		if strings.Contains(value, ": b") {
			value = strconv.Quote(value)
		}
		p, err := decode(t, "kind: Pod\nspec:\n  containers:\n  - env:\n    - name: A\n      value: "+value+"\n    ports:\n    - containerPort: 1e3\n    - containerPort: 0x50\n    - containerPort: 0120\n")
		require.NoError(t, err, value)
		assert.Equal(t, want, strings.TrimSpace(p.Spec.Containers[0].Env[0].Value), value)
		assert.Equal(t, []pod.Port{{ContainerPort: 1000}, {ContainerPort: 80}, {ContainerPort: 80}}, p.Spec.Containers[0].Ports)
	}
}

func decode(t *testing.T, text string) (*pod.Pod, error) {
	t.Helper()
	documents, err := manifest.Parse("f", []byte(text))
	require.NoError(t, err)
	_, all, err := objects.Open(&documents[0])
	require.NoError(t, err)
	return all[0].Decode(&documents[0], &all[0].Templates[0])
}
