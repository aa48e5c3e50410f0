package kube_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/dynawire/dynawire/api/v1alpha1"
	"github.com/dynawire/dynawire/pkg/runtime/kube/apitest"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// The server of the benchmarks is a process of its own, so that the heap that is measured is the client's, and the
// collector runs as it would in a pod.
const serveEnv = "DYNAWIRE_BENCH_SERVE"

const (
	fleetSize     = 20_000
	fleetPerSlice = 100 // the controller's default
)

// serve is that process: it ends when its standard input does.
func serve(fleet string) error {
	s, err := apitest.Start()
	if err != nil {
		return err
	}
	defer s.Close()
	if err := populate(s, fleet); err != nil {
		return err
	}
	fmt.Println(s.Config().Host)
	for orders := bufio.NewScanner(os.Stdin); orders.Scan(); {
		n, err := strconv.Atoi(orders.Text())
		if err != nil {
			return err
		}
		fmt.Println(flip(s, n))
	}
	return nil
}

// flip writes the fleet's first slice so many times, 500 times a second, with another pod's readiness changed each time, and
// says when it began to.
func flip(s *apitest.Server, times int) string {
	endpoints := s.Get("endpointslices", kubeNamespace, fleetSlice(0, nil).Name).(*discoveryv1.EndpointSlice).Endpoints
	var began strings.Builder
	for i, next := 0, time.Now(); i < times; i++ {
		if i%fleetPerSlice == 0 {
			s.Trim()
		}
		at := i % fleetPerSlice
		pod, uid := fleetPod(at)
		endpoints = slices.Clone(endpoints)
		endpoints[at] = endpoint(pod, uid, endpoints[at].Addresses[0], []string{"not ready", "ready"}[i/fleetPerSlice%2])
		es := fleetSlice(0, endpoints)
		next = next.Add(2 * time.Millisecond)
		time.Sleep(time.Until(next))
		fmt.Fprint(&began, time.Now().UnixNano(), " ")
		s.Set(es)
	}
	return began.String()
}

// serveFleet starts the server of a benchmark.
func serveFleet(b *testing.B, fleet string) *rest.Config {
	b.Helper()
	cfg, _ := orderFleet(b, fleet)
	return cfg
}

// orderFleet is serveFleet, with a way to have the server flip.
func orderFleet(b *testing.B, fleet string) (cfg *rest.Config, flip func(times int) (began []time.Time)) {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveEnv+"="+fleet)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	})
	answers := bufio.NewReader(out)
	host, err := answers.ReadString('\n')
	require.NoError(b, err)
	return &rest.Config{Host: strings.TrimSpace(host), QPS: -1}, func(times int) (began []time.Time) {
		_, err := fmt.Fprintln(in, times)
		require.NoError(b, err)
		answer, err := answers.ReadString('\n')
		require.NoError(b, err)
		for at := range strings.FieldsSeq(answer) {
			nanoseconds, err := strconv.ParseInt(at, 10, 64)
			require.NoError(b, err)
			began = append(began, time.Unix(0, nanoseconds))
		}
		return began
	}
}

