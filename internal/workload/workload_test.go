package workload_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/dynawire/dynawire/internal/workload"
)

func TestFind(t *testing.T) {
	for name, c := range map[string]struct {
		apiVersion, kind, object string
		want                     []string // prefix and template
	}{
		"pod":                    {"v1", "Pod", `{"spec":{}}`, []string{"", `{"spec":{}}`}},
		"pod template":           {"v1", "PodTemplate", `{"template":{"a":1}}`, []string{"template.", `{"a":1}`}},
		"replication controller": {"v1", "ReplicationController", `{"spec":{"template":{"a":1}}}`, []string{"spec.template.", `{"a":1}`}},
		"deployment":             {"apps/v1", "Deployment", `{"spec": {"x": [1], "template" : {"a": 1} }}`, []string{"spec.template.", `{"a": 1}`}},
		"stateful set":           {"apps/v1", "StatefulSet", `{"spec":{"template":{}}}`, []string{"spec.template.", `{}`}},
		"daemon set":             {"apps/v1", "DaemonSet", `{"spec":{"template":{}}}`, []string{"spec.template.", `{}`}},
		"replica set":            {"apps/v1", "ReplicaSet", `{"spec":{"template":{}}}`, []string{"spec.template.", `{}`}},
		"job":                    {"batch/v1", "Job", `{"spec":{"template":{}}}`, []string{"spec.template.", `{}`}},
		"cron job":               {"batch/v1", "CronJob", `{"spec":{"jobTemplate":{"spec":{"template":{}}}}}`, []string{"spec.jobTemplate.spec.template.", `{}`}},
		"leader and workers": {
			"leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", `{"spec":{"leaderWorkerTemplate":{"workerTemplate":{"w":1},"leaderTemplate":{"l":1}}}}`,
			[]string{"spec.leaderWorkerTemplate.leaderTemplate.", `{"l":1}`, "spec.leaderWorkerTemplate.workerTemplate.", `{"w":1}`},
		},
		"workers alone": {
			"leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", `{"spec":{"leaderWorkerTemplate":{"workerTemplate":{"w":1},"leaderTemplate":null}}}`,
			[]string{"spec.leaderWorkerTemplate.workerTemplate.", `{"w":1}`},
		},
		"job set": {
			"jobset.x-k8s.io/v1alpha2", "JobSet", `{"spec":{"replicatedJobs":[{"template":{"spec":{"template":{"a":1}}}},null,{},{"template":{"spec":{"template":{"b":1}}}}]}}`,
			[]string{"spec.replicatedJobs[0].template.spec.template.", `{"a":1}`, "spec.replicatedJobs[3].template.spec.template.", `{"b":1}`},
		},
		"no apiVersion":              {"", "Deployment", `{"spec":{"template":{}}}`, []string{"spec.template.", `{}`}},
		"nothing there":              {"apps/v1", "Deployment", `{}`, nil},
		"null":                       {"apps/v1", "Deployment", `{"spec":null}`, nil},
		"of another type":            {"apps/v1", "Deployment", `{"spec":{"template":[{}]}}`, nil},
		"of another type on the way": {"jobset.x-k8s.io/v1alpha2", "JobSet", `{"spec":{"replicatedJobs":{}}}`, nil},
		"a scalar on the way":        {"batch/v1", "CronJob", `{"spec":"x"}`, nil},
		"no object":                  {"v1", "Pod", `[]`, nil},
		"no JSON":                    {"apps/v1", "Deployment", `{"spec":{`, nil},
		"another kind":               {"v1", "Service", `{"spec":{"template":{}}}`, nil},
		"another group":              {"example.com/v1", "Deployment", `{"spec":{"template":{}}}`, nil},
		"another group's Job":        {"batch.volcano.sh/v1alpha1", "Job", `{"spec":{"template":{}}}`, nil},
		"core is another group":      {"v1", "Deployment", `{"spec":{"template":{}}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, found := range workload.JSON.Find(c.apiVersion, c.kind, []byte(c.object)) {
				got = append(got, found.Prefix, string(found.Node))
			}
			assert.Equal(t, c.want, got)
		})
	}
}
