//go:build integration

package integration_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dynawire/dynawire/pkg/wiring"
)

const (
	backendService  = "dynamo-backend-service"
	frontendService = "dynamo-frontend-service"
)

func TestComponentGetsAService(t *testing.T) {
	t.Parallel()
	namespace := optedIn(t, nil)
	create(t, worker(namespace, "w"))
	create(t, worker(namespace, "f", frontend))
	eventually(t, func(c require.TestingT) {
		getObject[corev1.Service](c, namespace, backendService)
		getObject[corev1.Service](c, namespace, frontendService)
	})

	s := getObject[corev1.Service](t, namespace, backendService)
	assert.Equal(t, map[string]string{
		wiring.LabelNamespace: "dynamo", wiring.LabelComponent: "backend", wiring.LabelDiscoveryEnabled: "true",
		wiring.LabelDiscoveryBackend: "kubernetes", wiring.LabelManagedBy: wiring.ManagedBy,
	}, s.Labels)
	assert.Equal(t, map[string]string{wiring.LabelNamespace: "dynamo", wiring.LabelComponent: "backend"}, s.Spec.Selector)
	assert.Equal(t, corev1.ClusterIPNone, s.Spec.ClusterIP)
	assert.False(t, s.Spec.PublishNotReadyAddresses)
	assert.Equal(t, []corev1.ServicePort{{Name: "system", Port: 9090, TargetPort: intstr.FromInt32(9090), Protocol: corev1.ProtocolTCP}}, s.Spec.Ports)

	f := getObject[corev1.Service](t, namespace, frontendService)
	assert.NotEqual(t, corev1.ClusterIPNone, f.Spec.ClusterIP)
	assert.Equal(t, []corev1.ServicePort{{Name: "http", Port: 8000, TargetPort: intstr.FromString("http"), Protocol: corev1.ProtocolTCP}}, f.Spec.Ports)
}

func TestServiceIsRepaired(t *testing.T) {
	t.Parallel()
	// Under enforce one of the changes would be refused.
	namespace := optedIn(t, map[string]string{wiring.AnnotationValidation: string(wiring.Audit)})
	create(t, worker(namespace, "w"))
	eventually(t, func(c require.TestingT) { getObject[corev1.Service](c, namespace, backendService) })
	want := getObject[corev1.Service](t, namespace, backendService)
	for name, change := range map[string]func(*corev1.Service){
		"not ready":       func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true },
		"selector":        func(s *corev1.Service) { s.Spec.Selector["pod-template-hash"] = "1" },
		"port":            func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromInt32(1) },
		"discovery label": func(s *corev1.Service) { delete(s.Labels, wiring.LabelDiscoveryEnabled) },
		"identity label":  func(s *corev1.Service) { s.Labels[wiring.LabelComponent] = "other" },
	} {
		eventually(t, func(c require.TestingT) { // the reconciler may still be writing
			s := getObject[corev1.Service](c, namespace, backendService)
			change(s)
			require.NoError(c, cluster.Update(context.Background(), s), name)
		})
		eventually(t, func(c require.TestingT) {
			s := getObject[corev1.Service](c, namespace, backendService)
			require.Equal(c, want.Labels, s.Labels, name)
			require.Equal(c, want.Spec, s.Spec, name)
		})
	}
	t.Run("what others add stays", func(t *testing.T) {
		s := getObject[corev1.Service](t, namespace, backendService)
		s.Annotations = map[string]string{"mine": "yes"}
		s.Labels["team"] = "a"
		require.NoError(t, cluster.Update(t.Context(), s))
		time.Sleep(settling)
		s = getObject[corev1.Service](t, namespace, backendService)
		assert.Equal(t, "yes", s.Annotations["mine"])
		assert.Equal(t, "a", s.Labels["team"])
	})
	t.Run("deleted", func(t *testing.T) {
		remove(t, want)
		eventually(t, func(c require.TestingT) {
			require.NotEqual(c, want.UID, getObject[corev1.Service](c, namespace, backendService).UID)
		})
	})
}