// populate makes the component's slices and its pods' metadata: none for "slices", this library's for "workers", that of a
// real worker of Dynamo 1.6.1 for "dynamo". For "dual" the pods of "workers" are in slices of their IPv6 addresses, too.
func populate(s *apitest.Server, fleet string) error {
	var dynamo v1alpha1.DynamoWorkerMetadata
	if fleet == "dynamo" {
		raw, err := os.ReadFile(filepath.Join("..", "wire", "testdata", "worker-metadata-1.6.1.json"))
		if err != nil {
			return err
		}
		if err := json.Unmarshal(raw, &dynamo); err != nil {
			return err
		}
	}
	var endpoints, six []discoveryv1.Endpoint
	for i := range fleetSize {
		pod, uid := fleetPod(i)
		switch fleet {
		case "workers", "dual":
			s.Set(fleetMetadata(pod, uid))
		case "dynamo":
			object := dynamo
			object.Name, object.Namespace, object.UID = pod, kubeNamespace, ""
			object.OwnerReferences = workerMetadata(pod, uid, 0).OwnerReferences
			s.Set(&object)
		}
		endpoints = append(endpoints, endpoint(pod, uid, fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&0xff, i&0xff), "ready"))
		node := fmt.Sprintf("node-%d", i%500)
		endpoints[len(endpoints)-1].NodeName = &node
		last := endpoints[len(endpoints)-1]
		last.Addresses = []string{fmt.Sprintf("fd00:10::%x:%x", i>>16, i&0xffff)}
		six = append(six, last)
		if len(endpoints) < fleetPerSlice {
			continue
		}
		s.Set(fleetSlice(i/fleetPerSlice, endpoints))
		if fleet == "dual" {
			slice := fleetSlice(fleetSize+i/fleetPerSlice, six)
			slice.AddressType = discoveryv1.AddressTypeIPv6
			s.Set(slice)
		}
		endpoints, six = nil, nil
	}
	return nil
}

func fleetPod(i int) (name, uid string) {
	return fmt.Sprintf("worker-6747464465-%05d", i), fmt.Sprintf("4d8e4a56-fdbd-4ca8-bb3c-%012d", i)
}

func fleetSlice(i int, endpoints []discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	s := slice(fmt.Sprintf("dynamo-backend-service-%05d", i), endpoints...)
	s.Labels["kubernetes.io/service-name"] = "dynamo-backend-service"
	s.Labels["endpointslice.kubernetes.io/managed-by"] = "endpointslice-controller.k8s.io"
	s.ManagedFields = managed("kube-controller-manager", `{"f:addressType":{},"f:endpoints":{},"f:metadata":{"f:annotations":{".":{},`+
		`"f:endpoints.kubernetes.io/last-change-trigger-time":{}},"f:generateName":{},"f:labels":{".":{},"f:endpointslice.kubernetes.io/managed-by":{},`+
		`"f:kubernetes.io/service-name":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"8c0e5f9b-6f1d-4a51-bb1d-3d7e8f1a2b3c\"}":{}}},"f:ports":{}}`)
	return s
}

// fleetMetadata is what a worker on this library writes, with the managedFields that the API server adds.
func fleetMetadata(pod, uid string) *v1alpha1.DynamoWorkerMetadata {
	object := workerMetadata(pod, uid, 41235)
	object.Generation, object.CreationTimestamp = 1, metav1.NewTime(time.Unix(1.8e9, 0))
	object.ManagedFields = managed("dynamo-worker", fmt.Sprintf(`{"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"%s\"}":{}}},"f:spec":{"f:data":{`+
		`"f:endpoints":{".":{},"f:dynamo/backend/generate/%x":{".":{},"f:component":{},"f:endpoint":{},"f:instance_id":{},"f:namespace":{},`+
		`"f:transport":{".":{},"f:tcp":{}},"f:type":{}}},"f:event_channels":{},"f:model_cards":{}}}}`, uid, wiring.InstanceID(pod)))
	return object
}

func managed(manager, fields string) []metav1.ManagedFieldsEntry {
	at := metav1.NewTime(time.Unix(1.8e9, 0))
	return []metav1.ManagedFieldsEntry{{
		Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", Time: &at,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}}
}

// documentSize is what the metadata of a fleet's pod takes by itself.
func documentSize(fleet string) float64 {
	s := struct{ k8sruntime.RawExtension }{}
	switch fleet {
	case "workers", "dual":
		pod, uid := fleetPod(0)
		s.RawExtension = fleetMetadata(pod, uid).Spec.Data
	case "dynamo":
		var object v1alpha1.DynamoWorkerMetadata
		raw, err := os.ReadFile(filepath.Join("..", "wire", "testdata", "worker-metadata-1.6.1.json"))
		if err == nil {
			err = json.Unmarshal(raw, &object)
		}
		if err == nil {
			raw, err = json.Marshal(object.Spec.Data)
		}
		if err != nil {
			return 0
		}
		return float64(len(raw))
	}
	return float64(len(s.Raw))
}
