package workload_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/internal/cli/manifest"
	"github.com/dynawire/dynawire/internal/cli/workload"
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
		"no kind":       {"{a: b}", "f: document 1, line 1: kind is missing: this is no Kubernetes object"},
		"list of text":  {"{kind: List, items: x}", "f: document 1, line 1: List: items is no list"},
		"text in list":  {"{kind: List, items: [x]}", "f: document 1, line 1: an item of a list is no object"},
	} {
		t.Run(name, func(t *testing.T) {
			documents, err := manifest.Parse("f", []byte(c.text))
			require.NoError(t, err)
			_, objects, err := workload.Open(&documents[0])
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
