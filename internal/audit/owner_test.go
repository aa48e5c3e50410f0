package audit_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dynawire/dynawire/internal/audit"
	"github.com/dynawire/dynawire/pkg/pod"
)

func controlledBy(apiVersion, kind, name string) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: "uid-of-" + "above", Controller: &yes}}
}

func podOf(apiVersion, kind, name, uid string) audit.Verdict {
	return audit.Verdict{Namespace: "llm", Object: audit.Object{APIVersion: "v1", Kind: "Pod", Metadata: pod.Metadata{GenerateName: "w-", OwnerReferences: []pod.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: "no controller"},
		{APIVersion: apiVersion, Kind: kind, Name: name, UID: uid, Controller: true},
	}}}}
}

func TestOwner(t *testing.T) {
	objects := []client.Object{
		&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: "w-5f", UID: "rs", OwnerReferences: controlledBy("apps/v1", "Deployment", "w")}},
		&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: "bare", UID: "bare"}},
		&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: "j-1", UID: "job", OwnerReferences: controlledBy("batch/v1", "CronJob", "j")}},
	}
	o := &audit.Owners{Live: fake.NewClientBuilder().WithObjects(objects...).Build()}
	for name, tc := range map[string]struct {
		verdict audit.Verdict
		want    string
	}{
		"Deployment":                    {podOf("apps/v1", "ReplicaSet", "w-5f", "rs"), "apps/v1 Deployment w"},
		"ReplicaSet of its own":         {podOf("apps/v1", "ReplicaSet", "bare", "bare"), "apps/v1 ReplicaSet bare"},
		"ReplicaSet that is gone":       {podOf("apps/v1", "ReplicaSet", "gone", "gone"), "apps/v1 ReplicaSet gone"},
		"ReplicaSet that was made anew": {podOf("apps/v1", "ReplicaSet", "w-5f", "older"), "apps/v1 ReplicaSet w-5f"},
		"CronJob":                       {podOf("batch/v1", "Job", "j-1", "job"), "batch/v1 CronJob j"},
		"StatefulSet":                   {podOf("apps/v1", "StatefulSet", "s", "s"), "apps/v1 StatefulSet s"},
		"any other controller":          {podOf("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "l", "l"), "leaderworkerset.x-k8s.io/v1 LeaderWorkerSet l"},
		"bare pod":                      {audit.Verdict{Namespace: "llm", Object: audit.Object{APIVersion: "v1", Kind: "Pod", Metadata: pod.Metadata{Name: "p"}}}, "v1 Pod p"},
		"bare pod without name":         {audit.Verdict{Namespace: "llm", Object: audit.Object{APIVersion: "v1", Kind: "Pod", Metadata: pod.Metadata{GenerateName: "p-"}}}, "v1 Pod p-"},
	} {
		t.Run(name, func(t *testing.T) {
			got := o.Owner(t.Context(), tc.verdict)
			assert.Equal(t, tc.want, got.APIVersion+" "+got.Kind+" "+got.Name)
			assert.Equal(t, "llm", got.Namespace)
		})
	}
}

func TestOwnerIsLookedUpOnce(t *testing.T) {
	gets := 0
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: "w-5f", UID: "rs", OwnerReferences: controlledBy("apps/v1", "Deployment", "w")}}
	o := &audit.Owners{Live: fake.NewClientBuilder().WithObjects(rs).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			gets++
			return c.Get(ctx, key, obj, opts...)
		},
	}).Build()}
	var last corev1.ObjectReference
	for range 5 {
		last = o.Owner(t.Context(), podOf("apps/v1", "ReplicaSet", "w-5f", "rs"))
	}
	assert.Equal(t, "Deployment", last.Kind)
	assert.Equal(t, 1, gets)
}