func TestServiceBecomesAnotherKind(t *testing.T) {
	t.Parallel()
	namespace := optedIn(t, nil)
	named := func(p *corev1.Pod) { p.Labels[wiring.LabelComponent] = "backend" }
	f := worker(namespace, "f", frontend, named)
	create(t, f)
	eventually(t, func(c require.TestingT) {
		require.NotEqual(c, corev1.ClusterIPNone, getObject[corev1.Service](c, namespace, backendService).Spec.ClusterIP)
	})
	create(t, worker(namespace, "w"))
	eventually(t, func(c require.TestingT) {
		require.Equal(c, corev1.ClusterIPNone, getObject[corev1.Service](c, namespace, backendService).Spec.ClusterIP)
	})
}

func TestServiceOfTheUserIsLeftInCharge(t *testing.T) {
	t.Parallel()
	namespace := optedIn(t, nil)
	create(t, worker(namespace, "w"))
	eventually(t, func(c require.TestingT) { getObject[corev1.Service](c, namespace, backendService) })
	mine := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "mine", Labels: map[string]string{
			wiring.LabelDiscoveryEnabled: "true", wiring.LabelNamespace: "dynamo", wiring.LabelComponent: "backend",
		}},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "w"}, ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: 9090}}},
	}
	create(t, mine)
	eventually(t, func(c require.TestingT) {
		gone(c, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: backendService}})
	})
	// One pod that it does not select, and it is no longer enough.
	other := worker(namespace, "other", func(p *corev1.Pod) { p.Labels["app"] = "other" })
	create(t, other)
	eventually(t, func(c require.TestingT) { getObject[corev1.Service](c, namespace, backendService) })
	remove(t, other)
	eventually(t, func(c require.TestingT) {
		gone(c, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: backendService}})
	})
	remove(t, mine)
	eventually(t, func(c require.TestingT) { getObject[corev1.Service](c, namespace, backendService) })
}

func TestServiceOfTheUserWithOurNameIsNotTakenOver(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t, nil)
	mine := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: backendService},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "unrelated"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	create(t, mine)
	label(t, namespace, "true")
	time.Sleep(betweenCommands)
	create(t, worker(namespace, "w"))
	var ours corev1.ServiceList
	eventually(t, func(c require.TestingT) {
		require.NoError(c, cluster.List(context.Background(), &ours, client.InNamespace(namespace), client.MatchingLabels{wiring.LabelManagedBy: wiring.ManagedBy}))
		require.Len(c, ours.Items, 1)
	})
	assert.Regexp(t, "^"+backendService+"-[0-9a-f]{8}$", ours.Items[0].Name)
	assert.Equal(t, mine.ResourceVersion, getObject[corev1.Service](t, namespace, backendService).ResourceVersion)
}

func TestIdleServiceGoesAfterAWhile(t *testing.T) {
	t.Parallel()
	namespace := optedIn(t, nil)
	p := worker(namespace, "w")
	create(t, p)
	eventually(t, func(c require.TestingT) { getObject[corev1.Service](c, namespace, backendService) })
	uid := getObject[corev1.Service](t, namespace, backendService).UID
	remove(t, p)
	time.Sleep(settling)
	create(t, worker(namespace, "again"))
	time.Sleep(2500 * time.Millisecond) // longer than the server's --idle-service-ttl
	assert.Equal(t, uid, getObject[corev1.Service](t, namespace, backendService).UID, "a component that comes back keeps its Service")

	remove(t, worker(namespace, "again"))
	eventually(t, func(c require.TestingT) {
		gone(c, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: backendService}})
	})
}

func TestWithoutOptInThereIsNoService(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t, nil)
	create(t, worker(namespace, "w", func(p *corev1.Pod) {
		p.Labels = map[string]string{wiring.LabelDiscoveryEnabled: "true", wiring.LabelNamespace: "dynamo", wiring.LabelComponent: "backend"}
	}))
	time.Sleep(settling)
	gone(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: backendService}})
	label(t, namespace, "true")
	eventually(t, func(c require.TestingT) { getObject[corev1.Service](c, namespace, backendService) })
}
