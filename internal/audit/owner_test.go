package audit_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dynawire/dynawire/internal/audit"
)

func controlledBy(apiVersion, kind, name string) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: "uid-of-" + "above", Controller: &yes}}
}

func near(apiVersion, kind, name, uid string) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: apiVersion, Kind: kind, Namespace: "llm", Name: name, UID: types.UID(uid)}
}

func TestOwner(t *testing.T) {
	objects := []client.Object{
		&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: "w-5f", UID: "rs", OwnerReferences: controlledBy("apps/v1", "Deployment", "w")}},
		&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: "bare", UID: "bare"}},
		&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: "j-1", UID: "job", OwnerReferences: controlledBy("batch/v1", "CronJob", "j")}},
	}
	o := &audit.Owners{Live: fake.NewClientBuilder().WithObjects(objects...).Build()}
	for name, tc := range map[string]struct {
		near corev1.ObjectReference
		want string
	}{
		"Deployment":                    {near("apps/v1", "ReplicaSet", "w-5f", "rs"), "apps/v1 Deployment w"},
		"ReplicaSet of its own":         {near("apps/v1", "ReplicaSet", "bare", "bare"), "apps/v1 ReplicaSet bare"},
		"ReplicaSet that is gone":       {near("apps/v1", "ReplicaSet", "gone", "gone"), "apps/v1 ReplicaSet gone"},
		"ReplicaSet that was made anew": {near("apps/v1", "ReplicaSet", "w-5f", "older"), "apps/v1 ReplicaSet w-5f"},
		"CronJob":                       {near("batch/v1", "Job", "j-1", "job"), "batch/v1 CronJob j"},
		"StatefulSet":                   {near("apps/v1", "StatefulSet", "s", "s"), "apps/v1 StatefulSet s"},
		"any other controller":          {near("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "l", "l"), "leaderworkerset.x-k8s.io/v1 LeaderWorkerSet l"},
		"bare pod":                      {near("v1", "Pod", "p", "p"), "v1 Pod p"},
	} {
		t.Run(name, func(t *testing.T) {
			got := o.Owner(t.Context(), tc.near)
			assert.Equal(t, tc.want, got.APIVersion+" "+got.Kind+" "+got.Name)
			assert.Equal(t, "llm", got.Namespace)
		})
	}
}

func TestOwnerIsLookedUpOnce(t *testing.T) {
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: "w-5f", UID: "rs", OwnerReferences: controlledBy("apps/v1", "Deployment", "w")}}
	for _, tc := range []struct{ name, want string }{{"w-5f", "Deployment"}, {"gone", "ReplicaSet"}} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gets := 0
				o := &audit.Owners{Live: fake.NewClientBuilder().WithObjects(rs).WithInterceptorFuncs(interceptor.Funcs{
					Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
						gets++
						return c.Get(ctx, key, obj, opts...)
					},
				}).Build()}
				for range 5 {
					assert.Equal(t, tc.want, o.Owner(t.Context(), near("apps/v1", "ReplicaSet", tc.name, "rs")).Kind)
				}
				assert.Equal(t, 1, gets)
				time.Sleep(time.Minute)
				o.Owner(t.Context(), near("apps/v1", "ReplicaSet", tc.name, "rs"))
				assert.Equal(t, map[string]int{"Deployment": 1, "ReplicaSet": 2}[tc.want], gets, "what failed is tried again after a while")
			})
		})
	}
}
